//! The virtual clock, with a way to make it jump.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jackline_runtime::drive::{Clock, Hold, VirtualClock};

/// A virtual clock that can be set forwards and backwards while a run uses it.
#[derive(Clone, Debug)]
pub(crate) struct SkewedClock {
    inner: VirtualClock,
    skew_ms: Arc<AtomicI64>,
}

impl SkewedClock {
    pub(crate) fn new() -> Self {
        Self { inner: VirtualClock::starting_at(START_MS), skew_ms: Arc::new(AtomicI64::new(0)) }
    }

    pub(crate) fn virtual_clock(&self) -> &VirtualClock {
        &self.inner
    }

    /// Sets the clock.
    pub(crate) fn jump(&self, by_ms: i64) {
        self.skew_ms.fetch_add(by_ms, Ordering::Relaxed);
    }

    /// How much time has really been waited for.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.inner.now_ms().saturating_sub(START_MS)
    }

    fn skew(&self) -> i64 {
        self.skew_ms.load(Ordering::Relaxed)
    }
}

impl Clock for SkewedClock {
    fn now_ms(&self) -> u64 {
        self.inner.now_ms().saturating_add_signed(self.skew())
    }

    fn sleep_until(&self, at_ms: u64) -> futures_util::future::BoxFuture<'static, ()> {
        self.inner.sleep_until(at_ms.saturating_add_signed(-self.skew()))
    }

    fn hold(&self) -> Hold {
        self.inner.hold()
    }
}

/// When every scenario begins: a round number in the year 2023.
const START_MS: u64 = 1_700_000_000_000;
