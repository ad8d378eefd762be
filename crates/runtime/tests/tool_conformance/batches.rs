//! Several calls of one turn.

use jackline_hooks::{Decision, HookKind, Hooks};
use jackline_model::{NanoDollars, Status, ToolRunResult};
use jackline_runtime::drive::Clock;
use jackline_runtime::llm::{ReplyBuilder, Turn};
use jackline_tools::ToolError;
use serde_json::json;

use crate::stage::{Called, Prop, Stage, agent, approved, asks, did, pairs, says, stage};

/// A tool that takes as long as its argument says.
fn timed(name: &str) -> Prop {
    Prop::new(name, |called: Called| async move {
        called.note("begin");
        let wait = called.arguments["ms"].as_u64().unwrap();
        called.stage.clock.sleep_until(called.stage.clock.now_ms() + wait).await;
        called.note("end");
        did(format!("did {}", called.call))
    })
}

fn order(stage: &Stage) -> Vec<String> {
    stage.model.requests().last().unwrap().messages.iter().map(|message| message.id.to_string()).collect()
}

#[tokio::test]
async fn tool_21_every_call_of_a_batch_gets_the_context_of_the_step() {
    let prop = Prop::new("look", |called| async move {
        called.note(&format!("{} {}", called.operation, called.step));
        did("seen")
    });
    let stage = stage([asks(&[("a", "look", "{}"), ("b", "look", "{}")]), says("done")], [prop]);
    let (operation, _) = stage.play(&agent(), stage.listen()).await;
    let mut notes = stage.notes();
    notes.sort();
    assert_eq!(notes, [format!("{operation} 1 a"), format!("{operation} 1 b")]);
    let heard = stage.heard();
    let indexes: Vec<_> = heard
        .iter()
        .filter(|event| event.kind() == HookKind::BeforeToolCall)
        .map(|event| (event.to_json()["stepIndex"].clone(), event.to_json()["callIndex"].clone()))
        .collect();
    assert_eq!(indexes, [(json!(1), json!(1)), (json!(1), json!(2))]);
}

#[tokio::test]
async fn tool_31_whatever_finishes_first_results_stand_behind_their_turn_in_order() {
    let broken = Prop::new("breaks", |_| async { Err(ToolError::new("broken")) });
    let calls = [("a", "wait", r#"{"ms": 90}"#), ("b", "breaks", "{}"), ("c", "wait", r#"{"ms": 30}"#)];
    let stage = stage([asks(&calls), says("done")], [timed("wait"), broken]);
    let (operation, _) = stage.play(&agent(), stage.listen()).await;
    let ends: Vec<String> = stage.ends().into_iter().map(|end| end.call).collect();
    assert_eq!(ends, ["b", "c", "a"], "results are told as they come");
    assert_eq!(stage.texts(&operation), pairs(&[("a", "did a"), ("b", "broken"), ("c", "did c")]));
    assert_eq!(order(&stage), ["m0", "m1", "m2", "m3", "m4", "m5"], "and read in the order of the turn");
}

#[tokio::test]
async fn tool_33_h14_a_slow_lane_holds_up_its_own_calls_only() {
    let lane = timed("write").with(|spec| spec.ordered = true);
    let calls = [
        ("a", "write", r#"{"ms": 100}"#),
        ("b", "write", r#"{"ms": 10}"#),
        ("c", "wait", r#"{"ms": 20}"#),
        ("d", "write", r#"{"ms": 10}"#),
    ];
    let stage = stage([asks(&calls), says("done")], [lane, timed("wait")]);
    stage.play(&agent(), stage.listen()).await;
    assert_eq!(stage.notes(), ["begin a", "begin c", "end c", "end a", "begin b", "end b", "begin d", "end d"]);
}

#[tokio::test]
async fn tool_42_a_failure_inside_a_batch_leaves_its_siblings_alone() {
    let breaks = Prop::new("breaks", |_| async { Err(ToolError::new("broken")) });
    let panics = Prop::new("panics", |_| async { panic!("at once") });
    let hangs = Prop::new("hangs", |_| std::future::pending());
    let calls = [("a", "breaks", "{}"), ("b", "wait", r#"{"ms": 50}"#), ("c", "panics", "{}"), ("d", "hangs", "{}")];
    let stage = stage([asks(&calls), says("done")], [breaks, panics, hangs, timed("wait")]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    let rows = stage.rows(&operation);
    let success: Vec<bool> = rows.iter().map(|row| row.success).collect();
    assert_eq!(success, [false, true, false, false]);
    assert_eq!(rows[3].error, Some(json!("timeout")));
    assert_eq!((report.status, report.totals.tool_calls), (Status::Done, 4));
    assert_eq!(stage.count(HookKind::OnToolCallError), 3);
    assert_eq!(stage.model.requests().len(), 2, "the batch still goes on to the model");
}

#[tokio::test]
async fn tool_22_a_mixed_batch_runs_the_servers_calls_and_parks_for_the_clients_only() {
    let calls = [("a", "client", "{}"), ("b", "look", "{}"), ("c", "look", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::client("client"), Prop::plain("look")]);
    let run = stage.start(&agent(), stage.listen());
    let report = run.wait().await.unwrap();
    assert_eq!(report.status, Status::WaitingForAsyncTool);
    assert_eq!(stage.notes(), ["run b", "run c"]);
    assert_eq!(stage.parked(), ["a"]);
    assert_eq!(stage.texts(run.id()), pairs(&[("b", "did b"), ("c", "did c")]));
    assert_eq!(stage.ends().len(), 2);

    let report = stage.complete(&run, "a", &ToolRunResult::ok("from the client")).await;
    assert_eq!(report.status, Status::Done);
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "from the client"), ("b", "did b"), ("c", "did c")]));
    assert_eq!(order(&stage), ["m0", "m1", "m2", "m3", "m4", "m5"]);
    assert_eq!(stage.notes(), ["run b", "run c"], "nothing ran again");
}

#[tokio::test]
async fn h15_h16_in_a_mixed_batch_a_denied_call_is_settled_and_the_clients_waits_alone() {
    let calls = [("a", "client", "{}"), ("b", "client", "{}"), ("c", "look", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::client("client"), Prop::plain("look")]);
    let seen = stage.clone();
    let hooks = Hooks::new().control_before_tool_call("policy", move |event: std::sync::Arc<_>| {
        let event: &jackline_hooks::BeforeToolCallEvent = &event;
        seen.note(format!("control {}", event.context.tool_call_id));
        let is_denied = event.context.tool_call_id.as_str() == "a";
        async move { if is_denied { Decision::deny("not you") } else { Decision::Allow } }
    });
    let run = stage.start(&agent(), hooks);
    let report = run.wait().await.unwrap();
    assert_eq!((report.status, stage.parked()), (Status::WaitingForAsyncTool, vec!["b".to_owned()]));
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "not you"), ("c", "did c")]));
    assert!(stage.runtime.complete_call(run.id(), &"a".into(), &ToolRunResult::ok("late")).is_err());
    stage.complete(&run, "b", &ToolRunResult::ok("from the client")).await;
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "not you"), ("b", "from the client"), ("c", "did c")]));
    assert_eq!(stage.notes(), ["control a", "control b", "control c", "run c"], "each is controlled once");
}

