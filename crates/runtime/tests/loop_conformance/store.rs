//! What is stored, what is announced, and in which order.

use jackline_hooks::{HookKind, Hooks};
use jackline_model::{Reason, Status};
use jackline_runtime::drive::{RunError, Told};
use jackline_runtime::journal::{Fence, PostedVerdict, Store, StoreError};

use crate::support::{
    Fake, agent, calls, careful, count, drain, echo, heard_of, is_end, is_free, listen, says, until, world,
};

#[tokio::test]
async fn st_01_an_operation_is_stored_and_then_announced() {
    let world = world([says("done")]).build();
    let mut events = world.runtime.events();
    world.store.fail_next(StoreError::Busy("locked".to_owned()));
    let refused = world.runtime.start(&agent(), "go", Hooks::new()).unwrap_err();
    assert!(matches!(refused, RunError::Store(StoreError::Busy(_))));
    tokio::task::yield_now().await;
    assert_eq!(drain(&mut events), [], "what is not stored is not announced");

    let run = world.start(&agent(), Hooks::new());
    assert!(world.store.header(run.id()).is_ok());
    assert_eq!(drain(&mut events), []);
    run.wait().await.unwrap();
    assert!(matches!(drain(&mut events)[0].what, Told::OperationStart { resumed: false, .. }));
}

#[tokio::test]
async fn st_02_st_04_st_05_an_end_is_announced_when_it_is_entered_and_once() {
    let pay = Fake::says("pay", "paid").asks().into_tool();
    let world = world([calls(&[("c1", "pay", "{}")]), says("done")]).tools([pay]).build();
    let (heard, hooks) = listen();
    let (parked, told) = world.run_with(&careful(), "go", hooks).await;
    assert_eq!((count(&told, is_end), heard_of(&heard, HookKind::OnComplete)), (0, 0), "a start is no end");
    assert_eq!(count(&told, |told| matches!(told, Told::ApprovalRequired { .. })), 1);

    let mut events = world.runtime.events();
    world.decide(&parked.operation, "c1", PostedVerdict::Approve);
    until(|| world.store.header(&parked.operation).unwrap().summary.reason.is_some()).await;
    let mut told = Vec::new();
    until(|| {
        told.extend(drain(&mut events));
        count(&told, is_end) > 0
    })
    .await;
    world.runtime.look().unwrap();
    world.runtime.stop(&parked.operation).unwrap_err();
    world.runtime.resume(&parked.operation, Hooks::new()).unwrap_err();
    tokio::task::yield_now().await;
    told.extend(drain(&mut events));
    let ended = |told: &Told| matches!(told, Told::OperationEnd { status: Status::Done, reason: Reason::Done, .. });
    assert_eq!((count(&told, ended), count(&told, is_end)), (1, 1));
    assert_eq!(heard_of(&heard, HookKind::OnComplete), 1);
}

#[tokio::test]
async fn st_03_waiting_for_a_late_result_announces_no_end() {
    let slow = Fake::later("slow").into_tool();
    let world = world([calls(&[("c1", "slow", "{}")])]).tools([slow]).build();
    let (heard, hooks) = listen();
    let (report, told) = world.run_with(&agent(), "go", hooks).await;
    assert_eq!(report.status, Status::WaitingForAsyncTool);
    assert_eq!((count(&told, is_end), heard_of(&heard, HookKind::OnComplete)), (0, 0));
    assert_eq!(count(&told, |told| matches!(told, Told::ToolParked { .. })), 1);
}

#[tokio::test]
async fn st_06_announcements_that_a_slow_reader_missed_do_not_cost_it_the_end() {
    let turns: Vec<_> = (0..400).map(|n| calls(&[("c", "echo", &format!(r#"{{"n":{n}}}"#))])).collect();
    let world = world(turns.into_iter().chain([says("done")])).build();
    let (report, told) = world.run(&agent()).await;
    assert_eq!(report.reason, Some(Reason::Done));
    assert!(matches!(told[0].what, Told::Gap { missed } if missed > 0), "{:?}", told[0]);
    assert!(is_end(&told.last().unwrap().what));
}

#[tokio::test]
async fn st_09_an_end_is_stored_before_it_is_announced_and_cleaned_up_after() {
    let lost = StoreError::Io { doing: "write", why: "the disk is full".to_owned() };
    // The last write: what the hooks of `onComplete` answered.
    let world = world([says("done")]).at("s2.h1.fire", move |_, store, _| store.fail_next(lost.clone())).build();
    let mut events = world.runtime.events();
    let run = world.start(&agent(), Hooks::new());
    run.wait().await.unwrap_err();
    assert_eq!(count(&drain(&mut events), is_end), 0, "an end that could not be stored is not announced");

    let (report, told) = world.resume(run.id()).await;
    assert_eq!((report.reason, count(&told, is_end)), (Some(Reason::Done), 1));
    assert!(!world.runtime.hooks().has_hooks(run.id()), "the hooks of an ended run are gone");
    assert!(is_free(&world.store, run.id()));
}

#[tokio::test]
async fn st_12_only_the_owner_writes_and_lets_go() {
    let world = world([says("done")]).build();
    let run = world.start(&agent(), Hooks::new());
    let other = world.store.another_process();
    for fence in [Fence(1), Fence(2), Fence(99)] {
        assert_eq!(other.release(run.id(), fence), Err(StoreError::LostOwnership(run.id().clone())));
    }
    assert!(matches!(other.claim(run.id()), Err(StoreError::Owned { .. })));
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
}

#[tokio::test]
async fn st_13_history_is_read_oldest_first() {
    let world = world([echo("c1"), says("done")]).build();
    let (report, _) = world.run(&agent()).await;
    let expected = ["system: You test.", "user: go", "assistant:  +echo {}", "tool ok: echoed", "assistant: done"];
    assert_eq!(world.rows(&report.operation), expected);
    let times: Vec<u64> = world
        .store
        .records(&report.operation)
        .unwrap()
        .iter()
        .flat_map(|record| jackline_runtime::journal::decode(record).unwrap())
        .map(|(input, _)| input.at)
        .collect();
    assert!(times.len() > 5 && times.is_sorted());
    let first = world.store.records(&report.operation).unwrap()[0].clone();
    let begun = jackline_runtime::journal::decode(&first).unwrap();
    assert_eq!(begun[0].0.what, jackline_runtime::machine::What::BeginRequested);
}
