//! Deliveries that are tried until they succeed.

use std::path::Path;

use jackline_runtime::journal::{ClaimedDeliveries, DeliveryChange, NewDelivery, StoreError, StoredDelivery};
use rusqlite::{Connection, OptionalExtension, params};

use super::batch::execute;
use crate::error::Doing;
use crate::owner::is_alive;
use crate::read::deliveries;
use crate::rows::{from_column, to_column};

/// Writes a delivery; one that is there already stays as it is.
pub(super) fn enqueue(connection: &Connection, op: i64, delivery: &NewDelivery) -> Result<(), StoreError> {
    execute(
        connection,
        "INSERT INTO outbox (op, id, hook, kind, webhook, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        params![op, delivery.id, delivery.hook, delivery.kind, delivery.webhook, delivery.payload],
    )
}

/// Takes what is due and in nobody's hands. What a dead process had in hand is due at once; what a live one does not
/// settle is due again when its time is up.
pub(super) fn claim(
    connection: &Connection,
    database: &Path,
    owner: &str,
    now: u64,
    until: u64,
    limit: usize,
) -> Result<ClaimedDeliveries, StoreError> {
    bury_the_dead(connection, database, owner)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let due: Vec<StoredDelivery> = deliveries(connection, DUE, params![to_column(now), limit])?;
    for found in &due {
        execute(
            connection,
            "UPDATE outbox SET claimed_by = ?2, due_at = ?3 WHERE id = ?1",
            params![found.delivery.id, owner, to_column(until)],
        )?;
    }
    let next: Option<i64> = connection
        .query_row("SELECT min(due_at) FROM outbox WHERE dead = 0", [], |row| row.get(0))
        .optional()
        .doing(CLAIM)?
        .flatten();
    Ok(ClaimedDeliveries { deliveries: due, next_at: next.map(from_column) })
}

/// Gives back what processes had in hand that are gone.
fn bury_the_dead(connection: &Connection, database: &Path, owner: &str) -> Result<(), StoreError> {
    let mut holders = connection
        .prepare_cached("SELECT DISTINCT claimed_by FROM outbox WHERE claimed_by IS NOT NULL AND claimed_by <> ?1")
        .doing(CLAIM)?;
    let holders = holders.query_map([owner], |row| row.get::<_, String>(0)).doing(CLAIM)?;
    for holder in holders.collect::<rusqlite::Result<Vec<_>>>().doing(CLAIM)? {
        if !is_alive(database, &holder) {
            execute(
                connection,
                "UPDATE outbox SET claimed_by = NULL, due_at = 0 WHERE claimed_by = ?1",
                params![holder],
            )?;
        }
    }
    Ok(())
}

/// Changes a delivery. False if there is none.
pub(super) fn change(connection: &Connection, id: &str, change: &DeliveryChange) -> Result<bool, StoreError> {
    let changed = match change {
        DeliveryChange::Delivered | DeliveryChange::Drop => {
            connection.execute("DELETE FROM outbox WHERE id = ?1", [id])
        }
        DeliveryChange::Failed { error, retry_at } => connection.execute(
            "UPDATE outbox SET attempts = attempts + 1, error = ?2, due_at = coalesce(?3, due_at), dead = ?3 IS NULL, \
             claimed_by = NULL WHERE id = ?1",
            params![id, error, retry_at.map(to_column)],
        ),
        DeliveryChange::Retry { at } => connection.execute(
            "UPDATE outbox SET attempts = 0, due_at = ?2, dead = 0, claimed_by = NULL WHERE id = ?1",
            params![id, to_column(*at)],
        ),
    };
    changed.map(|count| count > 0).doing("change a delivery")
}

const DUE: &str = "AND dead = 0 AND due_at <= ?1 ORDER BY due_at, outbox.key LIMIT ?2";
const CLAIM: &str = "take deliveries";
