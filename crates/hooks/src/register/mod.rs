//! How hooks are written down: handlers, their answers, and their options.
//!
//! Nothing is asked here. Webhooks and commands are not carriers yet.

pub(crate) mod answer;
pub(crate) mod entry;
mod hooks;
pub(crate) mod mockable;
mod registration_error;
pub mod stage;

pub use answer::{Decision, HookError, IntoAnswer, MockAnswer};
pub use entry::{HANDLER_TIMEOUT, HANDLER_TIMEOUT_MAX, OnError};
pub use hooks::Hooks;
pub use mockable::MockableToolCall;
pub use registration_error::RegistrationError;
