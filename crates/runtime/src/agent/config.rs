//! The sections of an agent file.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};

use jackline_model::NanoDollars;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::approval::ApprovalSection;
use super::client_tool::ClientToolConfig;
use super::command_tool::CommandToolConfig;
use super::hook::HookConfig;
use super::model::ModelConfig;
use super::origin::OriginSection;
use crate::compress::ThresholdSettings;

/// An agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// The name of the agent. Hooks see it as the agent's id.
    pub name: String,
    /// What the agent is for, in words for a parent agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// A file that holds the system prompt, relative to the agent file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions_file: Option<String>,
    /// The model: its name, or a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelConfig>,
    /// A file with scripted model turns, relative to the agent file. Then no provider is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// What ends a run early.
    #[serde(default)]
    pub limits: Limits,
    /// When a person is asked.
    #[serde(default)]
    pub approval: ApprovalSection,
    /// When the history is folded into a summary.
    #[serde(default)]
    pub compression: CompressionSection,
    /// The tools that ship with Jackline.
    #[serde(default)]
    pub tools: ToolsSection,
    /// Programs as tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_tool: Vec<CommandToolConfig>,
    /// Tools that are answered from outside, with `jackline complete` or by an embedder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_tool: Vec<ClientToolConfig>,
    /// Webhooks and programs that hear of a run or decide about its calls, in the order in which they are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hook: Vec<HookConfig>,
    /// Agents that this one may call, by the name that it calls them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, SubAgentConfig>,
    /// Where runs come from, for hooks.
    #[serde(default)]
    pub origin: OriginSection,
    /// The e-mail address of each user id, for hooks that ask for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub users: BTreeMap<String, String>,
}

/// What ends a run early.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Steps of one episode.
    pub max_steps: NonZeroU32,
    /// US dollars. Without it there is no limit; with 0 the model is never called.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::model::dollars")]
    #[schemars(range(min = 0))]
    pub max_cost: Option<f64>,
    /// Tokens, requests and answers together. Without it there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<NonZeroU64>,
    /// Tool calls that run at the same time.
    pub tool_concurrency: NonZeroU32,
    /// How deep agents may call agents; 0 forbids it.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: STEPS_MAX,
            max_cost: None,
            max_tokens: None,
            tool_concurrency: TOOL_CONCURRENCY,
            depth: DEPTH_MAX,
        }
    }
}

impl Limits {
    /// The cost limit in the unit that runs count in.
    pub fn cost_limit(&self) -> Option<NanoDollars> {
        self.max_cost.map(NanoDollars::from_dollars)
    }
}

/// When the history is folded into a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CompressionSection {
    /// Whether it is at all.
    pub enabled: bool,
    /// The part of the model's window that a history may fill; by default all but a reserve.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::model::ratio")]
    #[schemars(range(min = 0, max = 1))]
    pub threshold_ratio: Option<f64>,
    /// The same once there is a summary.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "super::model::ratio")]
    #[schemars(range(min = 0, max = 1))]
    pub recompression_ratio: Option<f64>,
    /// The model that writes summaries; by default the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Default for CompressionSection {
    fn default() -> Self {
        Self { enabled: true, threshold_ratio: None, recompression_ratio: None, model: None }
    }
}

/// The tools that ship with Jackline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolsSection {
    /// Groups that the agent gets.
    pub builtin: Vec<ToolGroup>,
    /// The directory that files and commands are kept to, relative to the agent file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
}

/// A group of tools that ship with Jackline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolGroup {
    /// Files below the root.
    Fs,
    /// Shell commands in the root.
    Shell,
    /// Requests to web servers.
    Http,
    /// Results that were too long to be shown whole.
    Archive,
}

/// An agent that another may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubAgentConfig {
    /// Its agent file, relative to this one.
    pub file: String,
    /// What it is good for, in words for the calling model; by default its own description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl AgentConfig {
    /// What the compression threshold of this agent depends on.
    pub fn threshold_settings(&self) -> ThresholdSettings {
        ThresholdSettings {
            enabled: self.compression.enabled,
            window: self.model.as_ref().and_then(|model| model.context_window).map(u64::from),
            output_tokens_max: self.model.as_ref().and_then(|model| model.output_tokens_max).map(u64::from),
            threshold_ratio: self.compression.threshold_ratio,
            recompression_ratio: self.compression.recompression_ratio,
            ..ThresholdSettings::default()
        }
    }
}

/// Long enough for an afternoon's task; a run that needs more can be resumed.
const STEPS_MAX: NonZeroU32 = NonZeroU32::new(100).expect("not zero");
/// What a laptop and most rate limits bear.
const TOOL_CONCURRENCY: NonZeroU32 = NonZeroU32::new(8).expect("not zero");
/// An agent, its helpers, and theirs: deeper trees are loops.
const DEPTH_MAX: u32 = 3;
