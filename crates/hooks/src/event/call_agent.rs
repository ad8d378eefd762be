//! The three events of calling a sub-agent. They carry the id of the parent operation.

use jackline_model::{AgentId, OperationId, ThreadId, UserId};
use serde::Serialize;

/// A sub-agent is about to be started.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeCallAgentEvent {
    /// The parent.
    pub operation_id: OperationId,
    /// The agent that is called.
    pub agent_id: AgentId,
    /// The start of its task: see `instruction_excerpt`.
    pub instruction: String,
    /// The account that the run executes as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}

/// A sub-agent was started. Its end is its own `onComplete`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AfterCallAgentEvent {
    /// The parent.
    pub operation_id: OperationId,
    /// The agent that was called.
    pub agent_id: AgentId,
    /// The child.
    pub sub_operation_id: OperationId,
    /// Whether the start succeeded.
    pub success: bool,
    /// The child's conversation, where it is isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The account that the run executes as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}

/// A sub-agent could not be started.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OnCallAgentErrorEvent {
    /// The parent.
    pub operation_id: OperationId,
    /// The agent that was called.
    pub agent_id: AgentId,
    /// Why it could not.
    pub error: String,
    /// The account that the run executes as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
}
