//! What a denial hides, and what nobody sees before the decision.

use std::sync::Arc;
use std::time::Duration;

use jackline_hooks::{AfterToolCallControl, Decision, HookKind, Hooks, MockAnswer, OnError};
use jackline_model::{NanoDollars, Reason, Status, ToolRunResult};
use jackline_runtime::drive::{Clock, Decided};
use jackline_runtime::journal::Store;
use jackline_tools::ToolError;
use serde_json::json;

use super::before::futures;
use crate::stage::{Prop, Stage, agent, asks, did, pairs, says, stage};

/// A result that holds the secret in every field that can hold one.
pub(crate) fn secret() -> ToolRunResult {
    ToolRunResult {
        error: Some(json!({"detail": "s3cret"})),
        state: Some(serde_json::from_value(json!({"file": "s3cret"})).unwrap()),
        work_registration: Some(json!({"path": "s3cret"})),
        execution_time: Some(42),
        device_execution_time: Some(41),
        ..ToolRunResult::ok("s3cret ".repeat(10_000))
    }
}

fn assert_hidden(stage: &Stage) {
    let trace = stage.trace();
    let at = trace.find("s3cret");
    assert!(at.is_none(), "{:?}", at.map(|at| &trace[at.saturating_sub(200)..at + 50]));
}

#[tokio::test]
async fn i01_a_denied_result_leaves_only_the_reason_at_full_cost() {
    let prop = Prop::new("look", |_| async { Ok(secret().into()) });
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
    let hooks = stage.listen().control_after_tool_call("judge", |_| async { Decision::deny("not for you") });
    let (operation, report) = stage.play(&agent(), hooks).await;
    let row = stage.row(&operation);
    assert_eq!((row.content.as_str(), &row.error, row.success), ("not for you", &Some(json!("hook_denied")), false));
    assert_eq!(row.state, Some(json!({"type": "blocked", "phase": "afterToolCall", "reason": "not for you"})));
    let end = &stage.ends()[0];
    assert_eq!((end.result.execution_time, end.result.device_execution_time), (Some(42), Some(41)));
    assert_eq!(end.decision, Decided::Denied { hook: "judge".to_owned(), after: true, failure: false });
    assert_eq!(stage.only(HookKind::AfterToolCall)["result"]["content"], "not for you");
    assert_eq!((report.status, report.totals.cost, report.totals.tool_calls), (Status::Done, NanoDollars(2_007), 1));
    assert_hidden(&stage);
}

#[tokio::test]
async fn i01_what_a_broken_tool_said_and_what_a_mock_said_is_hidden_as_well() {
    let breaks = Prop::new("breaks", |_| async { Err(ToolError::new("s3cret")) });
    let stage =
        stage([asks(&[("a", "breaks", "{}"), ("b", "fake", "{}")]), says("done")], [breaks, Prop::plain("fake")]);
    let hooks = stage
        .listen()
        .mock_before_tool_call("mock", |_| async { MockAnswer::Mock(secret()) })
        .matching("fake")
        .control_after_tool_call("judge", |_| async { Decision::deny("no") });
    let (operation, _) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.texts(&operation), pairs(&[("a", "no"), ("b", "no")]));
    assert_eq!(stage.only(HookKind::OnToolCallError)["error"], "no");
    assert_hidden(&stage);
}

#[tokio::test]
async fn i03_an_allowed_result_is_archived_whole_and_shown_in_its_short_form() {
    let whole = "a long line\n".repeat(10_000);
    let given = whole.clone();
    let prop = Prop::new("look", move |_| std::future::ready(did(given.clone())));
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
    let hooks = stage.listen().control_after_tool_call("judge", |_| async { Decision::Allow });
    let (operation, _) = stage.play(&agent(), hooks).await;
    let row = stage.row(&operation);
    assert!(row.content.len() < 30_000 && row.content.starts_with("a long line\n"));
    let blob = row.content.split('`').nth(1).unwrap();
    let archived = stage.store.blob(&blob.into()).unwrap().unwrap();
    assert!(*archived == *whole, "{} of {} bytes", archived.len(), whole.len());
    assert_eq!(stage.ends()[0].result.content, row.content);
    assert_eq!(stage.only(HookKind::AfterToolCall)["result"]["content"], row.content.as_str());
    let shown = format!("{:?}", stage.model.requests()[1].messages);
    assert!(shown.len() < 60_000, "the model reads the short form");
}

