//! What dispatchers and handles share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::payload::Emails;
use crate::{Carriers, DispatchMode, Environment, HookClock, NoDirectory, UserDirectory};

/// What a dispatcher is given from outside.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use futures_util::future::{BoxFuture, FutureExt};
/// use jackline_hooks::{DispatchMode, HookDispatcher, HookPorts, ProcessEnvironment};
/// # #[derive(Debug)]
/// # struct Stopped;
/// # impl jackline_hooks::HookClock for Stopped {
/// #     fn now(&self) -> Duration { Duration::ZERO }
/// #     fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> { futures_util::future::pending().boxed() }
/// # }
/// # let clock = Arc::new(Stopped);
/// let ports = HookPorts {
///     mode: DispatchMode::from_environment(&ProcessEnvironment),
///     environment: Some(Arc::new(ProcessEnvironment)),
///     ..HookPorts::new(clock)
/// };
/// let dispatcher = HookDispatcher::with_ports(ports);
/// ```
#[derive(Clone, Debug)]
pub struct HookPorts {
    /// The time that deadlines and remembered addresses go by.
    pub clock: Arc<dyn HookClock>,
    /// Which carriers take part.
    pub mode: DispatchMode,
    /// Where the hooks that apply to every operation are declared. Without it there are none.
    pub environment: Option<Arc<dyn Environment>>,
    /// The way to what is outside the process.
    pub carriers: Carriers,
    /// Who knows e-mail addresses.
    pub directory: Arc<dyn UserDirectory>,
    /// What bounds the outbox.
    pub outbox: Arc<dyn OutboxRoom>,
}

/// Says whether the outbox of a store takes one more delivery.
///
/// One that it does not take is dropped, and a critical one has failed: [`FaultCode::OutboxFull`](crate::FaultCode).
pub trait OutboxRoom: std::fmt::Debug + Send + Sync {
    /// Whether there is room.
    fn has_room(&self) -> bool;
}

/// An outbox without a bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndlessOutbox;

impl OutboxRoom for EndlessOutbox {
    fn has_room(&self) -> bool {
        true
    }
}

impl HookPorts {
    /// A clock, and nothing else: local mode, no environment hooks, no way out, nobody known, no bound of the outbox.
    pub fn new(clock: Arc<dyn HookClock>) -> Self {
        Self {
            clock,
            mode: DispatchMode::default(),
            environment: None,
            carriers: Carriers::default(),
            directory: Arc::new(NoDirectory),
            outbox: Arc::new(EndlessOutbox),
        }
    }
}

/// What dispatchers and handles share: the mode, the way out, and where time and variables come from.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) clock: Arc<dyn HookClock>,
    pub(crate) mode: DispatchMode,
    pub(crate) environment: Option<Arc<dyn Environment>>,
    pub(crate) carriers: Carriers,
    pub(crate) emails: Emails,
    pub(crate) outbox: Arc<dyn OutboxRoom>,
    /// How many deliveries run that nobody waits for.
    pub(crate) unawaited: AtomicUsize,
}

impl From<HookPorts> for Ports {
    fn from(ports: HookPorts) -> Self {
        let HookPorts { clock, mode, environment, carriers, directory, outbox } = ports;
        let emails = Emails::new(directory, Arc::clone(&clock));
        Self { clock, mode, environment, carriers, emails, outbox, unawaited: AtomicUsize::new(0) }
    }
}

impl Ports {
    /// Takes a place among the deliveries that nobody waits for, if one is free.
    pub(crate) fn enter(ports: &Arc<Self>) -> Option<Unawaited> {
        let room = |running| (running < UNAWAITED_MAX).then_some(running + 1);
        ports.unawaited.fetch_update(Ordering::AcqRel, Ordering::Acquire, room).ok()?;
        Some(Unawaited(Arc::clone(ports)))
    }
}

/// A place among the deliveries that nobody waits for.
#[derive(Debug)]
pub(crate) struct Unawaited(Arc<Ports>);

impl Drop for Unawaited {
    fn drop(&mut self) {
        self.0.unawaited.fetch_sub(1, Ordering::AcqRel);
    }
}

/// How many observations may hang at once: beyond it they are dropped, so that a receiver that hangs costs memory
/// for this many payloads and no more.
const UNAWAITED_MAX: usize = 64;
