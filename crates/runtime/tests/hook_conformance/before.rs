//! Before a call: controls, mocks and observers.

use std::sync::Arc;
use std::time::Duration;

use jackline_hooks::{BeforeToolCallEvent, Decision, HookKind, Hooks, MockAnswer, OnError};
use jackline_model::{NanoDollars, Status, ToolRunResult};
use jackline_runtime::drive::{Clock, Decided, Prompt};
use serde_json::{Value, json};

use crate::stage::{Prop, Stage, agent, approved, asks, did, pairs, says, stage};

/// A control that notes `NAME CALL` and then answers like this.
fn control(hooks: Hooks, stage: &Stage, name: &'static str, answer: fn(&str) -> Decision) -> Hooks {
    let stage = stage.clone();
    let ask = move |event: Arc<BeforeToolCallEvent>| {
        let call = event.context.tool_call_id.to_string();
        stage.note(format!("{name} {call}"));
        std::future::ready(answer(&call))
    };
    hooks.control_before_tool_call(name, ask).into()
}

fn allow(_: &str) -> Decision {
    Decision::Allow
}

#[tokio::test]
async fn d14_a_mocked_call_does_not_run_its_tool_and_its_result_is_told_as_a_mock() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let hooks =
        stage.listen().mock_before_tool_call("mock", |_| async { MockAnswer::Mock(ToolRunResult::ok("mocked")) });
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert!(stage.notes().is_empty(), "not tried even once");
    let end = &stage.ends()[0];
    assert_eq!((&end.decision, end.result.content.as_str()), (&Decided::Mocked { hook: "mock".to_owned() }, "mocked"));
    assert_eq!(end.result.execution_time.unwrap_or(0), 0);
    assert_eq!(stage.texts(&operation), pairs(&[("a", "mocked")]));
    let after = stage.only(HookKind::AfterToolCall);
    assert_eq!((&after["mocked"], &after["result"]["content"]), (&json!(true), &json!("mocked")));
    assert_eq!(report.totals.tool_calls, 1);
}

#[tokio::test]
async fn h01_a_denial_stops_the_call_and_the_run_goes_on() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let seen = stage.clone();
    let hooks = stage.listen().mock_before_tool_call("mock", move |_| {
        seen.note("mock");
        async { MockAnswer::PassThrough }
    });
    let hooks = control(hooks.into(), &stage, "policy", |_| Decision::Deny { reason: None });
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.notes(), ["policy a"]);
    let row = stage.row(&operation);
    assert_eq!(row.content, "Blocked by beforeToolCall hook.");
    assert_eq!(row.state, Some(json!({"type": "blocked", "reason": "Blocked by beforeToolCall hook."})));
    let after = stage.only(HookKind::AfterToolCall);
    assert_eq!((&after["mocked"], &after["result"]["error"]), (&json!(false), &json!("hook_denied")));
    assert_eq!((report.status, report.totals.cost), (Status::Done, NanoDollars(2_000)));
    assert_eq!(stage.count(HookKind::BeforeToolCall), 0, "the observer is not told of what will not happen");
}

#[tokio::test]
async fn h02_the_reason_of_a_denial_or_of_a_blocking_failure_stands_everywhere() {
    for calls in [&[("a", "look", "{}")][..], &[("a", "look", "{}"), ("b", "look", "{}")]] {
        for fails in [false, true] {
            let reason = if fails { "hook_control_error" } else { "no \"looking\"\n" };
            let stage = stage([asks(calls), says("done")], [Prop::plain("look")]);
            let ask = if fails { futures::errs } else { futures::denies };
            let hooks = stage.listen().control_before_tool_call("policy", move |_| ask()).on_error(OnError::Block);
            let (operation, _) = stage.play(&agent(), hooks).await;
            let (rows, ends) = (stage.rows(&operation), stage.ends());
            assert_eq!((rows.len(), ends.len(), stage.notes().len()), (calls.len(), calls.len(), 0));
            for (row, end) in rows.iter().zip(&ends) {
                assert_eq!((row.content.as_str(), &row.error), (reason, &Some(json!("hook_denied"))));
                assert_eq!(row.state, Some(json!({"type": "blocked", "reason": reason})));
                assert_eq!((end.result.content.as_str(), &end.result.error), (reason, &row.error));
                let denied = Decided::Denied { hook: "policy".to_owned(), after: false, failure: fails };
                assert_eq!(end.decision, denied);
            }
        }
    }
}

