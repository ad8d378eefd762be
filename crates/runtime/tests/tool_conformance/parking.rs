//! Asking people: what is asked, what is refused, and what parks again.

use jackline_hooks::{HookKind, Hooks};
use jackline_model::{OperationId, Status};
use jackline_runtime::drive::{Run, Told};
use jackline_runtime::journal::{ApprovalQuestion, PendingCall, PostedDecision, PostedVerdict, Store};
use jackline_runtime::machine::Instruction;
use jackline_runtime::planner::{GeneralPlanner, PlanView, Planner};
use serde_json::json;

use crate::stage::{Prop, Stage, agent, approved, asks, decision, pairs, says, stage, staged};

/// A run that waits for a person to decide about two calls.
async fn parked() -> (Stage, Run) {
    let calls = [("a", "ask", r#"{"n": 1}"#), ("b", "ask", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::plain("ask").asking()]);
    let run = stage.start(&agent(), stage.listen());
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    (stage, run)
}

fn pending(stage: &Stage, operation: &OperationId) -> Vec<PendingCall> {
    match stage.store.approval(operation).unwrap().unwrap().question {
        ApprovalQuestion::Calls(calls) => calls,
        other @ (ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. }) => panic!("{other:?}"),
    }
}

fn undecided(stage: &Stage, operation: &OperationId) -> Vec<String> {
    let open = pending(stage, operation).into_iter().filter(|call| !call.decided);
    open.map(|call| call.call.to_string()).collect()
}

/// Tries decisions that must be refused: nothing may change.
fn assert_refused(stage: &Stage, operation: &OperationId, decisions: Vec<PostedDecision>, why: &str) {
    let before = (stage.store.load(operation).unwrap(), stage.store.inbox(operation).unwrap());
    let refused = stage.runtime.decide(operation, decisions).unwrap_err().to_string();
    assert!(refused.contains(why), "{refused}");
    assert_eq!((stage.store.load(operation).unwrap(), stage.store.inbox(operation).unwrap()), before);
}

#[tokio::test]
async fn hil_01_request_stream_and_hook_show_the_same_calls_and_arguments() {
    let (stage, run) = parked().await;
    let stored: Vec<_> =
        pending(&stage, run.id()).into_iter().map(|call| (call.call, call.key, call.arguments)).collect();
    let told: Vec<_> = stage
        .told()
        .into_iter()
        .find_map(|told| {
            let Told::ApprovalRequired { calls, .. } = told else { return None };
            Some(calls.into_iter().map(|call| (call.call, call.tool, call.arguments)).collect())
        })
        .unwrap();
    assert_eq!(stored, told);
    let hook = stage.only(HookKind::BeforeHumanIntervention);
    let shown: Vec<_> = hook["pendingTools"].as_array().unwrap().iter().collect();
    assert_eq!((shown.len(), stored.len()), (2, 2));
    for (shown, (call, key, arguments)) in shown.into_iter().zip(&stored) {
        assert_eq!((&shown["toolCallId"], &shown["arguments"]), (&json!(call), &json!(arguments)));
        assert_eq!((&shown["identifier"], &shown["apiName"]), (&json!(key.identifier), &json!(key.api_name)));
    }
    assert_eq!(hook["pendingTools"][0]["args"], json!({"n": 1}));
    assert_eq!((&hook["assistantMessageId"], &hook["topicId"]), (&json!("m2"), &json!(run.id())));
    assert!(stage.rows(run.id()).is_empty() && stage.notes().is_empty());
}

#[tokio::test]
async fn hil_05_hil_06_a_request_that_is_half_decided_stays_the_same_request_for_the_rest() {
    let (stage, run) = parked().await;
    let first = stage.store.approval(run.id()).unwrap().unwrap();
    let report = stage.decide(&run, approved(&["b"])).await;
    assert_eq!((report.status, stage.notes()), (Status::WaitingForHuman, vec!["run b".to_owned()]));
    let second = stage.store.approval(run.id()).unwrap().unwrap();
    assert_eq!((&second.id, second.asked_at), (&first.id, first.asked_at), "nothing replaces it");
    assert_eq!(undecided(&stage, run.id()), ["a"]);
    assert_eq!(stage.model.requests().len(), 1, "the model waits for all of them");
    stage.decide(&run, approved(&["a"])).await;
    let places: Vec<u32> = stage.rows(run.id()).iter().map(|row| row.place).collect();
    assert_eq!(places, [3, 4], "each result has the row that was kept for it");
    assert_eq!(stage.store.approval(run.id()).unwrap(), None);
    assert_eq!(stage.count(HookKind::BeforeHumanIntervention), 1);
}

#[tokio::test]
async fn hil_07_hil_12_a_decision_that_names_no_call_is_refused_unwritten() {
    let (stage, run) = parked().await;
    let nameless = |verdict| PostedDecision { call: None, verdict };
    assert_refused(&stage, run.id(), vec![nameless(PostedVerdict::Approve)], "name one");
    assert_refused(&stage, run.id(), vec![nameless(PostedVerdict::Reject { reason: None })], "name one");
    assert_refused(&stage, run.id(), Vec::new(), "nothing was decided");
    let mixed = [approved(&["a"]), vec![nameless(PostedVerdict::Approve)]].concat();
    assert_refused(&stage, run.id(), mixed, "name one");
    assert_eq!(undecided(&stage, run.id()), ["a", "b"]);
}

#[tokio::test]
async fn hil_08_hil_22_one_bad_decision_among_several_writes_none() {
    let (stage, run) = parked().await;
    assert_refused(&stage, run.id(), approved(&["a", "b", "ghost"]), "ghost");
    assert_refused(&stage, run.id(), approved(&["a", "a"]), "already decided");
    let words = decision("b", PostedVerdict::Answer { text: "yes".to_owned() });
    assert_refused(&stage, run.id(), [approved(&["a"]), vec![words]].concat(), "in words");
    run.wait().await.unwrap();
    assert_eq!((undecided(&stage, run.id()), stage.notes()), (vec!["a".to_owned(), "b".to_owned()], Vec::new()));
}

#[tokio::test]
async fn hil_23_calls_of_another_operation_or_of_an_older_turn_are_refused() {
    let turns = [asks(&[("old", "ask", "{}")]), asks(&[("new", "ask", "{}")]), asks(&[("other", "ask", "{}")])];
    let stage = stage(turns, [Prop::plain("ask").asking()]);
    let run = stage.start(&agent(), Hooks::new());
    run.wait().await.unwrap();
    stage.decide(&run, approved(&["old"])).await;
    let other = stage.start(&agent(), Hooks::new());
    other.wait().await.unwrap();
    assert_refused(&stage, run.id(), approved(&["new", "old"]), "old");
    assert_refused(&stage, run.id(), approved(&["new", "other"]), "other");
    assert_refused(&stage, other.id(), approved(&["new"]), "new");
    assert_eq!(
        (undecided(&stage, run.id()), undecided(&stage, other.id())),
        (vec!["new".to_owned()], vec!["other".to_owned()])
    );
}

#[tokio::test]
async fn hil_24_a_decided_call_is_refused_even_before_anybody_has_acted_on_it() {
    let (stage, run) = parked().await;
    stage.runtime.decide(run.id(), approved(&["a"])).unwrap();
    assert!(stage.runtime.decide(run.id(), approved(&["a"])).is_err(), "in one breath");
    run.wait().await.unwrap();
    assert_refused(&stage, run.id(), approved(&["a"]), "already decided");
    assert_refused(&stage, run.id(), vec![decision("a", PostedVerdict::Reject { reason: None })], "already decided");
    stage.decide(&run, approved(&["b"])).await;
    assert!(stage.runtime.decide(run.id(), approved(&["b"])).is_err(), "after the end");
    assert_eq!(stage.notes(), ["run a", "run b"]);
}

#[tokio::test]
async fn hil_25_answers_in_any_order_run_in_the_order_of_emission() {
    let calls = [("a", "ask", "{}"), ("b", "ask", "{}"), ("c", "ask", "{}")];
    let stage = stage([asks(&calls), says("done")], [Prop::plain("ask").asking()]);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    stage.decide(&run, approved(&["c", "a", "b"])).await;
    assert_eq!(stage.notes(), ["run a", "run b", "run c"]);
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "did a"), ("b", "did b"), ("c", "did c")]));
}

