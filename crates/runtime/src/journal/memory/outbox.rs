//! The outbox of the store in memory.

use std::collections::BTreeSet;

use jackline_model::OperationId;

use crate::journal::outbox::{
    ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim, NewDelivery, OUTBOX_DEAD_MAX,
    OUTBOX_TRY_LEFT_OPEN, OUTBOX_WAITING_MAX, StoredDelivery,
};

/// Deliveries in the order in which they came, each with the process that has it in hand.
#[derive(Debug, Default)]
pub(super) struct OutboxShelf(Vec<(StoredDelivery, Option<u64>)>);

impl OutboxShelf {
    /// Puts one in; one that is there already stays as it is.
    pub(super) fn put(&mut self, delivery: &NewDelivery, operation: &OperationId) {
        if self.0.iter().any(|(stored, _)| stored.delivery.id == delivery.id) {
            return;
        }
        let stored = StoredDelivery {
            delivery: delivery.clone(),
            operation: operation.clone(),
            attempts: 0,
            due_at: 0,
            error: None,
            dead: false,
            holder: None,
        };
        self.0.push((stored, None));
    }

    pub(super) fn all(&self, limit: usize) -> Vec<StoredDelivery> {
        self.0.iter().take(limit).map(|(stored, _)| stored.clone()).collect()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.iter().filter(|(stored, _)| !stored.dead).count() >= OUTBOX_WAITING_MAX
    }

    pub(super) fn claim(&mut self, claim: &DeliveryClaim, process: u64, alive: &BTreeSet<u64>) -> ClaimedDeliveries {
        for (stored, holder) in &mut self.0 {
            let is_gone = holder.is_some_and(|holder| !alive.contains(&holder));
            if is_gone || (holder.is_some() && stored.due_at <= claim.now) {
                (*holder, stored.holder) = (None, None);
                stored.due_at = stored.due_at.min(claim.now);
                stored.error = Some(OUTBOX_TRY_LEFT_OPEN.to_owned());
                stored.dead = stored.attempts >= claim.attempts_max;
            }
        }
        self.prune();
        let mut claimed = ClaimedDeliveries::default();
        for (stored, holder) in self.0.iter_mut().filter(|(stored, _)| !stored.dead) {
            if stored.due_at <= claim.now && claimed.deliveries.len() < claim.limit {
                stored.attempts += 1;
                stored.holder = Some(words_for(process));
                (stored.due_at, *holder) = (claim.until, Some(process));
                claimed.deliveries.push(stored.clone());
            }
            claimed.next_at = Some(claimed.next_at.map_or(stored.due_at, |next| next.min(stored.due_at)));
        }
        claimed
    }

    pub(super) fn change(
        &mut self,
        id: &str,
        change: DeliveryChange,
        process: u64,
        alive: &BTreeSet<u64>,
    ) -> DeliveryChanged {
        let Some(at) = self.0.iter().position(|(stored, _)| stored.delivery.id == id) else {
            return DeliveryChanged::NotThere;
        };
        let (stored, holder) = &mut self.0[at];
        match change {
            DeliveryChange::Delivered | DeliveryChange::Drop => drop(self.0.remove(at)),
            DeliveryChange::Failed { attempt, .. } if *holder != Some(process) || stored.attempts != attempt => {
                return DeliveryChanged::NotThere;
            }
            DeliveryChange::Failed { error, retry_at, .. } => {
                (*holder, stored.holder, stored.error) = (None, None, Some(error));
                stored.dead = retry_at.is_none();
                stored.due_at = retry_at.unwrap_or(stored.due_at);
                self.prune();
            }
            DeliveryChange::Retry { at } => {
                if let Some(holder) = holder.filter(|holder| alive.contains(holder) && stored.due_at > at) {
                    return DeliveryChanged::InHand { holder: words_for(holder) };
                }
                (*holder, stored.holder) = (None, None);
                (stored.attempts, stored.due_at, stored.dead) = (0, at, false);
            }
        }
        DeliveryChanged::Done
    }

    /// Forgets the oldest of the dead, if there are too many.
    fn prune(&mut self) {
        let mut surplus = self.0.iter().filter(|(stored, _)| stored.dead).count().saturating_sub(OUTBOX_DEAD_MAX);
        self.0.retain(|(stored, _)| {
            let is_kept = !stored.dead || surplus == 0;
            surplus -= usize::from(!is_kept);
            is_kept
        });
    }
}

fn words_for(process: u64) -> String {
    format!("process {process}")
}
