//! Reading: one connection, one short transaction a call.

use std::sync::Arc;

use jackline_model::{BlobId, ConfigHash, OperationId};
use jackline_runtime::journal::posting::place_after;
use jackline_runtime::journal::{
    Approval, Header, Heard, InboxId, InboxItem, Loaded, NewDelivery, OUTBOX_WAITING_MAX, StoreError, StoredDelivery,
    StoredMessage,
};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::error::{Doing, damaged};
use crate::rows::{HEADER_COLUMNS, MESSAGE_COLUMNS, column, from_column, read_header, read_message};
use crate::schema::{HooksHeard, hooks_heard};
use crate::stored::{decode_item, decode_question};

/// The number of an operation in the child tables.
pub(crate) fn operation_key(connection: &Connection, id: &OperationId) -> Result<i64, StoreError> {
    connection
        .prepare_cached("SELECT key FROM operations WHERE id = ?1")
        .and_then(|mut select| select.query_row([id.as_str()], |row| row.get(0)).optional())
        .doing(READ)?
        .ok_or_else(|| StoreError::NoSuchOperation(id.clone()))
}

/// Everything that a resume needs, of one moment.
pub(crate) fn load(connection: &mut Connection, id: &OperationId) -> Result<Loaded, StoreError> {
    let transaction = connection.transaction().doing(READ)?;
    let key = operation_key(&transaction, id)?;
    let header = header(&transaction, id)?;
    let config = config(&transaction, &header.config_hash)?
        .ok_or_else(|| damaged("the configuration of an operation", "it is missing"))?;
    let mut records = record_rows(&transaction, RECORDS_FROM_BOUNDARY, key)?;
    if let Some(first) = records.first_mut() {
        first.drop_before_boundary()?;
    }
    let records = lines(&records);
    let messages = messages(&transaction, key, "AND folded = 0")?;
    let last: Option<u32> =
        transaction.query_row("SELECT max(place) FROM messages WHERE op = ?1", [key], |row| row.get(0)).doing(READ)?;
    let next_place = next_place(last, &messages);
    let approval = approval(&transaction, key)?;
    Ok(Loaded { header, config, records, messages, next_place, approval })
}

pub(crate) fn header(connection: &Connection, id: &OperationId) -> Result<Header, StoreError> {
    let sql = format!("SELECT {HEADER_COLUMNS} FROM operations WHERE id = ?1");
    collect(connection, &sql, [id.as_str()], read_header)?.pop().ok_or_else(|| StoreError::NoSuchOperation(id.clone()))
}

pub(crate) fn list(connection: &Connection, limit: usize) -> Result<Vec<Header>, StoreError> {
    let sql = format!("SELECT {HEADER_COLUMNS} FROM operations ORDER BY created_at DESC, key DESC LIMIT ?1");
    collect(connection, &sql, [i64::try_from(limit).unwrap_or(i64::MAX)], read_header)
}

pub(crate) fn records(connection: &Connection, id: &OperationId) -> Result<Vec<String>, StoreError> {
    let key = operation_key(connection, id)?;
    let rows = record_rows(connection, "SELECT boundary, text FROM records WHERE op = ?1 ORDER BY seq", key)?;
    Ok(lines(&rows))
}

pub(crate) fn all_messages(connection: &Connection, id: &OperationId) -> Result<Vec<StoredMessage>, StoreError> {
    let key = operation_key(connection, id)?;
    messages(connection, key, "")
}

pub(crate) fn inbox(connection: &Connection, id: &OperationId) -> Result<Vec<(InboxId, InboxItem)>, StoreError> {
    let key = operation_key(connection, id)?;
    collect(connection, "SELECT key, kind, call, body FROM inbox WHERE op = ?1 ORDER BY key", [key], |row| {
        let item = decode_item(&column::<String>(row, 1)?, column(row, 2)?, column(row, 3)?)?;
        Ok((InboxId(from_column(column(row, 0)?)), item))
    })
}

/// The last message of the model and what stands after it, oldest first.
pub(crate) fn open_turn(connection: &Connection, key: i64) -> Result<Vec<StoredMessage>, StoreError> {
    let sql = format!("SELECT {MESSAGE_COLUMNS} FROM messages WHERE op = ?1 AND place >= {LAST_ANSWER} ORDER BY place");
    collect(connection, &sql, [key], read_message)
}

