//! Steps, ends, limits and compression, as hooks hear of them.

use std::sync::{Arc, Mutex};

use jackline_hooks::{AfterStepEvent, Event, HookKind, Hooks, OnCompleteEvent};
use jackline_model::{Content, Fault, FaultAttribution, NanoDollars, Part, Reason, Status};
use jackline_runtime::compress::ThresholdSettings;
use jackline_runtime::drive::{Agent, RunError};
use jackline_runtime::journal::StoreError;
use jackline_runtime::llm::{ModelFault, ModelFaultKind, ReplyBuilder, Turn};
use serde_json::{Value, json};

use crate::stage::{Prop, Stage, agent, asks, did, says, stage};

fn fault(message: &str) -> Turn {
    let fault = Fault {
        code: "no_credit".to_owned(),
        message: message.to_owned(),
        attribution: FaultAttribution::Provider,
        detail: None,
    };
    Turn::Fault(ModelFault { kind: ModelFaultKind::Permanent, fault, retry_after: None, partial: String::new() })
}

fn kinds(stage: &Stage) -> Vec<HookKind> {
    stage.heard().iter().map(Event::kind).collect()
}

fn of(stage: &Stage, kind: HookKind) -> Vec<Value> {
    stage.heard().iter().filter(|event| event.kind() == kind).map(Event::to_json).collect()
}

#[tokio::test]
async fn l01_a_delivery_to_a_finished_operation_fires_nothing_at_all() {
    let stage = stage([says("done")], []);
    let run = stage.start(&agent(), stage.listen());
    run.wait().await.unwrap();
    let heard = kinds(&stage);
    assert!(run.interrupt().is_err());
    assert!(stage.runtime.complete_call(run.id(), &"a".into(), &jackline_model::ToolRunResult::ok("x")).is_err());
    assert!(matches!(stage.runtime.resume(run.id(), stage.listen()), Err(RunError::NotResumable { .. })));
    stage.runtime.look().unwrap();
    run.wait().await.unwrap();
    assert_eq!(kinds(&stage), heard);
    assert_eq!(stage.count(HookKind::OnComplete), 1);
}

#[tokio::test]
async fn l02_both_step_events_carry_one_index_in_turn() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
    stage.play(&agent(), stage.listen()).await;
    let steps: Vec<(HookKind, Value)> = stage
        .heard()
        .iter()
        .filter(|event| matches!(event.kind(), HookKind::BeforeStep | HookKind::AfterStep))
        .map(|event| (event.kind(), event.to_json()["stepIndex"].clone()))
        .collect();
    let expected = (0..4).flat_map(|step| [(HookKind::BeforeStep, json!(step)), (HookKind::AfterStep, json!(step))]);
    assert_eq!(steps, expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn l02_the_result_of_a_step_is_stored_when_its_end_is_told() {
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [Prop::plain("look")]);
    let seen = stage.clone();
    let hooks = Hooks::new().after_step("look", move |step: Arc<AfterStepEvent>| {
        let messages = seen.messages(&step.run.operation_id).len();
        seen.note(format!("step {}: {messages} messages", step.step_index));
        std::future::ready(())
    });
    stage.play(&agent(), hooks).await;
    let steps: Vec<String> = stage.notes().into_iter().filter(|note| note.starts_with("step")).collect();
    assert_eq!(steps, ["step 0: 3 messages", "step 1: 4 messages", "step 2: 5 messages", "step 3: 5 messages"]);
}

#[tokio::test]
async fn l03_an_interrupt_within_a_step_shows_in_the_steps_end_and_then_in_completion() {
    let stage = stage([asks(&[("a", "stop", "{}")])], [Prop::stopper("stop")]);
    stage.play(&agent(), stage.listen()).await;
    let ends = kinds(&stage);
    assert_eq!(ends[ends.len() - 2..], [HookKind::AfterStep, HookKind::OnComplete]);
    let step = of(&stage, HookKind::AfterStep).pop().unwrap();
    assert_eq!((&step["status"], &step["shouldContinue"]), (&json!("interrupted"), &json!(false)));
    let end = stage.only(HookKind::OnComplete);
    assert_eq!((&end["status"], &end["reason"]), (&json!("interrupted"), &json!("interrupted")));
}

