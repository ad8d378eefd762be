//! Whose hooks are asked, in which order.

use std::sync::Arc;

use jackline_model::OperationId;

/// The operations whose hooks are asked about an event: ancestors from the root, then the one that runs.
///
/// Of an ancestor only the hooks that are inherited take part. Equal ids in two operations are two
/// hooks, and both are asked. Cloning shares the list.
///
/// ```
/// use jackline_hooks::Rounds;
/// let rounds = Rounds::under(["root".into()], "child");
/// assert_eq!(rounds.running().as_str(), "child");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounds {
    ancestors: Arc<[OperationId]>,
    running: OperationId,
}

impl Rounds {
    /// The rounds of an operation without ancestors.
    pub fn of(running: impl Into<OperationId>) -> Self {
        Self::under([], running)
    }

    /// The rounds of a child, its ancestors from the root.
    pub fn under(ancestors: impl IntoIterator<Item = OperationId>, running: impl Into<OperationId>) -> Self {
        Self { ancestors: ancestors.into_iter().collect(), running: running.into() }
    }

    /// The ancestors, the root first.
    pub fn ancestors(&self) -> &[OperationId] {
        &self.ancestors
    }

    /// The operation that runs.
    pub fn running(&self) -> &OperationId {
        &self.running
    }
}