/// The open request of an operation.
pub(crate) fn approval(connection: &Connection, key: i64) -> Result<Option<Approval>, StoreError> {
    Ok(open_request(connection, key)?.map(|request| request.approval))
}

/// A request for a decision, with what only the store knows.
pub(crate) struct OpenRequest {
    /// The number of its row.
    pub(crate) key: i64,
    /// What the port shows.
    pub(crate) approval: Approval,
    /// Its question in words is answered; the answer waits in the inbox.
    pub(crate) answered: bool,
}

/// The open request of an operation, whole.
pub(crate) fn open_request(connection: &Connection, key: i64) -> Result<Option<OpenRequest>, StoreError> {
    let mut found = collect(connection, OPEN_REQUEST, [key], |row| {
        let approval = Approval {
            id: column::<String>(row, 1)?.into(),
            question: decode_question(&column::<String>(row, 2)?)?,
            asked_at: from_column(column(row, 4)?),
            expires_at: column::<Option<i64>>(row, 5)?.map(from_column),
        };
        Ok(OpenRequest { key: column(row, 0)?, approval, answered: column(row, 3)? })
    })?;
    Ok(found.pop())
}

pub(crate) fn caller_hooks(connection: &Connection, id: &OperationId) -> Result<Vec<String>, StoreError> {
    let key = operation_key(connection, id)?;
    collect(connection, "SELECT hook FROM caller_hooks WHERE op = ?1 ORDER BY seq", [key], |row| column(row, 0))
}

/// All deliveries that have not succeeded, oldest first.
pub(crate) fn outbox(connection: &Connection, limit: usize) -> Result<Vec<StoredDelivery>, StoreError> {
    if hooks_heard(connection)? == HooksHeard::Nowhere {
        return Ok(Vec::new());
    }
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    deliveries(connection, "ORDER BY outbox.key LIMIT ?1", params![limit])
}

/// The deliveries that a condition, an order and a limit choose. The holder is an owner by its id.
pub(crate) fn deliveries(
    connection: &Connection,
    chosen: &str,
    bound: impl Params,
) -> Result<Vec<StoredDelivery>, StoreError> {
    let sql = format!(
        "SELECT outbox.id, hook, kind, webhook, payload, operations.id, attempts, due_at, error, dead, \
         claimed_by \
         FROM outbox JOIN operations ON operations.key = outbox.op WHERE 1 {chosen}"
    );
    collect(connection, &sql, bound, |row| {
        let delivery = NewDelivery {
            id: column(row, 0)?,
            hook: column(row, 1)?,
            kind: column(row, 2)?,
            webhook: column(row, 3)?,
            payload: column(row, 4)?,
        };
        Ok(StoredDelivery {
            delivery,
            operation: column::<String>(row, 5)?.into(),
            attempts: column(row, 6)?,
            due_at: from_column(column(row, 7)?),
            error: column(row, 8)?,
            dead: column(row, 9)?,
            holder: column(row, 10)?,
        })
    })
}

/// Whether so many deliveries wait that no more should be put in.
pub(crate) fn outbox_is_full(connection: &Connection) -> Result<bool, StoreError> {
    if hooks_heard(connection)? == HooksHeard::Nowhere {
        return Ok(false);
    }
    let waiting: i64 = connection
        .prepare_cached("SELECT count(*) FROM outbox WHERE dead = 0")
        .and_then(|mut select| select.query_row([], |row| row.get(0)))
        .doing(READ)?;
    Ok(usize::try_from(waiting).unwrap_or(usize::MAX) >= OUTBOX_WAITING_MAX)
}

pub(crate) fn heard(connection: &Connection, id: &OperationId) -> Result<Vec<Heard>, StoreError> {
    let key = operation_key(connection, id)?;
    let sql = match hooks_heard(connection)? {
        HooksHeard::Nowhere => return Ok(Vec::new()),
        HooksHeard::ByKey => "SELECT call, text FROM heard WHERE op = ?1 ORDER BY key",
        HooksHeard::ByOperation => "SELECT call, text FROM heard WHERE op = ?1 ORDER BY seq",
    };
    collect(connection, sql, [key], |row| {
        let call: Option<String> = column(row, 0)?;
        Ok(Heard { call: call.map(Into::into), text: column(row, 1)? })
    })
}

