//! Whose hooks are asked, in which order.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackline_model::OperationId;
use serde_json::Value;

/// The operations whose hooks are asked about an event: ancestors from the root, then the one that asked for an
/// approval if that is another, then the one that runs. Environment hooks come last, once.
///
/// Of an ancestor only the hooks that are inherited take part; of the one that asked, only the controls, which see
/// its id in the event. Equal ids in two operations are two hooks, and both are asked. Cloning shares the list.
///
/// ```
/// use jackline_hooks::Rounds;
/// let rounds = Rounds::under(["root".into()], "child");
/// assert_eq!(rounds.running().as_str(), "child");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    ancestors: Arc<[OperationId]>,
    asked_by: Option<OperationId>,
    running: OperationId,
    stored: BTreeMap<OperationId, Arc<[Value]>>,
}

impl Rounds {
    /// The rounds of an operation without ancestors.
    pub fn of(running: impl Into<OperationId>) -> Self {
        Self::under([], running)
    }

    /// The rounds of a child, its ancestors from the root.
    pub fn under(ancestors: impl IntoIterator<Item = OperationId>, running: impl Into<OperationId>) -> Self {
        let ancestors = ancestors.into_iter().collect();
        Self { ancestors, asked_by: None, running: running.into(), stored: BTreeMap::new() }
    }

    /// The same, for a call that another operation asked approval for. The running one itself changes nothing.
    pub fn asked_by(self, operation: impl Into<OperationId>) -> Self {
        let asked_by = Some(operation.into()).filter(|operation| *operation != self.running);
        Self { asked_by, ..self }
    }

    /// The same, with the hooks that were stored for one of the operations.
    ///
    /// In local mode they count if nothing is registered for it in this process. In queue mode they count before
    /// what is registered, and an empty list counts, too.
    pub fn with_stored(mut self, operation: impl Into<OperationId>, hooks: impl Into<Arc<[Value]>>) -> Self {
        self.stored.insert(operation.into(), hooks.into());
        self
    }

    /// The ancestors, the root first.
    pub fn ancestors(&self) -> &[OperationId] {
        &self.ancestors
    }

    /// The operation that asked for approval, if it is another.
    pub fn asking(&self) -> Option<&OperationId> {
        self.asked_by.as_ref()
    }

    /// The operation that runs.
    pub fn running(&self) -> &OperationId {
        &self.running
    }

    /// What was stored for an operation.
    pub(super) fn stored(&self, operation: &OperationId) -> Option<&Arc<[Value]>> {
        self.stored.get(operation)
    }
}
