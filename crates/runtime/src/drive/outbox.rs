//! Delivering what the store keeps for webhooks, until it has arrived.
//!
//! Nothing here holds a run up. A delivery is tried at once, then after ever longer waits, then it is dead and waits
//! for a person. Its id is the same each time, so that a receiver can tell a repetition.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use jackline_hooks::{
    DeliveryId, FaultCode, HookFault, OutboxItem, OutboxRoom, WebhookCarrier, WebhookConfig, WebhookRequest,
};
use tokio::sync::Notify;

use super::core::Core;
use super::spawn::{Held, spawn_held};
use crate::journal::{DeliveryChange, DeliveryChanged, DeliveryClaim, NewDelivery, Store, StoreError, StoredDelivery};

/// What one runtime does about the outbox of its store.
#[derive(Default)]
pub(crate) struct Outbox {
    /// The way out; without one every delivery fails.
    carrier: Option<Arc<dyn WebhookCarrier>>,
    worker: Mutex<Option<Held<()>>>,
    /// Rings when there may be something to deliver.
    bell: Arc<Notify>,
    /// Rounds of deliveries that are under way here.
    under_way: AtomicUsize,
    /// Rings when one is done.
    settled: Notify,
}

/// What was done about the outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutboxReport {
    /// Deliveries that have arrived.
    pub delivered: usize,
    /// Tries that failed.
    pub failed: usize,
}

impl Outbox {
    pub(crate) fn new(carrier: Option<Arc<dyn WebhookCarrier>>) -> Self {
        Self { carrier, ..Self::default() }
    }
}

impl Core {
    /// Something is to be delivered: from now on a worker of this runtime sees to it.
    pub(crate) fn ring_outbox(&self) {
        self.outbox.bell.notify_one();
        let mut worker = self.outbox.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            let work = work(self.myself.clone(), Arc::clone(&self.outbox.bell));
            *worker = Some(spawn_held(&self.clock, false, work));
        }
    }

    /// Tries everything that is due, and waits for what the worker has in hand.
    pub(crate) async fn deliver_due(&self) -> Result<OutboxReport, StoreError> {
        let mut report = OutboxReport::default();
        loop {
            let (tried, _) = self.deliver_some().await?;
            report.delivered += tried.delivered;
            report.failed += tried.failed;
            if tried != OutboxReport::default() {
                continue;
            }
            // Listens before it looks, and not for itself.
            let mut done = std::pin::pin!(self.outbox.settled.notified());
            done.as_mut().enable();
            if self.outbox.under_way.load(Ordering::Acquire) == 0 {
                return Ok(report);
            }
            done.await;
        }
    }

    /// Tries a few that are due, and says when the next one is.
    async fn deliver_some(&self) -> Result<(OutboxReport, Option<u64>), StoreError> {
        // From before they are claimed: whoever finds nothing due waits for what the other has in hand.
        let _under_way = UnderWay::begin(&self.outbox);
        let now = self.clock.now_ms();
        let claim =
            DeliveryClaim { now, until: now.saturating_add(CLAIM_MS), limit: AT_ONCE, attempts_max: ATTEMPTS_MAX };
        let claimed = self.store.claim_deliveries(&claim)?;
        let tries = claimed.deliveries.iter().map(|stored| self.attempt(stored));
        let mut report = OutboxReport::default();
        for outcome in join_all(tries).await {
            if outcome? {
                report.delivered += 1;
            } else {
                report.failed += 1;
            }
        }
        Ok((report, claimed.next_at))
    }

    /// Tries one, and writes down what came of it. True if it has arrived.
    async fn attempt(&self, stored: &StoredDelivery) -> Result<bool, StoreError> {
        let hold = self.clock.hold();
        let sent = match (request(&stored.delivery), &self.outbox.carrier) {
            (Some(request), Some(carrier)) => carrier.notify(request).await,
            (None, _) => Err(unsendable("it cannot be read back")),
            (_, None) => Err(unsendable("nothing here carries webhooks")),
        };
        drop(hold);
        let arrived = sent.is_ok();
        let change = match sent {
            Ok(()) => DeliveryChange::Delivered,
            Err(fault) => {
                let (tried, error) = (stored.attempts, words(&fault));
                let asked = fault.retry_after().map_or(0, |wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                let wait = wait_ms(tried, self.jitter_permille()).max(asked.min(RETRY_AFTER_MAX_MS));
                let retry_at = (tried < ATTEMPTS_MAX).then(|| self.clock.now_ms().saturating_add(wait));
                tracing::warn!(
                    delivery = stored.delivery.id,
                    hook = stored.delivery.hook,
                    tried,
                    error,
                    is_dead = retry_at.is_none(),
                    "a delivery of the outbox failed"
                );
                DeliveryChange::Failed { attempt: tried, error, retry_at }
            }
        };
        if self.store.change_delivery(&stored.delivery.id, change)? != DeliveryChanged::Done {
            // Somebody has dropped it, or this try took so long that another has begun.
            tracing::info!(delivery = stored.delivery.id, "a try of a delivery ended when it did not count any more");
        }
        Ok(arrived)
    }
}

