//! A store that cannot be read, when a test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jackline_model::{BlobId, ConfigHash, OperationId, Role};
use jackline_runtime::journal::{
    Approval, Batch, BoxFuture, ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim, Fence, Header,
    Heard, InboxId, InboxItem, Loaded, MemoryStore, NewOperation, Store, StoreError, StoredDelivery, StoredMessage,
};
use jackline_runtime::machine::Durability;

/// A store whose inbox or whose content cannot be read for a while.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faulty {
    pub(crate) store: MemoryStore,
    pub(crate) inbox_fails: Arc<AtomicBool>,
    pub(crate) load_fails: Arc<AtomicBool>,
    /// What the model said is gone.
    pub(crate) loses_replies: Arc<AtomicBool>,
    /// Records read back make no sense.
    pub(crate) is_damaged: Arc<AtomicBool>,
}

impl Faulty {
    fn check(flag: &AtomicBool) -> Result<(), StoreError> {
        match flag.load(Ordering::Relaxed) {
            true => Err(StoreError::Io { doing: "read", why: "the disk is gone".to_owned() }),
            false => Ok(()),
        }
    }
}

impl Store for Faulty {
    fn create(&self, new: NewOperation) -> Result<Fence, StoreError> {
        self.store.create(new)
    }

    fn claim(&self, operation: &OperationId) -> Result<Fence, StoreError> {
        self.store.claim(operation)
    }

    fn release(&self, operation: &OperationId, fence: Fence) -> Result<(), StoreError> {
        self.store.release(operation, fence)
    }

    fn append(&self, batch: Batch) -> Result<(), StoreError> {
        self.store.append(batch)
    }

    fn flush<'a>(
        &'a self,
        operation: &'a OperationId,
        durability: Durability,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.flush(operation, durability)
    }

    fn post(&self, operation: &OperationId, item: InboxItem, now: u64) -> Result<InboxId, StoreError> {
        self.store.post(operation, item, now)
    }

    fn inbox(&self, operation: &OperationId) -> Result<Vec<(InboxId, InboxItem)>, StoreError> {
        Self::check(&self.inbox_fails)?;
        self.store.inbox(operation)
    }

    fn version(&self) -> Result<u64, StoreError> {
        self.store.version()
    }

    fn load(&self, operation: &OperationId) -> Result<Loaded, StoreError> {
        Self::check(&self.load_fails)?;
        let mut loaded = self.store.load(operation)?;
        if self.loses_replies.load(Ordering::Relaxed) {
            loaded.messages.retain(|stored| stored.message.role() != Role::Assistant);
        }
        if self.is_damaged.load(Ordering::Relaxed) {
            loaded.records = vec!["{".to_owned()];
        }
        Ok(loaded)
    }

    fn header(&self, operation: &OperationId) -> Result<Header, StoreError> {
        self.store.header(operation)
    }

    fn list(&self, limit: usize) -> Result<Vec<Header>, StoreError> {
        self.store.list(limit)
    }

    fn records(&self, operation: &OperationId) -> Result<Vec<String>, StoreError> {
        self.store.records(operation)
    }

    fn messages(&self, operation: &OperationId) -> Result<Vec<StoredMessage>, StoreError> {
        self.store.messages(operation)
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<Approval>, StoreError> {
        self.store.approval(operation)
    }

    fn caller_hooks(&self, operation: &OperationId) -> Result<Vec<String>, StoreError> {
        self.store.caller_hooks(operation)
    }

    fn heard(&self, operation: &OperationId) -> Result<Vec<Heard>, StoreError> {
        self.store.heard(operation)
    }

    fn outbox(&self, limit: usize) -> Result<Vec<StoredDelivery>, StoreError> {
        self.store.outbox(limit)
    }

    fn claim_deliveries(&self, claim: &DeliveryClaim) -> Result<ClaimedDeliveries, StoreError> {
        self.store.claim_deliveries(claim)
    }

    fn change_delivery(&self, id: &str, change: DeliveryChange) -> Result<DeliveryChanged, StoreError> {
        self.store.change_delivery(id, change)
    }

    fn outbox_is_full(&self) -> Result<bool, StoreError> {
        self.store.outbox_is_full()
    }

    fn blob(&self, blob: &BlobId) -> Result<Option<Arc<str>>, StoreError> {
        self.store.blob(blob)
    }

    fn config(&self, hash: &ConfigHash) -> Result<Option<Arc<str>>, StoreError> {
        self.store.config(hash)
    }

    fn forget_hooks(&self, operation: &OperationId) -> Result<(), StoreError> {
        self.store.forget_hooks(operation)
    }
}
