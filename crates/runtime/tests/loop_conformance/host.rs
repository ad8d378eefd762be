//! What a host may rely on: one owner, one start, one end, and honest errors.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use jackline_hooks::{HookKind, Hooks};
use jackline_model::{Origin, Reason, Status};
use jackline_runtime::drive::{Clock, Ids, Prompt, RunError, Runtime, VirtualClock};
use jackline_runtime::journal::{MemoryStore, PostedVerdict, Store, StoreError};
use jackline_runtime::llm::{ModelFaultKind, ScriptedModel};

use crate::faulty::Faulty;
use crate::support::{
    Fake, START_MS, World, agent, calls, careful, drain, echo, fails, heard_of, is_free, listen, says, until, world,
};

fn waiting() -> World {
    let pay = Fake::says("pay", "paid").asks().into_tool();
    world([calls(&[("c1", "pay", "{}")]), says("done")]).tools([pay]).build()
}

#[tokio::test]
async fn host_02_what_is_delivered_to_a_running_operation_is_done() {
    let world = world([echo("c1"), says("never")]).stop_at("s1.step.plan").build();
    let (report, _) = world.run(&agent()).await;
    assert_eq!(report.reason, Some(Reason::Interrupted));
    assert_eq!(world.requests().len(), 1);
    assert_eq!(world.store.inbox(&report.operation).unwrap(), [], "it was used up");
}

#[tokio::test]
async fn host_03_an_operation_that_is_owned_refuses_the_second_and_stays_with_the_first() {
    let hangs = Fake::hangs("echo");
    let ran_with = hangs.ran_with();
    let first = world([echo("c1"), says("done")]).tools([hangs.into_tool()]).build();
    let hold = first.clock.hold();
    let run = first.start(&agent(), Hooks::new());
    until(|| !ran_with.lock().unwrap().is_empty()).await;

    let second = world([says("never")]).store(first.store.another_process()).build();
    let refused = second.runtime.resume(run.id(), Hooks::new()).unwrap().wait().await.unwrap_err();
    assert!(matches!(refused, RunError::Store(StoreError::Owned { .. })), "{refused}");
    assert!(second.requests().is_empty());
    // The tool runs into its deadline, the first goes on and can write.
    drop(hold);
    let report = run.wait().await.unwrap();
    assert_eq!((report.reason, first.rows(run.id()).len()), (Some(Reason::Done), 5));
}

#[tokio::test]
async fn host_12_a_failure_ends_in_error_and_frees_the_operation() {
    let world = world([fails(ModelFaultKind::Permanent, "")]).build();
    let (report, _) = world.run(&agent()).await;
    assert_eq!(report.status, Status::Error);
    assert!(is_free(&world.store, &report.operation));
}

#[tokio::test]
async fn host_13_host_15_a_store_that_fails_is_an_error_and_the_end_is_told_whole_by_a_resume() {
    let lost = StoreError::Io { doing: "write", why: "the disk is full".to_owned() };
    let world = world([says("done")]).at("s2.h1.fire", |_, _, _| panic!("the end was told before it was stored"));
    let world = world.at("s1.step.plan", move |_, store, _| store.fail_next(lost.clone())).build();
    let (heard, hooks) = listen();
    let run = world.start(&agent(), hooks);
    let error = run.wait().await.unwrap_err();
    assert!(matches!(&error, RunError::Store(StoreError::Io { .. })), "{error}");
    assert_eq!(heard_of(&heard, HookKind::OnComplete), 0, "no end is told that nobody can trust");

    let second = crate::support::world([says("done")]).store(world.store.another_process()).build();
    let (heard, hooks) = listen();
    let report = second.runtime.resume(run.id(), hooks).unwrap().wait().await.unwrap();
    assert_eq!(report.reason, Some(Reason::Done));
    let events = heard.lock().unwrap();
    let Some(jackline_hooks::Event::OnComplete(end)) = events.last() else { panic!("{events:?}") };
    assert_eq!(end.end.last_assistant_content.as_deref(), Some("done"));
    assert_eq!(end.end.llm_calls, Some(1));
}

