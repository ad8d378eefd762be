//! What may be posted to an operation: the checks that every store makes, and their words.
//!
//! Pure. A store calls these inside the transaction that writes the item, with what it has stored.

use jackline_model::{Message, MessageBody, MessageId, Status, ToolCallId, ToolKey, ToolRunResult};
use jackline_tools::Publishable;
use serde_json::Value;

use super::port::{Approval, ApprovalQuestion, PendingCall, PostedDecision, PostedVerdict, StoreError};

/// Checks that an operation can still be told something.
///
/// # Errors
///
/// [`StoreError::Refused`] when it has ended. Resume it first, or start another.
pub fn check_open(status: Status) -> Result<(), StoreError> {
    if status.is_terminal() { refuse(format!("the operation has ended ({status})")) } else { Ok(()) }
}

/// Checks decisions against the open request and marks the calls as decided. All are checked before
/// any is marked.
///
/// `answered`: the question that the request asks has its answer already.
///
/// # Errors
///
/// [`StoreError::Refused`]: no request is open, it has expired, or a decision does not fit it. Look
/// at the request again.
pub fn check_decisions(
    open: Option<&mut Approval>,
    answered: bool,
    decisions: &[PostedDecision],
    now: u64,
) -> Result<(), StoreError> {
    let Some(approval) = open else { return refuse("the operation does not wait for a decision") };
    if decisions.is_empty() {
        return refuse("nothing was decided");
    }
    if approval.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return refuse("the request for a decision has expired");
    }
    match &mut approval.question {
        ApprovalQuestion::Calls(pending) => {
            // Worked out on a copy, so that a refused post marks nothing.
            let mut marked = pending.clone();
            decisions.iter().try_for_each(|decision| check_about_call(&mut marked, decision))?;
            *pending = marked;
            Ok(())
        }
        ApprovalQuestion::Prompt(_) => check_about_question(answered, decisions, None),
        ApprovalQuestion::Select { options, .. } => check_about_question(answered, decisions, Some(options)),
    }
}

/// What a store knows about a call for which somebody hands in a result.
///
/// Providers repeat the ids of calls from turn to turn, so only the open turn counts: the last
/// message of the model and what stands after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four questions that are answered one by one")]
pub struct CallOnRecord {
    /// The model asks for it in the open turn.
    pub exists: bool,
    /// Its result row is written.
    pub settled: bool,
    /// A result was handed in and waits in the inbox.
    pub answered: bool,
    /// A person has not decided about it yet.
    pub awaits_decision: bool,
}

impl CallOnRecord {
    /// Reads it from the messages of the operation, newest first, folded ones included; those
    /// before the last message of the model are not looked at.
    pub fn read<'a>(
        call: &ToolCallId,
        newest_first: impl IntoIterator<Item = &'a Message>,
        is_in_inbox: bool,
        open: Option<&Approval>,
    ) -> Self {
        let mut on_record =
            Self { answered: is_in_inbox, awaits_decision: awaits_decision(open, call), ..Self::default() };
        for message in newest_first {
            match &message.body {
                MessageBody::Tool { call_id, .. } => on_record.settled |= call_id == call,
                MessageBody::Assistant { tool_calls, .. } => {
                    on_record.exists = tool_calls.iter().any(|asked| asked.id == *call);
                    return on_record;
                }
                MessageBody::System { .. } | MessageBody::User { .. } => {}
            }
        }
        on_record
    }
}

/// Checks a result that is handed in for a call.
///
/// # Errors
///
/// [`StoreError::Refused`]: the call takes no result now, or the text is none.
pub fn check_answer(call: &ToolCallId, on_record: CallOnRecord, result: &str) -> Result<(), StoreError> {
    if !on_record.exists {
        return refuse(format!("there is no open call `{call}`"));
    }
    if on_record.settled {
        return refuse(format!("call `{call}` has its result already"));
    }
    if on_record.answered {
        return refuse(format!("call `{call}` is already answered"));
    }
    if on_record.awaits_decision {
        return refuse(format!("call `{call}` waits for a decision, not for a result"));
    }
    match serde_json::from_str::<ToolRunResult>(result) {
        Ok(_) => Ok(()),
        // The error of the parser may quote the text, which nobody has judged yet.
        Err(error) => refuse(format!(
            "the result of call `{call}` is no tool result (line {}, column {})",
            error.line(),
            error.column()
        )),
    }
}

/// The message that a published result is read back as.
pub fn tool_message(id: MessageId, call: ToolCallId, key: ToolKey, published: &Publishable) -> Message {
    let result = published.result();
    let body = MessageBody::Tool {
        call_id: call,
        key,
        content: result.content.as_str().into(),
        success: result.success,
        error: result.error.clone(),
        state: result.state.clone().map(Value::Object),
        execution_time: result.execution_time,
        device_execution_time: result.device_execution_time,
        work_registration: result.work_registration.clone(),
    };
    Message { id, body }
}

/// The first place after a message: beyond the rows that are reserved for the calls it asks for.
pub fn place_after(place: u32, message: &Message) -> u32 {
    let calls = match &message.body {
        MessageBody::Assistant { tool_calls, .. } => u32::try_from(tool_calls.len()).unwrap_or(u32::MAX),
        MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Tool { .. } => 0,
    };
    place.saturating_add(calls).saturating_add(1)
}

/// Whether the request waits for a decision about the call.
fn awaits_decision(open: Option<&Approval>, call: &ToolCallId) -> bool {
    open.is_some_and(|approval| match &approval.question {
        ApprovalQuestion::Calls(pending) => pending.iter().any(|waiting| waiting.call == *call && !waiting.decided),
        ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. } => false,
    })
}

fn check_about_call(pending: &mut [PendingCall], decision: &PostedDecision) -> Result<(), StoreError> {
    let Some(call) = &decision.call else { return refuse("the operation asks about calls; name one") };
    match decision.verdict {
        PostedVerdict::Approve | PostedVerdict::Reject { .. } | PostedVerdict::RejectAndContinue { .. } => {}
        PostedVerdict::Answer { .. } => {
            return refuse(format!("call `{call}` waits for approval or rejection, not for an answer in words"));
        }
    }
    // Providers repeat ids: a decision takes the first call of that id that still waits.
    if let Some(waiting) = pending.iter_mut().find(|waiting| waiting.call == *call && !waiting.decided) {
        waiting.decided = true;
        return Ok(());
    }
    if pending.iter().any(|waiting| waiting.call == *call) {
        return refuse(format!("call `{call}` is already decided"));
    }
    refuse(format!("call `{call}` does not wait for a decision"))
}

fn check_about_question(
    answered: bool,
    decisions: &[PostedDecision],
    options: Option<&[String]>,
) -> Result<(), StoreError> {
    let [decision] = decisions else { return refuse("the operation asks one question; give one answer") };
    if let Some(call) = &decision.call {
        return refuse(format!("call `{call}` does not wait for a decision"));
    }
    if answered {
        return refuse("the question is already answered");
    }
    match (&decision.verdict, options) {
        (PostedVerdict::Answer { text }, Some(options)) if !options.contains(text) => {
            refuse(format!("`{text}` is none of the choices: {}", options.join(", ")))
        }
        (PostedVerdict::Answer { .. } | PostedVerdict::Reject { .. }, Some(_) | None) => Ok(()),
        (PostedVerdict::Approve | PostedVerdict::RejectAndContinue { .. }, Some(_) | None) => {
            refuse("the question wants an answer in words")
        }
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T, StoreError> {
    Err(StoreError::Refused(why.into()))
}
