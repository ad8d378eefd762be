//! The loop of the writer: collect, write, commit, answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use jackline_runtime::journal::{Batch, StoreError};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::batch::{Checked, Erasure, Records, apply, last_summaries};
use super::group::Group;
use super::hurry::Hurry;
use super::ledger::Ledger;
use super::{Command, Request, operations, outbox, post};
use crate::error::Doing;
use crate::limits;

pub(super) struct WriterThread {
    connection: Connection,
    database: PathBuf,
    /// The id of this store as an owner.
    owner: String,
    ledger: Arc<Ledger>,
    hurry: Arc<Hurry>,
    /// How the next commit is synced, as SQLite was last told.
    full: bool,
    /// There may be commits that a power cut would take back.
    unsynced: bool,
    /// There may be private text left in the write-ahead log.
    erasure: Erasure,
}

impl WriterThread {
    pub(super) fn new(
        connection: Connection,
        database: PathBuf,
        owner: String,
        ledger: Arc<Ledger>,
        hurry: Arc<Hurry>,
    ) -> Self {
        // What a dead process has left in the log may be unsynced, and may hold private text.
        Self { connection, database, owner, ledger, hurry, full: false, unsynced: true, erasure: Erasure::Due }
    }

    pub(super) fn run(mut self, commands: &Receiver<Command>) {
        self.erase_if_due();
        while let Some(first) = self.wait(commands) {
            let mut group = Group::default();
            let alone = group.fill(first, commands, &self.hurry);
            self.commit(group);
            if let Some(request) = alone {
                self.perform(request);
            }
        }
        self.leave();
    }

    /// The next command; none when the store is closed.
    fn wait(&mut self, commands: &Receiver<Command>) -> Option<Command> {
        while self.erasure == Erasure::Due {
            match commands.recv_timeout(limits::ERASE_RETRY) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Timeout) => self.erase_if_due(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        commands.recv().ok()
    }

    fn commit(&mut self, group: Group) {
        let written = self.write(&group.batches, group.is_gate());
        if let Err(error) = &written {
            group.batches.iter().for_each(|batch| self.ledger.fail(&batch.operation, error));
        }
        self.ledger.written(&group.batches);
        self.erase_if_due();
        for flush in group.flushes {
            let own = flush.operation.as_ref().and_then(|operation| self.ledger.failure(operation));
            let outcome = match (own, &written) {
                (Some(failure), _) => Err(failure),
                // Its own batches were written before, but not synced now.
                (None, Err(error)) if flush.full => Err(error.clone()),
                (None, Ok(()) | Err(_)) => Ok(()),
            };
            (flush.reply)(outcome);
        }
    }

    /// Writes batches in one transaction. A batch that fails alone is left out and its failure kept.
    fn write(&mut self, batches: &[Batch], full: bool) -> Result<(), StoreError> {
        if batches.is_empty() && !(full && self.unsynced) {
            return Ok(());
        }
        let last_summaries = last_summaries(batches);
        let mut checked = Checked::default();
        let mut has_bad_batch = false;
        let together = self.write_with(batches, full, |transaction, owner, records, at| {
            let applied = apply(transaction, owner, &batches[at], &mut checked, records, last_summaries[at]);
            has_bad_batch |= applied.is_err();
            applied.map(Ok)
        });
        // Batches hardly ever fail, so they get savepoints only once one has: those cost as much again.
        if !has_bad_batch {
            return together;
        }
        self.write_with(batches, full, |transaction, owner, _, at| apply_alone(transaction, owner, &batches[at]))
    }

    /// Writes batches in one transaction, each by `apply`, whose outer error ends the transaction.
    fn write_with(
        &mut self,
        batches: &[Batch],
        full: bool,
        mut apply: impl FnMut(
            &mut Transaction<'_>,
            &str,
            &mut Records,
            usize,
        ) -> Result<Result<Erasure, StoreError>, StoreError>,
    ) -> Result<(), StoreError> {
        let ledger = Arc::clone(&self.ledger);
        let owner = self.owner.clone();
        let mut erasure = Erasure::None;
        self.transact(full, |transaction| {
            let mut applied = 0;
            let mut records = Records::default();
            for (at, batch) in batches.iter().enumerate() {
                if ledger.failure(&batch.operation).is_some() {
                    continue;
                }
                match apply(transaction, &owner, &mut records, at)? {
                    Ok(found) => {
                        erasure = erasure.max(found);
                        applied += 1;
                    }
                    Err(error) => ledger.fail(&batch.operation, &error),
                }
            }
            records.write(transaction)?;
            if full && applied == 0 {
                // An empty commit syncs nothing, so this one writes a number.
                transaction.execute("UPDATE meta SET value = value + 1 WHERE name = 'syncs'", []).doing(COMMIT)?;
            }
            Ok(())
        })?;
        self.erasure = self.erasure.max(erasure);
        Ok(())
    }

    fn perform(&mut self, request: Request) {
        let owner = self.owner.clone();
        match request {
            Request::Create { new, reply } => {
                let fence = self.transact(false, |transaction| operations::create(transaction, &owner, &new));
                if let Ok(fence) = fence {
                    self.ledger.hold(new.id, fence);
                }
                reply(fence);
            }
            Request::Claim { operation, reply } => {
                let database = self.database.clone();
                let fence =
                    self.transact(false, |transaction| operations::claim(transaction, &database, &owner, &operation));
                if let Ok(fence) = fence {
                    self.ledger.hold(operation, fence);
                }
                reply(fence);
            }
            Request::Release { operation, fence, reply } => {
                let released =
                    self.transact(false, |transaction| operations::release(transaction, &owner, &operation, fence));
                if matches!(released, Ok(()) | Err(StoreError::LostOwnership(_))) {
                    self.ledger.let_go(&operation);
                }
                reply(released);
            }
            Request::ForgetHooks { operation, reply } => {
                reply(self.transact(false, |transaction| operations::forget_hooks(transaction, &operation)));
            }
            Request::Post { operation, item, now, reply } => {
                reply(self.transact(true, |transaction| post::post(transaction, &operation, item, now)));
            }
            Request::ClaimDeliveries { claim, reply } => {
                let database = self.database.clone();
                reply(self.transact(false, |transaction| outbox::claim(transaction, &database, &owner, &claim)));
            }
            Request::ChangeDelivery { id, change, reply } => {
                let database = self.database.clone();
                reply(self.transact(false, |transaction| outbox::change(transaction, &database, &owner, &id, &change)));
            }
        }
    }

    /// Does something in one transaction, which is rolled back if it fails.
    fn transact<T>(
        &mut self,
        full: bool,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.full != full {
            let level = if full { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level).doing(COMMIT)?;
            self.full = full;
        }
        let mut transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).doing("begin a transaction")?;
        let done = work(&mut transaction)?;
        transaction.commit().doing(COMMIT)?;
        self.unsynced = !full;
        Ok(done)
    }

