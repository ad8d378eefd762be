//! Stopping a run that waits for a decision, and who hears of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use jackline_hooks::{DispatchMode, Fallback, HookKind, Hooks, WebhookConfig};
use jackline_model::{MessageBody, OperationId, Reason, Status};
use jackline_runtime::drive::{Agent, Probe, Run, RunError, Runtime, StopRequest, Stopping};
use jackline_runtime::journal::{InboxItem, MemoryStore, PostedDecision, PostedVerdict, Store, StoreError};
use jackline_runtime::llm::{ReplyBuilder, Turn};
use jackline_runtime::machine::table::RowId;
use jackline_runtime::machine::{Effect, EffectId, Machine};

use super::{WAYS as EVERY_WAY, Way, World, agent, notice};

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
    let told = |url: &str| WebhookConfig { fallback, ..notice(url) };
    let hooks = Hooks::new().webhook("stop", HookKind::OnStopByHumanIntervention, told("http://x.test/stop"));
    hooks.webhook("end", HookKind::OnComplete, notice("http://x.test/end")).into()
}

/// A run that waits for a decision.
async fn asking(world: &World, armed: Option<Arc<AtomicBool>>, hooks: Hooks) -> (Runtime, Run) {
    let turns = vec![Turn::call("desk____open", "{}"), Turn::text("never")];
    let mut builder = world.builder(world.store.clone(), turns).carriers(world.carriers());
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
        let told = natives.lock().unwrap()[told_before..].to_vec();
        let of_the_end = [HookKind::OnStopByHumanIntervention, HookKind::OnComplete];
        assert!(urls(&world).is_empty() && !told.iter().any(|kind| of_the_end.contains(kind)), "{way:?}: {told:?}");
        assert_eq!(world.store.header(run.id()).unwrap().summary.status, Status::WaitingForHuman, "{way:?}");
        let waits = |(_, item): &(_, InboxItem)| *item == InboxItem::Stop(None);
        assert!(world.store.inbox(run.id()).unwrap().iter().any(waits), "the request is not lost: {way:?}");

        let report = runtime.resume(run.id(), Hooks::new()).unwrap().wait().await.unwrap();
        assert_eq!(report.reason, Some(Reason::Interrupted));
        assert_eq!(urls(&world), ["http://x.test/stop", "http://x.test/end"], "{way:?}");
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
                (Err(RunError::StopNotTold { report, error }), true) => {
                    assert_eq!(error.to_string(), "Critical webhook delivery failed: stop");
                    report.reason
                }
                (Ok(report), false) => report.reason,
                (outcome, _) => panic!("{way:?} {is_critical}: {outcome:?}"),
            };
            assert_eq!(reason, Some(Reason::Interrupted));
            assert_eq!(world.store.header(run.id()).unwrap().summary.status, Status::Interrupted);
            assert_eq!(urls(&world), ["http://x.test/stop", "http://x.test/end"], "one attempt each: {way:?}");
        }
    }
}

/// A process that knows nothing but the store.
fn next_process(world: &World) -> Runtime {
    let store = world.store.another_process();
    world.store.kill();
    world.runtime(store, vec![Turn::text("never")])
}

/// Makes a request again and waits for what comes of it.
async fn again(runtime: &Runtime, id: &OperationId, request: &StopRequest) -> Result<Status, RunError> {
    match runtime.stop_as(id, request)? {
        Stopping::Retelling(run) => Ok(run.wait().await?.status),
        Stopping::Heard => Ok(Status::Interrupted),
        Stopping::Requested => panic!("the run has ended"),
    }
}

fn named(name: &str) -> StopRequest {
    StopRequest { id: Some(name.into()), calls: None }
}

