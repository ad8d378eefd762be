//! The dispatcher, driven by hand: no executor, no sleeping, a clock that the test moves.

mod control_after;
mod control_before;
mod mock;
mod observe;
mod register;
mod rounds;

use std::fmt::{self, Debug};
use std::future::{Future, Ready, pending, ready};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jackline_model::ToolKey;

use crate::event::tests::{one_of_each, tool_context};
use crate::*;

/// A clock that stands still until a test moves it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestClock {
    now_ms: Arc<AtomicU64>,
    timers: Arc<AtomicUsize>,
}

impl TestClock {
    pub(crate) fn advance(&self, duration: Duration) {
        self.now_ms.fetch_add(duration.as_millis() as u64, Ordering::SeqCst);
    }

    /// How many timers were armed.
    fn timers(&self) -> usize {
        self.timers.load(Ordering::SeqCst)
    }
}

impl HookClock for TestClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.now_ms.load(Ordering::SeqCst))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.timers.fetch_add(1, Ordering::SeqCst);
        let (clock, until) = (self.clone(), self.now() + duration);
        std::future::poll_fn(move |_| if clock.now() >= until { Poll::Ready(()) } else { Poll::Pending }).boxed()
    }
}

/// What handlers noted, in order.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, note: impl Into<String>) {
        self.0.lock().unwrap().push(note.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// A handler that notes its name and answers at once.
    fn handler<E, A: Clone + Send + Sync + 'static>(
        &self,
        name: &'static str,
        answer: A,
    ) -> impl Fn(E) -> Ready<A> + Send + Sync + 'static {
        let notes = self.clone();
        move |_| {
            notes.add(name);
            ready(answer.clone())
        }
    }

    fn observer<E>(&self, name: &'static str) -> impl Fn(E) -> Ready<()> + Send + Sync + 'static {
        self.handler(name, ())
    }

    /// An observer that notes its name and fails.
    fn failing<E>(&self, name: &'static str) -> impl Fn(E) -> Ready<Result<(), HookError>> + Send + Sync + 'static {
        self.handler(name, Err(HookError::new("broken")))
    }
}

impl Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all().fmt(f)
    }
}

/// One operation, `op_1`, with these hooks.
struct Bench {
    dispatcher: HookDispatcher,
    clock: TestClock,
}

impl Bench {
    fn new(hooks: impl Into<Hooks>) -> Self {
        let clock = TestClock::default();
        let dispatcher = HookDispatcher::new(Arc::new(clock.clone()));
        dispatcher.register(&"op_1".into(), hooks).unwrap();
        Self { dispatcher, clock }
    }

    fn handle(&self) -> HookHandle {
        self.dispatcher.handle(&Rounds::of("op_1"))
    }

    fn fire(&self, kind: HookKind) -> Delivery {
        at_once(self.handle().dispatch(kind, || example(kind)))
    }

    fn before(&self) -> (Ruling<BeforeVerdict>, Delivery) {
        self.before_tool("fs", "readFile")
    }

    fn before_tool(&self, identifier: &str, api_name: &str) -> (Ruling<BeforeVerdict>, Delivery) {
        at_once(self.handle().dispatch_before_tool_call(|| before_event(identifier, api_name)))
    }
}

fn example(kind: HookKind) -> Event {
    one_of_each().into_iter().find(|event| event.kind() == kind).unwrap()
}

fn before_event(identifier: &str, api_name: &str) -> BeforeToolCallEvent {
    BeforeToolCallEvent { context: ToolCallContext { key: ToolKey::new(identifier, api_name), ..tool_context() } }
}

fn at_once<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("every handler answers at once")
}

/// Polls once, as an executor would.
fn step<F: Future + ?Sized>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

fn answers(delivery: &Delivery) -> Vec<(&str, AnswerClass)> {
    delivery.receipts.iter().map(|receipt| (receipt.hook.as_str(), receipt.answer)).collect()
}

fn panicking<A>() -> A {
    // Unwinds without the report that a panic prints.
    std::panic::resume_unwind(Box::new("the secret"))
}

async fn never<A>() -> A {
    pending().await
}
