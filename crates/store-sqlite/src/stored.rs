//! The JSON that stands in columns: requests for decisions and inbox items.
//!
//! These are types of their own, so that the words of the runtime can change their names without
//! changing what sleeps in a file. An old program reads data of a newer one never: the version in
//! the file stops it. A new program reads old data: fields are only added, with defaults.

use std::sync::Arc;

use jackline_model::{OperationId, ToolCallId, ToolKey};
use jackline_runtime::journal::{ApprovalQuestion, InboxItem, PendingCall, PostedDecision, PostedVerdict, StoreError};
use serde::{Deserialize, Serialize};

use crate::error::damaged;

/// A question, as stored.
#[derive(Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "camelCase")]
enum StoredQuestion {
    Calls { calls: Vec<StoredCall> },
    Prompt { prompt: String },
    Select { prompt: String, options: Vec<String> },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredCall {
    ordinal: u16,
    call: ToolCallId,
    tool: Arc<str>,
    api: Arc<str>,
    arguments: Arc<str>,
    #[serde(default)]
    decided: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredDecision {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<ToolCallId>,
    #[serde(flatten)]
    verdict: StoredVerdict,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "camelCase")]
enum StoredVerdict {
    Approve,
    Reject { reason: Option<String> },
    RejectAndContinue { reason: Option<String> },
    Answer { text: String },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredChildEnd {
    child: OperationId,
    call: u16,
}

/// An inbox item, as its row holds it.
pub(crate) struct StoredItem {
    /// The kind, one of the constants here.
    pub(crate) kind: &'static str,
    /// The call that an answer is for.
    pub(crate) call: Option<ToolCallId>,
    /// The rest.
    pub(crate) body: String,
}

/// The kind of an answer to a parked call, whose body is private.
pub(crate) const ANSWER: &str = "answer";
const DECIDED: &str = "decided";
const CHILD_ENDED: &str = "child_ended";
const STOP: &str = "stop";

/// Serializes what cannot fail: no maps with odd keys, no foreign implementations.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("our own types have string keys only")
}

/// Reads JSON of a column.
pub(crate) fn from_json<'a, T: Deserialize<'a>>(what: &str, text: &'a str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged(what, error))
}

pub(crate) fn encode_question(question: &ApprovalQuestion) -> String {
    to_json(&match question {
        ApprovalQuestion::Calls(calls) => StoredQuestion::Calls { calls: calls.iter().map(stored_call).collect() },
        ApprovalQuestion::Prompt(prompt) => StoredQuestion::Prompt { prompt: prompt.clone() },
        ApprovalQuestion::Select { prompt, options } => {
            StoredQuestion::Select { prompt: prompt.clone(), options: options.clone() }
        }
    })
}

pub(crate) fn decode_question(text: &str) -> Result<ApprovalQuestion, StoreError> {
    Ok(match from_json("a request for a decision", text)? {
        StoredQuestion::Calls { calls } => ApprovalQuestion::Calls(calls.into_iter().map(pending_call).collect()),
        StoredQuestion::Prompt { prompt } => ApprovalQuestion::Prompt(prompt),
        StoredQuestion::Select { prompt, options } => ApprovalQuestion::Select { prompt, options },
    })
}

pub(crate) fn encode_item(item: InboxItem) -> StoredItem {
    match item {
        InboxItem::Decided(decisions) => {
            let stored: Vec<_> = decisions.into_iter().map(stored_decision).collect();
            StoredItem { kind: DECIDED, call: None, body: to_json(&stored) }
        }
        InboxItem::Answer { call, result } => StoredItem { kind: ANSWER, call: Some(call), body: result },
        InboxItem::ChildEnded { child, call } => {
            StoredItem { kind: CHILD_ENDED, call: None, body: to_json(&StoredChildEnd { child, call }) }
        }
        InboxItem::Stop(request) => {
            let body = request.map(|request| request.to_string()).unwrap_or_default();
            StoredItem { kind: STOP, call: None, body }
        }
    }
}

pub(crate) fn decode_item(kind: &str, call: Option<String>, body: String) -> Result<InboxItem, StoreError> {
    match kind {
        ANSWER => match call {
            Some(call) => Ok(InboxItem::Answer { call: call.into(), result: body }),
            None => Err(damaged("an inbox item", "an answer without a call")),
        },
        DECIDED => {
            let stored: Vec<StoredDecision> = from_json("a decision in an inbox", &body)?;
            Ok(InboxItem::Decided(stored.into_iter().map(posted_decision).collect()))
        }
        CHILD_ENDED => {
            let end: StoredChildEnd = from_json("an end in an inbox", &body)?;
            Ok(InboxItem::ChildEnded { child: end.child, call: end.call })
        }
        STOP => Ok(InboxItem::Stop((!body.is_empty()).then(|| body.into()))),
        other => Err(damaged("an inbox item", format_args!("the kind `{other}` is unknown"))),
    }
}

fn stored_call(call: &PendingCall) -> StoredCall {
    StoredCall {
        ordinal: call.ordinal,
        call: call.call.clone(),
        tool: call.key.identifier.clone(),
        api: call.key.api_name.clone(),
        arguments: call.arguments.clone(),
        decided: call.decided,
    }
}

fn pending_call(stored: StoredCall) -> PendingCall {
    PendingCall {
        ordinal: stored.ordinal,
        call: stored.call,
        key: ToolKey::new(stored.tool, stored.api),
        arguments: stored.arguments,
        decided: stored.decided,
    }
}

fn stored_decision(decision: PostedDecision) -> StoredDecision {
    let verdict = match decision.verdict {
        PostedVerdict::Approve => StoredVerdict::Approve,
        PostedVerdict::Reject { reason } => StoredVerdict::Reject { reason },
        PostedVerdict::RejectAndContinue { reason } => StoredVerdict::RejectAndContinue { reason },
        PostedVerdict::Answer { text } => StoredVerdict::Answer { text },
    };
    StoredDecision { call: decision.call, verdict }
}

fn posted_decision(stored: StoredDecision) -> PostedDecision {
    let verdict = match stored.verdict {
        StoredVerdict::Approve => PostedVerdict::Approve,
        StoredVerdict::Reject { reason } => PostedVerdict::Reject { reason },
        StoredVerdict::RejectAndContinue { reason } => PostedVerdict::RejectAndContinue { reason },
        StoredVerdict::Answer { text } => PostedVerdict::Answer { text },
    };
    PostedDecision { call: stored.call, verdict }
}
