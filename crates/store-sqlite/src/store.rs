//! The store as the runtime sees it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackline_model::{BlobId, ConfigHash, OperationId};
use jackline_runtime::journal::{
    Approval, Batch, BoxFuture, ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim, Fence, Header,
    Heard, InboxId, InboxItem, Loaded, NewOperation, Store, StoreError, StoredDelivery, StoredMessage,
};
use jackline_runtime::machine::Durability;
use rusqlite::Connection;

use crate::error::{Doing, io_at};
use crate::owner::{OwnerLock, label_of, seems_alive};
use crate::writer::Writer;
use crate::{read, schema};

/// A journal in one SQLite file.
///
/// Any number of these may be open on one file, in one process or in several. An operation is
/// worked on through one of them at a time; the others see what it has committed.
///
/// Closing (dropping) writes what is queued and gives up the operations that it holds. A process
/// that is killed instead loses at most batches that nobody has waited for, and its operations can
/// be claimed at once.
///
/// # What blocks
///
/// [`append`](Store::append) only queues; while the queue is full it blocks for as long as one group
/// of batches takes, some milliseconds, or up to five seconds while another process holds the file.
/// Reads first wait for the commit of what was appended through this store, so they see it. The
/// other calls wait for their own commit. [`version`](Store::version) and
/// [`config`](Store::config) wait for nothing. Only a disk that hangs makes any of them take
/// longer.
///
/// # Private text
///
/// An answer to a parked call lies in the inbox in clear until it is consumed. Then its body is
/// overwritten, its row deleted, and the write-ahead log emptied before the commit is acknowledged;
/// if another process is reading from the log at that moment, it is emptied as soon as possible.
///
/// # A failed write
///
/// A journal has no holes. When a batch cannot be written, everything appended to its operation
/// afterwards is refused with the same error, until the operation is claimed again and loaded from
/// what was written. Other operations go on.
///
/// ```
/// use jackline_runtime::journal::{Store, StoreError};
/// use jackline_store_sqlite::{OpenOptions, SqliteStore};
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("runs/jackline.db");
/// let missing = SqliteStore::open(&path, &OpenOptions { create: false, ..OpenOptions::default() });
/// assert!(matches!(missing, Err(StoreError::Io { .. })));
///
/// let store = SqliteStore::open(&path, &OpenOptions::default())?;
/// assert_eq!(store.list(10)?, []);
/// # Ok::<(), StoreError>(())
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    // Fields are dropped in this order: the last connection to close must be one that can write,
    // and the lock must outlive everything that is written under it.
    reader: Mutex<Connection>,
    writer: Option<Writer>,
    path: PathBuf,
    _owner: Option<OwnerLock>,
}

/// How to open a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Make the file, and the directory that it is in, if there is none.
    pub create: bool,
    /// Only look: every write is refused. Works where nothing can be written, too.
    pub read_only: bool,
    /// The file does not grow beyond this: writes through this store fail as on a full disk. At
    /// least 256 kB.
    pub bytes_max: Option<u64>,
}

impl Default for OpenOptions {
    /// Create if missing, write, no quota.
    fn default() -> Self {
        Self { create: true, read_only: false, bytes_max: None }
    }
}

impl SqliteStore {
    /// Opens a store.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] names the file and the cause: it is missing and `create` is off, it or its
    /// directory is read-only (then open it `read_only`), the disk is full.
    /// [`StoreError::Busy`] if another process holds it for longer than five seconds: try again.
    /// [`StoreError::TooNew`] if a newer program made it: use that one.
    /// [`StoreError::Damaged`] if it is no database, or not one of ours: name another file.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if options.read_only {
            let reader = Mutex::new(schema::open_reader(path)?);
            return Ok(Self { reader, writer: None, path: path.to_owned(), _owner: None });
        }
        let connection = schema::open_writer(path, options)?;
        // All processes must agree on the names of the lock files, whatever they call the database.
        let path = path.canonicalize().doing("find its own file")?;
        let reader = Mutex::new(schema::open_reader(&path)?);
        let owner = OwnerLock::acquire(&path)?;
        let writer = Writer::spawn(connection, path.clone(), owner.id().to_owned())?;
        Ok(Self { reader, writer: Some(writer), path, _owner: Some(owner) })
    }

    fn writer(&self) -> Result<&Writer, StoreError> {
        self.writer.as_ref().ok_or_else(|| io_at(&self.path, "write", "was opened to be read only"))
    }

    /// The reading connection, once everything that was appended can be seen: of one operation, or at all.
    fn settled(&self, operation: Option<&OperationId>) -> MutexGuard<'_, Connection> {
        if let Some(writer) = &self.writer {
            writer.settle(operation);
        }
        self.reader()
    }

    /// A panic in a reader leaves a connection that rolls back, so the lock's poison says nothing.
    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn flush_to(&self, operation: &OperationId, durability: Durability) -> Result<(), StoreError> {
        let writer = self.writer()?;
        match durability {
            Durability::Behind => writer.ledger().failure(operation).map_or(Ok(()), Err),
            Durability::Committed => writer.flush(operation, false).await,
            Durability::Gate => writer.flush(operation, true).await,
        }
    }
}

