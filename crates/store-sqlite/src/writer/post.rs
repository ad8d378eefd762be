//! What outsiders may put into an inbox, checked where it is written.

use jackline_model::{OperationId, Status, ToolCallId};
use jackline_runtime::journal::posting::{self, CallOnRecord};
use jackline_runtime::journal::{InboxId, InboxItem, PostedDecision, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::{execute, no_such};
use crate::error::Doing;
use crate::read::{OpenRequest, open_request, open_turn};
use crate::rows::{from_column, word};
use crate::stored::{ANSWER, encode_item, encode_question};

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
    posting::check_open(status)?;
    match &item {
        InboxItem::Decided(decisions) => decide(connection, op, decisions, now)?,
        InboxItem::Answer { call, result } => {
            posting::check_answer(call, call_on_record(connection, op, call)?, result)?;
        }
        InboxItem::ChildEnded { .. } | InboxItem::Stop(_) => {}
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

fn call_on_record(connection: &Connection, op: i64, call: &ToolCallId) -> Result<CallOnRecord, StoreError> {
    let turn = open_turn(connection, op)?;
    let is_in_inbox = connection
        .query_row(
            "SELECT EXISTS (SELECT 1 FROM inbox WHERE op = ?1 AND kind = ?2 AND call = ?3)",
            params![op, ANSWER, call.as_str()],
            |row| row.get(0),
        )
        .doing(POST)?;
    let request = open_request(connection, op)?;
    let newest_first = turn.iter().rev().map(|stored| &stored.message);
    Ok(CallOnRecord::read(call, newest_first, is_in_inbox, request.as_ref().map(|request| &request.approval)))
}

/// Checks decisions and marks what they decide, so that a second decision is refused.
fn decide(connection: &Connection, op: i64, decisions: &[PostedDecision], now: u64) -> Result<(), StoreError> {
    let mut request = open_request(connection, op)?;
    let was_answered = request.as_ref().is_some_and(|request| request.answered);
    let approval = request.as_mut().map(|request| &mut request.approval);
    posting::check_decisions(approval, was_answered, decisions, now)?;
    let Some(OpenRequest { key, approval, .. }) = request else { return Ok(()) };
    let answered = was_answered || decisions.iter().any(|decision| decision.call.is_none());
    execute(
        connection,
        "UPDATE approvals SET question = ?2, answered = ?3 WHERE key = ?1",
        params![key, encode_question(&approval.question), answered],
    )
}

const POST: &str = "post";
