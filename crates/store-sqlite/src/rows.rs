//! Message rows and headers, as columns.

use std::sync::Arc;

use jackline_model::{
    Content, Lineage, Message, MessageBody, MessageId, NanoDollars, Reason, Role, Status, ToolCallId, ToolKey, Totals,
};
use jackline_runtime::journal::{Header, PlacedMessage, StoreError, StoredMessage, Summary};
use jackline_runtime::machine::Ordinal;
use jackline_tools::{Denial, Publishable};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};

use crate::error::{Doing, damaged};
use crate::stored::{from_json, to_json};

/// The rank of a message in its own place; summaries that take the place rank higher.
pub(crate) const ORIGINAL: i64 = 0;

/// Writes a message that is not a tool's.
///
/// # Errors
///
/// [`StoreError::Refused`] for a tool message: results come in through the gate only.
/// [`StoreError::Damaged`] if the place is taken.
pub(crate) fn insert_message(
    connection: &Connection,
    op: i64,
    placed: &PlacedMessage,
    rank: i64,
) -> Result<(), StoreError> {
    let message = &placed.message;
    let (content, reasoning, calls) = match &message.body {
        MessageBody::System { content } | MessageBody::User { content } => (content, None, None),
        MessageBody::Assistant { content, reasoning, tool_calls } => {
            (content, reasoning.as_deref(), (!tool_calls.is_empty()).then(|| to_json(tool_calls)))
        }
        MessageBody::Tool { call_id, .. } => {
            return Err(StoreError::Refused(format!(
                "the result of call `{call_id}` is not published; results are stored as tool rows only"
            )));
        }
    };
    let (text, parts) = match content {
        Content::Text(text) => (Some(text.as_ref()), None),
        Content::Parts(parts) => (None, Some(to_json(parts))),
    };
    let role = message.role().as_str();
    let written = connection
        .prepare_cached(INSERT_MESSAGE)
        .and_then(|mut insert| {
            insert.execute(params![op, placed.place, rank, role, message.id.as_str(), text, parts, reasoning, calls])
        })
        .doing("write a message")?;
    if written == 0 {
        return Err(damaged("a message", format_args!("place {} is taken", placed.place)));
    }
    Ok(())
}

/// A row of a tool's result.
pub(crate) struct ToolRow<'a> {
    /// Its place.
    pub(crate) place: u32,
    /// Its id.
    pub(crate) id: &'a MessageId,
    /// The call.
    pub(crate) call: &'a ToolCallId,
    /// The tool.
    pub(crate) key: &'a ToolKey,
    /// The result.
    pub(crate) published: &'a Publishable,
}

/// Writes the result of a call unless there is one. True if it was written.
///
/// # Errors
///
/// [`StoreError::Damaged`] if something other than this call has the place.
pub(crate) fn insert_tool_row(connection: &Connection, op: i64, row: &ToolRow<'_>) -> Result<bool, StoreError> {
    let result = row.published.result();
    let denied = row.published.denial().map(|denial| match denial {
        Denial::Before => "before",
        Denial::After => "after",
    });
    let written = connection
        .prepare_cached(INSERT_TOOL_ROW)
        .and_then(|mut insert| {
            insert.execute(params![
                op,
                row.place,
                row.id.as_str(),
                result.content,
                row.call.as_str(),
                row.key.identifier,
                row.key.api_name,
                result.success,
                result.error.as_ref().map(to_json),
                result.state.as_ref().map(to_json),
                denied,
                result.execution_time.map(to_column),
                result.device_execution_time.map(to_column),
                result.work_registration.as_ref().map(to_json),
            ])
        })
        .doing("write a result")?;
    if written == 1 {
        return Ok(true);
    }
    let holder: Option<String> = connection
        .prepare_cached("SELECT call FROM messages WHERE op = ?1 AND place = ?2 AND rank = 0")
        .and_then(|mut select| select.query_row(params![op, row.place], |found| found.get(0)).optional())
        .doing("write a result")?
        .flatten();
    match holder {
        Some(call) if call == row.call.as_str() => Ok(false),
        Some(_) | None => Err(damaged("a result", format_args!("place {} of call `{}` is taken", row.place, row.call))),
    }
}