#[tokio::test]
async fn h03_a_denial_of_an_approved_call_settles_the_row_it_has_and_adds_none() {
    for ids in [&["a"][..], &["a", "b"]] {
        let calls: Vec<_> = ids.iter().map(|id| (*id, "ask", "{}")).collect();
        let stage = stage([asks(&calls), says("done")], [Prop::plain("ask").asking()]);
        let hooks = control(stage.listen(), &stage, "policy", |call| match call {
            "a" => Decision::deny("not that one"),
            _ => Decision::Allow,
        });
        let run = stage.start(&agent(), hooks);
        run.wait().await.unwrap();
        let report = stage.decide(&run, approved(ids)).await;
        assert_eq!(report.status, Status::Done);
        let rows = stage.rows(run.id());
        assert_eq!((rows.len(), rows[0].place, rows[0].content.as_str()), (ids.len(), 3, "not that one"));
        assert_eq!(rows[0].state.as_ref().unwrap()["type"], "blocked");
        assert!(rows[1..].iter().all(|row| row.success));
    }
}

#[tokio::test]
async fn h06_controls_run_in_order_and_stop_at_the_first_denial() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let hooks = control(stage.listen(), &stage, "first", allow);
    let hooks = control(hooks, &stage, "second", |_| Decision::deny("stop"));
    let hooks = control(hooks, &stage, "third", allow);
    let (operation, _) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.notes(), ["first a", "second a"]);
    assert_eq!(stage.texts(&operation), pairs(&[("a", "stop")]));
    assert_eq!(stage.count(HookKind::BeforeToolCall), 0);
}

#[tokio::test]
async fn h07_in_an_ordered_lane_a_denial_in_the_middle_lets_the_others_run_in_turn() {
    let calls = [("1", "look", "{}"), ("2", "look", "{}"), ("3", "look", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::plain("look").with(|spec| spec.ordered = true)]);
    let hooks = control(stage.listen(), &stage, "control", |call| match call {
        "2" => Decision::deny("no"),
        _ => Decision::Allow,
    });
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.notes(), ["control 1", "run 1", "control 2", "control 3", "run 3"]);
    assert_eq!(stage.texts(&operation), pairs(&[("1", "did 1"), ("2", "no"), ("3", "did 3")]));
    assert_eq!(report.totals.cost, NanoDollars(2_014), "two of them cost");
}

#[tokio::test]
async fn h09_a_tools_own_retry_asks_controls_and_handlers_once() {
    let prop = Prop::new("look", |called| async move {
        called.note("try");
        let retry = ToolRunResult { error: Some(json!({"kind": "retry"})), ..ToolRunResult::failed("again") };
        if called.attempt == 1 { Ok(retry.into()) } else { did("fine") }
    });
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
    let seen = stage.clone();
    let hooks = control(stage.listen(), &stage, "control", allow).mock_before_tool_call("mock", move |_| {
        seen.note("handler a");
        async { MockAnswer::PassThrough }
    });
    stage.play(&agent(), hooks).await;
    assert_eq!(stage.notes(), ["control a", "handler a", "try a", "try a"]);
    assert_eq!(stage.count(HookKind::BeforeToolCall), 1);
}

#[tokio::test]
async fn h13_a_hanging_observation_ends_at_its_deadline_and_the_tool_runs_anyway() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let hooks = Hooks::new()
        .observe_before_tool_call("hangs", |_| std::future::pending::<()>())
        .timeout(Duration::from_millis(700))
        .observe_before_tool_call("panics", |_| -> std::future::Ready<()> { panic!("of the observer") });
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!((report.status, stage.notes()), (Status::Done, vec!["run a".to_owned()]));
    assert_eq!(stage.texts(&operation), pairs(&[("a", "did a")]));
    assert_eq!(stage.clock_ms(), 1_700, "it cost its deadline and no more");
}

