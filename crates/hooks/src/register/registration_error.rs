//! Why hooks are refused.

use jackline_model::HookId;

use super::rule::FieldFault;
use crate::{EnvironmentError, MatcherError};

/// Why a list of hooks was refused. Nothing of it was registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    /// A matcher does not compile.
    #[error("hook `{hook}`: {cause}")]
    Matcher {
        /// The hook.
        hook: HookId,
        /// What is wrong with its matcher.
        cause: MatcherError,
    },
    /// A deadline is zero or too long for a timer.
    #[error("hook `{hook}`: a timeout must be more than zero and at most 2147483.647 seconds")]
    Timeout {
        /// The hook.
        hook: HookId,
    },
    /// A field of a webhook or a command is wrong, or an entry that was stored is corrupt.
    #[error("hook `{hook}`: {fault}")]
    Field {
        /// The hook; by its place, such as `#2`, if it has no id.
        hook: HookId,
        /// The field, the rule and the remedy.
        fault: FieldFault,
    },
    /// The variables that declare hooks are invalid. Correct them; no hook is registered meanwhile.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A handler that decides, in queue mode, where no handler is called: nothing would enforce it.
    /// Use a webhook or a command.
    #[error("hook `{hook}`: queue mode calls no handlers, so this control would not be asked")]
    ControlInQueue {
        /// The hook.
        hook: HookId,
    },
}
