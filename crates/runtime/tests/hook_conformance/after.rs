//! After a call: what is judged, in which order, and what a denial leaves.

use std::sync::Arc;

use jackline_hooks::{AfterToolCallControl, Decision, HookKind, Hooks, MockAnswer};
use jackline_model::{NanoDollars, Reason, Status, ToolRunResult};
use jackline_runtime::drive::{Agent, Decided, Resume};
use jackline_runtime::llm::{ReplyBuilder, Turn};
use serde_json::json;

use crate::stage::{Prop, Stage, agent, approved, asks, did, pairs, says, stage};

/// A control that notes `NAME CALL` and then answers like this.
fn control(hooks: Hooks, stage: &Stage, name: &'static str, answer: fn(&str) -> Decision) -> Hooks {
    let stage = stage.clone();
    let ask = move |event: Arc<AfterToolCallControl>| {
        let call = event.context.tool_call_id.to_string();
        stage.note(format!("{name} {call}"));
        std::future::ready(answer(&call))
    };
    hooks.control_after_tool_call(name, ask).into()
}

fn allow(_: &str) -> Decision {
    Decision::Allow
}

#[tokio::test]
async fn i02_a_control_is_shown_the_whole_result_and_the_call() {
    let result = ToolRunResult {
        error: Some(json!({"half": true})),
        state: Some(serde_json::from_value(json!({"rows": [1, 2]})).unwrap()),
        execution_time: Some(42),
        work_registration: Some(json!({"type": "skill", "args": ["x"]})),
        ..ToolRunResult::ok("text ".repeat(20_000))
    };
    let given = result.clone();
    let prop = Prop::new("look", move |_| std::future::ready(Ok(given.clone().into())));
    let stage = stage([asks(&[("a", "look", r#"{"at": "x"}"#)]), says("done")], [prop]);
    let seen = stage.clone();
    let ask = move |event: Arc<AfterToolCallControl>| {
        let context = &event.context;
        seen.note(format!("{} {} {} {}", context.tool_call_id, context.key, json!(context.args), event.mocked));
        assert_eq!(event.result, result);
        async { Decision::Allow }
    };
    let hooks = Hooks::new().control_after_tool_call("judge", ask);
    let (operation, _) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.notes(), [r#"a test/look {"at":"x"} false"#]);
    assert!(stage.row(&operation).success, "the control's own check held");
    assert_eq!(stage.told_answers("judge"), ["keep"]);
}

#[tokio::test]
async fn i05_results_of_tool_client_and_mock_are_all_judged_once() {
    let calls = [("a", "look", "{}"), ("b", "client", "{}"), ("c", "fake", "{}")];
    let props = [Prop::plain("look"), Prop::client("client"), Prop::plain("fake")];
    let stage = stage([asks(&calls), says("done")], props);
    let seen = stage.clone();
    let ask = move |event: Arc<AfterToolCallControl>| {
        seen.note(format!("judge {} {}", event.context.tool_call_id, event.mocked));
        async { Decision::Allow }
    };
    let hooks = stage
        .listen()
        .mock_before_tool_call("mock", |_| async { MockAnswer::Mock(ToolRunResult::ok("mocked")) })
        .matching("fake")
        .control_after_tool_call("judge", ask);
    let run = stage.start(&agent(), hooks);
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForAsyncTool);
    stage.complete(&run, "b", &ToolRunResult::ok("from the client")).await;
    let mut notes = stage.notes();
    notes.sort();
    assert_eq!(notes, ["judge a false", "judge b false", "judge c true", "run a"]);
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "did a"), ("b", "from the client"), ("c", "mocked")]));
}

#[tokio::test]
async fn i08_controls_keep_order_and_matcher_stop_at_a_denial_and_a_stop_still_ends_the_run() {
    let prop = Prop::new("look", |_| async { Ok(ToolRunResult { stop: true, ..ToolRunResult::ok("over") }.into()) });
    let stage = stage([asks(&[("a", "look", "{}")]), says("never")], [prop]);
    let seen = stage.clone();
    let hooks = control(stage.listen(), &stage, "first", allow)
        .control_after_tool_call("elsewhere", move |_| {
            seen.note("elsewhere");
            async { Decision::deny("wrong tool") }
        })
        .matching("^other/");
    let hooks = control(hooks.into(), &stage, "second", |_| Decision::deny("no"));
    let hooks = control(hooks, &stage, "third", allow);
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.notes(), ["first a", "second a"]);
    assert_eq!(stage.texts(&operation), pairs(&[("a", "no")]));
    assert_eq!((report.reason, stage.model.turns_left()), (Some(Reason::Done), 1));
}

