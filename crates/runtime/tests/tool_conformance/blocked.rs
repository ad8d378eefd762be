//! Calls that are answered without being run.

use jackline_hooks::{Decision, HookKind, Hooks};
use jackline_model::{MessageBody, NanoDollars, Reason, Status};
use jackline_runtime::drive::{Agent, Decided};
use jackline_runtime::journal::{PostedVerdict, StoreError};
use jackline_runtime::llm::{ReplyBuilder, Turn};
use jackline_runtime::permission::ApprovalMode;
use serde_json::json;

use crate::stage::{Prop, agent, approved, asks, decision, pairs, says, stage};

#[tokio::test]
async fn tool_39_a_blocked_call_is_not_tried_costs_nothing_and_has_a_rejected_row() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let hooks = stage.listen().control_before_tool_call("policy", |_| async { Decision::deny("not today") });
    let (operation, report) = stage.play(&agent(), hooks).await;
    assert!(stage.notes().is_empty());
    let row = stage.row(&operation);
    assert_eq!((row.success, row.content.as_str(), row.error), (false, "not today", Some(json!("hook_denied"))));
    assert_eq!(row.state, Some(json!({"type": "blocked", "reason": "not today"})));
    let end = &stage.ends()[0];
    assert_eq!((end.result.execution_time, end.result.success), (Some(0), false));
    assert_eq!(end.decision, Decided::Denied { hook: "policy".to_owned(), after: false, failure: false });
    assert_eq!(report.totals.cost, NanoDollars(2_000));
}

#[tokio::test]
async fn res_01_blocked_calls_get_rows_events_and_a_next_turn() {
    let headless = Agent { approval_mode: ApprovalMode::Headless, ..agent() };
    let calls = [("a", "ask", "{}"), ("b", "ask", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::plain("ask").asking()]);
    let (operation, report) = stage.play(&headless, stage.listen()).await;
    let class = "human_intervention_unavailable";
    assert_eq!(stage.classes(&operation), pairs(&[("a", class), ("b", class)]));
    let row = &stage.rows(&operation)[0];
    assert_eq!(row.state.as_ref().unwrap()["type"], "blocked");
    let ends = stage.ends();
    assert_eq!(
        ends.iter().map(|end| (end.call.as_str(), end.result.success)).collect::<Vec<_>>(),
        [("a", false), ("b", false)]
    );
    assert!(ends.iter().all(|end| end.decision == Decided::Refused && end.result.content == row.content));
    assert_eq!((report.status, stage.model.requests()[1].messages.len()), (Status::Done, 5));
    assert!(stage.notes().is_empty());
    assert_eq!(stage.count(HookKind::BeforeToolCall), 0, "no hook is asked about what will not run");
}

