//! How hooks are written down: handlers, their answers, and their options.
//!
//! Nothing is asked here.

pub(crate) mod answer;
mod check;
pub(crate) mod entry;
pub(crate) mod fields;
mod hooks;
pub(crate) mod mockable;
mod registration_error;
pub(crate) mod rule;
pub mod stage;
mod stored;

pub use answer::{Decision, HookError, IntoAnswer, MockAnswer};
pub use entry::{HANDLER_TIMEOUT, HANDLER_TIMEOUT_MAX, OnError};
pub use hooks::Hooks;
pub use mockable::MockableToolCall;
pub use registration_error::RegistrationError;
pub use rule::{FieldFault, Rule};
pub(crate) use stored::store;