#[tokio::test]
async fn hil_09_a_run_that_asks_leaves_no_empty_message_behind() {
    let (stage, run) = parked().await;
    let ids: Vec<String> = stage.messages(run.id()).iter().map(|stored| stored.message.id.to_string()).collect();
    assert_eq!(ids, ["m0", "m1", "m2"]);
}

/// Asks a person in words before anything else.
struct Asking;

impl Planner for Asking {
    fn plan(&self, view: &PlanView<'_>) -> Vec<Instruction> {
        if view.history.entries().len() == 2 {
            return vec![Instruction::RequestHumanPrompt { prompt: "Which way?".to_owned() }];
        }
        GeneralPlanner.plan(view)
    }
}

#[tokio::test]
async fn hil_20_a_stop_that_is_about_no_call_names_none() {
    let stage = staged([says("done")], [], |builder| builder.planner(std::sync::Arc::new(Asking)));
    let run = stage.start(&agent(), stage.listen());
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    run.interrupt().unwrap();
    assert_eq!(run.wait().await.unwrap().status, Status::Interrupted);
    let event = stage.only(HookKind::OnStopByHumanIntervention);
    assert!(event.get("toolCallIds").is_none() && event.get("toolCallId").is_none(), "{event}");
    assert_eq!(stage.store.approval(run.id()).unwrap(), None);
}

#[tokio::test]
async fn hil_23_an_answer_in_words_goes_to_the_question_once() {
    let stage = staged([says("done")], [], |builder| builder.planner(std::sync::Arc::new(Asking)));
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    assert_refused(&stage, run.id(), approved(&["a"]), "does not wait");
    let answer =
        |text: &str| vec![PostedDecision { call: None, verdict: PostedVerdict::Answer { text: text.to_owned() } }];
    stage.runtime.decide(run.id(), answer("left")).unwrap();
    assert!(stage.runtime.decide(run.id(), answer("right")).is_err());
    assert_eq!(run.wait().await.unwrap().status, Status::Done);
    let asked = format!("{:?}", stage.model.requests()[0].messages);
    assert!(asked.contains("left") && !asked.contains("right"), "{asked}");
}
