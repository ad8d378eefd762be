//! Tool calls, as a model asks for them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ToolCallId;

/// The name of a tool: `identifier/apiName`, such as `fs/read`.
///
/// This is what matchers, allow-lists and permission rules see. The name on the wire to the model
/// differs, because providers accept neither dots nor slashes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolKey {
    /// The tool or plugin.
    pub identifier: Arc<str>,
    /// The function of it.
    pub api_name: Arc<str>,
}

impl ToolKey {
    /// Builds a key from its two halves.
    pub fn new(identifier: impl Into<Arc<str>>, api_name: impl Into<Arc<str>>) -> Self {
        Self { identifier: identifier.into(), api_name: api_name.into() }
    }

    /// Splits `identifier/apiName` at the first slash. Text without one has an empty identifier.
    ///
    /// ```
    /// use jackline_model::ToolKey;
    /// assert_eq!(ToolKey::parse("fs/read"), ToolKey::new("fs", "read"));
    /// assert_eq!(ToolKey::parse("odd").to_string(), "odd");
    /// ```
    pub fn parse(text: &str) -> Self {
        match text.split_once('/') {
            Some((identifier, api_name)) => Self::new(identifier, api_name),
            None => Self::new("", text),
        }
    }
}

impl fmt::Display for ToolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.identifier.is_empty() {
            return f.write_str(&self.api_name);
        }
        write!(f, "{}/{}", self.identifier, self.api_name)
    }
}

impl fmt::Debug for ToolKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// One call that a model asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The provider's id, or one of ours where it gave none.
    pub id: ToolCallId,
    /// Which tool.
    pub key: ToolKey,
    /// The arguments exactly as the model wrote them, valid JSON or not.
    pub arguments: Arc<str>,
}

/// Which side runs a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutorRoute {
    /// The runtime's own process.
    #[default]
    Server,
    /// Whoever embeds or drives the runtime: the call parks until the answer is handed in.
    Client,
}

/// Where a tool comes from. Hooks filter on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSource {
    /// Ships with Jackline.
    #[default]
    Builtin,
    /// An embedder's Rust tool.
    Native,
    /// A program declared in the agent file.
    Command,
    /// A sub-agent.
    Agent,
    /// Answered by the client.
    Client,
    /// A server that speaks the Model Context Protocol.
    Mcp,
}

impl ToolSource {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Native => "native",
            Self::Command => "command",
            Self::Agent => "agent",
            Self::Client => "client",
            Self::Mcp => "mcp",
        }
    }
}

/// What a second run of the same call would do to the world.
///
/// Declared by the tool; it decides how durable the journal is before the call starts, and what
/// happens to a call that was open when a process died.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SideEffect {
    /// Nothing outside changes. Run again after a crash.
    Pure,
    /// A second run with the same idempotency key changes nothing more. Run again after a crash.
    Idempotent,
    /// Unknown or harmful. Never run again: the model reads that the outcome is unknown.
    #[default]
    Effect,
}
