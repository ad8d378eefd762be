//! What went wrong, what to do about it, and the exit code that says so.

use std::fmt;

use jackline_model::{Advice, ExitCode};
use jackline_runtime::agent::ConfigError;
use jackline_runtime::drive::RunError;
use jackline_runtime::journal::StoreError;

/// An error as a person reads it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) exit: ExitCode,
    message: String,
    hint: Option<String>,
    /// A run is stopped, and a hook has not heard of it.
    pub(crate) untold_stop: bool,
}

impl Problem {
    /// A mistake of the caller: nothing was started.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: ExitCode::Usage, message: message.into(), hint: None, untold_stop: false }
    }

    /// Something that failed while it was done.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { exit: ExitCode::Failed, message: message.into(), hint: None, untold_stop: false }
    }

    /// Something that a signal ended.
    pub(crate) fn interrupted(message: impl Into<String>) -> Self {
        Self { exit: ExitCode::Interrupted, message: message.into(), hint: None, untold_stop: false }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n{hint}"),
            None => Ok(()),
        }
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let exit = exit_of(error.advice());
        let hint = store_hint(&error).map(str::to_owned);
        Self { exit, message: error.to_string(), hint, untold_stop: false }
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        if let RunError::Store(error) = error {
            return error.into();
        }
        let exit = match &error {
            RunError::NotResumable { .. } => ExitCode::Usage,
            RunError::Store(_)
            | RunError::Machine(_)
            | RunError::Call(_)
            | RunError::Setup(_)
            | RunError::Journal(_)
            | RunError::MissingHooks(_)
            | RunError::Hooks(_)
            | RunError::CriticalHook { .. }
            | RunError::StopNotTold { .. }
            | RunError::DecisionNotTold { .. }
            | RunError::Panicked => exit_of(error.advice()),
        };
        let hint = match &error {
            RunError::MissingHooks(hooks) => hooks.first().map(|hook| {
                format!("The command line has no native hooks. To go on without it: --without-hook {hook}")
            }),
            RunError::CriticalHook { report, .. } => {
                Some(format!("What the run did is stored: `jackline ops show {}`.", report.operation))
            }
            RunError::StopNotTold { report, .. } => {
                Some(format!("To repeat the notification: jackline stop {}", report.operation))
            }
            RunError::DecisionNotTold { operation, .. } => Some(format!(
                "To tell it again and go on: jackline resume {operation}. To give the run up: jackline stop {operation}"
            )),
            RunError::Store(_)
            | RunError::Machine(_)
            | RunError::Call(_)
            | RunError::Setup(_)
            | RunError::Journal(_)
            | RunError::Hooks(_)
            | RunError::NotResumable { .. }
            | RunError::Panicked => None,
        };
        let untold_stop = matches!(error, RunError::StopNotTold { .. });
        Self { exit, message: error.to_string(), hint, untold_stop }
    }
}

/// What the caller must change is usage; the rest is failure.
fn exit_of(advice: Advice) -> ExitCode {
    match advice {
        Advice::Fix => ExitCode::Usage,
        Advice::Retry { .. } | Advice::GiveUp => ExitCode::Failed,
    }
}

fn store_hint(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::NoSuchOperation(_) => Some("`jackline ops list` shows the operations of this store."),
        StoreError::Owned { .. } | StoreError::Busy(_) => Some("Try again when that process is done."),
        StoreError::Exists(_)
        | StoreError::LostOwnership(_)
        | StoreError::Refused(_)
        | StoreError::Io { .. }
        | StoreError::TooNew { .. }
        | StoreError::Damaged(_) => None,
    }
}
