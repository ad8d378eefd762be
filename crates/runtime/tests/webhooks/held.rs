//! Policies that cannot be asked, and answers that are held until one has been.

use std::sync::Arc;

use jackline_hooks::{Hooks, OnError, WebhookConfig};
use jackline_model::{Lineage, OperationId, Reason, Status, ToolRunResult};
use jackline_runtime::drive::{RunError, Runtime};
use jackline_runtime::journal::{
    MemoryStore, NewOperation, PlacedMessage, PostedDecision, PostedVerdict, Store, StoreError,
};
use jackline_runtime::llm::{ReplyBuilder, Turn};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::{RAW, WAYS, Way, World, agent, control, judge, notice, waiting_call};
use jackline_hooks::{DispatchMode, HookKind};

const COLD: Way = Way { mode: DispatchMode::Local, cold: true };

fn gone() -> StoreError {
    StoreError::Io { doing: "read", why: "the disk is gone".to_owned() }
}

fn approve(runtime: &Runtime, id: &OperationId) {
    let call = waiting_call(runtime, id);
    runtime.decide(id, vec![PostedDecision { call: Some(call), verdict: PostedVerdict::Approve }]).unwrap();
}

#[tokio::test]
async fn i24_a_resumed_call_whose_controls_cannot_be_asked_is_an_error_and_publishes_nothing() {
    let world = World::new(COLD);
    let turns = vec![Turn::call("desk____open", "{}"), Turn::text("never")];
    let warm = world.runtime(world.store.clone(), turns);
    let native = Hooks::new().control_after_tool_call("judge", |_| async { jackline_hooks::Decision::Allow });
    let run = warm.start(&agent(), "go", control("http://deny.test/a").and(native.clone())).unwrap();
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    approve(&warm, run.id());
    let store = world.store.another_process();
    world.store.kill();
    let (id, turns) = (run.id(), || vec![Turn::text("done")]);
    let is_unpublished =
        || world.store.messages(id).unwrap().iter().all(|row| row.message.body.tool_result().is_none());

    let mute = world.builder(store.clone(), turns()).build().unwrap();
    let error = mute.resume(id, native.clone()).unwrap_err();
    assert!(matches!(&error, RunError::Setup(why) if why.contains("control `policy`")), "{error}");
    let runtime = world.runtime(store, turns());
    let error = runtime.resume(id, Hooks::new()).unwrap_err();
    assert!(matches!(&error, RunError::MissingHooks(hooks) if hooks == &["judge"]), "{error}");
    world.store.fail_next_read_of_hooks(gone());
    assert!(matches!(runtime.resume(id, native.clone()), Err(RunError::Store(_))));
    assert!(is_unpublished() && world.receiver.urls().is_empty());

    let report = runtime.resume(id, native).unwrap().wait().await.unwrap();
    assert_eq!((report.reason, world.result(id).as_str()), (Some(Reason::Done), "not this"));
}

#[tokio::test]
async fn a_control_that_nothing_can_ask_is_refused_at_the_start() {
    let world = World::new(COLD);
    let mute = world.builder(world.store.clone(), Vec::new()).build().unwrap();
    let error = mute.start(&agent(), "go", control("http://deny.test/a")).unwrap_err();
    assert!(matches!(&error, RunError::Setup(why) if why.contains("give the runtime carriers")), "{error}");
    assert!(world.store.list(10).unwrap().is_empty());
    let notice = Hooks::new().webhook("note", HookKind::OnComplete, notice("http://a.test/"));
    assert!(mute.start(&agent(), "go", notice).is_ok(), "who only hears guards nothing");
}

/// An operation like another one, with these stored hooks.
fn with_stored(store: &MemoryStore, like: &OperationId, hooks: &[Value]) -> OperationId {
    let (header, id) = (store.header(like).unwrap(), OperationId::from("op_old"));
    let first = store.messages(like).unwrap().into_iter().take(2);
    let new = NewOperation {
        id: id.clone(),
        agent: header.agent,
        config: store.config(&header.config_hash).unwrap().unwrap(),
        config_hash: header.config_hash,
        lineage: Lineage::default(),
        parent_call: None,
        origin: header.origin,
        user: header.user,
        required_hooks: Vec::new(),
        caller_hooks: hooks.iter().map(Value::to_string).collect(),
        messages: first.map(|stored| PlacedMessage { place: stored.place, message: stored.message }).collect(),
        created_at: 1_000,
    };
    store.create(new).unwrap();
    id
}

