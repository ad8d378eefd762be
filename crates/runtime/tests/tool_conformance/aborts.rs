//! Stopping a run while calls are cleared, run, judged or parked.

use std::sync::{Arc, Mutex};

use jackline_hooks::{Decision, HookKind, Hooks};
use jackline_model::{OperationId, Reason, Status, ToolRunResult};
use jackline_runtime::drive::{Agent, Decided};
use jackline_runtime::machine::Instruction;
use jackline_runtime::planner::{PlanView, Planner};

use crate::stage::{Prop, Stage, agent, approved, asks, did, pairs, says, stage, staged};

/// Notes when it is dropped.
struct Dropped(Stage);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.note("dropped");
    }
}

/// Hooks whose before-control stops the run and then answers late.
fn stopping_control(stage: &Stage) -> Hooks {
    let stage = stage.clone();
    let ask = move |event: Arc<jackline_hooks::BeforeToolCallEvent>| {
        stage.note(format!("control {}", event.context.tool_call_id));
        stage.runtime.stop(&event.context.operation_id).unwrap();
        async { Decision::Allow }
    };
    Hooks::new().control_before_tool_call("policy", ask).into()
}

fn assert_told_nobody(stage: &Stage) {
    for kind in [HookKind::AfterToolCall, HookKind::OnToolCallError] {
        assert_eq!(stage.count(kind), 0, "{kind}");
    }
}

#[tokio::test]
async fn tool_05_tool_06_tool_07_l20_an_abort_during_the_run_leaves_one_aborted_row_and_no_events() {
    let prop = Prop::new("look", |called| async move {
        called.note("run");
        let _dropped = Dropped(called.stage.clone());
        called.stop();
        std::future::pending::<()>().await;
        did("the late result")
    });
    let stage = stage([asks(&[("a", "look", "{}")]), says("never asked")], [prop]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!((report.status, report.reason), (Status::Interrupted, Some(Reason::Interrupted)));
    let row = stage.row(&operation);
    assert_eq!(
        (row.place, row.content.as_str()),
        (3, "The call was aborted by the user."),
        "the row that was kept for it"
    );
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted")]));
    assert_eq!(stage.ends()[0].decision, Decided::Aborted);
    assert_told_nobody(&stage);
    assert_eq!(stage.count(HookKind::OnComplete), 1);
    assert_eq!(stage.count(HookKind::OnError), 0);
    assert_eq!((report.totals.tool_calls, report.totals.cost.0), (0, 1_000), "it costs nothing");
    tokio::task::yield_now().await;
    assert_eq!(stage.notes(), ["run a", "dropped"], "the tool was told to stop");
    assert!(!stage.trace().contains("the late result"));
}

#[tokio::test]
async fn tool_07_a_tool_that_answers_in_the_moment_of_the_stop_is_heard_or_aborted_but_never_both() {
    let prop = Prop::new("look", |called| async move {
        called.stop();
        did("just in time")
    });
    let stage = stage([asks(&[("a", "look", "{}")]), says("never asked")], [prop]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!(report.reason, Some(Reason::Interrupted));
    let row = stage.row(&operation);
    let is_heard = row.content == "just in time";
    assert!(is_heard || row.error == Some("aborted".into()), "{row:?}");
    assert_eq!(stage.count(HookKind::AfterToolCall), usize::from(is_heard));
    assert_eq!(stage.model.turns_left(), 1);
}

#[tokio::test]
async fn tool_08_a_call_that_was_not_started_when_the_run_stopped_never_starts() {
    let stage =
        stage([asks(&[("a", "stop", "{}"), ("b", "look", "{}")])], [Prop::stopper("stop"), Prop::plain("look")]);
    let one_at_a_time = Agent { concurrency: 1, ..agent() };
    let (operation, report) = stage.play(&one_at_a_time, stage.listen()).await;
    assert_eq!((report.reason, stage.notes()), (Some(Reason::Interrupted), vec!["run a".to_owned()]));
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted"), ("b", "aborted")]));
    assert_told_nobody(&stage);
}

#[tokio::test]
async fn tool_08_h10_a_stop_while_the_control_thinks_runs_nothing_and_a_late_allow_is_ignored() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("never asked")], [Prop::plain("look")]);
    let hooks = stage.listen().and(stopping_control(&stage));
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!((report.reason, stage.notes()), (Some(Reason::Interrupted), vec!["control a".to_owned()]));
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted")]));
    assert_told_nobody(&stage);
}

