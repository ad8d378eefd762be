//! Results that come later: parked calls, and answers handed in.

use std::sync::Arc;

use jackline_hooks::{AfterToolCallControl, Decision, HookKind, Hooks};
use jackline_model::{Reason, Status, ToolRunResult};
use jackline_runtime::drive::{Agent, Decided, Told};
use jackline_tools::ToolAnswer;

use crate::stage::{Prop, agent, approved, asks, pairs, says, stage};

/// A tool whose result comes later.
fn later(name: &str) -> Prop {
    Prop::new(name, |called| async move {
        called.note("run");
        Ok(ToolAnswer::Later)
    })
}

#[tokio::test]
async fn tool_02_a_clients_tool_parks_the_run_and_is_not_run_here() {
    let stage = stage([asks(&[("a", "client", "{}")]), says("done")], [Prop::client("client")]);
    let run = stage.start(&agent(), stage.listen());
    let report = run.wait().await.unwrap();
    assert_eq!((report.status, report.reason), (Status::WaitingForAsyncTool, None));
    assert_eq!(stage.parked(), ["a"]);
    assert!(stage.notes().is_empty() && stage.rows(run.id()).is_empty() && stage.ends().is_empty());
    assert_eq!(stage.only(HookKind::BeforeToolCall)["executor"], "client");
    assert!(stage.told().contains(&Told::Parked { status: Status::WaitingForAsyncTool }) || stage.parked() == ["a"]);
}

#[tokio::test]
async fn tool_16_i22_l05_a_later_result_parks_is_not_judged_and_does_not_end_the_call() {
    let stage = stage([asks(&[("a", "later", "{}")]), says("done")], [later("later")]);
    let seen = stage.clone();
    let judge = move |event: Arc<AfterToolCallControl>| {
        seen.note(format!("judge {}", event.result.content));
        async { Decision::Allow }
    };
    let hooks = stage.listen().control_after_tool_call("judge", judge);
    let run = stage.start(&agent(), hooks);
    let report = run.wait().await.unwrap();
    assert_eq!(report.status, Status::WaitingForAsyncTool);
    assert_eq!((stage.notes(), stage.parked()), (vec!["run a".to_owned()], vec!["a".to_owned()]));
    assert!(stage.rows(run.id()).is_empty() && stage.ends().is_empty(), "no row stands in for the result");
    assert_eq!(stage.count(HookKind::OnComplete), 0);

    let report = stage.complete(&run, "a", &ToolRunResult::ok("here it is")).await;
    assert_eq!(report.reason, Some(Reason::Done));
    assert_eq!(stage.notes(), ["run a", "judge here it is"]);
    assert_eq!(
        (stage.row(run.id()).content.as_str(), stage.ends()[0].decision.clone()),
        ("here it is", Decided::Answered)
    );
    assert_eq!(stage.count(HookKind::OnComplete), 1, "the hooks were kept, and completion comes once");
    assert_eq!(stage.count(HookKind::AfterToolCall), 0, "a result that came later is not notified");
}

#[tokio::test]
async fn tool_18_an_immediate_result_fills_the_row_that_was_kept_for_it() {
    let stage = stage(
        [asks(&[("a", "look", "{}"), ("b", "later", "{}")]), says("done")],
        [Prop::plain("look"), later("later")],
    );
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    let row = stage.row(run.id());
    assert_eq!((row.call.as_str(), row.place), ("a", 3));
    assert_eq!(stage.parked(), ["b"], "only what comes later parks");
}

#[tokio::test]
async fn tool_20_a_batch_with_two_later_results_names_both_and_waits_for_both() {
    let stage = stage([asks(&[("a", "later", "{}"), ("b", "later", "{}")]), says("done")], [later("later")]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    assert_eq!(stage.parked(), ["a", "b"]);
    let report = stage.complete(&run, "b", &ToolRunResult::ok("second")).await;
    assert_eq!((report.status, stage.model.requests().len()), (Status::WaitingForAsyncTool, 1));
    let report = stage.complete(&run, "a", &ToolRunResult::ok("first")).await;
    assert_eq!(report.status, Status::Done);
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "first"), ("b", "second")]));
    assert_eq!(stage.model.requests().len(), 2);
}