#[tokio::test]
async fn host_14_rec_02_an_operation_that_cannot_be_read_is_neither_replaced_nor_started_afresh() {
    let faulty = Faulty::default();
    let pay = || Fake::says("pay", "paid").asks().into_tool();
    let turns = [calls(&[("c1", "pay", "{}")]), says("done")];
    let world = world(turns).tools([pay()]).store(faulty.store.clone()).through(Arc::new(faulty.clone())).build();
    let (parked, _) = world.run(&careful()).await;
    let (rows, records) = (world.rows(&parked.operation), faulty.records(&parked.operation).unwrap());
    for flag in [&faulty.load_fails, &faulty.is_damaged] {
        flag.store(true, Ordering::Relaxed);
        let error = world.runtime.resume(&parked.operation, Hooks::new()).unwrap().wait().await.unwrap_err();
        assert!(matches!(error, RunError::Store(StoreError::Io { .. }) | RunError::Journal(_)), "{error}");
        flag.store(false, Ordering::Relaxed);
        assert_eq!(world.rows(&parked.operation), rows);
        assert_eq!(faulty.records(&parked.operation).unwrap(), records);
        assert!(is_free(&faulty.store, &parked.operation));
    }
    assert_eq!(world.requests().len(), 1);
    world.decide(&parked.operation, "c1", PostedVerdict::Approve);
    let (report, _) = world.resume(&parked.operation).await;
    assert_eq!(report.answer.as_deref(), Some("done"));
}

#[tokio::test]
async fn j14_a_call_that_cannot_be_rebuilt_is_an_error_and_nobody_is_asked() {
    let faulty = Faulty::default();
    let pay = || Fake::says("pay", "paid").asks().into_tool();
    let turns = [calls(&[("c1", "pay", "{}")]), says("done")];
    let world = world(turns).tools([pay()]).store(faulty.store.clone()).through(Arc::new(faulty.clone())).build();
    let judge = || {
        let deny = |_| async { jackline_hooks::Decision::deny("no") };
        let (heard, hooks) = listen();
        (heard, hooks.control_after_tool_call("judge", deny))
    };
    let run = world.runtime.start(&careful(), "go", judge().1).unwrap();
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    let rows = world.rows(run.id());
    world.decide(run.id(), "c1", PostedVerdict::Approve);
    let second = crate::support::world([says("done")]).tools([pay()]).store(faulty.store.another_process());
    let lost = Faulty { store: faulty.store.another_process(), ..Faulty::default() };
    lost.loses_replies.store(true, Ordering::Relaxed);
    faulty.store.kill();
    let second = second.through(Arc::new(lost.clone())).build();
    let (heard, hooks) = judge();
    let error = second.runtime.resume(run.id(), hooks).unwrap().wait().await.unwrap_err();
    let context = "Cannot evaluate afterToolCall: tool call context is unavailable";
    assert!(error.to_string().contains(context), "{error}");
    assert!(heard.lock().unwrap().is_empty(), "nobody was asked or told");
    assert_eq!((second.rows(run.id()), second.requests().len()), (rows, 0), "and nothing was published");
    // Once the message is there again, the call is judged.
    lost.loses_replies.store(false, Ordering::Relaxed);
    let report = second.runtime.resume(run.id(), judge().1).unwrap().wait().await.unwrap();
    assert_eq!(report.reason, Some(Reason::Done));
}

#[tokio::test]
async fn host_17_the_workspace_reaches_the_tools() {
    let world = world([echo("c1"), says("done")]).build();
    let (heard, hooks) = listen();
    let origin = Origin { workspace_id: Some("w7".to_owned()), ..Origin::default() };
    let prompt = Prompt { text: "go".to_owned(), origin, user: None };
    world.runtime.start(&agent(), prompt, hooks).unwrap().wait().await.unwrap();
    let heard = heard.lock().unwrap();
    let of_tools = heard.iter().filter_map(|event| {
        if let jackline_hooks::Event::BeforeToolCall(event) = event {
            return Some(event.context.workspace_id.as_deref());
        }
        let jackline_hooks::Event::AfterToolCall(event) = event else { return None };
        Some(event.context.workspace_id.as_deref())
    });
    assert_eq!(of_tools.collect::<Vec<_>>(), [Some("w7"), Some("w7")]);
}

