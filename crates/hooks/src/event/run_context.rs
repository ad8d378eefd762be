//! What the step and terminal events say about their run.

use jackline_model::{AgentId, Lineage, OperationId, ThreadId, UserId};
use serde::Serialize;

/// The run behind a step or terminal event. Its fields appear beside those of the event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunContext {
    /// The operation.
    pub operation_id: OperationId,
    /// The agent; an empty id where the run has none.
    pub agent_id: AgentId,
    /// The account that the run executes as.
    pub user_id: UserId,
    /// The conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// The chat group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// The isolated conversation, as a sub-agent has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// The operation that called this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_operation_id: Option<OperationId>,
    /// Whose child the run is, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lineage: Option<Lineage>,
}

impl RunContext {
    /// A context of the three ids that every run has.
    pub fn new(operation_id: impl Into<OperationId>, agent_id: impl Into<AgentId>, user_id: impl Into<UserId>) -> Self {
        Self {
            operation_id: operation_id.into(),
            agent_id: agent_id.into(),
            user_id: user_id.into(),
            topic_id: None,
            group_id: None,
            thread_id: None,
            workspace_id: None,
            parent_operation_id: None,
            lineage: None,
        }
    }
}
