//! The three events of compaction.

use jackline_model::{AgentId, Lineage, OperationId, ThreadId, UserId};
use serde::Serialize;

/// The run whose history is folded. Its fields appear beside those of the event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactContext {
    /// The operation.
    pub operation_id: OperationId,
    /// The step that folds.
    pub step_index: u32,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Whose child the run is, as stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lineage: Option<Lineage>,
    /// The operation that called this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_operation_id: Option<OperationId>,
    /// The isolated conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// The account that the run executes as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// The workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
}

impl CompactContext {
    /// A context of what every fold has.
    pub fn new(operation_id: impl Into<OperationId>, step_index: u32) -> Self {
        Self {
            operation_id: operation_id.into(),
            step_index,
            agent_id: None,
            lineage: None,
            parent_operation_id: None,
            thread_id: None,
            topic_id: None,
            user_id: None,
            workspace_id: None,
        }
    }
}

/// The history is about to be folded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeCompactEvent {
    /// The run.
    #[serde(flatten)]
    pub context: CompactContext,
    /// How many messages will be folded; a latest user message that stays is not counted.
    pub message_count: u64,
    /// The count of tokens that made it necessary.
    pub token_count: u64,
}

/// The history was folded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AfterCompactEvent {
    /// The run.
    #[serde(flatten)]
    pub context: CompactContext,
    /// The group of folded messages. Not the chat group.
    pub group_id: String,
    /// How many messages were folded.
    pub messages_before: u64,
    /// How many messages the run has now.
    pub messages_after: u64,
    /// The start of the summary: see `summary_excerpt`.
    pub summary: String,
}

/// Folding failed and was rolled back; the run goes on with its whole history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OnCompactErrorEvent {
    /// The run.
    #[serde(flatten)]
    pub context: CompactContext,
    /// The count of tokens that made it necessary.
    pub token_count: u64,
    /// What went wrong.
    pub error: String,
}
