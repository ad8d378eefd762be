//! Stopping a run that waits for a decision, and who hears of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use jackline_hooks::{DispatchMode, Fallback, HookKind, Hooks, WebhookConfig};
use jackline_model::{OperationId, Reason, Status};
use jackline_runtime::drive::{Probe, Run, RunError, Runtime};
use jackline_runtime::journal::{InboxItem, MemoryStore, Store, StoreError};
use jackline_runtime::llm::Turn;
use jackline_runtime::machine::table::RowId;
use jackline_runtime::machine::{Effect, EffectId, Machine};

use super::{Way, World, agent};

/// Lets the write fail that would store a stop.
#[derive(Debug)]
struct FailsTheStop {
    store: MemoryStore,
    is_armed: Arc<AtomicBool>,
}

impl Probe for FailsTheStop {
    fn transition(&self, _: RowId, machine: &Machine) {
        if machine.shared().stop_requested && self.is_armed.swap(false, Ordering::Relaxed) {
            self.store.fail_next(full());
        }
    }

    fn effect(&self, _: &OperationId, _: EffectId, _: &Effect) {}
}

fn full() -> StoreError {
    StoreError::Io { doing: "write", why: "the disk is full".to_owned() }
}

fn told_of_the_end(critical: bool) -> Hooks {
    let fallback = if critical { Fallback::None } else { Fallback::default() };
    let told = |url: &str| WebhookConfig { fallback, ..WebhookConfig::new(url) };
    let hooks = Hooks::new().webhook("stop", HookKind::OnStopByHumanIntervention, told("https://x.test/stop"));
    hooks.webhook("end", HookKind::OnComplete, WebhookConfig::new("https://x.test/end")).into()
}

/// A run that waits for a decision.
async fn asking(world: &World, armed: Option<Arc<AtomicBool>>, hooks: Hooks) -> (Runtime, Run) {
    let turns = vec![Turn::call("desk____open", "{}"), Turn::text("never")];
    let carriers = jackline_hooks::Carriers {
        webhook: Some(Arc::new(world.receiver.clone())),
        ..jackline_hooks::Carriers::default()
    };
    let mut builder = world.builder(world.store.clone(), turns).carriers(carriers);
    if let Some(is_armed) = armed {
        builder = builder.probe(Arc::new(FailsTheStop { store: world.store.clone(), is_armed }));
    }
    let runtime = builder.build().unwrap();
    let run = runtime.start(&agent(), "go", hooks).unwrap();
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    (runtime, run)
}

fn urls(world: &World) -> Vec<String> {
    world.receiver.deliveries().into_iter().map(|(url, _)| url).collect()
}

const WAYS: [Way; 2] = [Way { mode: DispatchMode::Local, cold: false }, Way { mode: DispatchMode::Queue, cold: false }];

#[tokio::test]
async fn l17_a_stop_that_is_not_stored_is_told_to_nobody() {
    for way in WAYS {
        let world = World::new(way);
        let armed = Arc::new(AtomicBool::new(false));
        let natives = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&natives);
        let native = Hooks::new().observe_all("all", move |event| {
            heard.lock().unwrap().push(event.kind());
            std::future::ready(())
        });
        let (runtime, run) = asking(&world, Some(Arc::clone(&armed)), told_of_the_end(false).and(native)).await;
        let told_before = natives.lock().unwrap().len();
        // The request itself is not taken.
        world.store.fail_next(full());
        assert!(matches!(runtime.stop(run.id()), Err(RunError::Store(_))));
        // It is taken, and what it comes to cannot be written.
        armed.store(true, Ordering::Relaxed);
        runtime.stop(run.id()).unwrap();
        assert!(matches!(run.wait().await, Err(RunError::Store(_))), "{way:?}");
        assert_eq!((urls(&world).len(), natives.lock().unwrap().len()), (0, told_before), "{way:?}");
        assert_eq!(world.store.header(run.id()).unwrap().summary.status, Status::WaitingForHuman, "{way:?}");
        let waits = |(_, item): &(_, InboxItem)| *item == InboxItem::Stop(None);
        assert!(world.store.inbox(run.id()).unwrap().iter().any(waits), "the request is not lost: {way:?}");

        let report = runtime.resume(run.id(), Hooks::new()).unwrap().wait().await.unwrap();
        assert_eq!(report.reason, Some(Reason::Interrupted));
        assert_eq!(urls(&world), ["https://x.test/stop", "https://x.test/end"], "{way:?}");
    }
}

#[tokio::test]
async fn a_critical_hook_that_does_not_hear_of_a_stop_is_raised_and_the_stop_stands() {
    for way in WAYS {
        for is_critical in [true, false] {
            let world = World::new(way);
            let (runtime, run) = asking(&world, None, told_of_the_end(is_critical)).await;
            world.receiver.fails.store(true, Ordering::Relaxed);
            runtime.stop(run.id()).unwrap();
            let outcome = run.wait().await;
            let reason = match (outcome, is_critical) {
                (Err(RunError::CriticalHook { report, error }), true) => {
                    assert_eq!(error.to_string(), "Critical webhook delivery failed: stop");
                    report.reason
                }
                (Ok(report), false) => report.reason,
                (outcome, _) => panic!("{way:?} {is_critical}: {outcome:?}"),
            };
            assert_eq!(reason, Some(Reason::Interrupted));
            assert_eq!(world.store.header(run.id()).unwrap().summary.status, Status::Interrupted);
            assert_eq!(urls(&world), ["https://x.test/stop", "https://x.test/end"], "one attempt each: {way:?}");
        }
    }
}
