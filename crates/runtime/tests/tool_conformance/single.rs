//! One call: what goes in, what comes out, how often it is tried.

use std::time::Duration;

use jackline_hooks::HookKind;
use jackline_model::{NanoDollars, Reason, Status, ToolRunResult};
use jackline_runtime::drive::{Clock, Decided, Told};
use jackline_tools::ToolError;
use serde_json::{Value, json};

use crate::stage::{Prop, agent, asks, did, pairs, says, stage};

/// A failed result that asks to be tried again.
fn again(text: &str) -> ToolRunResult {
    ToolRunResult { error: Some(json!({"kind": "retry"})), ..ToolRunResult::failed(text) }
}

#[tokio::test]
async fn tool_01_one_call_goes_in_and_comes_out_once() {
    let prop = Prop::new("look", |called| async move {
        called.note(&format!("{} step {} try {}", Value::from(called.arguments.clone()), called.step, called.attempt));
        did("seen")
    });
    let stage = stage([asks(&[("a", "look", r#"{"at": "x"}"#)]), says("done")], [prop]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;

    assert_eq!(stage.notes(), [r#"{"at":"x"} step 1 try 1 a"#]);
    let row = stage.row(&operation);
    assert_eq!((row.call.as_str(), row.content.as_str(), row.success, &row.error), ("a", "seen", true, &None));
    let starts: Vec<Told> = stage.told().into_iter().filter(|told| matches!(told, Told::ToolStart { .. })).collect();
    assert!(matches!(&starts[..], [Told::ToolStart { index: 1, arguments, .. }] if &**arguments == r#"{"at": "x"}"#));
    let ends = stage.ends();
    assert_eq!(ends.len(), 1);
    assert_eq!((&ends[0].decision, ends[0].result.execution_time), (&Decided::Ran, Some(0)));
    let before = stage.only(HookKind::BeforeToolCall);
    assert_eq!((&before["callIndex"], &before["args"]), (&json!(1), &json!({"at": "x"})));
    assert_eq!(before["assistantMessageId"], "m2");
    assert_eq!((report.totals.tool_calls, report.totals.cost), (1, NanoDollars(2_007)));
    // The model reads the result behind its own turn.
    let request = &stage.model.requests()[1];
    assert_eq!(
        request.messages.iter().map(|message| message.id.as_str()).collect::<Vec<_>>(),
        ["m0", "m1", "m2", "m3"]
    );
}

#[tokio::test]
async fn tool_03_a_tool_that_is_declared_for_the_runtime_just_runs() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!((report.status, stage.notes()), (Status::Done, vec!["run a".to_owned()]));
    assert_eq!(stage.texts(&operation), pairs(&[("a", "did a")]));
    assert!(stage.parked().is_empty());
    assert_eq!(stage.only(HookKind::BeforeToolCall)["executor"], "server");
}

#[tokio::test]
async fn tool_12_an_error_that_calls_itself_an_abort_is_an_ordinary_failure() {
    let prop = Prop::new("look", |_| async { Err(ToolError::new("AbortError: the operation was aborted")) });
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!((report.status, report.answer.as_deref()), (Status::Done, Some("done")));
    let row = stage.row(&operation);
    assert_eq!((row.success, row.content.as_str()), (false, "AbortError: the operation was aborted"));
    assert_ne!(row.error, Some(json!("aborted")));
    assert_eq!(stage.only(HookKind::OnToolCallError)["error"], "AbortError: the operation was aborted");
    assert_eq!(stage.count(HookKind::AfterToolCall), 0);
    assert_eq!(stage.ends()[0].decision, Decided::Threw);
}

#[tokio::test]
async fn tool_14_a_stopping_result_ends_the_run() {
    let prop = Prop::new("finish", |_| async { Ok(ToolRunResult { stop: true, ..ToolRunResult::ok("over") }.into()) });
    let stage = stage([asks(&[("a", "finish", "{}")]), says("never asked")], [prop]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!((report.status, report.reason), (Status::Done, Some(Reason::Done)));
    assert_eq!(stage.texts(&operation), pairs(&[("a", "over")]));
    assert_eq!(stage.model.turns_left(), 1);
    assert_eq!((stage.count(HookKind::AfterToolCall), stage.count(HookKind::OnComplete)), (1, 1));
}

#[tokio::test]
async fn tool_36_a_retryable_failure_is_tried_up_to_its_limit() {
    let prop = |name, good_at| {
        Prop::new(name, move |called| async move {
            called.note(&format!("try {}", called.attempt));
            if called.attempt < good_at { Ok(again("not yet").into()) } else { did("at last") }
        })
    };
    let calls = [("a", "third", "{}"), ("b", "never", "{}")];
    let stage =
        stage([asks(&calls), says("done")], [prop("third", 3), prop("never", 9).with(|spec| spec.attempts_max = 2)]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!(stage.notes().iter().filter(|note| note.ends_with(" a")).count(), 3);
    assert_eq!(stage.notes().iter().filter(|note| note.ends_with(" b")).count(), 2);
    assert_eq!(stage.texts(&operation), pairs(&[("a", "at last"), ("b", "not yet")]));
    // However often it was tried, it is one call: one event each, one price.
    assert_eq!((stage.count(HookKind::BeforeToolCall), stage.count(HookKind::AfterToolCall)), (2, 2));
    assert_eq!((report.totals.tool_calls, report.totals.cost), (2, NanoDollars(2_014)));
}

#[tokio::test]
async fn tool_36_a_broken_tool_is_tried_again_if_it_says_so() {
    let prop = Prop::new("look", |called| async move {
        called.note("try");
        if called.attempt == 1 { Err(ToolError::retryable("a hiccup")) } else { did("fine") }
    });
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
    let (operation, _) = stage.play(&agent(), stage.listen()).await;
    assert_eq!((stage.notes().len(), stage.texts(&operation)), (2, pairs(&[("a", "fine")])));
    assert_eq!((stage.count(HookKind::AfterToolCall), stage.count(HookKind::OnToolCallError)), (1, 0));
}

#[tokio::test]
async fn tool_37_any_other_failure_is_tried_once() {
    let failing = |name, error: Value| {
        Prop::new(name, move |called| {
            called.note("try");
            let result = ToolRunResult { error: Some(error.clone()), ..ToolRunResult::failed("no") };
            std::future::ready(Ok(result.into()))
        })
    };
    let breaking = Prop::new("breaks", |called| async move {
        called.note("try");
        Err(ToolError::new("broken"))
    });
    let panicking = Prop::new("panics", |called| async move {
        called.note("try");
        panic!("the secret of the tool")
    });
    let props = [failing("replans", json!({"kind": "replan"})), failing("plain", json!("retry")), breaking, panicking];
    let calls = [("a", "replans", "{}"), ("b", "plain", "{}"), ("c", "breaks", "{}"), ("d", "panics", "{}")];
    let stage = stage([asks(&calls), says("done")], props);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    let mut notes = stage.notes();
    notes.sort();
    assert_eq!(notes, ["try a", "try b", "try c", "try d"]);
    assert_eq!(
        stage.texts(&operation),
        pairs(&[("a", "no"), ("b", "no"), ("c", "broken"), ("d", "The tool panicked.")])
    );
    assert!(!stage.trace().contains("the secret of the tool"));
    assert_eq!(report.answer.as_deref(), Some("done"));
}

#[tokio::test]
async fn tool_38_an_interrupt_stops_the_retries() {
    let prop = Prop::new("look", |called| async move {
        called.note("try");
        called.stop();
        Ok(again("not yet").into())
    });
    let stage = stage([asks(&[("a", "look", "{}")])], [prop]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!((stage.notes().len(), report.reason), (1, Some(Reason::Interrupted)));
    assert_eq!(stage.rows(&operation).len(), 1);
}

#[tokio::test]
async fn tool_38_tries_share_one_deadline() {
    let prop = Prop::new("look", |called| async move {
        called.note("try");
        let time = called.stage.clock.clone();
        time.sleep_until(time.now_ms() + 600).await;
        Ok(again("slow").into())
    });
    let prop = prop.with(|spec| (spec.deadline, spec.attempts_max) = (Duration::from_secs(1), 5));
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
    let (operation, _) = stage.play(&agent(), stage.listen()).await;
    assert_eq!(stage.notes().len(), 2);
    assert_eq!(stage.row(&operation).error, Some(json!("timeout")));
}