/// Delivers for as long as the runtime is there.
async fn work(core: Weak<Core>, bell: Arc<Notify>) {
    loop {
        let Some(strong) = core.upgrade() else { return };
        let clock = Arc::clone(&strong.clock);
        let next_at = match strong.deliver_some().await {
            Ok((report, _)) if report != OutboxReport::default() => continue,
            Ok((_, next_at)) => next_at,
            Err(error) => {
                tracing::warn!(%error, "the outbox cannot be read");
                Some(clock.now_ms().saturating_add(STORE_RETRY_MS))
            }
        };
        drop(strong);
        match next_at {
            Some(at) => tokio::select! {
                () = bell.notified() => {}
                () = clock.sleep_until(at) => {}
            },
            None => bell.notified().await,
        }
    }
}

/// Counts a round of deliveries for as long as it is under way.
struct UnderWay<'a>(&'a Outbox);

impl<'a> UnderWay<'a> {
    fn begin(outbox: &'a Outbox) -> Self {
        outbox.under_way.fetch_add(1, Ordering::AcqRel);
        Self(outbox)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
        self.0.settled.notify_waiters();
    }
}

/// A delivery in the form in which it is stored.
pub(crate) fn stored_form(item: &OutboxItem) -> Result<NewDelivery, serde_json::Error> {
    Ok(NewDelivery {
        id: item.delivery_id.as_str().to_owned(),
        hook: item.hook.to_string(),
        kind: item.kind.to_string(),
        webhook: serde_json::to_string(&*item.webhook)?,
        payload: serde_json::to_string(&item.payload)?,
    })
}

fn request(delivery: &NewDelivery) -> Option<WebhookRequest> {
    let config = WebhookConfig::from_json(&serde_json::from_str(&delivery.webhook).ok()?).ok()?;
    Some(WebhookRequest {
        config: Arc::new(config),
        payload: serde_json::from_str(&delivery.payload).ok()?,
        delivery_id: DeliveryId::from_stored(delivery.id.as_str()),
    })
}

/// What a store lets into its outbox.
pub(crate) struct StoreRoom(pub(crate) Arc<dyn Store>);

impl fmt::Debug for StoreRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreRoom").finish_non_exhaustive()
    }
}

impl OutboxRoom for StoreRoom {
    fn has_room(&self) -> bool {
        // A store that cannot be read says so when it is written to.
        !self.0.outbox_is_full().unwrap_or(false)
    }
}

fn unsendable(why: &str) -> HookFault {
    HookFault::new(FaultCode::Configuration).with_diagnostic(why)
}

/// What the list of deliveries says about a failure: its class, and the status of the answer.
fn words(fault: &HookFault) -> String {
    match (fault.status(), fault.diagnostic()) {
        (Some(status), None) => format!("{fault}: status {status}"),
        _ => fault.to_string(),
    }
}

/// How long to wait after the n-th failure: twice as long each time, a tenth more or less by chance.
fn wait_ms(tried: u32, jitter_permille: u16) -> u64 {
    let doubled = WAIT_FIRST_MS.saturating_mul(1_u64.checked_shl(tried.saturating_sub(1)).unwrap_or(u64::MAX));
    let wait = doubled.min(WAIT_MAX_MS);
    wait - wait / 10 + wait / 5 * u64::from(jitter_permille) / 1_000
}

/// How long a run's end waits for the first try of what it leaves: most receivers answer sooner.
pub const OUTBOX_GRACE: Duration = Duration::from_secs(5);

/// Deliveries that one process sends at once.
const AT_ONCE: usize = 8;

/// Tries of one delivery: with these waits, about four hours.
const ATTEMPTS_MAX: u32 = 30;

/// The wait after the first failure.
const WAIT_FIRST_MS: u64 = 1_000;

/// The longest wait.
const WAIT_MAX_MS: u64 = 10 * 60 * 1_000;

/// The longest wait that a receiver can ask for.
const RETRY_AFTER_MAX_MS: u64 = 60 * 60 * 1_000;

/// How long a delivery is in hand: longer than any deadline that is sensible for one.
const CLAIM_MS: u64 = 10 * 60 * 1_000;

/// How long to wait when the store cannot be read.
const STORE_RETRY_MS: u64 = 5_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_their_bound() {
        assert_eq!([1, 2, 3].map(|tried| wait_ms(tried, 500)), [1_000, 2_000, 4_000]);
        assert_eq!((wait_ms(11, 0), wait_ms(4_000_000, 999) <= WAIT_MAX_MS / 10 * 11), (540_000, true));
    }
}