#[tokio::test]
async fn h14_a_slow_control_in_one_lane_does_not_hold_up_another() {
    let stage = stage([asks(&[("a", "look", "{}"), ("b", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let seen = stage.clone();
    let ask = move |event: Arc<BeforeToolCallEvent>| {
        let seen = seen.clone();
        async move {
            if event.context.tool_call_id.as_str() == "a" {
                seen.clock.sleep_until(seen.clock_ms() + 5_000).await;
            }
            seen.note(format!("control {}", event.context.tool_call_id));
            Decision::Allow
        }
    };
    stage.play(&agent(), Hooks::new().control_before_tool_call("policy", ask)).await;
    assert_eq!(stage.notes(), ["control b", "run b", "control a", "run a"]);
}

#[tokio::test]
async fn h17_a_control_that_fails_in_any_way_does_what_its_policy_says() {
    type Ask = fn() -> futures::Answer;
    let ways: [(&str, Ask); 3] = [("hangs", futures::hang), ("panics", futures::panics), ("errs", futures::errs)];
    for (name, way) in ways {
        for policy in [OnError::Continue, OnError::Block] {
            let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
            let hooks = Hooks::new()
                .control_before_tool_call("policy", move |_| way())
                .on_error(policy)
                .timeout(Duration::from_millis(20));
            let (operation, _) = stage.play(&agent(), hooks).await;
            let expected = match policy {
                OnError::Continue => "did a",
                OnError::Block => "hook_control_error",
            };
            assert_eq!(stage.texts(&operation), pairs(&[("a", expected)]), "{name}");
            assert_eq!(stage.notes().len(), usize::from(policy == OnError::Continue));
            assert!(!stage.trace().contains("s3cret"), "{name}");
        }
    }
}

#[tokio::test]
async fn h20_the_runtimes_user_counts_and_not_one_in_the_arguments() {
    let stage = stage([asks(&[("a", "look", r#"{"userId": "mallory"}"#)]), says("done")], [Prop::plain("look")]);
    let seen = stage.clone();
    let ask = move |event: Arc<BeforeToolCallEvent>| {
        seen.note(event.context.user_id.as_ref().unwrap().as_str());
        async { Decision::Allow }
    };
    let hooks = stage.listen().control_before_tool_call("policy", ask);
    let origin = jackline_model::Origin { user_id: Some("visitor".into()), ..jackline_model::Origin::default() };
    let prompt = Prompt { user: Some("ann".into()), origin, ..Prompt::from("go") };
    stage.runtime.start(&agent(), prompt, hooks).unwrap().wait().await.unwrap();
    assert_eq!(stage.notes(), ["ann", "run a"]);
    for event in stage.heard() {
        assert!(matches!(event.to_json().get("userId"), None | Some(Value::String(_))));
        assert!(event.to_json().get("userId").is_none_or(|user| user == "ann"), "{event:?}");
    }
}

#[tokio::test]
async fn h21_an_empty_reason_becomes_the_default_text() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let hooks = control(Hooks::new(), &stage, "policy", |_| Decision::deny(""));
    let (operation, _) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.texts(&operation), pairs(&[("a", "Blocked by beforeToolCall hook.")]));
}

#[tokio::test]
async fn h03_a_control_denies_on_a_resumed_run_as_well() {
    let stage = stage([asks(&[("a", "ask", "{}")])], [Prop::plain("ask").asking()]);
    let deny = |stage: &Stage| control(Hooks::new(), stage, "policy", |_| Decision::deny("still no"));
    let run = stage.start(&agent(), deny(&stage));
    run.wait().await.unwrap();
    let next = stage.after_a_crash([says("done")]);
    assert!(next.runtime.resume(run.id(), Hooks::new()).is_err(), "a control that is missing is missed");
    next.runtime.decide(run.id(), approved(&["a"])).unwrap();
    let resumed = next.runtime.resume(run.id(), deny(&next)).unwrap();
    assert_eq!(resumed.wait().await.unwrap().status, Status::Done);
    assert_eq!((next.texts(run.id()), next.notes()), (pairs(&[("a", "still no")]), vec!["policy a".to_owned()]));
}

/// Answers of controls, most of them none.
pub(crate) mod futures {
    use std::pin::Pin;

    use jackline_hooks::{Decision, HookError};

    pub(crate) type Answer = Pin<Box<dyn Future<Output = Result<Decision, HookError>> + Send>>;

    pub(crate) fn hang() -> Answer {
        Box::pin(std::future::pending())
    }

    pub(crate) fn denies() -> Answer {
        Box::pin(std::future::ready(Ok(Decision::deny("no \"looking\"\n"))))
    }

    pub(crate) fn panics() -> Answer {
        Box::pin(async { panic!("s3cret of the control") })
    }

    pub(crate) fn errs() -> Answer {
        Box::pin(async { Err(HookError::from(std::io::Error::other("s3cret of the control"))) })
    }
}