    /// Empties the write-ahead log after private text went through it. Others may be reading from
    /// it; then it stays due.
    fn erase_if_due(&mut self) {
        if self.erasure == Erasure::None {
            return;
        }
        match truncate_log(&self.connection) {
            Ok(true) => self.erasure = Erasure::None,
            Ok(false) => tracing::debug!("the log is in use; erasing it again later"),
            Err(error) => tracing::warn!(%error, "the log could not be erased"),
        }
    }

    /// Gives up everything, so that nobody has to find out that this owner is gone.
    fn leave(mut self) {
        let owner = self.owner.clone();
        if let Err(error) = self.transact(false, |transaction| operations::leave(transaction, &owner)) {
            tracing::debug!(%error, "ownership was not given up; the next claim sees that the owner is gone");
        }
        self.erase_if_due();
    }
}

/// Applies a batch under a savepoint. The outer error ends the whole transaction.
fn apply_alone(
    transaction: &mut Transaction<'_>,
    owner: &str,
    batch: &Batch,
) -> Result<Result<Erasure, StoreError>, StoreError> {
    let savepoint = transaction.savepoint().doing(COMMIT)?;
    let mut records = Records::default();
    let applied = apply(&savepoint, owner, batch, &mut Checked::default(), &mut records, true)
        .and_then(|erasure| records.write(&savepoint).map(|()| erasure));
    match applied {
        Ok(erasure) => savepoint.commit().doing(COMMIT).map(|()| Ok(erasure)),
        // On some errors, a full disk among them, SQLite may roll back everything by itself.
        Err(error) if savepoint.is_autocommit() => Err(error),
        Err(error) => savepoint.finish().doing(COMMIT).map(|()| Err(error)),
    }
}

fn truncate_log(connection: &Connection) -> Result<bool, StoreError> {
    connection.busy_timeout(limits::ERASE_TIMEOUT).doing(ERASE)?;
    let busy: rusqlite::Result<bool> = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    connection.busy_timeout(limits::BUSY_TIMEOUT).doing(ERASE)?;
    busy.map(|busy| !busy).doing(ERASE)
}

const COMMIT: &str = "commit";
const ERASE: &str = "erase its log";
