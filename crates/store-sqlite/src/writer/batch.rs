//! Writing one batch.

use std::collections::HashSet;

use jackline_model::OperationId;
use jackline_runtime::journal::{Approval, Batch, Fence, Fold, Heard, InboxId, Row, StoreError, Summary};
use jackline_tools::Archived;
use rusqlite::{Connection, OptionalExtension, params};

use super::outbox::enqueue;
use super::post::insert_item;
use crate::error::Doing;
use crate::read::{RECORD_END, operation_key};
use crate::rows::{ORIGINAL, ToolRow, insert_message, insert_tool_row, to_column};
use crate::stored::{ANSWER, encode_question};

/// Whether private text must be erased from the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Erasure {
    None,
    Due,
}

/// The fence that was checked last. It stays good for the rest of a transaction: nobody else writes
/// then, and no batch changes who owns what.
#[derive(Debug, Default)]
pub(super) struct Checked(Option<(OperationId, Fence, i64)>);

/// Writes a batch if its fence is good, all but its record, which is kept to be written with others. Its
/// summary may be left out where another follows in the same transaction.
///
/// # Errors
///
/// [`StoreError::LostOwnership`] if it is not; others as for every call. The caller rolls back.
pub(super) fn apply(
    connection: &Connection,
    owner: &str,
    batch: &Batch,
    checked: &mut Checked,
    records: &mut Records,
    with_summary: bool,
) -> Result<Erasure, StoreError> {
    let op = checked.key_of(connection, owner, batch)?;
    records.push(op, batch);
    for row in &batch.rows {
        write_row(connection, op, row)?;
    }
    if let Some(fold) = &batch.fold {
        write_fold(connection, op, fold)?;
    }
    for delivery in &batch.outbox {
        enqueue(connection, op, delivery)?;
    }
    if batch.approval_closed || batch.approval.is_some() {
        execute(connection, "UPDATE approvals SET is_open = 0 WHERE op = ?1 AND is_open = 1", params![op])?;
    }
    if let Some(approval) = &batch.approval {
        open_approval(connection, op, approval)?;
    }
    for (receiver, item) in &batch.posts {
        let receiver = operation_key(connection, receiver)?;
        insert_item(connection, receiver, item.clone())?;
    }
    for Heard { call, text } in &batch.heard {
        let call = call.as_ref().map(|call| call.as_str());
        execute(
            connection,
            "INSERT INTO heard (op, seq, call, text) \
             SELECT ?1, coalesce(max(seq), 0) + 1, ?2, ?3 FROM heard WHERE op = ?1",
            params![op, call, text],
        )?;
    }
    if let Some(summary) = batch.summary.as_ref().filter(|_| with_summary) {
        write_summary(connection, op, summary)?;
    }
    consume(connection, op, &batch.consumed)
}

/// The records of one transaction: a row for each operation, however many batches it has there.
#[derive(Debug, Default)]
pub(super) struct Records(Vec<RecordRow>);

#[derive(Debug)]
struct RecordRow {
    op: i64,
    /// Where the last record with a boundary begins, counted from 1 in bytes; 0 if there is none.
    boundary: i64,
    /// The records, a line each.
    text: String,
}

impl Records {
    fn push(&mut self, op: i64, batch: &Batch) {
        let Some(row) = self.0.iter_mut().rev().find(|row| row.op == op) else {
            self.0.push(RecordRow { op, boundary: i64::from(batch.boundary), text: batch.record.clone() });
            return;
        };
        row.text.push(RECORD_END);
        if batch.boundary {
            row.boundary = to_column(row.text.len() as u64) + 1;
        }
        row.text.push_str(&batch.record);
    }

    /// Writes what was kept.
    pub(super) fn write(self, connection: &Connection) -> Result<(), StoreError> {
        self.0.iter().try_for_each(|RecordRow { op, boundary, text }| {
            execute(connection, INSERT_RECORD, params![op, boundary, text])
        })
    }
}

impl Checked {
    fn key_of(&mut self, connection: &Connection, owner: &str, batch: &Batch) -> Result<i64, StoreError> {
        match &self.0 {
            Some((operation, fence, key)) if *operation == batch.operation && *fence == batch.fence => Ok(*key),
            Some(_) | None => {
                let key = check_fence(connection, owner, batch)?;
                self.0 = Some((batch.operation.clone(), batch.fence, key));
                Ok(key)
            }
        }
    }
}

/// For each batch, whether its summary is the last of its operation among them.
pub(super) fn last_summaries(batches: &[Batch]) -> Vec<bool> {
    let mut later = HashSet::new();
    let mut last: Vec<bool> =
        batches.iter().rev().map(|batch| batch.summary.is_some() && later.insert(&batch.operation)).collect();
    last.reverse();
    last
}

