//! What became of each hook that was asked.

use std::time::Duration;

use jackline_model::{HookId, OperationId};

use crate::{HookKind, RulingCause};

/// What became of one evaluation: a receipt per hook that was asked, in order.
///
/// A hook that was not asked, because it is about other tools or because a decision came first, has
/// none. An evaluation whose future is dropped leaves no delivery at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// The receipts.
    pub receipts: Vec<Receipt>,
}

impl Delivery {
    /// Whether no hook was asked.
    pub fn is_empty(&self) -> bool {
        self.receipts.is_empty()
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
    /// What it answered.
    pub answer: AnswerClass,
    /// How long it was waited for; nothing if it answered at once.
    pub latency: Duration,
    /// Set if this hook ended the chain: by what it answered, or by failing where failures block.
    ///
    /// A failed answer with [`RulingCause::Policy`] is a mock that was accepted before its handler failed.
    pub decided_by: Option<RulingCause>,
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
    /// A mock was accepted.
    Mock,
    /// The handler returned an error.
    Error,
    /// The handler panicked.
    Panic,
    /// The handler ran out of time.
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
            Self::Mock => "mock",
            Self::Error => "error",
            Self::Panic => "panic",
            Self::Timeout => "timeout",
        }
    }

    /// Whether the hook gave no answer.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Error | Self::Panic | Self::Timeout => true,
            Self::Ok | Self::Allow | Self::Keep | Self::Deny | Self::Mock => false,
        }
    }
}
