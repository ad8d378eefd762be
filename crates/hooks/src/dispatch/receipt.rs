//! What became of each hook that was asked.

use std::time::Duration;

use jackline_model::{HookId, OperationId};

use super::{DeliveryId, DispatchError, OutboxItem};
use crate::{FaultCode, HookKind, RulingCause};

/// What became of one evaluation: a receipt per hook that was asked, in order.
///
/// A hook that was not asked, because it is about other tools or because a decision came first, has
/// none. An evaluation whose future is dropped leaves no delivery at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// The receipts.
    pub receipts: Vec<Receipt>,
    /// What the driver must write into the store, in the transaction of the transition.
    pub outbox: Vec<OutboxItem>,
    /// What is raised after everybody was asked: see [`Delivery::surface`].
    pub failure: Option<DispatchError>,
}

impl Delivery {
    /// Whether no hook was asked.
    pub fn is_empty(&self) -> bool {
        self.receipts.is_empty()
    }

    /// Raises what the dispatch raises. Callers for whom a critical failure ends nothing do not call this.
    ///
    /// # Errors
    ///
    /// - [`DispatchError::Critical`]: repeat the transition's delivery, or end the run.
    /// - [`DispatchError::Environment`], [`DispatchError::Stored`]: correct the configuration. A ruling that came
    ///   with it denies.
    pub fn surface(self) -> Result<Self, DispatchError> {
        match self.failure {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    pub(super) fn failed(error: DispatchError) -> Self {
        tracing::error!(%error, "[HookDispatcher] Hook configuration is invalid");
        Self { failure: Some(error), ..Self::default() }
    }
}

/// What became of one hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its id.
    pub hook: HookId,
    /// The operation that it was registered for.
    pub operation: OperationId,
    /// The event.
    pub kind: HookKind,
    /// How it was reached.
    pub carrier: CarrierKind,
    /// What it answered.
    pub answer: AnswerClass,
    /// Why a hook outside the process gave no answer.
    pub fault: Option<FaultCode>,
    /// The delivery, for a hook outside the process.
    pub delivery_id: Option<DeliveryId>,
    /// How long it was waited for; nothing if it answered at once.
    pub latency: Duration,
    /// Set if this hook ended the chain: by what it answered, or by failing where failures block.
    ///
    /// A failed answer with [`RulingCause::Policy`] is a mock that was accepted before its handler failed.
    pub decided_by: Option<RulingCause>,
}

/// How a hook is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CarrierKind {
    /// By a call in this process.
    Native,
    /// By a request.
    Webhook,
    /// By a program.
    Command,
}

impl CarrierKind {
    /// The name in journals and traces.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Webhook => "webhook",
            Self::Command => "command",
        }
    }
}

/// What a hook answered, without its words.
///
/// There is no class for cancelling: whoever cancels drops the evaluation, receipts included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnswerClass {
    /// An observer heard, or a mock handler let the call pass.
    Ok,
    /// A control lets the call go on.
    Allow,
    /// A control lets the result be published.
    Keep,
    /// A control denied.
    Deny,
    /// A control has heard and says nothing.
    Notification,
    /// An observer outside the process is being told, and nobody waits for it.
    Started,
    /// The delivery is to be written into the store.
    Enqueued,
    /// Too many deliveries run that nobody waits for, so this observer was not told.
    Dropped,
    /// A mock was accepted.
    Mock,
    /// The hook failed.
    Error,
    /// The hook panicked.
    Panic,
    /// The hook ran out of time.
    Timeout,
}

impl AnswerClass {
    /// The name in journals and traces.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Allow => "allow",
            Self::Keep => "keep",
            Self::Deny => "deny",
            Self::Notification => "notification",
            Self::Started => "started",
            Self::Enqueued => "enqueued",
            Self::Dropped => "dropped",
            Self::Mock => "mock",
            Self::Error => "error",
            Self::Panic => "panic",
            Self::Timeout => "timeout",
        }
    }

    /// Whether the hook gave no answer.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Error | Self::Panic | Self::Timeout | Self::Dropped => true,
            Self::Ok
            | Self::Allow
            | Self::Keep
            | Self::Deny
            | Self::Notification
            | Self::Started
            | Self::Enqueued
            | Self::Mock => false,
        }
    }
}