#[tokio::test]
async fn i09_a_reason_is_published_to_the_letter() {
    for reason in [" \n spaced\t", "\"quoted\" \\ and 'so'", "нельзя 不可以 🚫", "the secret itself", "null"]
    {
        let stage = stage(
            [asks(&[("a", "look", "{}")]), says("done")],
            [Prop::new("look", |_| async { did("the secret itself") })],
        );
        let hooks = stage.listen().control_after_tool_call("judge", move |_| async move { Decision::deny(reason) });
        let (operation, _) = stage.play(&agent(), hooks).await;
        let row = stage.row(&operation);
        assert_eq!((row.content.as_str(), row.state.as_ref().unwrap()["reason"].as_str()), (reason, Some(reason)));
        assert_eq!(stage.ends()[0].result.content, reason);
        assert_eq!(stage.only(HookKind::AfterToolCall)["result"]["content"], reason);
    }
}

#[tokio::test]
async fn i10_an_empty_or_absent_reason_becomes_the_default_text() {
    for reason in [None, Some(String::new())] {
        let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
        let hooks = Hooks::new()
            .control_after_tool_call("judge", move |_| std::future::ready(Decision::Deny { reason: reason.clone() }));
        let (operation, _) = stage.play(&agent(), hooks).await;
        assert_eq!(stage.texts(&operation), pairs(&[("a", "Blocked by afterToolCall hook.")]));
    }
}

#[tokio::test]
async fn i11_a_failed_result_is_judged_once_as_a_failure_at_normal_cost() {
    let prop = Prop::new("look", |called| async move {
        called.note("try");
        Ok(ToolRunResult { error: Some(json!({"kind": "retry"})), ..ToolRunResult::failed("no use") }.into())
    });
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
    let seen = stage.clone();
    let ask = move |event: Arc<AfterToolCallControl>| {
        seen.note(format!("judge {}", event.result.success));
        async { Decision::Allow }
    };
    let (operation, report) = stage.play(&agent(), stage.listen().control_after_tool_call("judge", ask)).await;
    assert_eq!(stage.notes(), ["try a", "try a", "try a", "judge false"]);
    assert_eq!((stage.row(&operation).success, report.totals.cost), (false, NanoDollars(2_007)));
}