#[tokio::test]
async fn h10_a_stop_while_the_control_hangs_runs_nothing() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("never asked")], [Prop::plain("look")]);
    let seen = stage.clone();
    let hang = move |event: Arc<jackline_hooks::BeforeToolCallEvent>| {
        let dropped = Dropped(seen.clone());
        seen.runtime.stop(&event.context.operation_id).unwrap();
        async move {
            std::future::pending::<()>().await;
            drop(dropped);
            Decision::Allow
        }
    };
    let hooks = stage.listen().control_before_tool_call("policy", hang);
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!((report.reason, stage.notes()), (Some(Reason::Interrupted), vec!["dropped".to_owned()]));
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted")]));
    assert_eq!(stage.clock_ms(), 1_000, "nothing waited for the control's deadline");
    assert_told_nobody(&stage);
}

#[tokio::test]
async fn tool_10_a_client_call_of_a_stopped_run_is_settled_without_a_pause() {
    let stage = stage([asks(&[("a", "client", "{}")])], [Prop::client("client")]);
    let hooks = stage.listen().and(stopping_control(&stage));
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!((report.status, stage.parked()), (Status::Interrupted, Vec::new()));
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted")]));
}

/// Stops the run while the step that parks is being closed.
fn stop_at_the_pause(stage: &Stage, step: u32) -> Hooks {
    let stage = stage.clone();
    let stop = move |event: Arc<jackline_hooks::AfterStepEvent>| {
        if event.step_index == step {
            stage.runtime.stop(&event.run.operation_id).unwrap();
        }
        std::future::ready(())
    };
    Hooks::new().after_step("stop", stop).into()
}

#[tokio::test]
async fn tool_11_an_abort_during_the_pause_settles_and_does_not_park() {
    for calls in [&[("a", "client", "{}")][..], &[("a", "client", "{}"), ("b", "look", "{}")]] {
        let stage = stage([asks(calls)], [Prop::client("client"), Prop::plain("look")]);
        let hooks = stage.listen().and(stop_at_the_pause(&stage, 1));
        let (operation, report) = stage.play(&agent(), hooks).await;
        assert_eq!((report.status, report.reason), (Status::Interrupted, Some(Reason::Interrupted)));
        assert_eq!(stage.classes(&operation)[0], ("a".to_owned(), "aborted".to_owned()));
        assert_eq!(stage.rows(&operation).len(), calls.len());
        assert!(stage.runtime.complete_call(&operation, &"a".into(), &ToolRunResult::ok("late")).is_err());
    }
}

#[tokio::test]
async fn tool_11_an_abort_while_a_person_is_being_asked_settles_and_does_not_park() {
    let stage = stage([asks(&[("a", "ask", "{}")])], [Prop::plain("ask").asking()]);
    let hooks = stage.listen().and(stop_at_the_pause(&stage, 1));
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!((report.status, stage.notes()), (Status::Interrupted, Vec::new()));
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted")]));
    assert!(stage.runtime.approvals(&operation).unwrap().is_empty(), "nobody is asked any more");
}

