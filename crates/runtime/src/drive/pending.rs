//! What has happened and is not handed to the store yet: one transaction in the making.

use jackline_model::OperationId;

use crate::journal::{
    Approval, Batch, Fence, Fold, Heard, InboxId, InboxItem, NewDelivery, Row, Store, StoreError, Summary, encode,
};
use crate::machine::{Boundary, Durability, Input};

/// The next transaction of an operation.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    inputs: Vec<(Input, Option<Boundary>)>,
    pub(crate) rows: Vec<Row>,
    pub(crate) fold: Option<Fold>,
    pub(crate) approval: Option<Approval>,
    pub(crate) approval_closed: bool,
    pub(crate) consumed: Vec<InboxId>,
    pub(crate) posts: Vec<(OperationId, InboxItem)>,
    pub(crate) outbox: Vec<NewDelivery>,
    pub(crate) heard: Vec<Heard>,
    pub(crate) summary: Option<Summary>,
}

impl Pending {
    /// Notes an input that moved the machine.
    pub(crate) fn record(&mut self, input: Input, boundary: Option<Boundary>) {
        self.inputs.push((input, boundary));
    }

    /// Hands what there is to the store while a step goes on. The next batch follows at once, so no
    /// boundary is worth its bytes here: recovery begins at an older one.
    pub(crate) fn append_within_step(
        &mut self,
        store: &dyn Store,
        operation: &OperationId,
        fence: Fence,
    ) -> Result<(), StoreError> {
        self.inputs.iter_mut().for_each(|(_, boundary)| *boundary = None);
        self.append(store, operation, fence)
    }

    /// Hands what there is to the store.
    pub(crate) fn append(
        &mut self,
        store: &dyn Store,
        operation: &OperationId,
        fence: Fence,
    ) -> Result<(), StoreError> {
        if self.inputs.is_empty() && self.consumed.is_empty() && self.heard.is_empty() {
            return Ok(());
        }
        self.keep_last_boundary();
        let pending = std::mem::take(self);
        store.append(Batch {
            operation: operation.clone(),
            fence,
            boundary: pending.inputs.iter().any(|(_, boundary)| boundary.is_some()),
            record: encode(&pending.inputs),
            rows: pending.rows,
            fold: pending.fold,
            approval: pending.approval,
            approval_closed: pending.approval_closed,
            consumed: pending.consumed,
            posts: pending.posts,
            outbox: pending.outbox,
            heard: pending.heard,
            summary: pending.summary,
        })
    }

    /// Recovery begins at the last boundary, so a batch needs no other.
    fn keep_last_boundary(&mut self) {
        let boundaries = self.inputs.iter_mut().rev().map(|(_, boundary)| boundary);
        boundaries.filter(|boundary| boundary.is_some()).skip(1).for_each(|boundary| *boundary = None);
    }

    /// Hands over what there is and waits until it is as durable as an effect needs.
    pub(crate) async fn make(
        &mut self,
        durability: Durability,
        store: &dyn Store,
        operation: &OperationId,
        fence: Fence,
    ) -> Result<(), StoreError> {
        if durability == Durability::Behind {
            return Ok(());
        }
        self.append(store, operation, fence)?;
        store.flush(operation, durability).await
    }
}
