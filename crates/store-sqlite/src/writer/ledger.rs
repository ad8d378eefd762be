//! What both sides of the queue know: which fences this store holds and what has failed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackline_model::OperationId;
use jackline_runtime::journal::{Fence, StoreError};

/// The operations that this store works on.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    held: Mutex<HashMap<OperationId, Held>>,
    /// Batches that were appended and are not written yet.
    queued: AtomicUsize,
}

#[derive(Debug)]
struct Held {
    fence: Fence,
    /// The first failure. A journal has no holes, so nothing is written after it until the
    /// operation is claimed again.
    failure: Option<StoreError>,
}

impl Ledger {
    /// Whether a batch may be queued.
    ///
    /// # Errors
    ///
    /// [`StoreError::LostOwnership`] if this store does not hold the fence; the failure of an
    /// earlier batch.
    pub(crate) fn check(&self, operation: &OperationId, fence: Fence) -> Result<(), StoreError> {
        match self.lock().get(operation) {
            Some(held) if held.fence == fence => held.failure.clone().map_or(Ok(()), Err),
            Some(_) | None => Err(StoreError::LostOwnership(operation.clone())),
        }
    }

    /// Whether an earlier batch failed.
    pub(crate) fn failure(&self, operation: &OperationId) -> Option<StoreError> {
        self.lock().get(operation).and_then(|held| held.failure.clone())
    }

    pub(crate) fn has_queued(&self) -> bool {
        self.queued.load(Ordering::Acquire) > 0
    }

    /// Counts a batch in; says how many there are with it.
    pub(super) fn queued(&self) -> usize {
        self.queued.fetch_add(1, Ordering::AcqRel) + 1
    }

    pub(super) fn written(&self, batches: usize) {
        self.queued.fetch_sub(batches, Ordering::AcqRel);
    }

    /// The operation is ours, with nothing failed.
    pub(super) fn hold(&self, operation: OperationId, fence: Fence) {
        self.lock().insert(operation, Held { fence, failure: None });
    }

    pub(super) fn let_go(&self, operation: &OperationId) {
        self.lock().remove(operation);
    }

    /// Keeps the first failure of an operation.
    pub(super) fn fail(&self, operation: &OperationId, error: &StoreError) {
        if let Some(held) = self.lock().get_mut(operation) {
            held.failure.get_or_insert_with(|| error.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<OperationId, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
