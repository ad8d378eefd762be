//! The rules of hooks that need more than one key, and hooks as they are registered.

use std::path::Path;

use jackline_hooks::{ENVIRONMENT_HOOK_PREFIX, FieldFault, HookKind, Hooks, RegistrationError, Rule};
use serde_json::{Value, json};

use super::config::AgentConfig;
use super::error::ConfigError;
use super::file::{closest, error_at};
use super::hook::HookConfig;
use super::locate;

impl AgentConfig {
    /// The hooks of the agent in the form in which they are registered and stored. Programs run in the directory,
    /// and relative paths to them start from it.
    pub fn stored_hooks(&self, directory: &Path) -> Vec<Value> {
        let placed = |hook: &HookConfig| {
            let mut stored = stored(hook);
            if let Some(command) = stored.get_mut("command") {
                command["directory"] = json!(directory);
            }
            stored
        };
        self.hook.iter().map(placed).collect()
    }
}

fn stored(hook: &HookConfig) -> Value {
    serde_json::to_value(hook).expect("every key of a hook is text, every number is finite")
}

/// Checks each hook against the rules of registration.
pub(super) fn check(hooks: &[HookConfig], text: &str, path: &str) -> Result<(), ConfigError> {
    for (index, hook) in hooks.iter().enumerate() {
        if hook.id.starts_with(ENVIRONMENT_HOOK_PREFIX) {
            let rule = format!("ids that begin with `{ENVIRONMENT_HOOK_PREFIX}` belong to hooks of the environment");
            let message = format!("hook `{}`: {rule} (`id`: give it another)", hook.id);
            return Err(at_field(index, "id", message, text, path));
        }
        let value = stored(hook);
        if let Err(error) = Hooks::new().stored([&value]) {
            let (field, suggestion) = field_of(&error, &value);
            let mut error = at_field(index, &field, error.to_string(), text, path);
            error.suggestion = suggestion;
            return Err(error);
        }
    }
    Ok(())
}

/// The field that is wrong, and the word that was probably meant there.
fn field_of(error: &RegistrationError, value: &Value) -> (String, Option<String>) {
    match error {
        RegistrationError::Matcher { .. } => ("matcher".to_owned(), None),
        RegistrationError::Field { fault, .. } => (fault.field.clone(), meant(fault, value)),
        RegistrationError::Timeout { .. }
        | RegistrationError::Environment(_)
        | RegistrationError::ControlInQueue { .. } => (String::new(), None),
    }
}

fn meant(fault: &FieldFault, value: &Value) -> Option<String> {
    let written = steps(&fault.field).try_fold(value, |value, step| value.get(step))?.as_str()?;
    if let Rule::Option(options) = fault.rule {
        return closest(written, &options.split(", ").collect::<Vec<_>>());
    }
    (fault.rule == Rule::Type).then(|| closest(written, &HookKind::ALL.map(HookKind::as_str)))?
}

fn at_field(index: usize, field: &str, message: String, text: &str, path: &str) -> ConfigError {
    let index = index.to_string();
    let way = ["hook", &index].into_iter().chain(steps(field));
    let mut error = error_at(text, path, locate::offset_of_path(text, way), message);
    error.key = if field.is_empty() { "hook".to_owned() } else { format!("hook.{field}") };
    error
}

/// A path such as `webhook.network.allow[1]`, step by step.
fn steps(field: &str) -> impl Iterator<Item = &str> {
    field.split(['.', '[']).map(|step| step.trim_end_matches(']')).filter(|step| !step.is_empty())
}

#[cfg(test)]
mod tests;