#[tokio::test]
async fn l18_the_same_request_tells_a_stop_again_and_no_other_does() {
    for way in EVERY_WAY {
        let world = World::new(way);
        let (warm, run) = asking(&world, None, told_of_the_end(true)).await;
        let id = run.id().clone();
        world.receiver.fails.store(true, Ordering::Relaxed);
        let Stopping::Requested = warm.stop_as(&id, &named("ticket-7")).unwrap() else { panic!("it runs") };
        let failed = run.wait().await.unwrap_err();
        assert_eq!(
            failed.to_string(),
            format!(
                "operation `{id}` is stopped all the same, but Critical webhook delivery failed: stop; the same stop \
                 request, made again, repeats that notification and nothing else"
            )
        );
        let first = world.receiver.deliveries();
        assert_eq!(first.iter().map(|(url, _)| url.as_str()).collect::<Vec<_>>(), [STOP, END], "{way:?}");
        drop(run);
        let runtime = if way.cold { next_process(&world) } else { warm.clone() };

        let call = world.store.messages(&id).unwrap().iter().find_map(|stored| match &stored.message.body {
            MessageBody::Assistant { tool_calls, .. } => tool_calls.first().map(|call| call.id.clone()),
            MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Tool { .. } => None,
        });
        let call = call.unwrap();
        let records = world.store.records(&id).unwrap();
        let foreign = [
            (named("ticket-8"), "the operation was stopped by the request `ticket-7`, and only that can repeat it"),
            (
                StopRequest::default(),
                "the operation was stopped by the request `ticket-7`, and only that can repeat it",
            ),
            (StopRequest { calls: Some(vec![]), ..named("ticket-7") }, "a stop is about all calls that wait"),
            (
                StopRequest { calls: Some(vec!["other".into()]), ..named("ticket-7") },
                "a stop is about all calls that wait",
            ),
            (
                StopRequest { calls: Some(vec![call.clone(), "other".into()]), ..named("ticket-7") },
                "a stop is about all",
            ),
            (named(""), "the name of a stop request has 1 to 256 bytes"),
        ];
        for (request, why) in foreign {
            let refused = again(&runtime, &id, &request).await.unwrap_err();
            assert!(refused.to_string().contains(why), "{way:?} {request:?}: {refused}");
        }
        assert_eq!((world.receiver.deliveries().len(), world.store.records(&id).unwrap().len()), (2, records.len()));

        // Still down: the same failure once more, and the run stays as it is.
        let same = StopRequest { calls: Some(vec![call]), ..named("ticket-7") };
        assert!(matches!(again(&runtime, &id, &same).await, Err(RunError::StopNotTold { .. })), "{way:?}");
        assert_eq!(world.store.header(&id).unwrap().summary.status, Status::Interrupted);
        world.receiver.fails.store(false, Ordering::Relaxed);
        assert_eq!(again(&runtime, &id, &named("ticket-7")).await.unwrap(), Status::Interrupted, "{way:?}");
        let told = world.receiver.deliveries();
        assert_eq!(told[2..], [first[0].clone(), first[0].clone()], "the same delivery, and nothing else: {way:?}");
        let payloads: Vec<_> = world.receiver.told.lock().unwrap().iter().map(|told| told.payload.clone()).collect();
        assert_eq!((&payloads[0], &payloads[0]), (&payloads[2], &payloads[3]), "{way:?}");
        assert_eq!(payloads[0]["reason"], "user_stop");

        // Everybody has heard: the request succeeds and does nothing.
        for _ in 0..2 {
            assert!(matches!(runtime.stop_as(&id, &same), Ok(Stopping::Heard)), "{way:?}");
        }
        assert!(runtime.stop_as(&id, &named("ticket-8")).is_err());
        assert_eq!(world.receiver.deliveries().len(), 4, "{way:?}");
    }
}

#[tokio::test]
async fn l18_an_ordinary_failure_is_told_once_and_the_request_succeeds() {
    for way in WAYS {
        let world = World::new(way);
        let (runtime, run) = asking(&world, None, told_of_the_end(false)).await;
        world.receiver.fails.store(true, Ordering::Relaxed);
        runtime.stop(run.id()).unwrap();
        assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Interrupted));
        assert!(matches!(runtime.stop_as(run.id(), &StopRequest::default()), Ok(Stopping::Heard)), "{way:?}");
        assert_eq!(urls(&world), [STOP, END], "{way:?}");
    }
}

