//! The three events of human intervention.

use jackline_model::{AgentId, MessageId, OperationId, ThreadId, ToolCallId, ToolKey, UserId};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The run that a person is asked about. Its fields appear beside those of the event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HumanContext {
    /// The operation.
    pub operation_id: OperationId,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The message that asked for the calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assistant_message_id: Option<MessageId>,
    /// The document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    /// The chat group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// The operation that called this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_operation_id: Option<OperationId>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The user message that started the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_message_id: Option<MessageId>,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
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

impl HumanContext {
    /// A context of the one id that every run has.
    pub fn new(operation_id: impl Into<OperationId>) -> Self {
        Self {
            operation_id: operation_id.into(),
            agent_id: None,
            assistant_message_id: None,
            document_id: None,
            group_id: None,
            parent_operation_id: None,
            session_id: None,
            source_message_id: None,
            task_id: None,
            thread_id: None,
            topic_id: None,
            user_id: None,
            workspace_id: None,
        }
    }
}

/// The run is about to park for a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeHumanInterventionEvent {
    /// The run.
    #[serde(flatten)]
    pub context: HumanContext,
    /// The step that parks.
    pub step_index: u32,
    /// The calls that wait for a decision.
    pub pending_tools: Vec<PendingTool>,
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingTool {
    /// Which tool.
    #[serde(flatten)]
    pub key: ToolKey,
    /// The call's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The arguments exactly as the person reads them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The arguments parsed, only where they are a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
}

/// A person decided and the run goes on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AfterHumanInterventionEvent {
    /// The run.
    #[serde(flatten)]
    pub context: HumanContext,
    /// What the person decided.
    pub action: HumanAction,
    /// About which calls.
    #[serde(flatten)]
    pub calls: DecidedCalls,
    /// Why a call was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejection_reason: Option<String>,
}

/// A person's decision ended the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OnStopByHumanInterventionEvent {
    /// The run.
    #[serde(flatten)]
    pub context: HumanContext,
    /// About which calls.
    #[serde(flatten)]
    pub calls: DecidedCalls,
    /// Why a call was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rejection_reason: Option<String>,
    /// Why the run stopped; an explicit stop says `user_stop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a person decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum HumanAction {
    /// Run the calls.
    Approve,
    /// Do not run them.
    Reject,
    /// Do not run them, and let the model go on.
    RejectAndContinue,
}

/// The calls of one decision; never siblings that still wait.
///
/// In JSON: `toolCallIds`, and `toolCallId` as well when there is exactly one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecidedCalls(pub Vec<ToolCallId>);

impl Serialize for DecidedCalls {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("DecidedCalls", 2)?;
        if let [only] = self.0.as_slice() {
            fields.serialize_field("toolCallId", only)?;
        }
        if !self.0.is_empty() {
            fields.serialize_field("toolCallIds", &self.0)?;
        }
        fields.end()
    }
}
