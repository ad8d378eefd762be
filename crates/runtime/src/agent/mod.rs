//! The agent file: what an agent is, in TOML.
//!
//! Text in, configuration or a pointed error out. No file is opened here, no variable is read, and
//! secrets are named, never held.

mod approval;
mod client_tool;
mod command_tool;
mod config;
mod error;
mod file;
mod freeze;
mod hook;
#[cfg(feature = "drive")]
mod hook_check;
mod locate;
mod model;
mod origin;
mod schema;

pub use approval::ApprovalSection;
pub use client_tool::ClientToolConfig;
pub use command_tool::CommandToolConfig;
pub use config::{AgentConfig, CompressionSection, Limits, SubAgentConfig, ToolGroup, ToolsSection};
pub use error::ConfigError;
pub use file::AgentFile;
pub use hook::{CommandHookConfig, HookConfig, NetworkSection, WebhookHookConfig};
pub use model::{ModelConfig, Prices};
pub use origin::OriginSection;
pub use schema::schema;
