//! Why a run has no trustworthy end, or could not begin.

use std::time::Duration;

use jackline_hooks::{DispatchError, RegistrationError};
use jackline_model::{Advice, OperationId, Reason};
use jackline_tools::call::CallFault;

use super::stream::Report;
use crate::journal::StoreError;
use crate::machine::MachineFault;

/// Why a run has no trustworthy end, or could not begin.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// The store failed. Nothing that was reported as done is lost.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine met an impossible input: a mistake of ours.
    #[error("the state machine failed: {0}. Nothing was written; a fixed build can resume the operation")]
    Machine(Box<MachineFault>),
    /// The machine of a call met an impossible input: a mistake of ours.
    #[error("the state machine of a call failed: {0}. A fixed build can resume the operation")]
    Call(CallFault),
    /// The agent cannot be made ready.
    #[error("the agent cannot be set up: {0}")]
    Setup(String),
    /// The journal cannot be read.
    #[error("the journal of the operation cannot be read: {0}")]
    Journal(String),
    /// Controls or mocks that guarded the operation were not brought along.
    #[error(
        "the operation was started with the hooks {}, and they are not here; bring them, or say that it may go on \
         without them",
        .0.join(", ")
    )]
    MissingHooks(Vec<String>),
    /// A hook cannot be registered.
    #[error(transparent)]
    Hooks(#[from] RegistrationError),
    /// The run ended in a way that cannot be gone on with.
    #[error("operation `{operation}` ended with reason `{reason}` and cannot be resumed")]
    NotResumable {
        /// The operation.
        operation: OperationId,
        /// How it ended.
        reason: Reason,
    },
    /// The run has ended, as the report says, and a hook whose delivery must not fail was not told. Nobody else hears of
    /// it: tell the receiver what it missed.
    #[error("the run has ended ({}), but {error}", .report.reason.map_or("parked", |reason| reason.as_str()))]
    CriticalHook {
        /// How the run ended; that is stored.
        report: Box<Report>,
        /// Which hook failed, and how.
        error: Box<DispatchError>,
    },
    /// The run is stopped, as the report says, and a hook whose delivery must not fail was not told of it. The request
    /// that stopped the run tells it when it is made again, and does nothing else.
    #[error(
        "operation `{}` is stopped all the same, but {error}; the same stop request, made again, repeats that \
         notification and nothing else",
        .report.operation
    )]
    StopNotTold {
        /// How the run ended; that is stored.
        report: Box<Report>,
        /// Which hook failed, and how.
        error: Box<DispatchError>,
    },
    /// A person has decided, and a hook whose delivery must not fail was not told. Nothing that was decided is done
    /// before it is: resume the operation to tell it again.
    #[error(
        "{error}, and it must hear of a decision before that is carried out. Nothing was done, and the decision stays; \
         resuming operation `{operation}` tells it again"
    )]
    DecisionNotTold {
        /// The operation.
        operation: OperationId,
        /// Which hook failed, and how.
        error: Box<DispatchError>,
    },
    /// The driver itself panicked.
    #[error("the driver of the operation panicked; resume it")]
    Panicked,
}

impl RunError {
    /// Whether a hook was not told that can still be told.
    pub(crate) fn may_be_made_good(&self) -> bool {
        matches!(self, Self::StopNotTold { .. } | Self::DecisionNotTold { .. })
    }

    /// What a caller can do.
    pub fn advice(&self) -> Advice {
        match self {
            Self::Store(error) => error.advice(),
            Self::Setup(_) | Self::MissingHooks(_) | Self::Hooks(_) => Advice::Fix,
            Self::Panicked | Self::StopNotTold { .. } | Self::DecisionNotTold { .. } => {
                Advice::Retry { after: Duration::ZERO }
            }
            Self::Machine(_)
            | Self::Call(_)
            | Self::Journal(_)
            | Self::NotResumable { .. }
            | Self::CriticalHook { .. } => Advice::GiveUp,
        }
    }
}
