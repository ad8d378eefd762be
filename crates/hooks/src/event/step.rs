//! `beforeStep` and `afterStep`.

use jackline_model::{NanoDollars, Status, ToolKey};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::RunContext;

/// A step is about to run.
///
/// There is no `finalState`: no view of the run's whole state is handed to hooks yet.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BeforeStepEvent {
    /// The run.
    #[serde(flatten)]
    pub run: RunContext,
    /// The step that is about to run.
    pub step_index: u32,
    /// How many steps are complete.
    pub steps: u32,
}

/// A step ran and its result is saved.
///
/// Carries the `stepIndex` of the `beforeStep` that opened it. The `last*` values describe earlier
/// steps, never this one. There is no `finalState` yet.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AfterStepEvent {
    /// The run.
    #[serde(flatten)]
    pub run: RunContext,
    /// The step that ran.
    pub step_index: u32,
    /// How many steps are complete, this one included.
    pub steps: u32,
    /// What kind of step it was: `stepType`, and `thinking` which says the same.
    #[serde(flatten)]
    pub step_type: StepType,
    /// The label of the step, where the run carries labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_label: Option<String>,
    /// What the model said; absent when empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// What the model thought; absent when empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The calls that the model asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools_calling: Vec<ToolCalling>,
    /// The results of the calls, on tool steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools_result: Vec<ToolOutcome>,
    /// Whether another step follows.
    pub should_continue: bool,
    /// Where the run stands after the step.
    pub status: Status,
    /// How long this step took.
    pub execution_time_ms: u64,
    /// How long the operation has existed, when that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
    /// What this step cost in dollars, when it reported usage.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "super::dollars_option")]
    pub step_cost: Option<NanoDollars>,
    /// What the run cost so far, in dollars.
    #[serde(serialize_with = "super::dollars")]
    pub total_cost: NanoDollars,
    /// Tokens of the run so far.
    pub total_tokens: u64,
    /// Tokens of all requests so far.
    pub total_input_tokens: u64,
    /// Tokens of all answers so far.
    pub total_output_tokens: u64,
    /// Steps so far.
    pub total_steps: u32,
    /// Calls counted as executed, mocked or denied so far.
    pub tool_calls: u64,
    /// Calls that the model asked for so far, those of this step included.
    pub total_tool_calls: u64,
    /// The start of what the model said in the last earlier step: see `last_content_excerpt`.
    #[serde(rename = "lastLLMContent", skip_serializing_if = "Option::is_none")]
    pub last_llm_content: Option<String>,
    /// The calls of the last earlier step that had any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub last_tools_calling: Vec<ToolCalling>,
}

/// What kind of step ran. Steps that fold, park or finish count as model steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepType {
    /// The model was asked.
    CallLlm,
    /// One or more tools gave results.
    CallTool,
}

impl StepType {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallLlm => "call_llm",
            Self::CallTool => "call_tool",
        }
    }
}

impl Serialize for StepType {
    /// Writes two fields, of which the second can never contradict the first.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("StepType", 2)?;
        fields.serialize_field("stepType", self.as_str())?;
        fields.serialize_field("thinking", &(*self == Self::CallLlm))?;
        fields.end()
    }
}

/// A call as the model asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCalling {
    /// Which tool.
    #[serde(flatten)]
    pub key: ToolKey,
    /// The arguments exactly as the model wrote them.
    pub arguments: String,
}

/// How a call went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutcome {
    /// Which tool.
    #[serde(flatten)]
    pub key: ToolKey,
    /// False only if the tool said so.
    pub is_success: bool,
    /// The published result as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How long the tool ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_time_ms: Option<u64>,
    /// How long the device says it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_execution_time_ms: Option<u64>,
}
