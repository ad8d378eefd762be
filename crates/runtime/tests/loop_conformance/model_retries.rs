//! Model calls that fail: what is tried again, when, and who hears of it.

use jackline_hooks::{HookKind, Hooks};
use jackline_model::{Reason, Status};
use jackline_runtime::drive::{Clock, Told};
use jackline_runtime::llm::ModelFaultKind;
use jackline_runtime::machine::{FailureKind, Instruction, Settings};

use crate::script::{self, drive, plan, stop, to};
use crate::support::{START_MS, agent, count, fails, heard_of, listen, says, world};

#[tokio::test]
async fn llm_09_a_retried_failure_is_told_once_waited_for_and_then_answers() {
    let world = world([fails(ModelFaultKind::Retryable, "half"), says("whole")]).build();
    let (heard, hooks) = listen();
    let (report, told) = world.run_with(&agent(), "go", hooks).await;
    assert_eq!((report.status, report.answer.as_deref()), (Status::Done, Some("whole")));
    let retries: Vec<&Told> =
        told.iter().map(|event| &event.what).filter(|told| matches!(told, Told::ModelRetry { .. })).collect();
    let expected = Told::ModelRetry { attempt: 2, delay_ms: 1_000, error: "the provider is down".to_owned() };
    assert_eq!(retries, [&expected]);
    let starts: Vec<u64> = told
        .iter()
        .filter(|event| matches!(event.what, Told::ModelStart { .. }))
        .map(|event| event.at - START_MS)
        .collect();
    assert_eq!(starts, [0, 1_000]);
    assert_eq!(count(&told, |told| matches!(told, Told::ModelError { .. })), 0);
    assert_eq!(heard_of(&heard, HookKind::OnError), 0);
    assert_eq!(world.rows(&report.operation).last().unwrap(), "assistant: whole");
}

#[test]
fn llm_10_a_failure_of_a_run_that_is_being_stopped_is_not_tried_again() {
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            stop(),
            to("s0.model.ask", script::fails(FailureKind::Retryable)),
        ],
    );
    assert_eq!(run.stands(), "finished: interrupted");
    assert_eq!(run.machine.next_deadline(), None);
    assert!(!run.asked.iter().any(|asked| asked.starts_with("s0.model.ask.")), "{:?}", run.asked);
}

#[tokio::test]
async fn llm_12_pln_33_a_final_failure_is_not_tried_again_and_ends_the_run_in_its_words() {
    let world = world([fails(ModelFaultKind::Permanent, ""), says("never")]).build();
    let (heard, hooks) = listen();
    let (report, told) = world.run_with(&agent(), "go", hooks).await;
    assert_eq!((report.status, report.reason), (Status::Error, Some(Reason::Error)));
    assert_eq!(report.fault.unwrap().message, "the provider is down");
    assert_eq!((world.requests().len(), world.clock.now_ms()), (1, START_MS));
    assert_eq!(count(&told, |told| matches!(told, Told::ModelRetry { .. })), 0);
    assert_eq!(count(&told, |told| matches!(told, Told::ModelError { .. })), 1);
    assert_eq!(heard_of(&heard, HookKind::OnError), 1);
    assert!(!world.did("s1.step.plan"), "no planner is asked what to do about it");
}

#[test]
fn llm_14_a_run_that_allows_one_try_is_never_tried_again() {
    let settings = Settings { model_attempts_max: 1, ..Settings::default() };
    let script =
        [to("s0.step.plan", plan([Instruction::CallLlm])), to("s0.model.ask", script::fails(FailureKind::Retryable))];
    let run = drive(settings, script);
    assert_eq!(run.stands(), "finished: error (provider_down)");
    assert!(!run.asked.iter().any(|asked| asked.starts_with("s0.model.ask.")), "{:?}", run.asked);
}

#[tokio::test]
async fn host_16_the_step_of_a_failure_is_closed_as_failed() {
    let world = world([fails(ModelFaultKind::Permanent, "")]).build();
    let (heard, hooks) = listen();
    let (_, told) = world.run_with(&agent(), "go", hooks).await;
    assert_eq!(count(&told, |told| *told == Told::StepStart), 1);
    assert_eq!(count(&told, |told| *told == Told::StepEnd { status: Status::Error }), 1);
    let kinds: Vec<HookKind> = heard.lock().unwrap().iter().map(jackline_hooks::Event::kind).collect();
    assert_eq!(kinds, [HookKind::BeforeStep, HookKind::AfterStep, HookKind::OnComplete, HookKind::OnError]);
}

#[tokio::test]
async fn a_retry_that_is_waited_for_survives_the_death_of_the_process() {
    let first = world([fails(ModelFaultKind::Retryable, "")]).kill_at("s0.model.ask.1").build();
    let run = first.start(&agent(), Hooks::new());
    run.wait().await.unwrap_err();
    let second = world([says("whole")]).store(first.store.another_process()).build();
    let (report, _) = second.resume(run.id()).await;
    assert_eq!(report.answer.as_deref(), Some("whole"));
}
