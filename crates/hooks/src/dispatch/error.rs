//! What a dispatch raises.

use jackline_model::HookId;

use crate::{ENVIRONMENT_HOOK_PREFIX, EnvironmentError, HookFault, HookKind, RegistrationError};

/// What a dispatch raises. All else that goes wrong is logged and recorded, and ends nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DispatchError {
    /// A critical webhook was not delivered. Its siblings were asked.
    #[error(transparent)]
    Critical(#[from] CriticalHookDeliveryError),
    /// The variables that declare hooks are invalid: nobody was asked, and nothing may pass. Correct them.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A stored hook is corrupt: nobody was asked, and nothing may pass. Correct or remove the entry.
    #[error(transparent)]
    Stored(#[from] RegistrationError),
}

impl DispatchError {
    /// The hook behind it.
    pub(super) fn hook(&self, kind: HookKind) -> HookId {
        match self {
            Self::Critical(error) => error.hook_id.clone(),
            Self::Environment(_) | Self::Stored(RegistrationError::Environment(_)) => environment_hook_id(kind),
            Self::Stored(
                RegistrationError::Matcher { hook, .. }
                | RegistrationError::Timeout { hook }
                | RegistrationError::Field { hook, .. }
                | RegistrationError::ControlInQueue { hook },
            ) => hook.clone(),
        }
    }
}

/// The id of the hook that the environment declares for an event.
pub(super) fn environment_hook_id(kind: HookKind) -> HookId {
    HookId::from(format!("{ENVIRONMENT_HOOK_PREFIX}{kind}"))
}

/// A webhook with `fallback: none` was not delivered: the first one, if there were several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Critical webhook delivery failed: {hook_id}")]
pub struct CriticalHookDeliveryError {
    /// The hook.
    pub hook_id: HookId,
    /// Why.
    #[source]
    pub cause: HookFault,
}