#[tokio::test]
async fn host_20_a_run_that_parks_returns_and_so_does_a_second_look() {
    let world = waiting();
    let run = world.start(&careful(), Hooks::new());
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    let (report, _) = world.resume(run.id()).await;
    assert_eq!((report.status, report.reason), (Status::WaitingForHuman, None));
}

#[tokio::test]
async fn host_21_a_run_that_reaches_its_cap_completes_with_that_reason() {
    let turns: Vec<_> = (0..20).map(|turn| calls(&[("c", "echo", &format!(r#"{{"n":{turn}}}"#))])).collect();
    let world = world(turns).build();
    let mut agent = agent();
    agent.steps_max = Some(4);
    let (heard, hooks) = listen();
    let (report, _) = world.run_with(&agent, "go", hooks).await;
    assert_eq!((report.status, report.reason), (Status::Done, Some(Reason::MaxSteps)));
    assert_eq!(world.requests().len(), 3, "two turns within the limit, and a last one without tools");
    assert!(world.requests()[2].tools.is_empty());
    assert_eq!(heard_of(&heard, HookKind::OnComplete), 1);
}

#[tokio::test]
async fn host_22_the_status_says_who_is_waited_for() {
    let world = waiting();
    let run = world.start(&careful(), Hooks::new());
    let status = || world.store.header(run.id()).unwrap().summary.status;
    let mut seen = vec![status()];
    until(|| {
        let now = status();
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        now == Status::WaitingForHuman
    })
    .await;
    run.wait().await.unwrap();
    world.decide(run.id(), "c1", PostedVerdict::Approve);
    run.wait().await.unwrap();
    assert!(seen[0] == Status::Idle && !seen.iter().any(|status| status.is_terminal()), "{seen:?}");
    assert_eq!(status(), Status::Done);

    let slow = crate::support::world([calls(&[("c1", "slow", "{}")])]).tools([Fake::later("slow").into_tool()]).build();
    let (report, _) = slow.run(&agent()).await;
    assert_eq!(report.status, Status::WaitingForAsyncTool, "parked, and not for a person");
    assert_eq!(slow.store.approval(&report.operation).unwrap(), None);
}

/// Always the same id.
struct Same;

impl Ids for Same {
    fn operation(&self) -> jackline_model::OperationId {
        "op_same".into()
    }

    fn permille(&self) -> u16 {
        0
    }
}

#[tokio::test]
async fn host_23_an_operation_is_started_once() {
    let (model, store) = (ScriptedModel::new([says("done"), says("never")]), MemoryStore::new());
    let runtime = Runtime::builder()
        .model(model)
        .store(Arc::new(store.clone()))
        .ids(Arc::new(Same))
        .clock(Arc::new(VirtualClock::starting_at(START_MS)))
        .build()
        .unwrap();
    let run = runtime.start(&agent(), "go", Hooks::new()).unwrap();
    run.wait().await.unwrap();
    let rows = store.messages(run.id()).unwrap();
    let refused = runtime.start(&agent(), "another thing", Hooks::new()).unwrap_err();
    assert!(matches!(refused, RunError::Store(StoreError::Exists(_))), "{refused}");
    assert_eq!(store.messages(run.id()).unwrap(), rows);
}

#[tokio::test]
async fn rec_06_a_parked_operation_is_left_alone_however_old() {
    let world = waiting();
    let (parked, _) = world.run(&careful()).await;
    let records = world.store.records(&parked.operation).unwrap();
    let year = START_MS + 365 * 24 * 3_600_000;
    world.clock.run(world.clock.sleep_until(year)).await;
    assert_eq!(world.clock.now_ms(), year);
    let mut events = world.runtime.events();
    world.runtime.look().unwrap();
    tokio::task::yield_now().await;
    let (report, _) = world.resume(&parked.operation).await;
    assert_eq!((report.status, world.store.records(&parked.operation).unwrap()), (Status::WaitingForHuman, records));
    assert!(!drain(&mut events).iter().any(|event| crate::support::is_end(&event.what)));
    world.decide(&parked.operation, "c1", PostedVerdict::Approve);
    let (report, _) = world.resume(&parked.operation).await;
    assert_eq!(report.reason, Some(Reason::Done));
}
