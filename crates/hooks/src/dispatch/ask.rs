//! Asks one handler, and comes back whatever it does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::{Either, FutureExt, select};
use futures_util::poll;

use super::{AnswerClass, HookClock};
use crate::register::HookError;
use crate::register::entry::Answering;
use crate::{FaultCode, HookFault};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The handler said so.
    Error(HookError),
    /// It panicked. What it said then is gone: it may quote raw output.
    Panic,
    /// It ran out of time.
    Timeout,
    /// What is outside the process gave none.
    Remote(HookFault),
}

impl Failure {
    pub(super) fn class(&self) -> AnswerClass {
        match self {
            Self::Error(_) => AnswerClass::Error,
            Self::Panic => AnswerClass::Panic,
            Self::Timeout => AnswerClass::Timeout,
            Self::Remote(fault) if fault.code() == FaultCode::Timeout => AnswerClass::Timeout,
            Self::Remote(_) => AnswerClass::Error,
        }
    }

    /// Why what is outside the process failed.
    pub(super) fn fault(&self) -> Option<FaultCode> {
        match self {
            Self::Remote(fault) => Some(fault.code()),
            Self::Error(_) | Self::Panic | Self::Timeout => None,
        }
    }

    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Remote(fault) => fault.code().as_str(),
            Self::Error(error) => error.label(),
            Self::Panic => "panic",
            Self::Timeout => "timeout",
        }
    }
}

/// Asks a handler for at most `timeout`, and says for how long it was waited for. One that answers
/// at once costs no timer and no look at the clock.
pub(super) async fn ask<A>(
    call: impl FnOnce() -> Answering<A>,
    timeout: Duration,
    clock: &dyn HookClock,
) -> (Result<A, Failure>, Duration) {
    let answering = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answering) => answering,
        Err(panic) => {
            discard(panic);
            return (Err(Failure::Panic), Duration::ZERO);
        }
    };
    let mut answer = AssertUnwindSafe(answering).catch_unwind();
    if let Poll::Ready(answered) = poll!(&mut answer) {
        return (settle(answered), Duration::ZERO);
    }
    let started = clock.now();
    let answered = match select(answer, clock.sleep(timeout)).await {
        Either::Left((answered, _deadline)) => settle(answered),
        Either::Right(((), late)) => {
            discard(late);
            Err(Failure::Timeout)
        }
    };
    (answered, clock.now().saturating_sub(started))
}

/// What a handler answered, if it did not panic.
fn settle<A>(answered: std::thread::Result<Result<A, HookError>>) -> Result<A, Failure> {
    match answered {
        Ok(answer) => answer.map_err(Failure::Error),
        Err(panic) => {
            discard(panic);
            Err(Failure::Panic)
        }
    }
}

/// Drops what a handler left behind, even if that panics in turn.
fn discard<T>(remains: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(remains))) {
        // Dropping this one could panic again. It is leaked: a destructor that panics is a bug, not a load.
        std::mem::forget(panic);
    }
}