#[tokio::test]
async fn j08_a_stored_hook_under_a_reserved_id_is_ignored() {
    for way in WAYS {
        let world = World::new(way);
        let (_, like) = world.park(Hooks::new()).await;
        let stored = |id: &str, url: &str| json!({"id": id, "type": "afterToolCall", "webhook": judge(url)});
        let reserved = stored("server-env-webhook:afterToolCall", "http://deny.test/old");
        let id = with_stored(&world.store, &like, &[reserved, stored("own", "http://allow.test/own")]);
        let warm = world.runtime(world.store.clone(), vec![Turn::call("desk____ask", "{}"), Turn::text("done")]);
        let parked = warm.resume(&id, Hooks::new()).unwrap().wait().await.unwrap();
        assert_eq!(parked.status, Status::WaitingForAsyncTool);
        world.complete(&warm, &id).await.unwrap();
        assert_eq!(world.receiver.urls(), ["http://allow.test/own"], "{way:?}");
        assert_eq!(world.result(&id), RAW);
    }
}

#[tokio::test]
async fn a_stored_hook_that_cannot_be_read_lets_nothing_pass() {
    let world = World::new(COLD);
    let (warm, like) = world.park(Hooks::new()).await;
    let id = with_stored(&world.store, &like, &[json!({"id": "policy", "type": "afterToolCall"})]);
    let error = warm.resume(&id, Hooks::new()).unwrap_err();
    assert!(matches!(&error, RunError::Hooks(_)), "{error}");
    assert!(error.to_string().contains("policy"), "{error}");
}

#[tokio::test]
async fn j11_a_result_that_calls_itself_blocked_is_judged_like_any_other() {
    let blocked: Map<String, Value> =
        serde_json::from_value(json!({"type": "blocked", "reason": "says the tool"})).unwrap();
    for way in WAYS {
        for (url, expected) in [("http://deny.test/a", "not this"), ("http://allow.test/a", RAW)] {
            let world = World::new(way);
            let (warm, id) = world.park(control(url)).await;
            let runtime = world.arrival(&warm);
            let result = ToolRunResult { state: Some(blocked.clone()), ..ToolRunResult::ok(RAW) };
            runtime.complete_call(&id, &waiting_call(&runtime, &id), &result).unwrap();
            runtime.resume(&id, Hooks::new()).unwrap().wait().await.unwrap();
            assert_eq!(world.receiver.urls(), [url], "{way:?}");
            assert_eq!(world.receiver.payloads()[0]["result"]["state"]["reason"], "says the tool");
            assert_eq!(world.result(&id), expected, "{way:?}");
        }
    }
}

/// A run whose result has arrived and whose control has just been asked about it, and the store as its process sees it.
async fn held(world: &World) -> (MemoryStore, OperationId) {
    let config = WebhookConfig { on_error: OnError::Block, ..judge("http://allow.test/held") };
    let hooks = Hooks::new().webhook("policy", HookKind::AfterToolCall, config);
    let (warm, id) = world.park(hooks).await;
    let (store, runtime) = if world.way.cold {
        let store = world.store.another_process();
        world.store.kill();
        (store.clone(), world.runtime(store, vec![Turn::text("done")]))
    } else {
        (world.store.clone(), warm)
    };
    runtime.complete_call(&id, &waiting_call(&runtime, &id), &ToolRunResult::ok(RAW)).unwrap();
    let asked = Arc::new(Notify::new());
    let sprung = Arc::clone(&asked);
    world.receiver.hold(|_| true, move || sprung.notify_one());
    runtime.resume(&id, Hooks::new()).unwrap();
    asked.notified().await;
    (store, id)
}

fn stored_of(world: &World, id: &OperationId) -> String {
    format!("{:?} {:?}", world.store.messages(id).unwrap(), world.store.records(id).unwrap())
}

#[tokio::test]
async fn j18_an_answer_that_a_control_holds_is_published_at_once_by_whoever_comes_next() {
    for way in WAYS {
        let world = World::new(way);
        let (store, id) = held(&world).await;
        assert!(!stored_of(&world, &id).contains(RAW), "nothing of the result is stored: {way:?}");
        assert_eq!(world.store.inbox(&id).unwrap().len(), 1, "it lies where only the judge looks");
        // The process dies while the control thinks. The next one asks again, under the same delivery.
        let next = store.another_process();
        store.kill();
        let runtime = world.runtime(next, vec![Turn::text("done")]);
        runtime.resume(&id, Hooks::new()).unwrap().wait().await.unwrap();
        assert_eq!((world.result(&id).as_str(), world.store.inbox(&id).unwrap().len()), (RAW, 0), "{way:?}");
        let asked = world.receiver.asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 2, "{way:?}");
        assert_eq!(asked[0].delivery_id, asked[1].delivery_id, "{way:?}");
        let rows = world.store.messages(&id).unwrap();
        assert_eq!(rows.iter().filter(|row| row.message.body.tool_result().is_some()).count(), 1, "{way:?}");
    }
}