#[tokio::test]
async fn res_02_a_given_reason_is_used_everywhere() {
    let stage = stage([asks(&[("a", "ask", "{}")]), says("done")], [Prop::plain("ask").asking()]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    let reason = Some("  because \"I\" say so\n".to_owned());
    stage.decide(&run, vec![decision("a", PostedVerdict::RejectAndContinue { reason: reason.clone() })]).await;
    let row = stage.row(run.id());
    assert!(row.content.contains(reason.as_deref().unwrap()), "{row:?}");
    assert_eq!(row.error, Some(json!("rejected")));
    assert_eq!(row.state.as_ref().unwrap()["reason"], row.content.as_str());
    assert_eq!(stage.ends()[0].result.content, row.content);
    assert_eq!(stage.only(HookKind::AfterHumanIntervention)["rejectionReason"], json!(reason));
    let request = stage.model.requests()[1].messages.last().unwrap().body.clone();
    assert!(matches!(request, MessageBody::Tool { content, .. } if *content == *row.content));
}

#[tokio::test]
async fn res_04_an_open_row_is_settled_in_its_place_beside_those_that_were_refused_at_once() {
    let calls = [("a", "ask", "{}"), ("b", "unknown", "{}"), ("c", "look", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::plain("ask").asking(), Prop::plain("look")]);
    let run = stage.start(&agent(), stage.listen());
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    assert_eq!(stage.classes(run.id()), pairs(&[("b", "unknown_tool"), ("c", "ok")]));
    stage.decide(&run, vec![decision("a", PostedVerdict::RejectAndContinue { reason: None })]).await;
    assert_eq!(stage.classes(run.id()), pairs(&[("a", "rejected"), ("b", "unknown_tool"), ("c", "ok")]));
    let places: Vec<u32> = stage.rows(run.id()).iter().map(|row| row.place).collect();
    assert_eq!(places, [3, 4, 5]);
}

#[tokio::test]
async fn res_05_a_blocked_row_that_cannot_be_written_is_reported_and_written_later() {
    let headless = Agent { approval_mode: ApprovalMode::Headless, ..agent() };
    let stage = stage(
        // The turn is lost with the row, so the model is asked for it again.
        [asks(&[("a", "ask", "{}")]), asks(&[("a", "ask", "{}")]), says("done")],
        [Prop::plain("ask").asking()],
    );
    let broken = stage.clone();
    let hooks = Hooks::new().before_step("break the disk", move |step| {
        if step.step_index == 1 && broken.notes().is_empty() {
            broken.note("broken");
            broken.store.fail_next(StoreError::Io { doing: "write", why: "the disk is full".to_owned() });
        }
        std::future::ready(())
    });
    let run = stage.start(&headless, hooks);
    let error = run.wait().await.unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    let run = stage.runtime.resume(run.id(), stage.listen()).unwrap();
    assert_eq!(run.wait().await.unwrap().status, Status::Done);
    assert_eq!(stage.rows(run.id()).len(), 1);
}

#[tokio::test]
async fn res_06_calls_that_name_no_tool_are_written_with_their_turn_and_counted_as_a_round() {
    let unknown = || asks(&[("a", "nothing", r#"{"deep": [1]}"#)]);
    let turns = [unknown(), unknown(), asks(&[("a", "look", "{}")]), unknown(), unknown(), unknown(), says("never")];
    let stage = stage(turns, [Prop::plain("look")]);
    let (operation, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!(
        report.reason,
        Some(Reason::UnresolvedTools),
        "three rounds in a row; a good one in between starts anew"
    );
    assert_eq!(stage.model.turns_left(), 1);
    let messages = stage.messages(&operation);
    let MessageBody::Assistant { tool_calls, .. } = &messages[2].message.body else { panic!("{messages:?}") };
    assert_eq!((&*tool_calls[0].arguments, &*tool_calls[0].key.api_name), (r#"{"deep": [1]}"#, "nothing"));
    let rows = stage.rows(&operation);
    assert_eq!(rows.len(), 6, "every call is answered, the last ones too");
    assert_eq!(rows.iter().filter(|row| row.error == Some(json!("unknown_tool"))).count(), 5);
    assert!(rows[0].content.contains("test____look"), "{}", rows[0].content);
}

#[tokio::test]
async fn h04_a_call_that_waits_for_a_person_is_not_shown_to_controls() {
    let stage = stage([asks(&[("a", "ask", "{}")]), says("done")], [Prop::plain("ask").asking()]);
    let seen = stage.clone();
    let hooks = Hooks::new().control_before_tool_call("policy", move |_| {
        seen.note("control");
        async { Decision::Allow }
    });
    let run = stage.start(&agent(), hooks);
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    assert!(stage.notes().is_empty());
    stage.decide(&run, approved(&["a"])).await;
    assert_eq!(stage.notes(), ["control", "run a"], "it is shown once a person has agreed");
}

#[tokio::test]
async fn h05_a_call_off_the_list_is_refused_without_asking_controls() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look"), Prop::plain("other")]);
    let seen = stage.clone();
    let hooks = Hooks::new().control_before_tool_call("policy", move |_| {
        seen.note("control");
        async { Decision::Allow }
    });
    let listed = Agent { tools: Some(vec!["test/other".to_owned()]), ..agent() };
    let (operation, _) = stage.play(&listed, hooks).await;
    assert_eq!(stage.classes(&operation), pairs(&[("a", "tool_not_allowed")]));
    assert!(stage.notes().is_empty());
}

#[tokio::test]
async fn tool_39_calls_of_a_cut_off_answer_that_may_be_incomplete_do_not_run() {
    let reply = ReplyBuilder::default()
        .call(Some("a"), "test____look", "{}")
        .call(Some("b"), "test____look", r#"{"half"#)
        .finish(jackline_runtime::llm::FinishReason::Length);
    let stage = stage([Turn::Reply(reply.build()), says("done")], [Prop::plain("look")]);
    let (operation, _) = stage.play(&agent(), stage.listen()).await;
    assert_eq!(stage.classes(&operation), pairs(&[("a", "ok"), ("b", "cut_off")]));
    assert_eq!(stage.notes(), ["run a"]);
}
