//! An agent as the runtime needs it: plain data, frozen with each operation.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use jackline_model::{ConfigHash, NanoDollars, ToolKey};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::setup::call_agent_key;
use crate::compress::ThresholdSettings;
use crate::machine::{Settings, limits};
use crate::permission::ApprovalMode;

/// An agent: its instructions, its model, what it may do and how long.
///
/// The whole of it is stored with each operation, so a run that is resumed next month runs as it
/// was started.
///
/// ```
/// use jackline_runtime::drive::Agent;
/// let agent = Agent::new("clerk", "You answer in one sentence.").with_steps_max(20);
/// assert_eq!(agent.name, "clerk");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Agent {
    /// The name.
    pub name: String,
    /// What it is good for, in words for an agent that may call it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The system prompt.
    pub instructions: String,
    /// The model's name, as its provider knows it.
    #[serde(default)]
    pub model: String,
    /// Tools that it may use: `fs/read`, `fs/*` or `*`. `None` allows all that are registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Who approves.
    #[serde(default)]
    pub approval_mode: ApprovalMode,
    /// Tools that need no approval in the mode `allow-list`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub allow_list: BTreeSet<String>,
    /// How long a request for approval stands, in milliseconds; `None` is for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_expires_ms: Option<u64>,
    /// Steps, after which it must answer without tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_max: Option<u32>,
    /// Money, in nano-dollars, checked before each model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_max: Option<NanoDollars>,
    /// Tokens, checked before each model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
    /// Calls that run at once.
    #[serde(default = "default_concurrency")]
    pub concurrency: u16,
    /// How long it waits for results that somebody else delivers, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub async_wait_ms: Option<u64>,
    /// How deep sub-agents may nest below it.
    #[serde(default = "default_depth")]
    pub depth_max: u32,
    /// The agents that it may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
    /// When to compress.
    #[serde(default)]
    pub compression: ThresholdSettings,
    /// Longest answer of the model, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens_max: Option<u32>,
    /// What the host needs to set the agent up again. The runtime stores it and does not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Value>,
}

impl Agent {
    /// An agent with the defaults: all registered tools, manual approval, no limits but the
    /// built-in ones.
    pub fn new(name: impl Into<String>, instructions: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            instructions: instructions.into(),
            model: String::new(),
            tools: None,
            approval_mode: ApprovalMode::default(),
            allow_list: BTreeSet::new(),
            approval_expires_ms: None,
            steps_max: None,
            cost_max: None,
            tokens_max: None,
            concurrency: limits::TOOL_CONCURRENCY,
            async_wait_ms: None,
            depth_max: DEPTH_MAX,
            agents: Vec::new(),
            compression: ThresholdSettings::default(),
            output_tokens_max: None,
            host: None,
        }
    }

    /// Sets the model's name.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Limits the steps.
    #[must_use]
    pub fn with_steps_max(mut self, steps: u32) -> Self {
        self.steps_max = Some(steps);
        self
    }

    /// Says who approves.
    #[must_use]
    pub fn with_approval(mut self, mode: ApprovalMode) -> Self {
        self.approval_mode = mode;
        self
    }

    /// Adds an agent that this one may call.
    #[must_use]
    pub fn with_agent(mut self, agent: Agent) -> Self {
        self.agents.push(agent);
        self
    }

    /// Whether the agent may use this tool.
    pub fn allows(&self, key: &ToolKey) -> bool {
        if *key == call_agent_key() {
            return !self.agents.is_empty();
        }
        let Some(patterns) = &self.tools else { return true };
        let name = key.to_string();
        patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => *pattern == name,
        })
    }

    /// The text that is stored, and its hash.
    ///
    /// # Errors
    ///
    /// When the host's part cannot be written as JSON.
    pub fn frozen(&self) -> Result<(Arc<str>, ConfigHash), serde_json::Error> {
        let text = serde_json::to_string(self)?;
        let hash = Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        Ok((text.into(), ConfigHash::from(hash)))
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            steps_max: self.steps_max,
            cost_max: self.cost_max,
            tokens_max: self.tokens_max,
            concurrency: self.concurrency.max(1),
            async_wait_ms: self.async_wait_ms,
            ..Settings::default()
        }
    }
}

fn default_concurrency() -> u16 {
    limits::TOOL_CONCURRENCY
}

fn default_depth() -> u32 {
    DEPTH_MAX
}

/// Sub-agents below the run that a person started: a manager, a specialist, a helper.
const DEPTH_MAX: u32 = 3;