#[tokio::test]
async fn l04_a_step_that_fails_completes_and_then_reports_the_error() {
    let stage = stage([fault("the account is empty")], []);
    let (_, report) = stage.play(&agent(), stage.listen()).await;
    assert_eq!(report.reason, Some(Reason::Error));
    use HookKind::{AfterStep, BeforeStep, OnComplete, OnError};
    assert_eq!(kinds(&stage), [BeforeStep, AfterStep, OnComplete, OnError]);
    assert_eq!(of(&stage, AfterStep)[0]["status"], "error");
    for end in [stage.only(OnComplete), stage.only(OnError)] {
        assert_eq!((&end["reason"], &end["errorMessage"]), (&json!("error"), &json!("the account is empty")));
        assert_eq!((&end["errorType"], &end["errorAttribution"]), (&json!("no_credit"), &json!("provider")));
    }
}

#[tokio::test]
async fn l04_a_store_that_fails_ends_no_step_and_completes_nothing() {
    let prop = Prop::new("look", |called| async move {
        called.stage.store.fail_next(StoreError::Io { doing: "write", why: "the disk is full".to_owned() });
        did("seen")
    });
    let stage = stage([asks(&[("a", "look", "{}")]), says("done")], [prop]);
    let run = stage.start(&agent(), stage.listen());
    assert!(matches!(run.wait().await, Err(RunError::Store(_))));
    assert_eq!((stage.count(HookKind::OnComplete), stage.count(HookKind::OnError)), (0, 0));
}

#[tokio::test]
async fn l06_a_limit_is_kept_as_the_reason_with_the_status_done() {
    let turns = || [asks(&[("a", "look", "{}")]), says("that is all")];
    let limited = [
        (Agent { steps_max: Some(1), ..agent() }, Reason::MaxSteps),
        (Agent { cost_max: Some(NanoDollars(1)), ..agent() }, Reason::CostLimit),
        (Agent { tokens_max: Some(1), ..agent() }, Reason::TokenLimit),
    ];
    for (agent, reason) in limited {
        let stage = stage(turns(), [Prop::plain("look")]);
        let (operation, report) = stage.play(&agent, stage.listen()).await;
        assert_eq!((report.reason, report.status), (Some(reason), Status::Done));
        let stored = jackline_runtime::journal::Store::header(&stage.store, &operation).unwrap().summary;
        assert_eq!((stored.reason, stored.status), (Some(reason), Status::Done));
        let end = stage.only(HookKind::OnComplete);
        assert_eq!((&end["reason"], &end["status"]), (&json!(reason), &json!("done")));
        assert_eq!((stage.count(HookKind::OnError), &end["errorMessage"]), (0, &json!("")));
    }
}

#[tokio::test]
async fn l07_success_has_an_empty_error_message() {
    let stage = stage([says("done")], []);
    stage.play(&agent(), stage.listen()).await;
    let end = stage.only(HookKind::OnComplete);
    assert_eq!((&end["errorMessage"], &end["lastAssistantContent"]), (&json!(""), &json!("done")));
    assert!(end.get("errorType").is_none() && end.get("errorDetail").is_none());
}

#[tokio::test]
async fn l09_the_last_text_is_recovered_from_its_row_after_a_crash() {
    let stage = stage([says("the last word")], []);
    let dying = stage.clone();
    let hooks = Hooks::new().on_complete("dies", move |_| {
        dying.store.kill();
        std::future::ready(())
    });
    let run = stage.start(&agent(), hooks);
    assert!(run.wait().await.is_err());
    let next = stage.after_a_crash([]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heard);
    let hooks = Hooks::new().on_complete("listens", move |event: Arc<OnCompleteEvent>| {
        seen.lock().unwrap().push(event.end.last_assistant_content.clone());
        std::future::ready(())
    });
    // It has ended, but nobody has been told for sure: that is what is left to do.
    let resumed = next.runtime.resume(run.id(), hooks).unwrap();
    assert_eq!(resumed.wait().await.unwrap().reason, Some(Reason::Done));
    assert!(matches!(next.runtime.resume(run.id(), Hooks::new()), Err(RunError::NotResumable { .. })));
    assert_eq!(*heard.lock().unwrap(), [Some("the last word".to_owned())]);
}

