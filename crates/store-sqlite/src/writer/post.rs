//! What outsiders may put into an inbox, checked where it is written.

use jackline_model::{OperationId, Status, ToolCallId};
use jackline_runtime::journal::{
    ApprovalQuestion, InboxId, InboxItem, PendingCall, PostedDecision, PostedVerdict, StoreError,
};
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::{execute, no_such};
use crate::error::Doing;
use crate::read::{OpenRequest, open_request};
use crate::rows::{from_column, word};
use crate::stored::{encode_item, encode_question};

/// Puts an item into an inbox if it fits what is stored.
///
/// # Errors
///
/// [`StoreError::Refused`] in words for whoever posted it; [`StoreError::NoSuchOperation`].
pub(super) fn post(
    connection: &Connection,
    operation: &OperationId,
    item: InboxItem,
    now: u64,
) -> Result<InboxId, StoreError> {
    let (op, status) = find(connection, operation)?;
    match &item {
        InboxItem::Decided(decisions) => decide(connection, op, decisions, now)?,
        InboxItem::Answer { call, .. } => {
            refuse_if_ended(operation, status)?;
            refuse_if_answered(connection, op, call)?;
        }
        // A parent that has ended ignores it; the child must be able to say so all the same.
        InboxItem::ChildEnded { .. } => {}
        InboxItem::Stop => refuse_if_ended(operation, status)?,
    }
    insert_item(connection, op, item)
}

/// Puts an item into an inbox.
pub(super) fn insert_item(connection: &Connection, op: i64, item: InboxItem) -> Result<InboxId, StoreError> {
    let stored = encode_item(item);
    execute(
        connection,
        "INSERT INTO inbox (op, kind, call, body) VALUES (?1, ?2, ?3, ?4)",
        params![op, stored.kind, stored.call.as_ref().map(ToolCallId::as_str), stored.body],
    )?;
    Ok(InboxId(from_column(connection.last_insert_rowid())))
}

fn find(connection: &Connection, operation: &OperationId) -> Result<(i64, Status), StoreError> {
    let found: Option<(i64, String)> = connection
        .query_row("SELECT key, status FROM operations WHERE id = ?1", [operation.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()
        .doing(POST)?;
    let (key, status) = found.ok_or_else(|| no_such(operation))?;
    Ok((key, word("the status of an operation", &status)?))
}

fn refuse_if_ended(operation: &OperationId, status: Status) -> Result<(), StoreError> {
    if status.is_terminal() {
        return refused(format!("operation `{operation}` has ended ({status})"));
    }
    Ok(())
}

/// Providers reuse the ids of calls from turn to turn, so only rows of the last turn count.
fn refuse_if_answered(connection: &Connection, op: i64, call: &ToolCallId) -> Result<(), StoreError> {
    let answered: bool = connection.query_row(ANSWERED, params![op, call.as_str()], |row| row.get(0)).doing(POST)?;
    if answered {
        return refused(format!("call `{call}` was already answered"));
    }
    Ok(())
}

/// Checks all decisions, then marks what they decide: a second decision is refused.
fn decide(connection: &Connection, op: i64, decisions: &[PostedDecision], now: u64) -> Result<(), StoreError> {
    let Some(mut request) = open_request(connection, op)? else {
        return refused("no decision is asked for".to_owned());
    };
    if request.approval.expires_at.is_some_and(|expires_at| expires_at <= now) {
        return refused(format!("request `{}` has expired", request.approval.id));
    }
    if decisions.is_empty() {
        return refused("the post decides nothing".to_owned());
    }
    for decision in decisions {
        match &decision.call {
            Some(call) => decide_call(&mut request, call, &decision.verdict)?,
            None => answer_question(&mut request, &decision.verdict)?,
        }
    }
    execute(
        connection,
        "UPDATE approvals SET question = ?2, answered = ?3 WHERE key = ?1",
        params![request.key, encode_question(&request.approval.question), request.answered],
    )
}

fn decide_call(request: &mut OpenRequest, call: &ToolCallId, verdict: &PostedVerdict) -> Result<(), StoreError> {
    let calls = match &mut request.approval.question {
        ApprovalQuestion::Calls(calls) => calls,
        ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. } => {
            return refused(format!("a question is open, not the approval of call `{call}`"));
        }
    };
    match verdict {
        PostedVerdict::Approve | PostedVerdict::Reject { .. } | PostedVerdict::RejectAndContinue { .. } => {}
        PostedVerdict::Answer { .. } => return refused(format!("call `{call}` wants approval, not an answer")),
    }
    let mut of_this_id = calls.iter_mut().filter(|pending| pending.call == *call).peekable();
    if of_this_id.peek().is_none() {
        return refused(format!("no decision is asked for about call `{call}`"));
    }
    match of_this_id.find(|pending| !pending.decided) {
        Some(PendingCall { decided, .. }) => *decided = true,
        None => return refused(format!("call `{call}` was already decided")),
    }
    Ok(())
}

fn answer_question(request: &mut OpenRequest, verdict: &PostedVerdict) -> Result<(), StoreError> {
    let options = match &request.approval.question {
        ApprovalQuestion::Calls(_) => return refused("calls wait for approval: say which one is meant".to_owned()),
        ApprovalQuestion::Prompt(_) => None,
        ApprovalQuestion::Select { options, .. } => Some(options),
    };
    match (verdict, options) {
        (PostedVerdict::Answer { text }, Some(options)) if !options.contains(text) => {
            return refused(format!("`{text}` is none of the choices: {}", options.join(", ")));
        }
        (PostedVerdict::Approve, _) => return refused("the question wants an answer, not approval".to_owned()),
        (PostedVerdict::Answer { .. } | PostedVerdict::Reject { .. } | PostedVerdict::RejectAndContinue { .. }, _) => {}
    }
    if request.answered {
        return refused(format!("request `{}` was already answered", request.approval.id));
    }
    request.answered = true;
    Ok(())
}

fn refused<T>(why: String) -> Result<T, StoreError> {
    Err(StoreError::Refused(why))
}

const ANSWERED: &str = "SELECT \
     EXISTS (SELECT 1 FROM inbox WHERE op = ?1 AND kind = 'answer' AND call = ?2) \
     OR EXISTS (SELECT 1 FROM messages WHERE op = ?1 AND role = 'tool' AND call = ?2 AND place > coalesce(\
     (SELECT place FROM messages WHERE op = ?1 AND role = 'assistant' ORDER BY place DESC LIMIT 1), -1))";

const POST: &str = "post";
