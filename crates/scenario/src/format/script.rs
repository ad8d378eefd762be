//! The whole of a file.

use std::collections::BTreeMap;

use jackline_model::{Origin, UserId};
use schemars::JsonSchema;
use serde::Deserialize;

use super::agent::AgentScript;
use super::expect::Expect;
use super::hook::HookScript;
use super::human::HumanStep;
use super::people::{FaultScript, Interrupt};
use super::plan::PlanScript;
use super::text::Text;
use super::tool::ToolScript;
use super::turn::Turn;

/// A scenario: what a person asks, what everybody answers, and what must come of it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What it shows, in one sentence.
    pub about: String,
    /// The promised behaviours that it proves, by id.
    #[serde(default)]
    pub proves: Vec<String>,
    /// The agent.
    #[serde(default)]
    pub agent: AgentScript,
    /// What the person asks.
    pub input: Text,
    /// Where the question comes from.
    #[serde(default)]
    pub origin: OriginScript,
    /// What the agent's model says, in order.
    #[serde(default)]
    pub turns: Vec<Turn>,
    /// What the models of sub-agents say, by agent.
    #[serde(default)]
    pub turns_of: BTreeMap<String, Vec<Turn>>,
    /// Scripted tools, by `identifier/apiName`.
    #[serde(default)]
    pub tools: BTreeMap<String, ToolScript>,
    /// Tools that really work, on a fresh directory.
    #[serde(default)]
    pub real_tools: Vec<RealTool>,
    /// The files of that directory.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Scripted hooks, in the order in which they are asked.
    #[serde(default)]
    pub hooks: Vec<HookScript>,
    /// What people do, in order.
    #[serde(default)]
    pub human: Vec<HumanStep>,
    /// Plans in place of the planner's own.
    #[serde(default)]
    pub plans: Vec<PlanScript>,
    /// When the run is stopped.
    #[serde(default)]
    pub interrupts: Vec<Interrupt>,
    /// What goes wrong around the runtime.
    #[serde(default)]
    pub faults: Vec<FaultScript>,
    /// What must have happened.
    pub expect: Expect,
}

/// Tools that really work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RealTool {
    /// The file tools.
    Fs,
}

/// Where a question comes from; hooks see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "each is the id of what it names")]
pub struct OriginScript {
    pub user: Option<String>,
    pub topic: Option<String>,
    pub session: Option<String>,
    pub thread: Option<String>,
    pub group: Option<String>,
    pub task: Option<String>,
    pub workspace: Option<String>,
    pub document: Option<String>,
    pub source_message: Option<String>,
    /// The account that the run executes as, whatever the origin says.
    pub run_as: Option<String>,
}

impl OriginScript {
    /// The origin as the runtime takes it, and the account.
    pub fn origin(&self) -> (Origin, Option<UserId>) {
        let origin = Origin {
            agent_id: None,
            topic_id: self.topic.clone(),
            session_id: self.session.clone(),
            thread_id: self.thread.clone().map(Into::into),
            group_id: self.group.clone(),
            task_id: self.task.clone(),
            workspace_id: self.workspace.clone(),
            document_id: self.document.clone(),
            source_message_id: self.source_message.clone().map(Into::into),
            user_id: self.user.clone().map(Into::into),
        };
        (origin, self.run_as.clone().map(Into::into))
    }
}