#[tokio::test]
async fn l18_a_state_that_cannot_be_read_is_a_failure_and_nothing_is_sent() {
    let world = World::new(WAYS[0]);
    let (runtime, run) = asking(&world, None, told_of_the_end(true)).await;
    world.receiver.fails.store(true, Ordering::Relaxed);
    runtime.stop(run.id()).unwrap();
    run.wait().await.unwrap_err();
    let gone = StoreError::Io { doing: "read", why: "the disk is gone".to_owned() };
    world.store.fail_next_read_of_hooks(gone.clone());
    let failed = again(&runtime, run.id(), &StopRequest::default()).await;
    assert!(matches!(&failed, Err(RunError::Store(error)) if *error == gone), "{failed:?}");
    let nowhere = runtime.stop_as(&"op_none".into(), &StopRequest::default());
    assert!(matches!(nowhere, Err(RunError::Store(StoreError::NoSuchOperation(_)))), "{nowhere:?}");
    assert_eq!(urls(&world).len(), 2);
    // Nothing is lost.
    world.receiver.fails.store(false, Ordering::Relaxed);
    again(&runtime, run.id(), &StopRequest::default()).await.unwrap();
    assert_eq!(urls(&world), [STOP, END, STOP]);
}

#[tokio::test]
async fn l18_a_delivery_whose_record_cannot_be_saved_fails_the_request_and_is_made_again() {
    for (way, is_retold) in WAYS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let world = World::new(way);
        let (warm, run) = asking(&world, None, told_of_the_end(true)).await;
        let id = run.id().clone();
        let full_disk = {
            let store = world.store.clone();
            move || store.fail_next(full())
        };
        if is_retold {
            world.receiver.fails.store(true, Ordering::Relaxed);
            warm.stop(&id).unwrap();
            run.wait().await.unwrap_err();
            world.receiver.fails.store(false, Ordering::Relaxed);
            world.receiver.meanwhile(full_disk);
            let failed = again(&warm, &id, &StopRequest::default()).await;
            assert!(matches!(failed, Err(RunError::Store(_))), "{way:?}: {failed:?}");
        } else {
            world.receiver.meanwhile(full_disk);
            warm.stop(&id).unwrap();
            let failed = run.wait().await;
            assert!(matches!(failed, Err(RunError::Store(_))), "{way:?}: {failed:?}");
        }
        assert_eq!(world.store.header(&id).unwrap().summary.status, Status::Interrupted, "it is stopped all the same");
        let before = world.receiver.deliveries();
        drop(run);
        let runtime = next_process(&world);
        again(&runtime, &id, &StopRequest::default()).await.unwrap();
        let told = world.receiver.deliveries();
        assert_eq!(told[before.len()], before[0], "the same delivery: {way:?}");
        assert_eq!(told.iter().filter(|(url, _)| url == END).count(), 1, "{way:?}");
        assert!(matches!(runtime.stop_as(&id, &StopRequest::default()), Ok(Stopping::Heard)), "{way:?}");
        assert_eq!(world.receiver.deliveries().len(), told.len());
    }
}

#[tokio::test]
async fn a_stop_that_names_other_calls_than_those_that_wait_does_nothing() {
    let world = World::new(WAYS[0]);
    let (runtime, run) = asking(&world, None, told_of_the_end(true)).await;
    let other = StopRequest { id: None, calls: Some(vec!["other".into()]) };
    let refused = runtime.stop_as(run.id(), &other).unwrap_err().to_string();
    assert!(refused.contains("a stop is about all calls that wait, and those are "), "{refused}");
    assert!(world.store.inbox(run.id()).unwrap().is_empty());
    assert_eq!(world.store.header(run.id()).unwrap().summary.status, Status::WaitingForHuman);
}

#[tokio::test]
async fn a_run_that_goes_on_after_a_stop_tells_nobody_of_it_any_more() {
    let world = World::new(WAYS[0]);
    let (runtime, run) = asking(&world, None, told_of_the_end(true)).await;
    world.receiver.fails.store(true, Ordering::Relaxed);
    runtime.stop(run.id()).unwrap();
    run.wait().await.unwrap_err();
    world.receiver.fails.store(false, Ordering::Relaxed);
    let resumed = runtime.resume(run.id(), Hooks::new()).unwrap();
    assert_eq!(resumed.wait().await.unwrap().reason, Some(Reason::Done));
    let refused = runtime.stop_as(run.id(), &StopRequest::default()).unwrap_err();
    assert!(refused.to_string().contains("the operation has ended (done)"), "{refused}");
    assert_eq!(urls(&world), [STOP, END, END]);
}