pub(crate) fn blob(connection: &Connection, id: &BlobId) -> Result<Option<Arc<str>>, StoreError> {
    text(connection, "SELECT text FROM blobs WHERE hash = ?1", id.as_str())
}

pub(crate) fn config(connection: &Connection, hash: &ConfigHash) -> Result<Option<Arc<str>>, StoreError> {
    text(connection, "SELECT text FROM configs WHERE hash = ?1", hash.as_str())
}

/// Changes with every commit of any connection but this one, and this one only reads.
pub(crate) fn version(connection: &Connection) -> Result<u64, StoreError> {
    connection
        .prepare_cached("PRAGMA data_version")
        .and_then(|mut select| select.query_row([], |row| row.get(0)))
        .map(from_column)
        .doing(READ)
}

fn messages(connection: &Connection, key: i64, filter: &str) -> Result<Vec<StoredMessage>, StoreError> {
    let sql = format!("SELECT {MESSAGE_COLUMNS} FROM messages WHERE op = ?1 {filter} ORDER BY place, rank");
    collect(connection, &sql, [key], read_message)
}

/// Behind the last row, folded ones included, and behind the rows that are reserved for calls.
fn next_place(last: Option<u32>, live: &[StoredMessage]) -> u32 {
    let after_rows = last.map_or(0, |place| place.saturating_add(1));
    live.iter().map(|stored| place_after(stored.place, &stored.message)).fold(after_rows, u32::max)
}

fn text(connection: &Connection, sql: &str, name: &str) -> Result<Option<Arc<str>>, StoreError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut select| select.query_row(params![name], |row| row.get(0)).optional())
        .doing(READ)
}

/// The records that one operation has in one transaction.
struct RecordRow {
    /// Where the last record with a boundary begins, counted from 1; 0 if there is none.
    boundary: i64,
    text: String,
}

impl RecordRow {
    fn drop_before_boundary(&mut self) -> Result<(), StoreError> {
        let start = usize::try_from(self.boundary.saturating_sub(1)).unwrap_or_default();
        match self.text.get(start..) {
            Some(_) => self.text.drain(..start),
            None => return Err(damaged("the records of an operation", "a boundary lies outside its text")),
        };
        Ok(())
    }
}

fn record_rows(connection: &Connection, sql: &str, key: i64) -> Result<Vec<RecordRow>, StoreError> {
    collect(connection, sql, [key], |row| Ok(RecordRow { boundary: column(row, 0)?, text: column(row, 1)? }))
}

fn lines(rows: &[RecordRow]) -> Vec<String> {
    rows.iter().flat_map(|row| row.text.split(RECORD_END)).map(str::to_owned).collect()
}

/// Runs a query and reads each row.
fn collect<T>(
    connection: &Connection,
    sql: &str,
    bound: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut select = connection.prepare_cached(sql).doing(READ)?;
    let mut rows = select.query(bound).doing(READ)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().doing(READ)? {
        found.push(read(row)?);
    }
    Ok(found)
}

/// What stands between the records of one row. Records are JSON on one line, so none holds it.
pub(crate) const RECORD_END: char = '\n';

/// The boundary is found from the end, so this costs the records of the open step and no more.
const RECORDS_FROM_BOUNDARY: &str = "SELECT boundary, text FROM records WHERE op = ?1 AND seq >= coalesce((SELECT seq \
                                     FROM records WHERE op = ?1 AND boundary > 0 ORDER BY seq DESC LIMIT 1), 0) \
                                     ORDER BY seq";

/// The place of the model's last message; a summary never stands there, for the open turn is never folded.
const LAST_ANSWER: &str = "coalesce((SELECT place FROM messages WHERE op = ?1 AND role = 'assistant' \
                           ORDER BY place DESC LIMIT 1), 0)";

const OPEN_REQUEST: &str =
    "SELECT key, id, question, answered, asked_at, expires_at FROM approvals WHERE op = ?1 AND is_open = 1";

const READ: &str = "read";
