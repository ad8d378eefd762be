//! Sub-agents.

use std::sync::{Arc, Mutex};

use jackline_hooks::{AfterToolCallControl, Decision, HookKind, Hooks};
use jackline_model::{Fault, FaultAttribution, OperationId, Reason, Status};
use jackline_runtime::drive::{Agent, Clock, Run};
use jackline_runtime::journal::{InboxItem, Store, StoreError};
use jackline_runtime::llm::{ModelFault, ModelFaultKind, ReplyBuilder, ScriptedModel, Turn};
use serde_json::json;

use crate::stage::{Prop, Script, Stage, agent, approved, asks, did, says, staged};

/// A turn that calls agents: ids of calls and names.
fn calls(agents: &[(&str, &str)]) -> Turn {
    let reply = agents.iter().fold(ReplyBuilder::default(), |reply, (id, name)| {
        let arguments = json!({"agentId": name, "instruction": format!("do {id}")}).to_string();
        reply.call(Some(id), "agent____callAgent", arguments)
    });
    Turn::Reply(reply.build())
}

fn parent() -> Agent {
    ["one", "two"].into_iter().fold(agent(), |parent, name| {
        let child = Agent::new(name, "You help.").with_approval(jackline_runtime::permission::ApprovalMode::AutoRun);
        parent.with_agent(child)
    })
}

/// A stage with a script for each of the two children.
fn family(turns: Vec<Turn>, one: Vec<Turn>, two: Vec<Turn>, props: Vec<Prop>) -> Stage {
    staged(turns, props, |builder| {
        let script = |turns: Vec<Turn>| Arc::new(Script(Arc::new(ScriptedModel::new(turns))));
        builder.model_of("one", script(one)).model_of("two", script(two))
    })
}

fn children(stage: &Stage, parent: &OperationId) -> Vec<OperationId> {
    let all = stage.store.list(100).unwrap();
    let mine = all.into_iter().filter(|header| header.lineage.parent_operation_id.as_ref() == Some(parent));
    let mut ids: Vec<_> = mine.map(|header| (header.parent_call, header.id)).collect();
    ids.sort();
    ids.into_iter().map(|(_, id)| id).collect()
}

fn answered(stage: &Stage, run: &Run) -> Vec<(String, bool, String)> {
    stage.rows(run.id()).into_iter().map(|row| (row.call, row.success, row.content)).collect()
}

fn row(call: &str, success: bool, text: &str) -> (String, bool, String) {
    (call.to_owned(), success, text.to_owned())
}

fn broken(message: &str) -> Turn {
    let fault = Fault {
        code: "no_credit".to_owned(),
        message: message.to_owned(),
        attribution: FaultAttribution::Provider,
        detail: Some(json!({"status": 402})),
    };
    Turn::Fault(ModelFault { kind: ModelFaultKind::Permanent, fault, retry_after: None, partial: String::new() })
}

#[tokio::test]
async fn sub_01_a_started_child_parks_its_parent_and_is_announced() {
    let stage = family(
        vec![calls(&[("a", "one")]), says("done")],
        vec![asks(&[("x", "ask", "{}")]), says("child")],
        vec![],
        vec![Prop::plain("ask").asking()],
    );
    let run = stage.start(&parent(), stage.listen());
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForAsyncTool);
    let child = children(&stage, run.id()).remove(0);
    assert_eq!(stage.parked(), ["a"]);
    assert!(stage.rows(run.id()).is_empty());
    let (before, after) = (stage.only(HookKind::BeforeCallAgent), stage.only(HookKind::AfterCallAgent));
    assert_eq!((&before["agentId"], &before["instruction"]), (&json!("one"), &json!("do a")));
    assert_eq!(
        (&after["subOperationId"], &after["operationId"], &after["success"]),
        (&json!(child), &json!(run.id()), &json!(true))
    );
    let header = stage.store.header(&child).unwrap();
    assert_eq!((header.lineage.depth, header.summary.status), (1, Status::WaitingForHuman));

    stage.runtime.decide(&child, approved(&["x"])).unwrap();
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    assert_eq!(answered(&stage, &run), [row("a", true, "child")]);
    assert_eq!(stage.notes(), ["run x"]);
}

