//! Webhooks that are delivered by way of the store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackline_hooks::{
    Carriers, ControlReply, DeliveryKind, Fallback, FaultCode, HookFault, HookKind, Hooks, WebhookCarrier,
    WebhookConfig, WebhookRequest,
};
use jackline_model::{OperationId, Reason};
use jackline_runtime::drive::{Agent, Clock, OutboxReport, RunError, Runtime, VirtualClock};
use jackline_runtime::journal::{
    Batch, DeliveryChange, DeliveryChanged, DeliveryClaim, MemoryStore, NewDelivery, OUTBOX_TRY_LEFT_OPEN,
    OUTBOX_WAITING_MAX, Store,
};
use jackline_runtime::llm::{BoxFuture, ScriptedModel, Turn};
use tokio::sync::Notify;

/// A receiver that fails as often as it was told to, and then takes what comes.
#[derive(Clone, Debug, Default)]
struct Receiver {
    faults: Arc<Mutex<VecDeque<HookFault>>>,
    is_down: Arc<Mutex<bool>>,
    tried: Arc<Mutex<Vec<WebhookRequest>>>,
    got: Arc<Notify>,
}

impl WebhookCarrier for Receiver {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        self.tried.lock().unwrap().push(request);
        let down = (*self.is_down.lock().unwrap()).then(|| HookFault::new(FaultCode::NetworkError));
        let failure = down.or_else(|| self.faults.lock().unwrap().pop_front());
        if failure.is_none() {
            self.got.notify_one();
        }
        Box::pin(ready(failure.map_or(Ok(()), Err)))
    }

    fn ask(&self, _: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        Box::pin(ready(Ok(ControlReply::Allow)))
    }
}

impl Receiver {
    fn failing(times: usize) -> Self {
        let faults = std::iter::repeat_n(HookFault::new(FaultCode::NetworkError), times).collect();
        Self { faults: Arc::new(Mutex::new(faults)), ..Self::default() }
    }

    fn ids(&self) -> Vec<String> {
        self.tried.lock().unwrap().iter().map(|request| request.delivery_id.to_string()).collect()
    }
}

fn runtime(store: MemoryStore, receiver: &Receiver, clock: &VirtualClock) -> Runtime {
    Runtime::builder()
        .model(ScriptedModel::new([Turn::text("done")]))
        .store(Arc::new(store))
        .carriers(Carriers { webhook: Some(Arc::new(receiver.clone())), ..Carriers::default() })
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap()
}

fn hooks() -> Hooks {
    let config = WebhookConfig { delivery: DeliveryKind::Outbox, ..WebhookConfig::new("https://audit.test/") };
    Hooks::new().webhook("audit", HookKind::OnComplete, config).into()
}

fn agent() -> Agent {
    Agent::new("clerk", "You work.")
}

#[tokio::test]
async fn a_receiver_that_is_down_for_a_while_costs_the_run_nothing_and_misses_nothing() {
    let (store, receiver, clock) = (MemoryStore::new(), Receiver::failing(5), VirtualClock::starting_at(1_000));
    let runtime = runtime(store.clone(), &receiver, &clock);
    let run = runtime.start(&agent(), "go", hooks()).unwrap();
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    // The clock jumps from one try to the next: 1, 2, 4, 8 and 16 seconds.
    receiver.got.notified().await;
    let ids = receiver.ids();
    assert_eq!(ids.len(), 6);
    assert!(ids.iter().all(|id| *id == ids[0]), "one firing has one id: {ids:?}");
    assert_eq!(receiver.tried.lock().unwrap()[5].payload["reason"], "done");
    runtime.deliver_outbox().await.unwrap();
    assert!(store.outbox(10).unwrap().is_empty(), "what has arrived is forgotten");
}

#[tokio::test]
async fn what_a_dead_process_left_is_delivered_by_another_under_the_same_id() {
    let (store, receiver, clock) = (MemoryStore::new(), Receiver::default(), VirtualClock::starting_at(1_000));
    *receiver.is_down.lock().unwrap() = true;
    let hold = clock.hold();
    let first = runtime(store.clone(), &receiver, &clock);
    first.start(&agent(), "go", hooks()).unwrap().wait().await.unwrap();
    first.deliver_outbox().await.unwrap();
    let left = store.outbox(10).unwrap();
    assert_eq!((left.len(), left[0].attempts, left[0].dead), (1, 1, false));
    // It dies with the delivery in hand.
    let other = store.another_process();
    let claim = DeliveryClaim { now: u64::MAX - 1, until: u64::MAX, limit: 8, attempts_max: 30 };
    assert_eq!(store.claim_deliveries(&claim).unwrap().deliveries.len(), 1);
    assert!(other.claim_deliveries(&claim).unwrap().deliveries.is_empty(), "it is in hand");
    store.kill();
    drop((first, hold));

    *receiver.is_down.lock().unwrap() = false;
    let second = runtime(other.clone(), &receiver, &clock);
    assert_eq!(second.deliver_outbox().await.unwrap(), OutboxReport { delivered: 1, failed: 0 });
    let ids = receiver.ids();
    assert!(ids.len() == 2 && ids[0] == ids[1], "{ids:?}");
    assert!(other.outbox(10).unwrap().is_empty());
}

