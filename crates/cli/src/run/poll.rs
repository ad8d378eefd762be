//! Noticing what other processes post.

use std::collections::BTreeSet;
use std::time::Duration;

use jackline_model::OperationId;
use jackline_runtime::drive::{RunError, Runtime};
use jackline_runtime::journal::InboxId;

/// Looks into inboxes when the store has changed.
///
/// The store changes with our own writes too, so drivers are woken only for items that are new.
#[derive(Debug, Default)]
pub(super) struct Poll {
    version: Option<u64>,
    operations: BTreeSet<OperationId>,
    seen: BTreeSet<(OperationId, InboxId)>,
}

impl Poll {
    /// An operation to look after.
    pub(super) fn watch(&mut self, operation: &OperationId) {
        if !operation.as_str().is_empty() && !self.operations.contains(operation) {
            self.operations.insert(operation.clone());
        }
    }

    /// Looks once. True if something new has come.
    pub(super) fn look(&mut self, runtime: &Runtime) -> Result<bool, RunError> {
        let version = runtime.store().version()?;
        if self.version.replace(version) == Some(version) {
            return Ok(false);
        }
        let mut is_new = false;
        for operation in &self.operations {
            for (item, _) in runtime.store().inbox(operation)? {
                is_new |= self.seen.insert((operation.clone(), item));
            }
        }
        if is_new {
            runtime.look()?;
        }
        Ok(is_new)
    }
}

/// A person who decides in another window should not have to wait.
pub(super) const EVERY: Duration = Duration::from_millis(200);
