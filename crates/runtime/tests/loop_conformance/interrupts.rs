//! Somebody stops a run: while a tool hangs, between two writes, without a store, too late.

use std::sync::atomic::Ordering;

use jackline_hooks::Hooks;
use jackline_model::{ExecutorRoute, Reason, Status};
use jackline_runtime::drive::{Clock, RunError, Told};
use jackline_runtime::journal::{InboxItem, Store, StoreError};
use jackline_runtime::llm::ModelFaultKind;

use crate::faulty::Faulty;
use crate::support::{Fake, START_MS, agent, calls, count, drain, echo, fails, is_end, says, until, world};

#[tokio::test]
async fn int_01_an_interrupt_ends_the_wait_for_a_tool_and_settles_its_row() {
    let hangs = Fake::hangs("echo");
    let ran_with = hangs.ran_with();
    let world = world([echo("c1")]).tools([hangs.into_tool()]).build();
    // Time stands still until the stop is there: the tool's own deadline must not be what ends it.
    let hold = world.clock.hold();
    let run = world.start(&agent(), Hooks::new());
    until(|| !ran_with.lock().unwrap().is_empty()).await;
    run.interrupt().unwrap();
    let report = run.wait().await.unwrap();
    drop(hold);
    assert_eq!((report.status, report.reason), (Status::Interrupted, Some(Reason::Interrupted)));
    assert!(world.clock.now_ms() - START_MS <= 2_000);
    let rows = world.rows(run.id());
    assert_eq!(rows.len(), 4);
    assert!(rows[3].starts_with("tool no: "), "{rows:?}");
}

#[tokio::test]
async fn int_02_an_interrupt_that_was_written_is_seen_even_if_the_process_dies_before_it_is() {
    let first = world([echo("c1")]).at("s1.c1.run", |_, store, operation| {
        store.post(operation, InboxItem::Stop(None), START_MS).unwrap();
        store.kill();
    });
    let first = first.build();
    let run = first.start(&agent(), Hooks::new());
    run.wait().await.unwrap_err();

    let second = world([says("never")]).store(first.store.another_process()).build();
    let (report, _) = second.resume(run.id()).await;
    assert_eq!(report.reason, Some(Reason::Interrupted));
    assert!(second.requests().is_empty(), "the model is not asked any more");
    let rows = second.rows(run.id());
    assert!(rows[3].starts_with("tool no: "), "{rows:?}");
}

#[tokio::test]
async fn int_03_an_interrupt_that_cannot_be_written_marks_nothing() {
    let lost = StoreError::Busy("locked".to_owned());
    let world = world([echo("c1"), says("done")]).at("s1.c1.clear", move |runtime, store, operation| {
        store.fail_next(lost.clone());
        assert!(matches!(runtime.stop(operation), Err(RunError::Store(StoreError::Busy(_)))));
    });
    let world = world.build();
    let (report, _) = world.run(&agent()).await;
    assert_eq!(report.reason, Some(Reason::Done));
    assert_eq!(world.store.inbox(&report.operation).unwrap(), []);
}

#[tokio::test]
async fn int_04_host_19_an_interrupt_of_a_finished_run_changes_nothing() {
    let world = world([says("done")]).build();
    let (report, _) = world.run(&agent()).await;
    let (rows, records) = (world.rows(&report.operation), world.store.records(&report.operation).unwrap());
    let mut events = world.runtime.events();
    let refused = world.runtime.stop(&report.operation).unwrap_err();
    assert!(matches!(refused, RunError::Store(StoreError::Refused(_))), "{refused}");
    world.runtime.look().unwrap();
    tokio::task::yield_now().await;
    assert_eq!(world.store.header(&report.operation).unwrap().summary.reason, Some(Reason::Done));
    assert_eq!((world.rows(&report.operation), world.store.records(&report.operation).unwrap()), (rows, records));
    assert_eq!(drain(&mut events), []);
}

#[tokio::test]
async fn int_05_a_stop_that_cannot_be_read_fails_the_step_and_nothing_more_is_started() {
    let faulty = Faulty::default();
    let echo_tool = Fake::says("echo", "echoed");
    let ran_with = echo_tool.ran_with();
    let fails_now = faulty.inbox_fails.clone();
    let world = world([calls(&[("c1", "echo", "{}")]), says("never")])
        .tools([echo_tool.into_tool()])
        .store(faulty.store.clone())
        .through(std::sync::Arc::new(faulty.clone()))
        .at("s1.c1.clear", move |runtime, _, operation| {
            fails_now.store(true, Ordering::Relaxed);
            runtime.stop(operation).unwrap();
        });
    let world = world.build();
    let run = world.start(&agent(), Hooks::new());
    let error = run.wait().await.unwrap_err();
    assert!(matches!(error, RunError::Store(StoreError::Io { .. })), "{error}");
    assert_eq!((ran_with.lock().unwrap().len(), world.requests().len()), (0, 1));

    // Once it can be read again, the stop counts.
    faulty.inbox_fails.store(false, Ordering::Relaxed);
    let (report, _) = world.resume(run.id()).await;
    assert_eq!(report.reason, Some(Reason::Interrupted));
    assert!(ran_with.lock().unwrap().is_empty());
}

#[tokio::test]
async fn int_06_an_interrupt_while_the_run_parks_settles_the_rows() {
    let client = Fake::says("client", "").with(|spec| spec.executor = ExecutorRoute::Client).into_tool();
    // The last effect before the run would rest: `afterStep` of the step that parks.
    let world = world([calls(&[("c1", "client", "{}"), ("c2", "client", "{}")])]).tools([client]);
    let world = world.stop_at("s1.h2.fire").build();
    let (report, told) = world.run(&agent()).await;
    assert_eq!((report.status, report.resumable), (Status::Interrupted, true));
    assert_eq!(count(&told, |told| matches!(told, Told::ToolParked { .. })), 2);
    let rows = world.rows(&report.operation);
    assert_eq!(rows.iter().filter(|row| row.starts_with("tool no: ")).count(), 2, "{rows:?}");
}

#[tokio::test]
async fn int_07_llm_11_an_interrupt_during_the_wait_for_a_retry_asks_no_more() {
    let world = world([fails(ModelFaultKind::Retryable, "half an ans"), says("never")]).build();
    let mut events = world.runtime.events();
    let hold = world.clock.hold();
    let run = world.start(&agent(), Hooks::new());
    let mut told = Vec::new();
    until(|| {
        told.extend(drain(&mut events));
        count(&told, |told| matches!(told, Told::ModelRetry { .. })) == 1
    })
    .await;
    run.interrupt().unwrap();
    let report = run.wait().await.unwrap();
    drop(hold);
    told.extend(drain(&mut events));
    assert_eq!(report.reason, Some(Reason::Interrupted));
    assert_eq!((world.requests().len(), world.clock.now_ms()), (1, START_MS), "nothing was waited for");
    // The part that came was shown. It is no answer, so it is no row: a resumed run asks anew.
    assert_eq!(count(&told, |told| *told == Told::Text { delta: "half an ans".to_owned() }), 1);
    assert_eq!(world.rows(run.id()), ["system: You test.", "user: go"]);
    assert_eq!(count(&told, is_end), 1);
    let (report, _) = world.resume(run.id()).await;
    assert_eq!(report.answer.as_deref(), Some("never"));
}