#[tokio::test]
async fn tool_30_h18_a_call_id_of_an_older_turn_gets_its_own_row_and_is_controlled_again() {
    let turns = [asks(&[("same", "look", "{}")]), asks(&[("same", "look", r#"{"again": true}"#)]), says("done")];
    let prop = Prop::new("look", |called| async move {
        called.note("run");
        did(format!("seen {}", called.arguments.len()))
    });
    let stage = stage(turns, [prop]);
    let seen = stage.clone();
    let hooks = stage.listen().control_before_tool_call("policy", move |_| {
        seen.note("control");
        async { Decision::Allow }
    });
    let (operation, _) = stage.play(&agent(), hooks).await;
    assert_eq!(stage.texts(&operation), pairs(&[("same", "seen 0"), ("same", "seen 1")]));
    let places: Vec<u32> = stage.rows(&operation).iter().map(|row| row.place).collect();
    assert_eq!(places, [3, 5]);
    assert_eq!(stage.notes(), ["control", "run same", "control", "run same"]);
}

#[tokio::test]
async fn tool_30_a_reused_id_is_answered_and_approved_in_the_turn_that_is_open() {
    let turns = [
        asks(&[("same", "ask", "{}")]),
        asks(&[("same", "client", "{}")]),
        asks(&[("same", "ask", "{}")]),
        says("done"),
    ];
    let stage = stage(turns, [Prop::plain("ask").asking(), Prop::client("client")]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    let report = stage.decide(&run, approved(&["same"])).await;
    assert_eq!(report.status, Status::WaitingForAsyncTool);
    let report = stage.complete(&run, "same", &ToolRunResult::ok("from the client")).await;
    assert_eq!(report.status, Status::WaitingForHuman);
    let report = stage.decide(&run, approved(&["same"])).await;
    assert_eq!(report.status, Status::Done);
    let expected = [("same", "did same"), ("same", "from the client"), ("same", "did same")];
    assert_eq!(stage.texts(run.id()), pairs(&expected));
}

#[tokio::test]
async fn h12_call_ids_with_special_names_are_controlled_like_any_other() {
    let stage = stage(
        [asks(&[("constructor", "look", "{}"), ("__proto__", "look", "{}"), ("", "look", "{}")]), says("done")],
        [Prop::plain("look")],
    );
    let hooks = Hooks::new().control_before_tool_call("policy", |_| async { Decision::deny("no") });
    let (operation, report) = stage.play(&agent(), hooks).await;
    let rows = stage.rows(&operation);
    assert_eq!(rows.iter().map(|row| row.content.as_str()).collect::<Vec<_>>(), ["no", "no", "no"]);
    assert_eq!((rows[0].call.as_str(), rows[1].call.as_str()), ("constructor", "__proto__"));
    assert!(!rows[2].call.is_empty(), "a call without an id is given one");
    assert!(stage.notes().is_empty());
    assert_eq!(report.totals.cost, NanoDollars(2_000));
}

#[tokio::test]
async fn tool_30_two_calls_with_one_id_in_one_turn_are_two_calls() {
    let twice =
        ReplyBuilder::default().call(Some("x"), "test____look", "{}").call(Some("x"), "test____look", r#"{"n": 2}"#);
    let stage = stage([Turn::Reply(twice.build()), says("done")], [Prop::plain("look")]);
    let (operation, _) = stage.play(&agent(), stage.listen()).await;
    let rows = stage.rows(&operation);
    assert_eq!(rows.len(), 2);
    assert_ne!(rows[0].call, rows[1].call);
    assert_eq!(stage.notes().len(), 2);
}