#[tokio::test]
async fn sub_02_l13_a_child_that_does_not_start_is_a_tool_error_and_parks_nothing() {
    let mut grandparent = Agent { depth_max: 0, ..parent() };
    grandparent.name = "top".to_owned();
    let stage = family(vec![calls(&[("a", "one")]), says("done")], vec![says("never")], vec![], vec![]);
    let run = stage.start(&grandparent, stage.listen());
    let report = run.wait().await.unwrap();
    assert_eq!((report.status, stage.parked()), (Status::Done, Vec::new()));
    let result = &stage.rows(run.id())[0];
    assert_eq!((result.success, &result.error), (false, &Some(json!("call_agent_failed"))));
    assert!(children(&stage, run.id()).is_empty());
    assert_eq!(stage.only(HookKind::OnCallAgentError)["operationId"], json!(run.id()));
    assert_eq!((stage.count(HookKind::BeforeCallAgent), stage.count(HookKind::AfterCallAgent)), (1, 0));
}

#[tokio::test]
async fn l13_an_instruction_is_cut_and_a_run_without_children_tells_nothing_of_agents() {
    let long = json!({"agentId": "one", "instruction": "x".repeat(500)}).to_string();
    let turn = Turn::Reply(ReplyBuilder::default().call(Some("a"), "agent____callAgent", long).build());
    let stage = family(vec![turn, says("done")], vec![says("child")], vec![], vec![]);
    stage.play(&parent(), stage.listen()).await;
    assert_eq!(stage.only(HookKind::BeforeCallAgent)["instruction"].as_str().unwrap().chars().count(), 200);

    let alone = family(vec![says("done")], vec![], vec![], vec![]);
    alone.play(&parent(), alone.listen()).await;
    assert_eq!(alone.count(HookKind::BeforeCallAgent) + alone.count(HookKind::AfterCallAgent), 0);
}

#[tokio::test]
async fn sub_03_a_child_that_ends_before_its_parent_has_parked_still_wakes_it() {
    let turns = vec![calls(&[("a", "one"), ("b", "two")]), says("done")];
    let stage = family(turns, vec![says("first")], vec![says("second")], vec![]);
    let seen = stage.clone();
    // The second child is not cleared before the first has ended.
    let slow = move |event: Arc<jackline_hooks::BeforeToolCallEvent>| {
        let seen = seen.clone();
        async move {
            if event.context.tool_call_id.as_str() == "b" {
                seen.clock.sleep_until(seen.clock_ms() + 20_000).await;
                let child = children(&seen, &event.context.operation_id).remove(0);
                seen.note(seen.store.header(&child).unwrap().summary.status.as_str());
            }
            Decision::Allow
        }
    };
    let hooks = stage.listen().control_before_tool_call("slow", slow);
    let run = stage.start(&parent(), hooks);
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    assert_eq!(stage.notes(), ["done"]);
    assert_eq!(answered(&stage, &run), [row("a", true, "first"), row("b", true, "second")]);
}

#[tokio::test]
async fn sub_04_two_children_that_end_at_once_wake_their_parent_once() {
    let stage = family(
        vec![calls(&[("a", "one"), ("b", "two")]), says("done")],
        vec![says("first")],
        vec![says("second")],
        vec![],
    );
    let run = stage.start(&parent(), stage.listen());
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    assert_eq!(answered(&stage, &run), [row("a", true, "first"), row("b", true, "second")]);
    assert_eq!(stage.model.requests().len(), 2);
    let completed = stage.heard().iter().filter(|event| event.kind() == HookKind::OnComplete).count();
    assert_eq!(completed, 1, "observers are not inherited, and the parent completes once");
}

