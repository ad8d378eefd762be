//! What hooks read from named variables: secrets, and a whole hook.

mod hooks;
mod variables;

pub use hooks::{ENVIRONMENT_HOOK_PREFIX, EnvironmentError, EnvironmentHooks};
pub(crate) use variables::is_variable_name;
pub use variables::{Environment, ProcessEnvironment, Variables};
