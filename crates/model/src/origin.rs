//! Where a run comes from.

use serde::{Deserialize, Serialize};

use crate::{AgentId, MessageId, OperationId, ThreadId, UserId};

/// The facts about a run's origin, frozen when it is created and stored with it.
///
/// All are optional. Hooks see those that are set, under the same names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the field names are the documentation: each is the id of what it names")]
pub struct Origin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_message_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}

/// Whose child a run is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lineage {
    /// The operation that called this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_operation_id: Option<OperationId>,
    /// Whether this run is a sub-agent's.
    #[serde(default)]
    pub is_sub_agent: bool,
    /// How many ancestors there are; 0 for the run that a person started.
    #[serde(default)]
    pub depth: u32,
}