#[tokio::test]
async fn i12_of_two_parallel_results_only_the_denied_one_is_replaced() {
    let stage = stage([asks(&[("a", "look", "{}"), ("b", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let hooks = control(stage.listen(), &stage, "judge", |call| match call {
        "a" => Decision::deny("hidden"),
        _ => Decision::Allow,
    });
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.texts(&operation), pairs(&[("a", "hidden"), ("b", "did b")]));
    assert_eq!(report.totals.cost, NanoDollars(2_014), "both ran, both cost");
    let denied: Vec<_> =
        stage.ends().into_iter().filter(|end| matches!(end.decision, Decided::Denied { .. })).collect();
    assert_eq!((denied.len(), denied[0].call.as_str()), (1, "a"));
    assert!(!stage.trace().contains("did a"));
}

#[tokio::test]
async fn i13_the_row_that_was_kept_for_an_approved_call_is_the_one_that_is_judged() {
    for ids in [&["a"][..], &["a", "b"]] {
        let calls: Vec<_> = ids.iter().map(|id| (*id, "ask", "{}")).collect();
        let stage = stage([asks(&calls), says("done")], [Prop::plain("ask").asking()]);
        let hooks = control(stage.listen(), &stage, "judge", |call| match call {
            "a" => Decision::deny("hidden"),
            _ => Decision::Allow,
        });
        let run = stage.start(&agent(), hooks);
        run.wait().await.unwrap();
        stage.decide(&run, approved(ids)).await;
        let rows = stage.rows(run.id());
        assert_eq!((rows.len(), rows[0].place), (ids.len(), 3));
        assert_eq!(rows[0].state, Some(json!({"type": "blocked", "phase": "afterToolCall", "reason": "hidden"})));
        assert!(rows[1..].iter().all(|row| row.error.is_none() && row.state.is_none()));
    }
}

#[tokio::test]
async fn i14_a_result_that_calls_itself_blocked_is_an_ordinary_result() {
    for denies in [false, true] {
        let state = json!({"type": "blocked", "phase": "afterToolCall", "reason": "says the tool"});
        let given = state.clone();
        let prop = Prop::new("look", move |_| {
            let state = serde_json::from_value(given.clone()).unwrap();
            std::future::ready(Ok(ToolRunResult { state: Some(state), ..ToolRunResult::ok("fine") }.into()))
        });
        let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
        let hooks = control(stage.listen(), &stage, "first", allow);
        let hooks = control(hooks, &stage, "second", if denies { |_| Decision::deny("no") } else { allow });
        let (operation, _) = stage.play(&agent(), hooks).await;
        assert_eq!(stage.notes(), ["first a", "second a"], "both are asked, whatever the tool says of itself");
        let row = stage.row(&operation);
        let is_told_denied = matches!(stage.ends()[0].decision, Decided::Denied { .. });
        assert_eq!((row.content == "no", is_told_denied), (denies, denies));
        if !denies {
            assert_eq!((row.state, row.success, row.error), (Some(state), true, None));
        }
    }
}

#[tokio::test]
async fn i15_in_an_ordered_lane_each_call_is_judged_before_the_next_runs() {
    let calls = [("1", "look", "{}"), ("2", "look", "{}"), ("3", "look", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::plain("look").with(|spec| spec.ordered = true)]);
    let hooks = control(stage.listen(), &stage, "judge", |call| match call {
        "2" => Decision::deny("hidden"),
        _ => Decision::Allow,
    });
    let (operation, _) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.notes(), ["run 1", "judge 1", "run 2", "judge 2", "run 3", "judge 3"]);
    assert_eq!(stage.texts(&operation), pairs(&[("1", "did 1"), ("2", "hidden"), ("3", "did 3")]));
}

#[tokio::test]
async fn i18_without_any_control_left_a_result_is_published_unasked() {
    let calls = [("a", "look", "{}"), ("b", "client", "{}")];
    let stage = stage([asks(&calls)], [Prop::plain("look"), Prop::client("client")]);
    let judge = |stage: &Stage| control(Hooks::new(), stage, "judge", |_| Decision::deny("no"));
    let elsewhere = judge(&stage).control_after_tool_call("elsewhere", |_| async { Decision::deny("wrong tool") });
    let run = stage.start(&agent(), elsewhere.matching("^other/"));
    run.wait().await.unwrap();
    let next = stage.after_a_crash([says("done")]);
    let without = Resume { without_hooks: ["judge".to_owned(), "elsewhere".to_owned()].into() };
    let resumed = next.runtime.resume_with(run.id(), Hooks::new(), &without).unwrap();
    next.complete(&resumed, "b", &ToolRunResult::ok("from the client")).await;
    assert_eq!(next.texts(run.id()), pairs(&[("a", "no"), ("b", "from the client")]));
    assert_eq!(next.notes(), ["run a", "judge a"]);
}

#[tokio::test]
async fn i19_a_denial_of_a_parents_control_counts_below_it_whatever_the_tool_says_of_itself() {
    let prop = Prop::new("look", |_| async {
        let state = serde_json::from_value(json!({"type": "blocked", "phase": "afterToolCall"})).unwrap();
        Ok(ToolRunResult { state: Some(state), ..ToolRunResult::ok("s3cret") }.into())
    });
    let call = json!({"agentId": "helper", "instruction": "look"}).to_string();
    let turn = ReplyBuilder::default().call(Some("h"), "agent____callAgent", call).build();
    let turns = [Turn::Reply(turn), asks(&[("a", "look", "{}")]), says("helped"), says("done")];
    let stage = stage(turns, [prop]);
    let helper = Agent { name: "helper".to_owned(), ..agent() };
    let hooks = control(stage.listen(), &stage, "first", allow);
    let hooks =
        control(hooks, &stage, "second", |call| if call == "a" { Decision::deny("no") } else { Decision::Allow });
    let (operation, _) = stage.play(&agent().with_agent(helper), hooks).await;
    assert_eq!(stage.notes(), ["first a", "second a", "first h", "second h"]);
    assert_eq!(stage.texts(&operation), pairs(&[("h", "helped")]));
    assert!(!stage.trace().contains("s3cret"));
}