fn check_fence(connection: &Connection, owner: &str, batch: &Batch) -> Result<i64, StoreError> {
    let found: Option<(i64, Option<String>, i64)> = connection
        .prepare_cached(FENCE)
        .and_then(|mut select| {
            select.query_row([batch.operation.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
        })
        .doing(WRITE)?;
    match found {
        Some((key, Some(holder), fence)) if holder == owner && fence == to_column(batch.fence.0) => Ok(key),
        Some(_) => Err(StoreError::LostOwnership(batch.operation.clone())),
        None => Err(no_such(&batch.operation)),
    }
}

fn write_row(connection: &Connection, op: i64, row: &Row) -> Result<(), StoreError> {
    match row {
        Row::Message(placed) => insert_message(connection, op, placed, ORIGINAL),
        Row::Tool { place, id, call, key, published } => {
            let written = insert_tool_row(connection, op, &ToolRow { place: *place, id, call, key, published })?;
            match published.archived() {
                Some(archived) if written => write_blob(connection, op, *place, archived),
                Some(_) | None => Ok(()),
            }
        }
    }
}

/// Stores a body once, however many rows need it.
fn write_blob(connection: &Connection, op: i64, place: u32, archived: &Archived) -> Result<(), StoreError> {
    let hash = archived.blob.as_str();
    execute(
        connection,
        "INSERT INTO blobs (hash, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![hash, archived.text],
    )?;
    execute(connection, "INSERT INTO blob_refs (op, place, blob) VALUES (?1, ?2, ?3)", params![op, place, hash])
}

/// Flags what is folded, earlier summaries among it, and puts the summary where it began.
fn write_fold(connection: &Connection, op: i64, fold: &Fold) -> Result<(), StoreError> {
    for place in &fold.folded {
        execute(
            connection,
            "UPDATE messages SET folded = 1 WHERE op = ?1 AND place = ?2 AND folded = 0",
            params![op, place],
        )?;
    }
    let rank: i64 = connection
        .query_row(
            "SELECT coalesce(max(rank), 0) + 1 FROM messages WHERE op = ?1 AND place = ?2",
            params![op, fold.summary.place],
            |row| row.get(0),
        )
        .doing(WRITE)?;
    insert_message(connection, op, &fold.summary, rank)
}

fn open_approval(connection: &Connection, op: i64, approval: &Approval) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT INTO approvals (op, id, question, asked_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            op,
            approval.id.as_str(),
            encode_question(&approval.question),
            to_column(approval.asked_at),
            approval.expires_at.map(to_column)
        ],
    )
}

/// Overwrites bodies before it deletes the rows; `secure_delete` does the same to what SQLite moves.
fn consume(connection: &Connection, op: i64, consumed: &[InboxId]) -> Result<Erasure, StoreError> {
    let mut erasure = Erasure::None;
    for InboxId(id) in consumed {
        let bound = params![op, to_column(*id)];
        let kind: Option<String> = connection
            .prepare_cached("SELECT kind FROM inbox WHERE op = ?1 AND key = ?2")
            .and_then(|mut select| select.query_row(bound, |row| row.get(0)).optional())
            .doing(WRITE)?;
        if kind.as_deref() == Some(ANSWER) {
            erasure = Erasure::Due;
        }
        execute(connection, OVERWRITE, bound)?;
        execute(connection, "DELETE FROM inbox WHERE op = ?1 AND key = ?2", bound)?;
    }
    Ok(erasure)
}

fn write_summary(connection: &Connection, op: i64, summary: &Summary) -> Result<(), StoreError> {
    let totals = &summary.totals;
    execute(
        connection,
        UPDATE_SUMMARY,
        params![
            op,
            summary.status.as_str(),
            summary.reason.map(|reason| reason.as_str()),
            summary.steps,
            to_column(totals.llm_calls),
            to_column(totals.tool_calls),
            to_column(totals.input_tokens),
            to_column(totals.output_tokens),
            to_column(totals.total_tokens),
            totals.cost.0,
            to_column(summary.updated_at),
        ],
    )
}

/// Runs a kept statement.
pub(super) fn execute(connection: &Connection, sql: &str, bound: impl rusqlite::Params) -> Result<(), StoreError> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute(bound)).map(drop).doing(WRITE)
}

pub(super) fn no_such(operation: &OperationId) -> StoreError {
    StoreError::NoSuchOperation(operation.clone())
}

const FENCE: &str = "SELECT operations.key, owners.id, operations.fence FROM operations \
                     LEFT JOIN owners ON owners.key = operations.owner WHERE operations.id = ?1";

/// With a subquery: an `INSERT … SELECT` from the same table would go through a temporary one.
const INSERT_RECORD: &str = "INSERT INTO records (op, seq, boundary, text) \
                             VALUES (?1, (SELECT coalesce(max(seq), 0) + 1 FROM records WHERE op = ?1), ?2, ?3)";

const OVERWRITE: &str = "UPDATE inbox SET body = CAST(zeroblob(length(CAST(body AS BLOB))) AS TEXT) \
                         WHERE op = ?1 AND key = ?2";

const UPDATE_SUMMARY: &str = "UPDATE operations SET status = ?2, reason = ?3, steps = ?4, llm_calls = ?5, \
                              tool_calls = ?6, input_tokens = ?7, output_tokens = ?8, total_tokens = ?9, cost = ?10, \
                              updated_at = ?11 WHERE key = ?1";

const WRITE: &str = "write";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_body_is_stored_once_for_all_rows_that_need_it() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../schema.sql")).unwrap();
        let archived = Archived { blob: "hash".into(), text: "the whole text".into() };
        write_blob(&connection, 1, 4, &archived).unwrap();
        write_blob(&connection, 2, 9, &archived).unwrap();

        let found = crate::read::blob(&connection, &"hash".into()).unwrap();
        assert_eq!(found.as_deref(), Some("the whole text"));
        let count = |table: &str| {
            let sql = format!("SELECT count(*) FROM {table}");
            connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
        };
        assert_eq!((count("blobs"), count("blob_refs")), (1, 2));
    }
}
