//! What both sides of the queue know: which fences this store holds and what has failed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackline_model::OperationId;
use jackline_runtime::journal::{Batch, Fence, StoreError};

/// The operations that this store works on.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    state: Mutex<State>,
    /// Batches that were appended and are not written yet.
    queued: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    held: HashMap<OperationId, Held>,
    /// The same batches, by the operations that they write to.
    queued: HashMap<OperationId, usize>,
}

#[derive(Debug)]
struct Held {
    fence: Fence,
    /// The first failure. A journal has no holes, so nothing is written after it until the
    /// operation is claimed again.
    failure: Option<StoreError>,
}

impl Ledger {
    /// Counts a batch in if it may be queued; says how many there are with it.
    ///
    /// # Errors
    ///
    /// [`StoreError::LostOwnership`] if this store does not hold the fence; the failure of an
    /// earlier batch.
    pub(super) fn queue(&self, batch: &Batch) -> Result<usize, StoreError> {
        let mut state = self.lock();
        match state.held.get(&batch.operation) {
            Some(Held { failure: Some(failure), fence }) if *fence == batch.fence => return Err(failure.clone()),
            Some(held) if held.fence == batch.fence => {}
            Some(_) | None => return Err(StoreError::LostOwnership(batch.operation.clone())),
        }
        for written_to in written_to(batch) {
            *state.queued.entry(written_to.clone()).or_default() += 1;
        }
        Ok(self.queued.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// Whether an earlier batch failed.
    pub(crate) fn failure(&self, operation: &OperationId) -> Option<StoreError> {
        self.lock().held.get(operation).and_then(|held| held.failure.clone())
    }

    /// Whether anything is queued: of one operation, or at all.
    pub(super) fn has_queued(&self, operation: Option<&OperationId>) -> bool {
        match operation {
            Some(operation) => self.lock().queued.contains_key(operation),
            None => self.queued.load(Ordering::Acquire) > 0,
        }
    }

    /// Counts batches out.
    pub(super) fn written(&self, batches: &[Batch]) {
        let mut state = self.lock();
        for written_to in batches.iter().flat_map(written_to) {
            if let Entry::Occupied(mut queued) = state.queued.entry(written_to.clone()) {
                *queued.get_mut() -= 1;
                if *queued.get() == 0 {
                    queued.remove();
                }
            }
        }
        self.queued.fetch_sub(batches.len(), Ordering::AcqRel);
    }

    /// The operation is ours, with nothing failed.
    pub(super) fn hold(&self, operation: OperationId, fence: Fence) {
        self.lock().held.insert(operation, Held { fence, failure: None });
    }

    pub(super) fn let_go(&self, operation: &OperationId) {
        self.lock().held.remove(operation);
    }

    /// Keeps the first failure of an operation.
    pub(super) fn fail(&self, operation: &OperationId, error: &StoreError) {
        if let Some(held) = self.lock().held.get_mut(operation) {
            held.failure.get_or_insert_with(|| error.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The operations in which a batch can be seen: its own, and those that it posts to.
fn written_to(batch: &Batch) -> impl Iterator<Item = &OperationId> {
    std::iter::once(&batch.operation).chain(batch.posts.iter().map(|(receiver, _)| receiver))
}
