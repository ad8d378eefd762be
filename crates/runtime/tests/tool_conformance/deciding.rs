//! What people decide, and what becomes of it.

use jackline_hooks::{HookKind, Hooks};
use jackline_model::{Reason, Status, ToolRunResult};
use jackline_runtime::drive::{Agent, Prompt};
use jackline_runtime::journal::{PostedVerdict, Store};
use serde_json::json;

use crate::stage::{Prop, agent, approved, asks, decision, pairs, says, stage};

fn reject(call: &str, reason: Option<&str>) -> jackline_runtime::journal::PostedDecision {
    decision(call, PostedVerdict::Reject { reason: reason.map(str::to_owned) })
}

fn reject_and_continue(call: &str) -> jackline_runtime::journal::PostedDecision {
    decision(call, PostedVerdict::RejectAndContinue { reason: None })
}

#[tokio::test]
async fn hil_15_a_rejection_without_a_reason_is_a_rejection() {
    for reason in [None, Some("")] {
        let stage = stage([asks(&[("a", "ask", "{}")]), says("never")], [Prop::plain("ask").asking()]);
        let run = stage.start(&agent(), stage.listen());
        run.wait().await.unwrap();
        let report = stage.decide(&run, vec![reject("a", reason)]).await;
        assert_eq!((report.reason, report.resumable), (Some(Reason::Interrupted), false));
        let row = stage.row(run.id());
        assert_eq!(row.error, Some(json!("rejected")));
        assert!(!row.content.trim().is_empty() && !row.content.trim_end().ends_with(':'), "{row:?}");
        assert_eq!((stage.model.turns_left(), stage.notes().len()), (1, 0));
    }
}

