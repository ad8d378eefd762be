//! The three tool events, and what an after-control is asked.

use std::fmt;

use jackline_model::{
    AgentId, ExecutorRoute, MessageId, OperationId, ThreadId, ToolCallId, ToolKey, ToolRunResult, ToolSource, UserId,
};
use serde::Serialize;
use serde_json::{Map, Value};

/// The call behind a tool event. Its fields appear beside those of the event.
///
/// One value serves all three events and both kinds of control, so that they agree field for field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallContext {
    /// The running operation.
    pub operation_id: OperationId,
    /// The step that runs the call.
    pub step_index: u32,
    /// The id that the model's provider gave the call.
    pub tool_call_id: ToolCallId,
    /// The message that asked for the call.
    pub assistant_message_id: MessageId,
    /// Which tool: `identifier` and `apiName`.
    #[serde(flatten)]
    pub key: ToolKey,
    /// The arguments, parsed: see [`effective_args`].
    pub args: Map<String, Value>,
    /// The how-manieth call of this tool, from 1.
    pub call_index: u64,
    /// Which side runs it.
    pub executor: ExecutorRoute,
    /// The account that the run executes as; never a value from the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic_id: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The isolated conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// The chat group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// The document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub document_id: Option<String>,
    /// The user message that started the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_message_id: Option<MessageId>,
    /// The row of the result, where one exists already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_message_id: Option<MessageId>,
    /// The operation that called this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_operation_id: Option<OperationId>,
    /// Where the tool comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_source: Option<ToolSource>,
    /// Where the run executes: `local`, `sandbox`, or a name that is yet to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_target: Option<String>,
    /// The selected device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_device_id: Option<String>,
}

/// A tool is about to run. Observers and controls get this; it cannot mock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BeforeToolCallEvent {
    /// The call.
    #[serde(flatten)]
    pub context: ToolCallContext,
}

/// A call ended and its result is published.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AfterToolCallEvent {
    /// The call.
    #[serde(flatten)]
    pub context: ToolCallContext,
    /// Whether a hook supplied the result.
    pub mocked: bool,
    /// The published result.
    pub result: ToolRunResult,
}

/// A tool broke.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnToolCallErrorEvent {
    /// The call.
    #[serde(flatten)]
    pub context: ToolCallContext,
    /// What the tool said, as the after-controls let it through.
    pub error: String,
}

/// A result that waits for a decision: what an after-control is asked.
///
/// It holds the whole result, before truncation, archive and redaction. Like raw output it can
/// neither be copied nor serialized, and its `Debug` prints the length only.
///
/// ```compile_fail
/// fn leak(event: &jackline_hooks::AfterToolCallControl) -> String {
///     serde_json::to_string(event).unwrap()
/// }
/// ```
#[derive(PartialEq)]
pub struct AfterToolCallControl {
    /// The call.
    pub context: ToolCallContext,
    /// Whether a hook supplied the result.
    pub mocked: bool,
    /// The result, as the tool or the mock gave it.
    pub result: ToolRunResult,
}

impl fmt::Debug for AfterToolCallControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AfterToolCallControl")
            .field("context", &self.context)
            .field("mocked", &self.mocked)
            .field("result", &format_args!("{} bytes", self.result.content.len()))
            .finish()
    }
}

/// The arguments of a call as events show them: `{}` for anything that is not a JSON object.
///
/// The tool still gets the text as the model wrote it.
///
/// ```
/// use jackline_hooks::effective_args;
/// assert_eq!(effective_args(r#"{"path":"a"}"#)["path"], "a");
/// assert!(effective_args("[1]").is_empty());
/// assert!(effective_args(r#"{"path":"#).is_empty());
/// ```
pub fn effective_args(arguments: &str) -> Map<String, Value> {
    serde_json::from_str(arguments).unwrap_or_default()
}

/// A copy of a result for notifications: what a skill registered loses its arguments and its data.
///
/// Controls get the full result; other registrations stay as they are.
pub fn redacted_for_notification(result: &ToolRunResult) -> ToolRunResult {
    let mut copy = result.clone();
    let Some(Value::Object(work)) = &mut copy.work_registration else {
        return copy;
    };
    if work.get("type").and_then(Value::as_str) == Some("skill") {
        work.remove("args");
        work.insert("data".to_owned(), Value::Null);
    }
    copy
}