#[tokio::test]
async fn l09_l10_an_empty_or_image_only_last_turn_shows_no_older_text() {
    let image = Content::Parts(vec![
        Part::Image { url: "data:image/png;base64,iVBORw0KGgo=".to_owned() },
        Part::Image { url: "https://example.com/x.png".to_owned() },
        Part::Image { url: "file:///etc/passwd".to_owned() },
    ]);
    for (content, attachments) in [(Content::from(""), 0), (image, 2)] {
        let first = ReplyBuilder::default().text("an older word").call(Some("a"), "test____look", "{}").build();
        let last = jackline_runtime::llm::ModelReply { content, ..ReplyBuilder::default().build() };
        let stage = stage([Turn::Reply(first), Turn::Reply(last)], [Prop::plain("look")]);
        let (_, report) = stage.play(&agent(), stage.listen()).await;
        assert_eq!(report.answer, None);
        let end = stage.only(HookKind::OnComplete);
        assert!(end.get("lastAssistantContent").is_none(), "{end}");
        assert_eq!(end.get("attachments").map_or(0, |list| list.as_array().unwrap().len()), attachments, "{end}");
        assert!(!end.to_string().contains("passwd"));
    }
}

/// An agent whose history is soon too long.
fn small(window: u64) -> Agent {
    let compression =
        ThresholdSettings { window: Some(window), threshold_ratio: Some(0.5), ..ThresholdSettings::default() };
    Agent { compression, ..agent() }
}

fn long_talk() -> Prop {
    Prop::new("look", |called| async move { did(format!("{} {}", called.call, "words and more words ".repeat(150))) })
}

fn look(id: &'static str) -> Turn {
    asks(&[(id, "look", "{}")])
}

#[tokio::test]
async fn l11_a_failed_compression_is_told_and_the_run_goes_on_uncompressed() {
    let turns = [look("a"), look("b"), fault("no summary today"), says("done")];
    let stage = stage(turns, [long_talk()]);
    let (operation, report) = stage.play(&small(3_000), stage.listen()).await;
    assert_eq!(report.reason, Some(Reason::Done));
    assert_eq!((stage.count(HookKind::BeforeCompact), stage.count(HookKind::AfterCompact)), (1, 0));
    assert_eq!(stage.only(HookKind::OnCompactError)["error"], "no summary today");
    assert!(stage.messages(&operation).iter().all(|stored| !stored.folded), "nothing has changed");
}

#[tokio::test]
async fn l11_l12_observers_of_a_compression_that_panic_change_nothing_and_counts_are_right() {
    let summary = "short ".repeat(100);
    let turns = [look("a"), look("b"), says(&summary), says("done")];
    let stage = stage(turns, [long_talk()]);
    let hooks = stage
        .listen()
        .before_compact("panics", |_| -> std::future::Ready<()> { panic!("before") })
        .after_compact("panics", |_| -> std::future::Ready<()> { panic!("after") });
    let (operation, report) = stage.play(&small(3_000), hooks).await;
    assert_eq!(report.reason, Some(Reason::Done));
    assert_eq!(stage.count(HookKind::OnCompactError), 0);
    let (before, after) = (stage.only(HookKind::BeforeCompact), stage.only(HookKind::AfterCompact));
    let folded = stage.messages(&operation).iter().filter(|stored| stored.folded).count();
    assert_eq!(before["messageCount"], json!(folded), "the kept user message is not counted");
    assert_eq!(after["messagesBefore"], json!(folded));
    assert_eq!(after["summary"].as_str().unwrap().chars().count(), 500);
    assert!(summary.chars().count() > 500);
}

#[tokio::test]
async fn l11_a_compression_with_nothing_to_fold_fires_nothing() {
    // One user message over the threshold, which is half the window: there is nothing behind it to fold.
    let stage = stage([says("done")], []);
    let run = stage.runtime.start(&small(1_000), "words ".repeat(600), stage.listen()).unwrap();
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    let compact = [HookKind::BeforeCompact, HookKind::AfterCompact, HookKind::OnCompactError];
    assert_eq!(compact.map(|kind| stage.count(kind)), [0, 0, 0]);
}

#[tokio::test]
async fn l05_hooks_that_panic_or_hang_at_the_end_do_not_keep_the_run_from_ending() {
    let stage = stage([says("done")], []);
    let hooks = Hooks::new()
        .on_complete("panics", |_| -> std::future::Ready<()> { panic!("at the end") })
        .on_complete("hangs", |_| std::future::pending::<()>())
        .and(stage.listen());
    let (_, report) = stage.play(&agent(), hooks).await;
    assert_eq!((report.reason, stage.count(HookKind::OnComplete)), (Some(Reason::Done), 1));
    assert_eq!(stage.clock_ms(), 31_000, "the hanging one had its deadline");
}
