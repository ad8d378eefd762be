//! An agent made ready to run: its tools, its model, its rules.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jackline_model::{SideEffect, ToolKey, ToolSource};
use jackline_tools::{BoxFuture, Registry, RegistryError, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value, json};

use super::agent::Agent;
use crate::llm::{Model, OfferedTool, ToolMenu};
use crate::permission::{ApprovalConfig, ApprovalConfigError, Blacklist};
use crate::planner::Planner;
use crate::tokens::TokenCounter;

/// An agent made ready to run.
pub(crate) struct Setup {
    pub(crate) agent: Arc<Agent>,
    pub(crate) registry: Registry,
    pub(crate) menu: Arc<ToolMenu>,
    pub(crate) no_tools: Arc<ToolMenu>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) planner: Arc<dyn Planner>,
    pub(crate) approvals: BTreeMap<ToolKey, ApprovalConfig>,
    pub(crate) blacklist: Arc<Blacklist>,
    pub(crate) counter: Arc<dyn TokenCounter>,
}

/// An agent that cannot be made ready.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SetupError {
    /// Two tools have one name, or a schema is no schema.
    #[error(transparent)]
    Tools(#[from] RegistryError),
    /// A tool's approval rule cannot be read.
    #[error("the approval rule of `{tool}` is wrong: {problem}")]
    Approval {
        /// The tool.
        tool: ToolKey,
        /// What is wrong.
        problem: ApprovalConfigError,
    },
}

pub(crate) struct Parts<'a> {
    pub(crate) tools: &'a [Arc<dyn Tool>],
    pub(crate) model: Arc<dyn Model>,
    pub(crate) planner: Arc<dyn Planner>,
    pub(crate) blacklist: Arc<Blacklist>,
    pub(crate) counter: Arc<dyn TokenCounter>,
}

impl Setup {
    pub(crate) fn new(agent: Arc<Agent>, parts: Parts<'_>) -> Result<Self, SetupError> {
        let mut builder = Registry::builder().tools(parts.tools.iter().cloned());
        if !agent.agents.is_empty() {
            builder = builder.tool(Arc::new(CallAgentTool::new(&agent)));
        }
        let registry = builder.build()?;
        let mut approvals = BTreeMap::new();
        let mut offered = Vec::new();
        for (key, entry) in registry.iter().filter(|(key, _)| agent.allows(key)) {
            if let Some(rule) = &entry.spec().approval {
                let config = ApprovalConfig::from_value(rule)
                    .map_err(|problem| SetupError::Approval { tool: key.clone(), problem })?;
                approvals.insert(key.clone(), config);
            }
            offered.push(OfferedTool {
                wire_name: registry.wire_name(key).unwrap_or_default().into(),
                description: entry.spec().description.clone(),
                parameters: Arc::new(entry.wire_schema()),
            });
        }
        Ok(Self {
            agent,
            registry,
            menu: Arc::new(ToolMenu::new(offered)),
            no_tools: Arc::new(ToolMenu::default()),
            model: parts.model,
            planner: parts.planner,
            approvals,
            blacklist: parts.blacklist,
            counter: parts.counter,
        })
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("agent", &self.agent.name).field("tools", &self.registry).finish_non_exhaustive()
    }
}

/// The name of the tool that calls a sub-agent.
pub(crate) fn call_agent_key() -> ToolKey {
    ToolKey::new("agent", "callAgent")
}

/// The declaration of `agent/callAgent`. The runtime starts a child instead of running it.
struct CallAgentTool {
    spec: ToolSpec,
}

impl CallAgentTool {
    fn new(agent: &Agent) -> Self {
        let names: Vec<&str> = agent.agents.iter().map(|agent| agent.name.as_str()).collect();
        let described: Vec<String> = agent.agents.iter().map(described).collect();
        let mut spec = ToolSpec::new(
            call_agent_key(),
            format!("Hands a task to another agent and waits for its answer. Agents: {}.", described.join("; ")),
        );
        spec.parameters = Arc::new(json!({
            "type": "object",
            "properties": {
                "agentId": {"type": "string", "enum": names, "description": "Which agent."},
                "instruction": {"type": "string", "description": "The whole task: the agent sees nothing else."},
            },
            "required": ["agentId", "instruction"],
            "additionalProperties": false,
        }));
        spec.source = ToolSource::Agent;
        spec.side_effect = SideEffect::Idempotent;
        Self { spec }
    }
}

fn described(agent: &Agent) -> String {
    match agent.description.trim_end_matches('.') {
        "" => agent.name.clone(),
        description => format!("{} ({description})", agent.name),
    }
}

impl Tool for CallAgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        _arguments: Map<String, Value>,
        _context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::new("a sub-agent is started by the runtime, not run as a tool"))))
    }
}
