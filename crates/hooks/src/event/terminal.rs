//! `onComplete` and `onError`.

use jackline_model::{FaultAttribution, NanoDollars, Reason, Status};
use serde::Serialize;
use serde_json::Value;

use super::{Attachment, RunContext};

/// The operation entered a terminal state and its row is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnCompleteEvent {
    /// How it ended.
    #[serde(flatten)]
    pub end: RunEnd,
}

/// The operation failed. Fires after `onComplete`, with the same facts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnErrorEvent {
    /// How it ended.
    #[serde(flatten)]
    pub end: RunEnd,
}

/// How a run ended. Both terminal events carry it, field for field.
///
/// There is no `finalState` yet.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    /// The run.
    #[serde(flatten)]
    pub run: RunContext,
    /// Why it ended.
    pub reason: Reason,
    /// Where it stands.
    pub status: Status,
    /// How many steps ran.
    pub steps: u32,
    /// What it cost in dollars, when known.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "super::dollars_option")]
    pub cost: Option<NanoDollars>,
    /// Milliseconds since its creation, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// Model calls, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_calls: Option<u64>,
    /// Tool calls, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Tokens, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// The text of the final turn, never of an older one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_assistant_content: Option<String>,
    /// The media of the final turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// A sentence about the error. Always present; empty when there is none.
    pub error_message: String,
    /// More about the error, in any form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_detail: Option<Value>,
    /// A stable code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// Whose doing the error is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_attribution: Option<FaultAttribution>,
    /// Which allowance ran out, when that was the cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_budget: Option<Value>,
    /// The context of an agent that is hosted elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_heterogeneous: Option<Value>,
}

impl RunEnd {
    /// An end with nothing but its reason; the status is the reason's.
    pub fn new(run: RunContext, reason: Reason, steps: u32) -> Self {
        Self {
            run,
            reason,
            status: reason.status(),
            steps,
            cost: None,
            duration: None,
            llm_calls: None,
            tool_calls: None,
            total_tokens: None,
            last_assistant_content: None,
            attachments: Vec::new(),
            error_message: String::new(),
            error_detail: None,
            error_type: None,
            error_attribution: None,
            error_budget: None,
            error_heterogeneous: None,
        }
    }
}