#[tokio::test]
async fn i04_until_the_decision_there_is_no_row_no_archive_and_no_end() {
    let prop = Prop::new("look", |_| async { Ok(secret().into()) });
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
    let seen = stage.clone();
    let ask = move |event: Arc<AfterToolCallControl>| {
        let seen = seen.clone();
        async move {
            // Long enough for everything else that could happen.
            seen.clock.sleep_until(seen.clock_ms() + 20_000).await;
            let operation = &event.context.operation_id;
            let nothing = seen.rows(operation).is_empty() && seen.ends().is_empty() && !seen.trace().contains("s3cret");
            seen.note(if nothing { "nothing to be seen" } else { "something leaked" });
            Decision::Allow
        }
    };
    let (operation, _) = stage.play(&agent(), stage.listen().control_after_tool_call("judge", ask)).await;
    assert_eq!(stage.notes(), ["nothing to be seen"]);
    assert!(stage.row(&operation).content.starts_with("s3cret"));
    assert!(stage.trace().contains("s3cret"), "the search itself works");
}

#[tokio::test]
async fn i06_i07_a_control_that_gives_no_answer_publishes_or_hides_as_its_policy_says() {
    type Ask = fn() -> futures::Answer;
    let ways: [(&str, Ask, &str); 3] =
        [("hangs", futures::hang, "timeout"), ("panics", futures::panics, "panic"), ("errs", futures::errs, "error")];
    for (name, way, class) in ways {
        for policy in [OnError::Continue, OnError::Block] {
            let prop = Prop::new("look", |called| async move {
                called.note("run");
                did("the result")
            });
            let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
            let hooks = stage
                .listen()
                .control_after_tool_call("judge", move |_| way())
                .on_error(policy)
                .timeout(Duration::from_millis(20));
            let (operation, _) = stage.play(&agent(), hooks).await;
            let is_hidden = policy == OnError::Block;
            let expected = if is_hidden { "hook_control_error" } else { "the result" };
            assert_eq!(stage.texts(&operation), pairs(&[("a", expected)]), "{name}");
            assert_eq!(stage.trace().contains("the result"), !is_hidden, "{name}");
            assert!(!stage.trace().contains("s3cret"), "the control's own words: {name}");
            assert_eq!((stage.notes().len(), stage.told_answers("judge")), (1, vec![class.to_owned()]));
        }
    }
}

#[tokio::test]
async fn i23_an_abort_during_the_decision_leaves_the_result_nowhere() {
    let prop = Prop::new("look", |_| async { Ok(secret().into()) });
    let stage = stage([asks(&[("a", "look", "{}")]), says("never")], [prop]);
    let seen = stage.clone();
    let ask = move |event: Arc<AfterToolCallControl>| {
        seen.runtime.stop(&event.context.operation_id).unwrap();
        std::future::pending::<Decision>()
    };
    let hooks = stage.listen().control_after_tool_call("judge", ask).on_error(OnError::Continue);
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!(report.reason, Some(Reason::Interrupted));
    assert_eq!(stage.classes(&operation), pairs(&[("a", "aborted")]));
    assert_eq!(stage.count(HookKind::AfterToolCall), 0);
    assert_eq!(stage.clock_ms(), 1_000);
    assert_hidden(&stage);
}

#[tokio::test]
async fn i23_an_abort_while_an_answer_is_judged_leaves_it_nowhere_and_it_cannot_come_again() {
    let stage = stage([asks(&[("a", "client", "{}")]), says("done")], [Prop::client("client")]);
    let seen = stage.clone();
    let ask = move |event: Arc<AfterToolCallControl>| {
        seen.runtime.stop(&event.context.operation_id).unwrap();
        std::future::pending::<Decision>()
    };
    let run = stage.start(&agent(), stage.listen().control_after_tool_call("judge", ask));
    run.wait().await.unwrap();
    let report = stage.complete(&run, "a", &ToolRunResult::ok("s3cret")).await;
    assert_eq!(report.reason, Some(Reason::Interrupted));
    assert_eq!(stage.classes(run.id()), pairs(&[("a", "aborted")]));
    assert!(stage.store.inbox(run.id()).unwrap().is_empty(), "what nobody judged is gone");
    assert_hidden(&stage);
    assert!(stage.runtime.complete_call(run.id(), &"a".into(), &ToolRunResult::ok("again")).is_err());
}

#[tokio::test]
async fn i01_a_denial_stands_after_a_crash_and_a_resume() {
    let stage = stage(
        [asks(&[("a", "look", "{}"), ("b", "client", "{}")])],
        [Prop::new("look", |_| async { Ok(secret().into()) }), Prop::client("client")],
    );
    let judge = || Hooks::new().control_after_tool_call("judge", |_| async { Decision::deny("no") });
    let run = stage.start(&agent(), judge());
    run.wait().await.unwrap();
    let next = stage.after_a_crash([says("done")]);
    let resumed = next.runtime.resume(run.id(), judge()).unwrap();
    next.complete(&resumed, "b", &ToolRunResult::ok("s3cret")).await;
    assert_eq!(next.texts(run.id()), pairs(&[("a", "no"), ("b", "no")]));
    assert_hidden(&stage);
    assert_hidden(&next);
}