#[tokio::test]
async fn sub_05_one_open_child_keeps_the_parent_waiting() {
    let asking = vec![asks(&[("x", "ask", "{}")]), says("second")];
    let stage = family(
        vec![calls(&[("a", "one"), ("b", "two")]), says("done")],
        vec![says("first")],
        asking,
        vec![Prop::plain("ask").asking()],
    );
    let run = stage.start(&parent(), stage.listen());
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForAsyncTool);
    assert_eq!(answered(&stage, &run), [row("a", true, "first")]);
    assert_eq!(stage.model.requests().len(), 1);
    let (asked, approval) = stage.runtime.approvals(run.id()).unwrap().remove(0);
    assert_eq!(asked.lineage.parent_operation_id.as_ref(), Some(run.id()), "{approval:?}");
    stage.runtime.decide(&asked.id, approved(&["x"])).unwrap();
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
}

#[tokio::test]
async fn sub_06_a_child_that_ended_in_another_process_is_found_in_the_inbox() {
    let stage = family(
        vec![calls(&[("a", "one")])],
        vec![asks(&[("x", "ask", "{}")])],
        vec![],
        vec![Prop::plain("ask").asking()],
    );
    let run = stage.start(&parent(), stage.listen());
    run.wait().await.unwrap();
    let child = children(&stage, run.id()).remove(0);

    // Another process looks after the child alone.
    let other = stage.after_a_crash([says("child")]);
    other.runtime.decide(&child, approved(&["x"])).unwrap();
    let alone = other.runtime.resume(&child, Hooks::new()).unwrap();
    assert_eq!(alone.wait().await.unwrap().reason, Some(Reason::Done));
    assert!(matches!(&other.store.inbox(run.id()).unwrap()[..], [(_, InboxItem::ChildEnded { .. })]));
    assert!(other.rows(run.id()).is_empty());

    let third = other.after_a_crash([says("done")]);
    let resumed = third.runtime.resume(run.id(), third.listen()).unwrap();
    assert_eq!(resumed.wait().await.unwrap().reason, Some(Reason::Done));
    assert_eq!(answered(&third, &resumed), [row("a", true, "child")]);
    assert!(third.store.inbox(run.id()).unwrap().is_empty());
}

#[tokio::test]
async fn sub_07_a_failed_write_of_a_childs_answer_is_repeated_safely() {
    let stage = family(vec![calls(&[("a", "one")]), says("done"), says("done")], vec![says("child")], vec![], vec![]);
    let judging = |stage: &Stage, fails: bool| {
        let stage = stage.clone();
        Hooks::new().control_after_tool_call("judge", move |event: Arc<AfterToolCallControl>| {
            stage.note(format!("judge {}", event.result.content));
            if fails {
                let full = StoreError::Io { doing: "write", why: "the disk is full".to_owned() };
                stage.store.fail_next(full);
            }
            async { Decision::Allow }
        })
    };
    let run = stage.start(&parent(), judging(&stage, true));
    assert!(run.wait().await.is_err());
    assert!(stage.rows(run.id()).is_empty());
    let resumed = stage.runtime.resume(run.id(), judging(&stage, false)).unwrap();
    assert_eq!(resumed.wait().await.unwrap().reason, Some(Reason::Done));
    assert_eq!(answered(&stage, &resumed), [row("a", true, "child")]);
    assert_eq!(stage.notes(), ["judge child", "judge child"]);
}

#[tokio::test]
async fn sub_08_a_childs_error_is_short_for_the_model_whole_on_the_row_and_the_parent_goes_on() {
    let cause = format!("the account has no credit {}", "left ".repeat(200));
    let stage = family(vec![calls(&[("a", "one")]), says("done")], vec![broken(&cause)], vec![], vec![]);
    let run = stage.start(&parent(), stage.listen());
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    let row = &stage.rows(run.id())[0];
    assert!(row.content.contains("the account has no credit"), "{row:?}");
    assert!(row.content.chars().count() < 400, "{}", row.content.len());
    assert!(!row.success);
    assert_eq!(row.state.as_ref().unwrap()["status"], "error");
    let error = row.error.as_ref().unwrap();
    assert_eq!((&error["code"], &error["message"]), (&json!("no_credit"), &json!(cause)));
    assert_eq!(stage.count(HookKind::OnCallAgentError), 0, "it was started");
}

