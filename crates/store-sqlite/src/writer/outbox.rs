//! Deliveries that are tried until they succeed.

use std::path::Path;

use jackline_runtime::journal::{
    ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim, NewDelivery, OUTBOX_DEAD_MAX,
    OUTBOX_TRY_LEFT_OPEN, StoreError,
};
use rusqlite::{Connection, OptionalExtension, Params, params};

use super::batch::execute;
use crate::error::Doing;
use crate::owner::{is_alive, label_of};
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
    claim: &DeliveryClaim,
) -> Result<ClaimedDeliveries, StoreError> {
    take_back(connection, database, owner, claim)?;
    let limit = i64::try_from(claim.limit).unwrap_or(i64::MAX);
    let mut due = deliveries(connection, DUE, params![to_column(claim.now), limit])?;
    for found in &mut due {
        execute(
            connection,
            "UPDATE outbox SET claimed_by = ?2, due_at = ?3, attempts = attempts + 1 WHERE id = ?1",
            params![found.delivery.id, owner, to_column(claim.until)],
        )?;
        found.attempts += 1;
        (found.due_at, found.holder) = (claim.until, Some(label_of(owner)));
    }
    let next = connection
        .prepare_cached("SELECT min(due_at) FROM outbox WHERE dead = 0")
        .and_then(|mut select| select.query_row([], |row| row.get::<_, Option<i64>>(0)))
        .doing(CLAIM)?;
    Ok(ClaimedDeliveries { deliveries: due, next_at: next.map(from_column) })
}

/// Ends the tries whose process is gone or whose time is up: the try has failed, perhaps the last one.
fn take_back(connection: &Connection, database: &Path, owner: &str, claim: &DeliveryClaim) -> Result<(), StoreError> {
    let now = to_column(claim.now);
    let mut holders = connection
        .prepare_cached("SELECT DISTINCT claimed_by FROM outbox WHERE claimed_by IS NOT NULL")
        .doing(CLAIM)?;
    let holders = holders.query_map([], |row| row.get::<_, String>(0)).doing(CLAIM)?;
    for holder in holders.collect::<rusqlite::Result<Vec<_>>>().doing(CLAIM)? {
        let is_gone = holder != owner && !is_alive(database, &holder);
        let died = execute_counted(
            connection,
            "UPDATE outbox SET claimed_by = NULL, due_at = min(due_at, ?2), error = ?3, dead = attempts >= ?4 \
             WHERE claimed_by = ?1 AND (?5 OR due_at <= ?2)",
            params![holder, now, OUTBOX_TRY_LEFT_OPEN, claim.attempts_max, is_gone],
        )?;
        if died > 0 {
            prune(connection)?;
        }
    }
    Ok(())
}

/// Changes a delivery.
pub(super) fn change(
    connection: &Connection,
    database: &Path,
    owner: &str,
    id: &str,
    change: &DeliveryChange,
) -> Result<DeliveryChanged, StoreError> {
    let changed = match change {
        DeliveryChange::Delivered | DeliveryChange::Drop => {
            execute_counted(connection, "DELETE FROM outbox WHERE id = ?1", [id])?
        }
        DeliveryChange::Failed { attempt, error, retry_at } => {
            let changed = execute_counted(
                connection,
                "UPDATE outbox SET error = ?2, due_at = coalesce(?3, due_at), dead = ?3 IS NULL, claimed_by = NULL \
                 WHERE id = ?1 AND claimed_by = ?4 AND attempts = ?5",
                params![id, error, retry_at.map(to_column), owner, attempt],
            )?;
            if retry_at.is_none() {
                prune(connection)?;
            }
            changed
        }
        DeliveryChange::Retry { at } => {
            if let Some(holder) = holder(connection, id, *at)?.filter(|holder| is_alive(database, holder)) {
                return Ok(DeliveryChanged::InHand { holder: label_of(&holder) });
            }
            execute_counted(
                connection,
                "UPDATE outbox SET attempts = 0, due_at = ?2, dead = 0, claimed_by = NULL WHERE id = ?1",
                params![id, to_column(*at)],
            )?
        }
    };
    Ok(if changed > 0 { DeliveryChanged::Done } else { DeliveryChanged::NotThere })
}

/// Who has a delivery in hand and still has time.
fn holder(connection: &Connection, id: &str, now: u64) -> Result<Option<String>, StoreError> {
    let found = connection
        .query_row("SELECT claimed_by FROM outbox WHERE id = ?1 AND due_at > ?2", params![id, to_column(now)], |row| {
            row.get::<_, Option<String>>(0)
        })
        .optional();
    Ok(found.doing(CHANGE)?.flatten())
}

/// Forgets the oldest of the dead, if there are too many.
fn prune(connection: &Connection) -> Result<(), StoreError> {
    let kept = i64::try_from(OUTBOX_DEAD_MAX).unwrap_or(i64::MAX);
    let forgotten = execute_counted(
        connection,
        "DELETE FROM outbox WHERE dead = 1 AND key <= \
         (SELECT key FROM outbox WHERE dead = 1 ORDER BY key DESC LIMIT 1 OFFSET ?1)",
        [kept],
    )?;
    if forgotten > 0 {
        tracing::warn!(forgotten, "the oldest deliveries that were given up are forgotten: there are too many");
    }
    Ok(())
}

fn execute_counted(connection: &Connection, sql: &str, bound: impl Params) -> Result<usize, StoreError> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute(bound)).doing(CHANGE)
}

const DUE: &str = "AND dead = 0 AND due_at <= ?1 ORDER BY outbox.key LIMIT ?2";
const CLAIM: &str = "take deliveries";
const CHANGE: &str = "change a delivery";
