//! The rules of registration.

use jackline_model::HookId;

use super::RegistrationError;
use super::entry::{Carrier, Entry, HANDLER_TIMEOUT_MAX};
use super::rule::{FieldFault, Rule};
use crate::environment::ENVIRONMENT_HOOK_PREFIX;
use crate::{HookKind, WebhookConfig};

/// Checks what the builder could not refuse.
pub(crate) fn check(entry: &Entry) -> Result<(), RegistrationError> {
    let hook = || entry.id.clone();
    if let Some(Err(cause)) = &entry.matcher {
        return Err(RegistrationError::Matcher { hook: hook(), cause: cause.clone() });
    }
    if entry.timeout.is_zero() || entry.timeout > HANDLER_TIMEOUT_MAX {
        return Err(RegistrationError::Timeout { hook: hook() });
    }
    check_fields(entry).map_err(|fault| RegistrationError::Field { hook: hook(), fault })
}

fn check_fields(entry: &Entry) -> Result<(), FieldFault> {
    let kind = entry.kinds.only();
    if entry.matcher.is_some() && kind.is_some_and(|kind| !kind.is_tool_event()) {
        return Err(FieldFault::new("matcher", Rule::MatcherEvent));
    }
    match &entry.carrier {
        Carrier::Native(_, None) => Ok(()),
        Carrier::Native(_, Some(webhook)) if webhook.is_control() => {
            Err(FieldFault::new("webhook.responseHandling", Rule::ControlHandler))
        }
        Carrier::Native(_, Some(webhook)) | Carrier::Webhook(webhook) => check_webhook(webhook, kind),
        Carrier::Command(command) => match kind {
            Some(kind) => command.check(kind).map_err(|fault| fault.inside("command")),
            None => Err(FieldFault::new("type", Rule::OneType)),
        },
    }
}

fn check_webhook(webhook: &WebhookConfig, kind: Option<HookKind>) -> Result<(), FieldFault> {
    match kind {
        Some(kind) => webhook.check(kind).map_err(|fault| fault.inside("webhook")),
        None => Err(FieldFault::new("type", Rule::OneType)),
    }
}

/// Whether the id belongs to a hook of the environment: no caller may pass for one.
pub(crate) fn is_reserved(id: &HookId) -> bool {
    id.as_str().starts_with(ENVIRONMENT_HOOK_PREFIX)
}