#[tokio::test]
async fn sub_09_a_child_that_ends_without_text_says_so_and_shows_nothing_older() {
    let older = ReplyBuilder::default().text("an older word").call(Some("x"), "test____look", "{}");
    let stage = family(
        vec![calls(&[("a", "one")]), says("done")],
        vec![Turn::Reply(older.build()), says("")],
        vec![],
        vec![Prop::plain("look")],
    );
    let run = stage.start(&parent(), stage.listen());
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    let row = &stage.rows(run.id())[0];
    assert!(row.content.contains("without an answer") && !row.content.contains("older"), "{row:?}");
}

#[tokio::test]
async fn sub_16_a_childs_totals_count_once_however_often_its_parent_parks_and_resumes() {
    let asking = vec![asks(&[("x", "ask", "{}")]), says("second")];
    let turns = vec![calls(&[("a", "one"), ("b", "two")])];
    let stage = family(turns, vec![says("first")], asking, vec![Prop::plain("ask").asking()]);
    let run = stage.start(&parent(), stage.listen());
    let parked = run.wait().await.unwrap();
    assert_eq!((parked.totals.llm_calls, parked.totals.cost.0), (1, 1_000), "the first child, once");
    let next = stage.after_a_crash([]);
    let resumed = next.runtime.resume(run.id(), next.listen()).unwrap();
    assert_eq!(resumed.wait().await.unwrap().totals, parked.totals);
    let last = next.after_a_crash([says("second"), says("done")]);
    let child = children(&last, run.id()).remove(1);
    let resumed = last.runtime.resume(run.id(), last.listen()).unwrap();
    resumed.wait().await.unwrap();
    last.runtime.decide(&child, approved(&["x"])).unwrap();
    let report = resumed.wait().await.unwrap();
    assert_eq!(report.reason, Some(Reason::Done));
    // Two turns of the second child, one of the first, one of our own that told its price.
    assert_eq!((report.totals.llm_calls, report.totals.cost.0), (4, 4_007));
    let state = last.rows(run.id())[1].state.clone().unwrap();
    assert_eq!((&state["totalToolCalls"], &state["totalTokens"]), (&json!(1), &json!(30)));
}

#[tokio::test]
async fn sub_17_a_child_that_was_given_up_still_wakes_its_parent() {
    let stage = family(
        vec![calls(&[("a", "one")]), says("done")],
        vec![asks(&[("x", "ask", "{}")])],
        vec![],
        vec![Prop::plain("ask").asking()],
    );
    let run = stage.start(&parent(), stage.listen());
    run.wait().await.unwrap();
    let child = children(&stage, run.id()).remove(0);
    stage.runtime.stop(&child).unwrap();
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    let row = &stage.rows(run.id())[0];
    assert!(!row.success && row.content.contains("interrupted"), "{row:?}");
    assert_eq!(stage.model.requests().len(), 2);
}

#[tokio::test]
async fn sub_17_a_child_that_ends_while_its_parent_is_stopped_changes_nothing_any_more() {
    let ended = Arc::new(Mutex::new(None));
    let stage = family(
        vec![calls(&[("a", "one"), ("b", "two")]), says("never")],
        vec![says("first")],
        vec![asks(&[("x", "stop", "{}")]), says("second")],
        vec![Prop::new("stop", |called| async move {
            // The grandparent of this run is stopped while the run works.
            let header = called.stage.store.header(&called.operation).unwrap();
            called.stage.runtime.stop(&header.lineage.parent_operation_id.unwrap()).unwrap();
            did("went on")
        })],
    );
    let run = stage.start(&parent(), stage.listen());
    let report = run.wait().await.unwrap();
    *ended.lock().unwrap() = report.reason;
    assert_eq!(report.reason, Some(Reason::Interrupted));
    let rows = stage.classes(run.id());
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1], ("b".to_owned(), "aborted".to_owned()));
    for child in children(&stage, run.id()) {
        assert!(stage.store.header(&child).unwrap().summary.status.is_terminal());
    }
    assert_eq!((stage.count(HookKind::OnComplete), stage.model.turns_left()), (1, 1));
}
