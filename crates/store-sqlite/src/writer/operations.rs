//! Creating operations, and whose they are.

use std::path::Path;

use jackline_model::{OperationId, Status};
use jackline_runtime::journal::{Fence, NewOperation, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::{execute, no_such};
use crate::error::Doing;
use crate::owner::{OwnerLock, is_alive};
use crate::read::operation_key;
use crate::rows::{ORIGINAL, from_column, insert_message, to_column};
use crate::stored::to_json;

pub(super) fn create(connection: &Connection, owner: &str, new: &NewOperation) -> Result<Fence, StoreError> {
    let owner = register(connection, owner)?;
    execute(
        connection,
        "INSERT INTO configs (hash, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![new.config_hash.as_str(), new.config],
    )?;
    let written = connection
        .prepare_cached(INSERT_OPERATION)
        .and_then(|mut insert| {
            insert.execute(params![
                new.id.as_str(),
                new.agent,
                new.config_hash.as_str(),
                new.lineage.parent_operation_id.as_ref().map(OperationId::as_str),
                new.lineage.is_sub_agent,
                new.lineage.depth,
                new.parent_call,
                to_json(&new.origin),
                new.user.as_str(),
                to_json(&new.required_hooks),
                to_column(new.created_at),
                owner,
                to_column(FIRST_FENCE.0),
                Status::Idle.as_str(),
            ])
        })
        .doing(CREATE)?;
    if written == 0 {
        return Err(StoreError::Exists(new.id.clone()));
    }
    let key = connection.last_insert_rowid();
    for (seq, hook) in (0_i64..).zip(&new.caller_hooks) {
        execute(connection, "INSERT INTO caller_hooks (op, seq, hook) VALUES (?1, ?2, ?3)", params![key, seq, hook])?;
    }
    for placed in &new.messages {
        insert_message(connection, key, placed, ORIGINAL)?;
    }
    Ok(FIRST_FENCE)
}

/// Takes an operation from nobody, from oneself, or from the dead. The fence is always a new one.
pub(super) fn claim(
    connection: &Connection,
    database: &Path,
    owner: &str,
    operation: &OperationId,
) -> Result<Fence, StoreError> {
    let holder: Option<(Option<i64>, Option<String>, Option<String>)> = connection
        .query_row(HOLDER, [operation.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()
        .doing(CLAIM)?;
    match holder {
        None => return Err(no_such(operation)),
        Some((Some(key), Some(id), label)) if id != owner => {
            if is_alive(database, &id) {
                let owner = label.unwrap_or(id);
                return Err(StoreError::Owned { operation: operation.clone(), owner });
            }
            bury(connection, key)?;
        }
        Some(_) => {}
    }
    let owner = register(connection, owner)?;
    connection
        .query_row(
            "UPDATE operations SET owner = ?2, fence = fence + 1 WHERE id = ?1 RETURNING fence",
            params![operation.as_str(), owner],
            |row| row.get(0),
        )
        .map(|fence| Fence(from_column(fence)))
        .doing(CLAIM)
}

pub(super) fn release(
    connection: &Connection,
    owner: &str,
    operation: &OperationId,
    fence: Fence,
) -> Result<(), StoreError> {
    let key = operation_key(connection, operation)?;
    let released = connection
        .execute(
            "UPDATE operations SET owner = NULL WHERE key = ?1 AND fence = ?2 \
             AND owner = (SELECT key FROM owners WHERE id = ?3)",
            params![key, to_column(fence.0), owner],
        )
        .doing("give up an operation")?;
    match released {
        0 => Err(StoreError::LostOwnership(operation.clone())),
        _one => Ok(()),
    }
}

/// Gives up everything that an owner holds, and the owner.
pub(super) fn leave(connection: &Connection, owner: &str) -> Result<(), StoreError> {
    let key: Option<i64> = connection
        .query_row("SELECT key FROM owners WHERE id = ?1", [owner], |row| row.get(0))
        .optional()
        .doing("leave")?;
    key.map_or(Ok(()), |key| bury(connection, key))
}

/// Nobody who is dead owns anything.
fn bury(connection: &Connection, owner: i64) -> Result<(), StoreError> {
    execute(connection, "UPDATE operations SET owner = NULL WHERE owner = ?1", params![owner])?;
    execute(connection, "DELETE FROM owners WHERE key = ?1", params![owner])
}

/// The number of this store in the table of owners, where it is written at its first operation.
fn register(connection: &Connection, owner: &str) -> Result<i64, StoreError> {
    let find = || {
        connection
            .prepare_cached("SELECT key FROM owners WHERE id = ?1")
            .and_then(|mut select| select.query_row([owner], |row| row.get(0)).optional())
            .doing(CLAIM)
    };
    if let Some(key) = find()? {
        return Ok(key);
    }
    execute(connection, "INSERT INTO owners (id, label) VALUES (?1, ?2)", params![owner, OwnerLock::label()])?;
    Ok(connection.last_insert_rowid())
}

const FIRST_FENCE: Fence = Fence(1);

const HOLDER: &str = "SELECT operations.owner, owners.id, owners.label FROM operations \
                      LEFT JOIN owners ON owners.key = operations.owner WHERE operations.id = ?1";

const INSERT_OPERATION: &str = "INSERT INTO operations (id, agent, config, parent, is_sub_agent, depth, parent_call, origin, user, \
     required_hooks, created_at, owner, fence, status, steps, llm_calls, tool_calls, input_tokens, output_tokens, \
     total_tokens, cost, updated_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, 0, 0, 0, 0, 0, 0, 0, ?11) \
     ON CONFLICT DO NOTHING";

const CREATE: &str = "create an operation";
const CLAIM: &str = "claim an operation";