/// Reads the columns of [`MESSAGE_COLUMNS`].
pub(crate) fn read_message(row: &Row<'_>) -> Result<StoredMessage, StoreError> {
    let role: Role = word("the role of a message", &column::<String>(row, 2)?)?;
    let body = match role {
        Role::System => MessageBody::System { content: content_of(row)? },
        Role::User => MessageBody::User { content: content_of(row)? },
        Role::Assistant => MessageBody::Assistant {
            content: content_of(row)?,
            reasoning: column(row, 6)?,
            tool_calls: optional_json(row, 7, "the calls of a message")?.unwrap_or_default(),
        },
        Role::Tool => MessageBody::Tool {
            call_id: column::<String>(row, 8)?.into(),
            key: ToolKey::new(column::<Arc<str>>(row, 9)?, column::<Arc<str>>(row, 10)?),
            content: column(row, 4)?,
            success: column(row, 11)?,
            error: optional_json(row, 12, "the error of a result")?,
            state: optional_json(row, 13, "the state of a result")?,
            execution_time: column::<Option<i64>>(row, 14)?.map(from_column),
            device_execution_time: column::<Option<i64>>(row, 15)?.map(from_column),
            work_registration: optional_json(row, 16, "the work of a result")?,
        },
    };
    let message = Message { id: column::<String>(row, 3)?.into(), body };
    Ok(StoredMessage { place: column(row, 0)?, folded: column(row, 1)?, message })
}

/// Reads the columns of [`HEADER_COLUMNS`].
pub(crate) fn read_header(row: &Row<'_>) -> Result<Header, StoreError> {
    let lineage = Lineage {
        parent_operation_id: column::<Option<String>>(row, 3)?.map(Into::into),
        is_sub_agent: column(row, 4)?,
        depth: column(row, 5)?,
    };
    Ok(Header {
        id: column::<String>(row, 0)?.into(),
        agent: column(row, 1)?,
        config_hash: column::<String>(row, 2)?.into(),
        lineage,
        parent_call: column::<Option<Ordinal>>(row, 6)?,
        origin: from_json("the origin of an operation", &column::<String>(row, 7)?)?,
        user: column::<String>(row, 8)?.into(),
        required_hooks: from_json("the hooks of an operation", &column::<String>(row, 9)?)?,
        created_at: from_column(column(row, 10)?),
        summary: read_summary(row)?,
    })
}

fn read_summary(row: &Row<'_>) -> Result<Summary, StoreError> {
    let reason: Option<String> = column(row, 12)?;
    Ok(Summary {
        status: word::<Status>("the status of an operation", &column::<String>(row, 11)?)?,
        reason: reason.map(|reason| word::<Reason>("the reason of an end", &reason)).transpose()?,
        steps: column(row, 13)?,
        totals: Totals {
            llm_calls: from_column(column(row, 14)?),
            tool_calls: from_column(column(row, 15)?),
            input_tokens: from_column(column(row, 16)?),
            output_tokens: from_column(column(row, 17)?),
            total_tokens: from_column(column(row, 18)?),
            cost: NanoDollars(column(row, 19)?),
        },
        updated_at: from_column(column(row, 20)?),
    })
}

/// Reads one column.
pub(crate) fn column<T: rusqlite::types::FromSql>(row: &Row<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).doing("read a row")
}

/// A count or a time for a column; what is beyond SQLite's integers is far beyond both.
pub(crate) fn to_column(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A count or a time from a column; there are no negative ones.
pub(crate) fn from_column(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn content_of(row: &Row<'_>) -> Result<Content, StoreError> {
    match optional_json(row, 5, "the parts of a message")? {
        Some(parts) => Ok(Content::Parts(parts)),
        None => Ok(Content::Text(column(row, 4)?)),
    }
}

fn optional_json<T: for<'a> Deserialize<'a>>(row: &Row<'_>, index: usize, what: &str) -> Result<Option<T>, StoreError> {
    match column::<Option<String>>(row, index)? {
        Some(text) => from_json(what, &text).map(Some),
        None => Ok(None),
    }
}

/// Reads an enum of words by its serde names, which are those of its `as_str`.
pub(crate) fn word<'a, T: Deserialize<'a>>(what: &str, text: &'a str) -> Result<T, StoreError> {
    let words: StrDeserializer<'a, WordError> = text.into_deserializer();
    T::deserialize(words).map_err(|error| damaged(what, error))
}

/// The columns of a message, in the order that [`read_message`] knows.
pub(crate) const MESSAGE_COLUMNS: &str = "place, folded, role, id, content, parts, reasoning, calls, call, tool, api, success, error, state, ran_ms, \
     device_ms, work";

/// The columns of an operation, in the order that [`read_header`] knows.
pub(crate) const HEADER_COLUMNS: &str = "id, agent, config, parent, is_sub_agent, depth, parent_call, origin, user, required_hooks, created_at, \
     status, reason, steps, llm_calls, tool_calls, input_tokens, output_tokens, total_tokens, cost, updated_at";

const INSERT_MESSAGE: &str = "INSERT INTO messages (op, place, rank, role, id, content, parts, reasoning, calls) \
                              VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";

const INSERT_TOOL_ROW: &str = "INSERT INTO messages (op, place, rank, role, id, content, call, tool, api, success, \
                               error, state, denied, ran_ms, device_ms, work) \
                               VALUES (?1, ?2, 0, 'tool', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
                               ON CONFLICT DO NOTHING";