#[tokio::test]
async fn l19_a_group_that_a_critical_hook_did_not_hear_of_is_told_again_before_anything_of_it_is_done() {
    for way in EVERY_WAY {
        let world = World::new(way);
        let critical = WebhookConfig { fallback: Fallback::None, ..notice("http://x.test/decided") };
        let hooks = Hooks::new().webhook("decided", HookKind::AfterHumanIntervention, critical);
        let two = ReplyBuilder::default().call(Some("a"), "desk____open", "{}").call(Some("b"), "desk____open", "{}");
        let warm = world.runtime(world.store.clone(), vec![Turn::Reply(two.build()), Turn::text("done")]);
        let run = warm.start(&agent(), "go", hooks).unwrap();
        assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
        let id = run.id().clone();
        // The first group is heard, the second is not.
        let no = PostedVerdict::RejectAndContinue { reason: Some("no".to_owned()) };
        let decisions =
            vec![PostedDecision::approve("a".into()), PostedDecision { call: Some("b".into()), verdict: no }];
        world.receiver.fail_from(1);
        warm.decide(&id, decisions).unwrap();
        let failed = run.wait().await.unwrap_err();
        assert!(matches!(&failed, RunError::DecisionNotTold { operation, .. } if *operation == id), "{failed}");
        assert!(
            failed.to_string().starts_with("Critical webhook delivery failed: decided, and it must hear"),
            "{failed}"
        );
        assert_eq!(world.store.header(&id).unwrap().summary.status, Status::WaitingForHuman, "{way:?}");
        let results = |world: &World| {
            let messages = world.store.messages(&id).unwrap();
            messages.iter().filter(|stored| stored.message.body.tool_result().is_some()).count()
        };
        assert_eq!(results(&world), 0, "nothing of it is done: {way:?}");
        let twice = warm.decide(&id, vec![PostedDecision::approve("a".into())]);
        assert!(twice.is_err(), "it is decided: {way:?}");
        drop(run);

        let runtime = if way.cold { next_process(&world) } else { warm.clone() };
        let again = runtime.resume(&id, Hooks::new()).unwrap().wait().await;
        assert!(matches!(again, Err(RunError::DecisionNotTold { .. })), "{way:?}: {again:?}");
        assert_eq!(results(&world), 0, "{way:?}");
        world.receiver.fail_from(usize::MAX);
        let report = runtime.resume(&id, Hooks::new()).unwrap().wait().await.unwrap();
        assert_eq!((report.reason, results(&world)), (Some(Reason::Done), 2), "{way:?}");
        let told = world.receiver.told.lock().unwrap().clone();
        let actions: Vec<_> = told.iter().map(|told| told.payload["action"].clone()).collect();
        assert_eq!(actions, ["approve", "rejectAndContinue", "rejectAndContinue", "rejectAndContinue"], "{way:?}");
        assert_ne!(told[0].delivery_id, told[1].delivery_id);
        assert_eq!((&told[1].delivery_id, &told[1].delivery_id), (&told[2].delivery_id, &told[3].delivery_id));
        assert_eq!(told[1].payload, told[3].payload, "{way:?}");
    }
}

#[tokio::test]
async fn a_run_whose_decision_nobody_can_be_told_of_can_still_be_stopped() {
    for way in EVERY_WAY {
        let world = World::new(way);
        let critical = WebhookConfig { fallback: Fallback::None, ..notice("http://x.test/decided") };
        let hooks = Hooks::new().webhook("decided", HookKind::AfterHumanIntervention, critical);
        let hooks = hooks.webhook("stop", HookKind::OnStopByHumanIntervention, notice(STOP));
        let (warm, run) = asking(&world, None, hooks.into()).await;
        let id = run.id().clone();
        world.receiver.fails.store(true, Ordering::Relaxed);
        let call = super::waiting_call(&warm, &id);
        warm.decide(&id, vec![PostedDecision::approve(call)]).unwrap();
        assert!(matches!(run.wait().await, Err(RunError::DecisionNotTold { .. })), "{way:?}");
        let runtime = if way.cold { next_process(&world) } else { warm.clone() };
        runtime.stop(&id).unwrap();
        let report = match runtime.resume(&id, Hooks::new()) {
            Ok(run) => run.wait().await.unwrap(),
            Err(error) => panic!("{way:?}: {error}"),
        };
        assert_eq!(report.reason, Some(Reason::Interrupted), "{way:?}");
        assert_eq!(urls(&world).last().map(String::as_str), Some(STOP), "{way:?}");
        assert!(world.result(&id).contains("abort"), "{way:?}: {}", world.result(&id));
    }
}

