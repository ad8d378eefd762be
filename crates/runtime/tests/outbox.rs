//! Webhooks that are delivered by way of the store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex};

use jackline_hooks::{
    Carriers, ControlReply, DeliveryKind, FaultCode, HookFault, HookKind, Hooks, WebhookCarrier, WebhookConfig,
    WebhookRequest,
};
use jackline_model::Reason;
use jackline_runtime::drive::{Agent, OutboxReport, Runtime, VirtualClock};
use jackline_runtime::journal::{DeliveryChange, MemoryStore, Store};
use jackline_runtime::llm::{BoxFuture, ScriptedModel, Turn};
use tokio::sync::Notify;

/// A receiver that fails as often as it was told to, and then takes what comes.
#[derive(Clone, Debug, Default)]
struct Receiver {
    failures: Arc<Mutex<VecDeque<FaultCode>>>,
    is_down: Arc<Mutex<bool>>,
    tried: Arc<Mutex<Vec<WebhookRequest>>>,
    got: Arc<Notify>,
}

impl WebhookCarrier for Receiver {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        self.tried.lock().unwrap().push(request);
        let down = (*self.is_down.lock().unwrap()).then_some(FaultCode::NetworkError);
        let failure = down.or_else(|| self.failures.lock().unwrap().pop_front());
        if failure.is_none() {
            self.got.notify_one();
        }
        Box::pin(ready(failure.map_or(Ok(()), |code| Err(HookFault::new(code)))))
    }

    fn ask(&self, _: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        Box::pin(ready(Ok(ControlReply::Allow)))
    }
}

impl Receiver {
    fn failing(times: usize) -> Self {
        let failures = std::iter::repeat_n(FaultCode::NetworkError, times).collect();
        Self { failures: Arc::new(Mutex::new(failures)), ..Self::default() }
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
    let hold = jackline_runtime::drive::Clock::hold(&clock);
    let first = runtime(store.clone(), &receiver, &clock);
    first.start(&agent(), "go", hooks()).unwrap().wait().await.unwrap();
    first.deliver_outbox().await.unwrap();
    let left = store.outbox(10).unwrap();
    assert_eq!((left.len(), left[0].attempts, left[0].dead), (1, 1, false));
    // It dies with the delivery in hand.
    let other = store.another_process();
    assert_eq!(store.claim_deliveries(u64::MAX - 1, u64::MAX, 8).unwrap().deliveries.len(), 1);
    assert!(other.claim_deliveries(u64::MAX - 1, u64::MAX, 8).unwrap().deliveries.is_empty(), "it is in hand");
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
    assert!(store.change_delivery(&dead.delivery.id, DeliveryChange::Retry { at: 0 }).unwrap());
    assert_eq!(runtime.deliver_outbox().await.unwrap().delivered, 1);
    assert!(!store.change_delivery(&dead.delivery.id, DeliveryChange::Drop).unwrap(), "it is gone");
}