#[tokio::test]
async fn tool_13_the_row_that_was_kept_for_a_parked_call_is_the_one_that_a_stop_settles() {
    let stage =
        stage([asks(&[("a", "client", "{}"), ("b", "look", "{}")])], [Prop::client("client"), Prop::plain("look")]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    run.interrupt().unwrap();
    let report = run.wait().await.unwrap();
    assert_eq!(report.reason, Some(Reason::Interrupted));
    assert_eq!(stage.classes(run.id()), pairs(&[("a", "aborted"), ("b", "ok")]));
    let places: Vec<u32> = stage.rows(run.id()).iter().map(|row| row.place).collect();
    assert_eq!(places, [3, 4]);
    assert_eq!(stage.count(HookKind::OnComplete), 1);
}

#[tokio::test]
async fn tool_25_an_abort_within_a_batch_keeps_what_finished_and_settles_the_rest() {
    let late = Prop::stopper("stop").with(|spec| spec.ordered = true);
    let calls = [("a", "look", "{}"), ("b", "stop", "{}"), ("c", "hang", "{}"), ("d", "stop", "{}")];
    let stage = stage([asks(&calls)], [Prop::plain("look"), late, Prop::new("hang", |_| std::future::pending())]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!(report.reason, Some(Reason::Interrupted));
    assert_eq!(stage.classes(&operation), pairs(&[("a", "ok"), ("b", "aborted"), ("c", "aborted"), ("d", "aborted")]));
    assert_eq!(stage.texts(&operation)[0].1, "did a");
    assert_eq!(stage.count(HookKind::AfterToolCall), 1, "what finished was told");
    assert_eq!(report.totals.tool_calls, 1);
}

#[tokio::test]
async fn tool_26_an_aborted_mixed_batch_settles_client_calls_that_have_not_begun() {
    let calls = [("a", "stop", "{}"), ("b", "client", "{}"), ("c", "client", "{}")];
    let stage = stage([asks(&calls)], [Prop::stopper("stop"), Prop::client("client")]);
    let one_at_a_time = Agent { concurrency: 1, ..agent() };
    let (operation, report) = stage.play(&one_at_a_time, stage.listen()).await;
    assert_eq!((report.status, stage.parked()), (Status::Interrupted, Vec::new()));
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted"), ("b", "aborted"), ("c", "aborted")]));
    assert_eq!(stage.count(HookKind::BeforeToolCall), 1, "nobody was asked about calls that never began");
}

#[tokio::test]
async fn tool_28_a_client_batch_that_is_aborted_before_its_start_is_settled_in_order() {
    let stage = stage([asks(&[("a", "client", "{}"), ("b", "client", "{}")])], [Prop::client("client")]);
    let hooks = stage.listen().and(stop_at_the_pause(&stage, 0));
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!((report.status, stage.parked()), (Status::Interrupted, Vec::new()));
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted"), ("b", "aborted")]));
    let ends: Vec<String> = stage.ends().into_iter().map(|end| end.call).collect();
    assert_eq!(ends, ["a", "b"]);
}

#[tokio::test]
async fn tool_09_tool_29_approved_calls_of_an_aborted_batch_settle_their_own_rows_and_add_none() {
    let calls = [("a", "stop", "{}"), ("b", "client", "{}"), ("c", "stop", "{}")];
    let stage = stage([asks(&calls)], [Prop::stopper("stop").asking(), Prop::client("client").asking()]);
    let run = stage.start(&Agent { concurrency: 1, ..agent() }, stage.listen());
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    let report = stage.decide(&run, approved(&["a", "b", "c"])).await;
    assert_eq!((report.reason, stage.notes()), (Some(Reason::Interrupted), vec!["run a".to_owned()]));
    assert_eq!(stage.classes(run.id()), pairs(&[("a", "aborted"), ("b", "aborted"), ("c", "aborted")]));
    let places: Vec<u32> = stage.rows(run.id()).iter().map(|row| row.place).collect();
    assert_eq!(places, [3, 4, 5]);
    assert_told_nobody(&stage);
}

/// Lists each call twice.
struct Twice(Mutex<u32>);

impl Planner for Twice {
    fn plan(&self, view: &PlanView<'_>) -> Vec<Instruction> {
        *self.0.lock().unwrap() += 1;
        match view.calls {
            [] => vec![Instruction::CallLlm],
            calls => {
                let once: Vec<_> = calls.iter().map(|call| call.ordinal).collect();
                vec![Instruction::ResolveAbortedTools([once.clone(), once].concat())]
            }
        }
    }
}

#[tokio::test]
async fn tool_27_a_call_that_is_listed_twice_is_settled_once() {
    let stage = staged([asks(&[("a", "look", "{}"), ("b", "look", "{}")])], [Prop::plain("look")], |builder| {
        builder.planner(Arc::new(Twice(Mutex::new(0))))
    });
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted"), ("b", "aborted")]));
    assert_eq!((report.status, report.fault.unwrap().code), (Status::Error, "plan_fault".to_owned()));
    assert!(stage.notes().is_empty());
}

async fn resumed(stage: &Stage, operation: &OperationId) -> Vec<(String, String)> {
    let run = stage.runtime.resume(operation, Hooks::new()).unwrap();
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    stage.classes(operation)
}

#[tokio::test]
async fn tool_06_a_stopped_run_goes_on_later_with_its_aborted_rows_and_runs_nothing_again() {
    let stage = stage(
        [asks(&[("a", "stop", "{}"), ("b", "look", "{}")]), says("done")],
        [Prop::stopper("stop"), Prop::plain("look")],
    );
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert!(report.resumable);
    assert_eq!(resumed(&stage, &operation).await, pairs(&[("a", "aborted"), ("b", "ok")]));
    assert_eq!(stage.notes(), ["run a", "run b"]);
}