#[tokio::test]
async fn hil_19_a_halt_lists_every_open_call_once() {
    let calls = [("a", "ask", "{}"), ("b", "ask", "{}"), ("c", "ask", "{}")];
    let stage = stage([asks(&calls), says("never")], [Prop::plain("ask").asking()]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    stage.decide(&run, approved(&["a"])).await;
    stage.decide(&run, vec![reject("c", Some("enough"))]).await;
    let event = stage.only(HookKind::OnStopByHumanIntervention);
    assert_eq!((&event["toolCallIds"], &event["rejectionReason"]), (&json!(["b", "c"]), &json!("enough")));
    assert_eq!(stage.classes(run.id()), pairs(&[("a", "ok"), ("b", "aborted"), ("c", "rejected")]));
    assert_eq!((stage.count(HookKind::OnComplete), stage.model.turns_left()), (1, 1));
    assert_eq!(stage.count(HookKind::AfterHumanIntervention), 1, "the approval before it, and nothing for the halt");
}

#[tokio::test]
async fn hil_19_a_halt_beside_an_approval_runs_nothing() {
    let stage = stage([asks(&[("a", "ask", "{}"), ("b", "ask", "{}")])], [Prop::plain("ask").asking()]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    let report = stage.decide(&run, [approved(&["a"]), vec![reject("b", None)]].concat()).await;
    assert_eq!((report.status, stage.notes()), (Status::Interrupted, Vec::new()));
    assert_eq!(stage.classes(run.id()), pairs(&[("a", "aborted"), ("b", "rejected")]));
}

#[tokio::test]
async fn hil_21_tool_32_a_decision_taken_elsewhere_still_tells_the_hooks_under_the_same_user() {
    let calls = [("a", "ask", "{}"), ("b", "ask", "{}")];
    let stage = stage([asks(&calls)], [Prop::plain("ask").asking()]);
    let prompt = Prompt { user: Some("ann".into()), ..Prompt::from("go") };
    let run = stage.runtime.start(&agent(), prompt, stage.listen()).unwrap();
    run.wait().await.unwrap();
    let next = stage.after_a_crash([says("done")]);
    // The one who decides does not run the operation.
    next.runtime.decide(run.id(), approved(&["b", "a"])).unwrap();
    assert!(next.notes().is_empty());
    let resumed = next.runtime.resume(run.id(), next.listen()).unwrap();
    assert_eq!(resumed.wait().await.unwrap().status, Status::Done);
    let event = next.only(HookKind::AfterHumanIntervention);
    assert_eq!((&event["userId"], &event["action"]), (&json!("ann"), &json!("approve")));
    assert_eq!(event["operationId"], json!(run.id()));
    assert_eq!(next.notes(), ["run a", "run b"]);
    assert_eq!(next.texts(run.id()), pairs(&[("a", "did a"), ("b", "did b")]), "the rows that were kept");
    assert_eq!(next.messages(run.id()).len(), 6);
}

#[tokio::test]
async fn hil_29_a_persons_answer_is_the_result_and_a_skipped_one_is_a_rejection() {
    let calls = [("a", "client", "{}"), ("b", "client", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::client("client").asking()]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    let report = stage.decide(&run, [approved(&["a"]), vec![reject_and_continue("b")]].concat()).await;
    assert_eq!((report.status, stage.parked()), (Status::WaitingForAsyncTool, vec!["a".to_owned()]));
    let report = stage.complete(&run, "a", &ToolRunResult::ok("blue, she says")).await;
    assert_eq!((report.status, stage.notes()), (Status::Done, Vec::new()));
    assert_eq!(stage.texts(run.id())[0].1, "blue, she says");
    assert_eq!(stage.classes(run.id()), pairs(&[("a", "ok"), ("b", "rejected")]));
}

#[tokio::test]
async fn hil_30_a_decision_whose_process_died_is_acted_on_once_and_told_again() {
    let stage = stage([asks(&[("a", "ask", "{}")]), says("never")], [Prop::plain("ask").asking()]);
    let dying = stage.clone();
    let hooks = Hooks::new().after_human_intervention("dies", move |_| {
        dying.note("told");
        dying.store.kill();
        std::future::ready(())
    });
    let run = stage.start(&agent(), hooks);
    run.wait().await.unwrap();
    stage.runtime.decide(run.id(), approved(&["a"])).unwrap();
    let died = run.wait().await;
    assert!(died.is_err(), "{died:?}");
    let ran_before = stage.notes().iter().filter(|note| *note == "run a").count();

    let next = stage.after_a_crash([says("done")]);
    let told = next.clone();
    let hooks = Hooks::new().after_human_intervention("dies", move |_| {
        told.note("told");
        std::future::ready(())
    });
    let resumed = next.runtime.resume(run.id(), hooks).unwrap();
    assert_eq!(resumed.wait().await.unwrap().status, Status::Done);
    assert_eq!(ran_before, 0, "nothing runs before the decision is durable");
    assert_eq!(next.notes(), ["told", "told", "run a"]);
    assert_eq!(next.texts(run.id()), pairs(&[("a", "did a")]));
}

#[tokio::test]
async fn hil_31_a_repeated_approval_after_the_end_completes_nothing_twice() {
    let stage = stage([asks(&[("a", "ask", "{}")]), says("done")], [Prop::plain("ask").asking()]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    stage.decide(&run, approved(&["a"])).await;
    let heard = stage.heard().len();
    assert!(stage.runtime.decide(run.id(), approved(&["a"])).is_err());
    stage.runtime.look().unwrap();
    run.wait().await.unwrap();
    assert_eq!((stage.heard().len(), stage.count(HookKind::OnComplete)), (heard, 1));
    assert_eq!(stage.notes(), ["run a"]);
}

#[tokio::test]
async fn l14_each_decision_has_its_event_and_a_repeated_one_has_none() {
    let calls = [("a", "ask", "{}"), ("b", "ask", "{}"), ("c", "ask", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::plain("ask").asking()]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    let report = stage.decide(&run, vec![reject_and_continue("b")]).await;
    assert_eq!((report.status, stage.model.requests().len()), (Status::WaitingForHuman, 1), "parked, no model call");
    assert!(stage.runtime.decide(run.id(), vec![reject_and_continue("b")]).is_err());
    stage.decide(&run, approved(&["a", "c"])).await;
    let events: Vec<_> = stage
        .heard()
        .into_iter()
        .filter(|event| event.kind() == HookKind::AfterHumanIntervention)
        .map(|event| (event.to_json()["action"].clone(), event.to_json()["toolCallIds"].clone()))
        .collect();
    let expected = [(json!("rejectAndContinue"), json!(["b"])), (json!("approve"), json!(["a", "c"]))];
    assert_eq!(events, expected);
    assert_eq!(stage.count(HookKind::OnStopByHumanIntervention), 0);
}

#[tokio::test]
async fn l15_l16_stopping_a_parked_approval_settles_its_rows_and_lists_every_call_after_the_store() {
    let calls = [("a", "ask", "{}"), ("b", "ask", "{}"), ("c", "look", "{}")];
    let stage = stage([asks(&calls), says("never")], [Prop::plain("ask").asking(), Prop::plain("look")]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    run.interrupt().unwrap();
    let report = run.wait().await.unwrap();
    assert_eq!((report.reason, stage.model.turns_left()), (Some(Reason::Interrupted), 1));
    let event = stage.only(HookKind::OnStopByHumanIntervention);
    assert_eq!((&event["toolCallIds"], &event["reason"]), (&json!(["a", "b"]), &json!("user_stop")));
    assert_eq!(stage.classes(run.id()), pairs(&[("a", "aborted"), ("b", "aborted"), ("c", "ok")]));
    let places: Vec<u32> = stage.rows(run.id()).iter().map(|row| row.place).collect();
    assert_eq!(places, [3, 4, 5]);
    assert_eq!(stage.store.list(10).unwrap().len(), 1, "no other operation was made");
    assert!(run.interrupt().is_err(), "a second stop is refused");
    assert_eq!(stage.count(HookKind::OnStopByHumanIntervention), 1);
    assert!(stage.runtime.decide(run.id(), approved(&["a"])).is_err());
    assert_eq!(stage.notes(), ["run c"]);
}

#[tokio::test]
async fn hil_24_a_decision_after_its_time_is_refused_and_the_model_reads_why() {
    let stage = stage([asks(&[("a", "ask", "{}")]), says("done")], [Prop::plain("ask").asking()]);
    let run = stage.start(&Agent { approval_expires_ms: Some(3_600_000), ..agent() }, stage.listen());
    run.wait().await.unwrap();
    while stage.rows(run.id()).is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(run.wait().await.unwrap().status, Status::Done);
    assert!(stage.runtime.decide(run.id(), approved(&["a"])).is_err());
    assert_eq!(stage.classes(run.id()), pairs(&[("a", "expired")]));
    assert!(stage.notes().is_empty() && stage.runtime.approvals(run.id()).unwrap().is_empty());
}