#[tokio::test]
async fn a_receiver_that_wants_to_be_left_alone_is_tried_when_it_says_and_not_later_than_in_an_hour() {
    for (asked, waits) in [(90, 90_000), (0, 1_000), (86_400 * 365, 3_600_000)] {
        let (store, receiver, clock) = (MemoryStore::new(), Receiver::default(), VirtualClock::starting_at(1_000));
        receiver.faults.lock().unwrap().push_back(
            HookFault::new(FaultCode::HttpError).with_status(503).with_retry_after(Duration::from_secs(asked)),
        );
        let hold = clock.hold();
        let runtime = runtime(store.clone(), &receiver, &clock);
        runtime.start(&agent(), "go", hooks()).unwrap().wait().await.unwrap();
        runtime.deliver_outbox().await.unwrap();
        let waiting = store.outbox(10).unwrap().remove(0);
        let wait = waiting.due_at - clock.now_ms();
        assert!((waits * 9 / 10..=waits * 11 / 10).contains(&wait), "{asked} s: {wait} ms");
        assert_eq!(waiting.error.as_deref(), Some("Hook HTTP request failed: http_error: status 503"));
        drop(hold);
        receiver.got.notified().await;
    }
}

#[tokio::test]
async fn a_try_that_ends_with_its_process_counts_so_that_no_delivery_is_tried_for_ever() {
    let (store, receiver, clock) = (MemoryStore::new(), Receiver::default(), VirtualClock::starting_at(1_000));
    *receiver.is_down.lock().unwrap() = true;
    let hold = clock.hold();
    let first = runtime(store.clone(), &receiver, &clock);
    first.start(&agent(), "go", hooks()).unwrap().wait().await.unwrap();
    first.deliver_outbox().await.unwrap();
    drop(first);
    let mut process = store;
    let mut tries = 1;
    let dead = loop {
        let claim = DeliveryClaim { now: u64::MAX - 1, until: u64::MAX, limit: 8, attempts_max: 30 };
        if process.claim_deliveries(&claim).unwrap().deliveries.is_empty() {
            break process.outbox(10).unwrap().remove(0);
        }
        tries += 1;
        let next = process.another_process();
        process.kill();
        process = next;
    };
    assert_eq!((tries, dead.attempts, dead.dead), (30, 30, true));
    assert_eq!(dead.error.as_deref(), Some(OUTBOX_TRY_LEFT_OPEN));
    drop(hold);
}

/// Fills the outbox through an operation that has ended.
fn fill(store: &MemoryStore, operation: &OperationId) {
    let fence = store.claim(operation).unwrap();
    let delivery = |number: usize| NewDelivery {
        id: format!("filler-{number}"),
        hook: "filler".to_owned(),
        kind: "onComplete".to_owned(),
        webhook: "{}".to_owned(),
        payload: "{}".to_owned(),
    };
    store
        .append(Batch {
            outbox: (0..OUTBOX_WAITING_MAX).map(delivery).collect(),
            ..Batch::new(operation.clone(), fence, "filler")
        })
        .unwrap();
}

#[tokio::test]
async fn a_full_outbox_takes_no_more_and_only_a_critical_hook_fails_for_it() {
    for is_critical in [false, true] {
        let (store, receiver, clock) = (MemoryStore::new(), Receiver::default(), VirtualClock::starting_at(1_000));
        let hold = clock.hold();
        let first = runtime(store.clone(), &receiver, &clock).start(&agent(), "go", Hooks::new()).unwrap();
        first.wait().await.unwrap();
        fill(&store, first.id());
        let fallback = if is_critical { Fallback::None } else { Fallback::Fetch };
        let config =
            WebhookConfig { delivery: DeliveryKind::Outbox, fallback, ..WebhookConfig::new("https://audit.test/") };
        let hooks = Hooks::new().webhook("audit", HookKind::OnComplete, config);
        let second = runtime(store.clone(), &receiver, &clock).start(&agent(), "go", hooks).unwrap();
        match second.wait().await {
            Ok(report) => assert!(!is_critical && report.reason == Some(Reason::Done)),
            Err(error) => assert!(is_critical && matches!(error, RunError::CriticalHook { .. }), "{error}"),
        }
        let heard = store.heard(second.id()).unwrap();
        assert!(heard.iter().any(|heard| heard.text.contains("\"dropped\"")), "{heard:?}");
        assert_eq!(store.outbox(usize::MAX).unwrap().len(), OUTBOX_WAITING_MAX);
        drop(hold);
    }
}

#[tokio::test]
async fn a_delivery_that_never_arrives_is_dead_until_somebody_revives_or_drops_it() {
    let (store, receiver, clock) = (MemoryStore::new(), Receiver::default(), VirtualClock::starting_at(1_000));
    *receiver.is_down.lock().unwrap() = true;
    let runtime = runtime(store.clone(), &receiver, &clock);
    runtime.start(&agent(), "go", hooks()).unwrap().wait().await.unwrap();
    // All tries, four hours of them, in no time.
    let is_dead = || store.outbox(10).unwrap()[0].dead;
    while !is_dead() {
        tokio::task::yield_now().await;
    }
    let dead = store.outbox(10).unwrap().remove(0);
    assert_eq!(dead.error.as_deref(), Some("Hook HTTP request failed: network_error"));
    assert_eq!(receiver.ids().len(), usize::try_from(dead.attempts).unwrap());
    assert_eq!(runtime.deliver_outbox().await.unwrap(), OutboxReport::default(), "the dead are left alone");

    *receiver.is_down.lock().unwrap() = false;
    let change = |change| store.change_delivery(&dead.delivery.id, change).unwrap();
    assert_eq!(change(DeliveryChange::Retry { at: 0 }), DeliveryChanged::Done);
    assert_eq!(runtime.deliver_outbox().await.unwrap().delivered, 1);
    assert_eq!(change(DeliveryChange::Drop), DeliveryChanged::NotThere, "it is gone");
}
