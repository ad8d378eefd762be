//! The tables `[[hook]]`: webhooks and programs that hear of a run or decide about its calls.

mod command;
mod section;
mod webhook;

pub use command::CommandHookConfig;
pub use section::HookConfig;
pub use webhook::{NetworkSection, WebhookHookConfig};