impl Store for SqliteStore {
    fn create(&self, new: NewOperation) -> Result<Fence, StoreError> {
        self.writer()?.create(new)
    }

    fn claim(&self, operation: &OperationId) -> Result<Fence, StoreError> {
        self.writer()?.claim(operation)
    }

    fn release(&self, operation: &OperationId, fence: Fence) -> Result<(), StoreError> {
        self.writer()?.release(operation, fence)
    }

    fn append(&self, batch: Batch) -> Result<(), StoreError> {
        let operation = batch.operation.clone();
        match self.writer()?.append(batch) {
            // Nobody here holds it, perhaps because there is no such thing.
            Err(lost @ StoreError::LostOwnership(_)) => {
                read::operation_key(&self.reader(), &operation)?;
                Err(lost)
            }
            outcome => outcome,
        }
    }

    fn flush<'a>(
        &'a self,
        operation: &'a OperationId,
        durability: Durability,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.flush_to(operation, durability))
    }

    fn post(&self, operation: &OperationId, item: InboxItem, now: u64) -> Result<InboxId, StoreError> {
        self.writer()?.post(operation, item, now)
    }

    fn inbox(&self, operation: &OperationId) -> Result<Vec<(InboxId, InboxItem)>, StoreError> {
        read::inbox(&self.settled(Some(operation)), operation)
    }

    fn version(&self) -> Result<u64, StoreError> {
        read::version(&self.reader())
    }

    fn load(&self, operation: &OperationId) -> Result<Loaded, StoreError> {
        read::load(&mut self.settled(Some(operation)), operation)
    }

    fn header(&self, operation: &OperationId) -> Result<Header, StoreError> {
        read::header(&self.settled(Some(operation)), operation)
    }

    fn list(&self, limit: usize) -> Result<Vec<Header>, StoreError> {
        read::list(&self.settled(None), limit)
    }

    fn records(&self, operation: &OperationId) -> Result<Vec<String>, StoreError> {
        read::records(&self.settled(Some(operation)), operation)
    }

    fn messages(&self, operation: &OperationId) -> Result<Vec<StoredMessage>, StoreError> {
        read::all_messages(&self.settled(Some(operation)), operation)
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<Approval>, StoreError> {
        let reader = self.settled(Some(operation));
        let key = read::operation_key(&reader, operation)?;
        read::approval(&reader, key)
    }

    fn caller_hooks(&self, operation: &OperationId) -> Result<Vec<String>, StoreError> {
        read::caller_hooks(&self.settled(Some(operation)), operation)
    }

    fn outbox(&self, limit: usize) -> Result<Vec<StoredDelivery>, StoreError> {
        let mut found = read::outbox(&self.settled(None), limit)?;
        for stored in &mut found {
            let holder = stored.holder.take().filter(|holder| seems_alive(&self.path, holder));
            stored.holder = holder.map(|holder| label_of(&holder));
        }
        Ok(found)
    }

    fn claim_deliveries(&self, claim: &DeliveryClaim) -> Result<ClaimedDeliveries, StoreError> {
        self.writer()?.claim_deliveries(claim)
    }

    fn change_delivery(&self, id: &str, change: DeliveryChange) -> Result<DeliveryChanged, StoreError> {
        self.writer()?.change_delivery(id, change)
    }

    fn outbox_is_full(&self) -> Result<bool, StoreError> {
        // A few more or less do not matter, so nobody waits for what is queued.
        read::outbox_is_full(&self.reader())
    }

    fn heard(&self, operation: &OperationId) -> Result<Vec<Heard>, StoreError> {
        read::heard(&self.settled(Some(operation)), operation)
    }

    fn blob(&self, blob: &BlobId) -> Result<Option<Arc<str>>, StoreError> {
        read::blob(&self.settled(None), blob)
    }

    fn config(&self, hash: &ConfigHash) -> Result<Option<Arc<str>>, StoreError> {
        read::config(&self.reader(), hash)
    }

    fn forget_hooks(&self, operation: &OperationId) -> Result<(), StoreError> {
        self.writer()?.forget_hooks(operation)
    }
}
