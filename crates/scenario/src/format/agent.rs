//! The agent of a scenario.

use std::collections::BTreeSet;

use jackline_model::NanoDollars;
use jackline_runtime::compress::ThresholdSettings;
use jackline_runtime::drive::Agent;
use jackline_runtime::permission::ApprovalMode;
use schemars::JsonSchema;
use serde::Deserialize;

use super::text::Text;

/// An agent: what is left out has the runtime's default, except that tools run unasked.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentScript {
    /// Its name.
    #[serde(default = "default_name")]
    pub name: String,
    /// The system prompt; none by default.
    #[serde(default)]
    pub instructions: Text,
    /// Tools that it may use, such as `fs/*`. Left out: all.
    pub tools: Option<Vec<String>>,
    /// Who approves: manual, allow-list, auto-run (the default) or headless.
    #[serde(default = "default_mode")]
    #[schemars(with = "ModeName")]
    pub approval: ApprovalMode,
    /// Tools that need no approval in the mode `allow-list`.
    #[serde(default)]
    pub allow_list: BTreeSet<String>,
    /// How long a request for approval stands.
    pub approval_expires_ms: Option<u64>,
    /// Steps, after which the model must answer without tools.
    pub steps_max: Option<u32>,
    /// Money, in dollars.
    pub cost_max: Option<f64>,
    /// Tokens.
    pub tokens_max: Option<u64>,
    /// Calls that run at once.
    pub concurrency: Option<u16>,
    /// How long a parked run waits for results.
    pub async_wait_ms: Option<u64>,
    /// How deep sub-agents may nest.
    pub depth_max: Option<u32>,
    /// Agents that it may call.
    #[serde(default)]
    pub agents: Vec<AgentScript>,
    /// When to compress.
    #[serde(default)]
    pub compression: CompressionScript,
}

/// When the history is folded. Tokens are counted as bytes in scenarios.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompressionScript {
    /// Whether at all.
    pub enabled: Option<bool>,
    /// The model's window in tokens.
    pub window: Option<u64>,
    /// The threshold as a part of the window.
    pub threshold_ratio: Option<f64>,
    /// The same once there is a summary.
    pub recompression_ratio: Option<f64>,
    /// What a count is multiplied with; 1 by default here.
    pub drift: Option<f64>,
}

impl AgentScript {
    /// The agent as the runtime takes it.
    pub fn agent(&self) -> Agent {
        let mut agent = Agent::new(self.name.as_str(), self.instructions.0.as_str()).with_approval(self.approval);
        agent.tools.clone_from(&self.tools);
        agent.allow_list.clone_from(&self.allow_list);
        agent.approval_expires_ms = self.approval_expires_ms;
        agent.steps_max = self.steps_max;
        agent.cost_max = self.cost_max.map(NanoDollars::from_dollars);
        agent.tokens_max = self.tokens_max;
        agent.concurrency = self.concurrency.unwrap_or(agent.concurrency);
        agent.async_wait_ms = self.async_wait_ms;
        agent.depth_max = self.depth_max.unwrap_or(agent.depth_max);
        agent.agents = self.agents.iter().map(Self::agent).collect();
        agent.compression = self.compression.settings();
        agent
    }
}

impl CompressionScript {
    fn settings(&self) -> ThresholdSettings {
        let usual = ThresholdSettings::default();
        ThresholdSettings {
            enabled: self.enabled.unwrap_or(usual.enabled),
            window: self.window,
            threshold_ratio: self.threshold_ratio,
            recompression_ratio: self.recompression_ratio,
            drift: self.drift.unwrap_or(1.0),
            ..usual
        }
    }
}

impl Default for AgentScript {
    fn default() -> Self {
        Self {
            name: default_name(),
            instructions: Text::default(),
            tools: None,
            approval: default_mode(),
            allow_list: BTreeSet::new(),
            approval_expires_ms: None,
            steps_max: None,
            cost_max: None,
            tokens_max: None,
            concurrency: None,
            async_wait_ms: None,
            depth_max: None,
            agents: Vec::new(),
            compression: CompressionScript::default(),
        }
    }
}

/// The words of the approval modes, for the schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "stands for the runtime's type in the schema")]
enum ModeName {
    Manual,
    AllowList,
    AutoRun,
    Headless,
}

fn default_name() -> String {
    "tester".to_owned()
}

fn default_mode() -> ApprovalMode {
    ApprovalMode::AutoRun
}