#[tokio::test]
async fn tool_04_the_first_answer_wins_and_later_ones_are_refused() {
    let stage = stage([asks(&[("a", "later", "{}"), ("b", "later", "{}")]), says("done")], [later("later")]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    let answer = |text: &str| stage.runtime.complete_call(run.id(), &"a".into(), &ToolRunResult::ok(text));
    answer("the first").unwrap();
    assert!(answer("in one breath").is_err(), "it is not even judged yet");
    run.wait().await.unwrap();
    assert!(answer("later").is_err());
    stage.complete(&run, "b", &ToolRunResult::ok("b")).await;
    assert!(answer("after the end").is_err());
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "the first"), ("b", "b")]));
    let trace = stage.trace();
    assert!(!trace.contains("in one breath") && !trace.contains("after the end"));
}

#[tokio::test]
async fn tool_16_an_answer_that_is_denied_leaves_no_trace_and_cannot_be_replaced() {
    let stage = stage([asks(&[("a", "later", "{}")]), says("done")], [later("later")]);
    let hooks = stage.listen().control_after_tool_call("judge", |_| async { Decision::deny("not for you") });
    let run = stage.start(&agent(), hooks);
    run.wait().await.unwrap();
    stage.complete(&run, "a", &ToolRunResult::ok("s3cret")).await;
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "not for you")]));
    assert!(!stage.trace().contains("s3cret"));
    assert!(stage.runtime.complete_call(run.id(), &"a".into(), &ToolRunResult::ok("again")).is_err());
}

#[tokio::test]
async fn tool_04_an_answer_after_a_stop_or_after_its_time_is_refused_or_dropped() {
    let stage = stage([asks(&[("a", "later", "{}")]), says("done")], [later("later")]);
    let run = stage.start(&Agent { async_wait_ms: Some(60_000), ..agent() }, stage.listen());
    run.wait().await.unwrap();
    // Nobody holds the clock, so the wait is over at once.
    while stage.rows(run.id()).is_empty() {
        tokio::task::yield_now().await;
    }
    let report = run.wait().await.unwrap();
    assert_eq!((report.status, stage.clock_ms()), (Status::Done, 61_000));
    assert!(stage.runtime.complete_call(run.id(), &"a".into(), &ToolRunResult::ok("too late")).is_err());
    assert!(!stage.row(run.id()).success && !stage.trace().contains("too late"));
}

#[tokio::test]
async fn tool_19_hil_33_an_approved_batch_with_a_later_result_parks_and_leaves_no_empty_row() {
    let calls = [("a", "later", "{}"), ("b", "ask", "{}")];
    let stage = stage([asks(&calls), says("done")], [later("later").asking(), Prop::plain("ask").asking()]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    let report = stage.decide(&run, approved(&["a", "b"])).await;
    assert_eq!((report.status, stage.parked()), (Status::WaitingForAsyncTool, vec!["a".to_owned()]));
    assert_eq!(stage.texts(run.id()), pairs(&[("b", "did b")]));
    let messages = stage.messages(run.id());
    assert_eq!(messages.len(), 4, "no message is kept ready for the next turn: {messages:?}");
    let report = stage.complete(&run, "a", &ToolRunResult::ok("here")).await;
    assert_eq!((report.status, stage.count(HookKind::OnComplete)), (Status::Done, 1));
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "here"), ("b", "did b")]));
}

#[tokio::test]
async fn sub_15_a_later_result_that_says_stop_ends_the_run_without_another_turn() {
    let stage = stage([asks(&[("a", "later", "{}"), ("b", "later", "{}")]), says("never asked")], [later("later")]);
    let run = stage.start(&agent(), Hooks::new());
    run.wait().await.unwrap();
    let over = ToolRunResult { stop: true, ..ToolRunResult::ok("over") };
    assert_eq!(stage.complete(&run, "a", &over).await.status, Status::WaitingForAsyncTool);
    let report = stage.complete(&run, "b", &ToolRunResult::ok("b")).await;
    assert_eq!((report.reason, stage.model.turns_left()), (Some(Reason::Done), 1));
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "over"), ("b", "b")]));
}
