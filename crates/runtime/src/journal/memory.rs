//! A store that lives in memory: for tests, and for runs that nobody wants to keep.
//!
//! It applies every batch at once and survives nothing. Handles made with
//! [`MemoryStore::another_process`] share the content, so that ownership can be tested.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackline_model::{BlobId, ConfigHash, OperationId, Status, Totals};

use self::operation::Operation;
use self::outbox::OutboxShelf;
use super::outbox::{ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim, StoredDelivery};
use super::port::{
    Approval, Batch, BoxFuture, Fence, Header, Heard, InboxId, InboxItem, Loaded, NewOperation, Store, StoreError,
    StoredMessage, Summary,
};
use crate::machine::Durability;

mod operation;
mod outbox;
#[cfg(test)]
mod tests;

/// A store in memory, as one process sees it.
///
/// ```
/// use jackline_runtime::journal::{MemoryStore, Store, StoreError};
///
/// let store = MemoryStore::new();
/// assert!(store.list(10).unwrap().is_empty());
/// assert_eq!(store.load(&"nobody".into()), Err(StoreError::NoSuchOperation("nobody".into())));
/// ```
#[derive(Clone, Debug)]
pub struct MemoryStore {
    content: Arc<Mutex<Content>>,
    process: u64,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        let content = Content { processes: BTreeSet::from([1]), ..Content::default() };
        Self { content: Arc::new(Mutex::new(content)), process: 1 }
    }

    /// The same content, as another process sees it.
    pub fn another_process(&self) -> Self {
        let mut content = self.lock();
        let process = content.processes.last().map_or(1, |last| last + 1);
        content.processes.insert(process);
        Self { content: Arc::clone(&self.content), process }
    }

    /// Ends the process of this handle as `kill -9` would: what it owns is owned by nobody, and its
    /// writes are refused.
    pub fn kill(&self) {
        self.lock().processes.remove(&self.process);
    }

    /// Lets the next call that writes fail with this error and change nothing. Calls queue up.
    pub fn fail_next(&self, error: StoreError) {
        self.lock().faults.push_back(error);
    }

    /// Lets the next read of an operation's hooks fail with this error.
    pub fn fail_next_read_of_hooks(&self, error: StoreError) {
        self.lock().hook_faults.push_back(error);
    }

    /// The content. A panic elsewhere leaves it whole: every write is checked before it is applied.
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The content, for a write.
    fn lock_to_write(&self) -> Result<MutexGuard<'_, Content>, StoreError> {
        let mut content = self.lock();
        match content.faults.pop_front() {
            Some(fault) => Err(fault),
            None => Ok(content),
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

#[derive(Debug, Default)]
struct Content {
    operations: BTreeMap<OperationId, Operation>,
    /// The ids in the order of creation.
    created: Vec<OperationId>,
    blobs: BTreeMap<BlobId, Arc<str>>,
    configs: BTreeMap<ConfigHash, Arc<str>>,
    processes: BTreeSet<u64>,
    inbox_ids: u64,
    version: u64,
    faults: VecDeque<StoreError>,
    hook_faults: VecDeque<StoreError>,
    outbox: OutboxShelf,
}

impl Content {
    fn operation(&self, id: &OperationId) -> Result<&Operation, StoreError> {
        self.operations.get(id).ok_or_else(|| StoreError::NoSuchOperation(id.clone()))
    }

    fn operation_mut(&mut self, id: &OperationId) -> Result<&mut Operation, StoreError> {
        self.operations.get_mut(id).ok_or_else(|| StoreError::NoSuchOperation(id.clone()))
    }

    /// Everything of a batch is checked before anything is applied: it is one transaction.
    fn apply(&mut self, batch: Batch, process: u64) -> Result<(), StoreError> {
        let id = batch.operation.clone();
        let operation = self.operation(&id)?;
        if !self.processes.contains(&process) || !operation.is_owned(process, batch.fence) {
            return Err(StoreError::LostOwnership(id));
        }
        operation.check_rows(&batch)?;
        for (receiver, _) in &batch.posts {
            self.operation(receiver)?;
        }
        for (receiver, item) in &batch.posts {
            let id = self.next_inbox_id();
            self.operation_mut(receiver)?.inbox.insert(id, item.clone());
        }
        for delivery in &batch.outbox {
            self.outbox.put(delivery, &id);
        }
        let blobs = self.operation_mut(&id)?.write(batch);
        self.blobs.extend(blobs);
        self.version += 1;
        Ok(())
    }

    fn next_inbox_id(&mut self) -> InboxId {
        self.inbox_ids += 1;
        InboxId(self.inbox_ids)
    }
}

impl Store for MemoryStore {
    fn create(&self, new: NewOperation) -> Result<Fence, StoreError> {
        let mut content = self.lock_to_write()?;
        if content.operations.contains_key(&new.id) {
            return Err(StoreError::Exists(new.id));
        }
        let id = new.id.clone();
        content.configs.insert(new.config_hash.clone(), Arc::clone(&new.config));
        let (operation, fence) = Operation::create(new, self.process);
        content.operations.insert(id.clone(), operation);
        content.created.push(id);
        content.version += 1;
        Ok(fence)
    }

    fn claim(&self, operation: &OperationId) -> Result<Fence, StoreError> {
        let mut content = self.lock_to_write()?;
        let owner = content.operation(operation)?.owner;
        if let Some(owner) = owner.filter(|owner| *owner != self.process && content.processes.contains(owner)) {
            return Err(StoreError::Owned { operation: operation.clone(), owner: format!("process {owner}") });
        }
        content.version += 1;
        Ok(content.operation_mut(operation)?.claim(self.process))
    }

    fn release(&self, operation: &OperationId, fence: Fence) -> Result<(), StoreError> {
        let mut content = self.lock_to_write()?;
        let owned = content.operation_mut(operation)?;
        if !owned.is_owned(self.process, fence) {
            return Err(StoreError::LostOwnership(operation.clone()));
        }
        owned.owner = None;
        content.version += 1;
        Ok(())
    }

    fn append(&self, batch: Batch) -> Result<(), StoreError> {
        self.lock_to_write()?.apply(batch, self.process)
    }

    fn flush<'a>(&'a self, operation: &'a OperationId, _: Durability) -> BoxFuture<'a, Result<(), StoreError>> {
        let found = self.lock().operation(operation).map(|_| ());
        Box::pin(std::future::ready(found))
    }

    fn post(&self, operation: &OperationId, item: InboxItem, now: u64) -> Result<InboxId, StoreError> {
        let mut content = self.lock_to_write()?;
        content.operation_mut(operation)?.admit(&item, now)?;
        let id = content.next_inbox_id();
        content.operation_mut(operation)?.inbox.insert(id, item);
        content.version += 1;
        Ok(id)
    }

    fn inbox(&self, operation: &OperationId) -> Result<Vec<(InboxId, InboxItem)>, StoreError> {
        let content = self.lock();
        Ok(content.operation(operation)?.inbox.iter().map(|(id, item)| (*id, item.clone())).collect())
    }

    fn version(&self) -> Result<u64, StoreError> {
        Ok(self.lock().version)
    }

    fn load(&self, operation: &OperationId) -> Result<Loaded, StoreError> {
        Ok(self.lock().operation(operation)?.load())
    }

    fn header(&self, operation: &OperationId) -> Result<Header, StoreError> {
        Ok(self.lock().operation(operation)?.header.clone())
    }

    fn list(&self, limit: usize) -> Result<Vec<Header>, StoreError> {
        let content = self.lock();
        let mut headers = Vec::new();
        for id in content.created.iter().rev() {
            headers.push(content.operation(id)?.header.clone());
        }
        // Stable: those of the same millisecond stay in the order of creation, newest first.
        headers.sort_by_key(|header| std::cmp::Reverse(header.created_at));
        headers.truncate(limit);
        Ok(headers)
    }

    fn records(&self, operation: &OperationId) -> Result<Vec<String>, StoreError> {
        let content = self.lock();
        Ok(content.operation(operation)?.records.iter().map(|(record, _)| record.clone()).collect())
    }

    fn messages(&self, operation: &OperationId) -> Result<Vec<StoredMessage>, StoreError> {
        Ok(self.lock().operation(operation)?.messages.clone())
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<Approval>, StoreError> {
        Ok(self.lock().operation(operation)?.approval.clone())
    }

    fn caller_hooks(&self, operation: &OperationId) -> Result<Vec<String>, StoreError> {
        let mut content = self.lock();
        match content.hook_faults.pop_front() {
            Some(fault) => Err(fault),
            None => Ok(content.operation(operation)?.caller_hooks.clone()),
        }
    }

    fn outbox(&self, limit: usize) -> Result<Vec<StoredDelivery>, StoreError> {
        Ok(self.lock().outbox.all(limit))
    }

    fn claim_deliveries(&self, claim: &DeliveryClaim) -> Result<ClaimedDeliveries, StoreError> {
        let mut content = self.lock_to_write()?;
        let alive = content.processes.clone();
        Ok(content.outbox.claim(claim, self.process, &alive))
    }

    fn change_delivery(&self, id: &str, change: DeliveryChange) -> Result<DeliveryChanged, StoreError> {
        let mut content = self.lock_to_write()?;
        let alive = content.processes.clone();
        Ok(content.outbox.change(id, change, self.process, &alive))
    }

    fn outbox_is_full(&self) -> Result<bool, StoreError> {
        Ok(self.lock().outbox.is_full())
    }

    fn heard(&self, operation: &OperationId) -> Result<Vec<Heard>, StoreError> {
        Ok(self.lock().operation(operation)?.heard.clone())
    }

    fn blob(&self, blob: &BlobId) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.lock().blobs.get(blob).cloned())
    }

    fn config(&self, hash: &ConfigHash) -> Result<Option<Arc<str>>, StoreError> {
        Ok(self.lock().configs.get(hash).cloned())
    }

    fn forget_hooks(&self, operation: &OperationId) -> Result<(), StoreError> {
        self.lock_to_write()?.operation_mut(operation)?.caller_hooks.clear();
        Ok(())
    }
}

/// What `list` shows of an operation that has not begun.
fn unbegun(created_at: u64) -> Summary {
    Summary { status: Status::Idle, reason: None, steps: 0, totals: Totals::default(), updated_at: created_at }
}
