//! Why hooks are refused.

use jackline_model::HookId;

use crate::MatcherError;

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
}