const STOP: &str = "http://x.test/stop";
const END: &str = "http://x.test/end";

/// A run whose sub-agent waits for a decision, with an inherited hook that must hear of this.
async fn asking_below(world: &World, kind: HookKind) -> (Runtime, Run, OperationId) {
    let turns = vec![
        Turn::call("agent____callAgent", r#"{"agentId":"helper","instruction":"Open it."}"#),
        Turn::call("desk____open", "{}"),
        Turn::text("opened"),
        Turn::text("done"),
    ];
    let runtime = world.runtime(world.store.clone(), turns);
    let must_hear = WebhookConfig { fallback: Fallback::None, inherit: true, ..notice(STOP) };
    let hooks = Hooks::new().webhook("must-hear", kind, must_hear);
    let run = runtime.start(&agent().with_agent(Agent::new("helper", "You help.")), "go", hooks).unwrap();
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForAsyncTool);
    let child = runtime.approvals(run.id()).unwrap()[0].0.id.clone();
    (runtime, run, child)
}

#[tokio::test]
async fn l18_the_stop_of_a_tree_fails_for_what_is_owed_below_it_and_the_agent_below_is_named() {
    for way in EVERY_WAY {
        let world = World::new(way);
        let (warm, run, child) = asking_below(&world, HookKind::OnStopByHumanIntervention).await;
        let root = run.id().clone();
        world.receiver.fails.store(true, Ordering::Relaxed);
        warm.stop(&root).unwrap();
        let failed = run.wait().await;
        let Err(RunError::StopNotTold { report, .. }) = &failed else { panic!("{way:?}: {failed:?}") };
        assert_eq!((&report.operation, report.status), (&child, Status::Interrupted), "{way:?}");
        assert_eq!(world.store.header(&root).unwrap().summary.status, Status::Interrupted, "{way:?}");
        world.receiver.fails.store(false, Ordering::Relaxed);
        drop(run);
        let runtime = if way.cold { next_process(&world) } else { warm.clone() };
        assert_eq!(again(&runtime, &child, &StopRequest::default()).await.unwrap(), Status::Interrupted, "{way:?}");
        let told = world.receiver.deliveries();
        assert_eq!((told.len(), &told[0]), (2, &told[1]), "{way:?}");
        assert!(matches!(runtime.stop_as(&child, &StopRequest::default()), Ok(Stopping::Heard)), "{way:?}");
    }
}

#[tokio::test]
async fn a_decision_below_that_is_not_told_is_raised_above_and_told_when_the_tree_goes_on() {
    for way in EVERY_WAY {
        let world = World::new(way);
        let (warm, run, child) = asking_below(&world, HookKind::AfterHumanIntervention).await;
        let root = run.id().clone();
        world.receiver.fails.store(true, Ordering::Relaxed);
        let call = super::waiting_call(&warm, &child);
        warm.decide(&child, vec![PostedDecision::approve(call)]).unwrap();
        let failed = run.wait().await;
        assert!(
            matches!(&failed, Err(RunError::DecisionNotTold { operation, .. }) if *operation == child),
            "{way:?}: {failed:?}"
        );
        world.receiver.fails.store(false, Ordering::Relaxed);
        drop(run);
        let runtime = match way.cold {
            true => {
                let store = world.store.another_process();
                world.store.kill();
                world.runtime(store, vec![Turn::text("opened"), Turn::text("done")])
            }
            false => warm.clone(),
        };
        let report = runtime.resume(&root, Hooks::new()).unwrap().wait().await.unwrap();
        assert_eq!(report.reason, Some(Reason::Done), "{way:?}");
        let told = world.receiver.deliveries();
        assert_eq!((told.len(), &told[0]), (2, &told[1]), "{way:?}");
    }
}