#[tokio::test]
async fn j18_a_write_that_fails_can_be_tried_again() {
    for way in WAYS {
        let world = World::new(way);
        let (warm, id) = world.park(control("http://allow.test/a")).await;
        let runtime = world.arrival(&warm);
        runtime.complete_call(&id, &waiting_call(&runtime, &id), &ToolRunResult::ok(RAW)).unwrap();
        let store = world.store.clone();
        let full = StoreError::Io { doing: "write", why: "the disk is full".to_owned() };
        world.receiver.meanwhile(move || store.fail_next(full));
        let failed = runtime.resume(&id, Hooks::new()).unwrap().wait().await;
        assert!(matches!(failed, Err(RunError::Store(_))), "{way:?}: {failed:?}");
        assert!(!stored_of(&world, &id).contains(RAW), "{way:?}");
        assert_eq!(world.store.inbox(&id).unwrap().len(), 1, "{way:?}");
        let report = runtime.resume(&id, Hooks::new()).unwrap().wait().await.unwrap();
        assert_eq!((report.reason, world.result(&id).as_str()), (Some(Reason::Done), RAW), "{way:?}");
        assert!(world.store.inbox(&id).unwrap().is_empty());
    }
}

#[tokio::test]
async fn in_queue_mode_the_stored_hooks_are_all_there_are() {
    for (mode, expected) in [(DispatchMode::Local, "not this"), (DispatchMode::Queue, RAW)] {
        let world = World::new(Way { mode, cold: true });
        let (warm, id) = world.park(Hooks::new()).await;
        let runtime = world.arrival(&warm);
        runtime.complete_call(&id, &waiting_call(&runtime, &id), &ToolRunResult::ok(RAW)).unwrap();
        runtime.resume(&id, control("http://deny.test/new")).unwrap().wait().await.unwrap();
        assert_eq!(world.result(&id), expected, "an empty list counts: {mode:?}");
    }
}

#[tokio::test]
async fn i16_i17_an_approved_call_asks_the_callers_control_and_then_the_environments_once() {
    for way in WAYS {
        let world = World::new(way);
        world.environment.set(super::policy("http://allow.test/env"));
        let both = ReplyBuilder::default().call(Some("a"), "desk____open", "{}").build();
        let warm = world.runtime(world.store.clone(), vec![Turn::Reply(both), Turn::text("done")]);
        let run = warm.start(&agent(), "go", control("http://allow.test/own")).unwrap();
        assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
        assert!(world.receiver.urls().is_empty(), "nobody is asked before the approval: {way:?}");
        let runtime = world.arrival(&warm);
        approve(&runtime, run.id());
        runtime.resume(run.id(), Hooks::new()).unwrap().wait().await.unwrap();
        assert_eq!(world.receiver.urls(), ["http://allow.test/own", "http://allow.test/env"], "{way:?}");
        let ids: Vec<Value> = world.receiver.payloads().iter().map(|asked| asked["operationId"].clone()).collect();
        assert_eq!(ids, [run.id().as_str(), run.id().as_str()]);
        assert_eq!(world.result(run.id()), "did open", "{way:?}");
    }
}

#[tokio::test]
async fn stored_hooks_stay_through_parks_and_for_a_new_episode_and_go_with_the_end() {
    for way in WAYS {
        let world = World::new(way);
        let end = Hooks::new().webhook("end", HookKind::OnComplete, notice("http://x.test/end"));
        let (warm, id) = world.park(control("http://deny.test/a").and(end)).await;
        let runtime = world.arrival(&warm);
        for (reason, stays) in [(Reason::Interrupted, 2), (Reason::Done, 0)] {
            if reason == Reason::Interrupted {
                runtime.stop(&id).unwrap();
            }
            let report = runtime.resume(&id, Hooks::new()).unwrap().wait().await.unwrap();
            assert_eq!(report.reason, Some(reason), "{way:?}");
            assert_eq!(world.store.caller_hooks(&id).unwrap().len(), stays, "{way:?} {reason:?}");
        }
        assert_eq!(world.receiver.deliveries().len(), 2, "both episodes were told of: {way:?}");
    }
}

#[tokio::test]
async fn what_is_asked_outside_is_about_what_the_store_has() {
    for (kind, asked) in [(HookKind::BeforeToolCall, "before"), (HookKind::AfterToolCall, "after")] {
        let world = World::new(COLD);
        let turns = vec![Turn::call("desk____look", "{}"), Turn::text("done")];
        let runtime = world.runtime(world.store.clone(), turns);
        let hooks = Hooks::new().webhook("policy", kind, judge("http://allow.test/a"));
        let seen = Arc::new(std::sync::Mutex::new(0));
        let (store, rows) = (world.store.clone(), Arc::clone(&seen));
        world.receiver.meanwhile(move || {
            let id = store.list(1).unwrap().remove(0).id;
            *rows.lock().unwrap() = store.messages(&id).unwrap().len();
        });
        runtime.start(&agent(), "go", hooks).unwrap().wait().await.unwrap();
        assert_eq!(*seen.lock().unwrap(), 3, "the message that asks for the call is stored: {asked}");
    }
}
