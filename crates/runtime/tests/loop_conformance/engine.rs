//! One turn: what the engine does with a plan, a stream, an approval, and with nonsense.

use std::sync::Mutex;

use jackline_hooks::{HookKind, Hooks};
use jackline_model::{MessageBody, Reason, Status};
use jackline_runtime::drive::{RunError, Runtime, Told};
use jackline_runtime::journal::{PostedVerdict, Store, decode, encode};
use jackline_runtime::llm::{
    BoxFuture, Delta, DeltaSink, Model, ModelFault, ModelReply, ModelRequest, ReplyBuilder, Turn,
};
use jackline_runtime::machine::{Input, Instruction, Refusal, Route, Settings, What};
use jackline_runtime::planner::{PlanView, Planner};
use serde_json::json;

use crate::script::{Say, calls as asks_for, drive, finish, id, plan, routed, to, tool};
use crate::support::{Fake, agent, calls, careful, count, echo, heard_of, is_end, listen, says, world};

/// What each instruction makes the machine ask for first.
fn effect_of(instruction: &Instruction) -> &'static str {
    match instruction {
        Instruction::CallLlm => "s0.model.ask",
        Instruction::CompressContext { .. } => "s0.compact.summarize",
        Instruction::RequestHumanPrompt { .. } | Instruction::RequestHumanSelect { .. } => "s0.human.ask",
        Instruction::RequestHumanApprove(_) => "s1.human.ask",
        Instruction::CallTool(_) | Instruction::CallToolsBatch(_) | Instruction::CallAgent(_) => "s1.c1.clear",
        Instruction::ResolveBlockedTools(_) | Instruction::ResolveAbortedTools(_) => "s1.c1.refuse",
        Instruction::Finish { .. } => "onComplete",
    }
}

#[test]
fn eng_01_every_instruction_is_executed() {
    let prompt = "which one?".to_owned();
    let alone = [
        Instruction::CallLlm,
        Instruction::CompressContext { messages: 4, tokens: 9 },
        Instruction::RequestHumanPrompt { prompt: prompt.clone() },
        Instruction::RequestHumanSelect { prompt, options: vec!["a".to_owned()] },
        finish(Reason::Done),
    ];
    for instruction in alone {
        let effect = effect_of(&instruction);
        let run = drive(Settings::default(), [to("s0.step.plan", plan([instruction.clone()]))]);
        assert!(run.asked.iter().any(|asked| asked.contains(effect)), "{}: {:?}", instruction.name(), run.asked);
    }
    let about_calls = [
        (Route::Tool, Instruction::CallTool(1)),
        (Route::Tool, Instruction::CallToolsBatch(vec![1])),
        (Route::Agent, Instruction::CallAgent(1)),
        (Route::Tool, Instruction::RequestHumanApprove(vec![1])),
        (Route::Unusable, Instruction::ResolveBlockedTools(vec![(1, Refusal::Unusable)])),
        (Route::Tool, Instruction::ResolveAbortedTools(vec![1])),
    ];
    for (route, instruction) in about_calls {
        let script = [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", asks_for([routed(1, route)])),
            to("s1.step.plan", plan([instruction.clone()])),
        ];
        let (effect, run) = (effect_of(&instruction), drive(Settings::default(), script));
        assert!(run.asked.iter().any(|asked| asked.contains(effect)), "{}: {:?}", instruction.name(), run.asked);
    }
}

#[test]
fn eng_04_pln_34_a_word_that_no_instruction_or_phase_has_is_an_error_that_names_it() {
    let planned = What::Planned(id("s0.step.plan"), vec![Instruction::CallLlm]);
    let record = encode(&[(Input { at: 1, what: planned }, None)]);
    assert!(decode(&record).is_ok());
    let foreign = record.replace("llm", "exec_task");
    assert_ne!(foreign, record);
    let error = decode(&foreign).unwrap_err().to_string();
    assert!(error.contains("exec_task"), "{error}");

    // Held, so that the machine still stands where the step was closed.
    let mut held = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))]);
    held.go_on([Say::Hold, to("s0.model.ask", asks_for([tool(1)]))]);
    held.machine.handle(Input { at: 2_000, what: What::HookAnswered(id("s0.h2.fire")) }).unwrap();
    let boundary = held.machine.boundary().unwrap();
    let record = encode(&[(Input { at: 2, what: What::HookAnswered(id("s0.h2.fire")) }, Some(boundary))]);
    let foreign = record.replacen(r#""p":"llm""#, r#""p":"human_response""#, 1);
    assert_ne!(foreign, record, "{record}");
    let error = decode(&foreign).unwrap_err().to_string();
    assert!(error.contains("human_response"), "{error}");
}

struct Panics;

impl Planner for Panics {
    fn plan(&self, view: &PlanView<'_>) -> Vec<Instruction> {
        assert!(view.calls.is_empty(), "a bug in the planner");
        vec![Instruction::CallLlm]
    }
}

#[tokio::test]
async fn eng_05_a_planner_that_panics_is_one_error_and_one_closed_step() {
    let world = world([echo("c1")]).planner(Panics).build();
    let (heard, hooks) = listen();
    let (report, told) = world.run_with(&agent(), "go", hooks).await;
    assert_eq!((report.status, report.reason), (Status::Error, Some(Reason::Error)));
    assert_eq!(report.fault.unwrap().code, "planner_panicked");
    assert_eq!(count(&told, is_end), 1);
    assert_eq!(count(&told, |told| matches!(told, Told::StepEnd { status: Status::Error })), 1);
    assert_eq!((heard_of(&heard, HookKind::OnComplete), heard_of(&heard, HookKind::OnError)), (1, 1));
    let rows = world.rows(&report.operation);
    assert!(rows.last().unwrap().starts_with("tool no"), "the open call has an answer: {rows:?}");
}

#[test]
fn eng_06_cmp_23_without_a_model_there_is_one_error_that_says_so_and_no_run() {
    let error = Runtime::builder().build().unwrap_err();
    assert!(matches!(error, RunError::Setup(_)));
    assert!(error.to_string().contains("model"), "{error}");
}

/// Answers in three pieces.
struct Pieces;

impl Model for Pieces {
    fn call<'a>(
        &'a self,
        _request: ModelRequest<'a>,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        for piece in ["It ", "is ", "four."] {
            sink.delta(Delta::Text(piece));
        }
        Box::pin(std::future::ready(Ok(ReplyBuilder::default().text("It is four.").build())))
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn eng_07_a_streamed_turn_starts_streams_each_piece_and_ends_with_the_whole() {
    let world = world([]).model_of("tester", Pieces).build();
    let (report, told) = world.run(&agent()).await;
    let of_the_model: Vec<String> = told
        .iter()
        .filter_map(|event| {
            if let Told::ModelStart { attempt, .. } = &event.what {
                return Some(format!("start {attempt}"));
            }
            if let Told::Text { delta } = &event.what {
                return Some(delta.clone());
            }
            let Told::ModelEnd { content, calls, .. } = &event.what else { return None };
            Some(format!("end {content} {calls}"))
        })
        .collect();
    assert_eq!(of_the_model, ["start 1", "It ", "is ", "four.", "end It is four. 0"]);
    assert_eq!(report.answer.as_deref(), Some("It is four."));
}

#[tokio::test]
async fn eng_08_calls_of_an_answer_are_part_of_the_turn() {
    let asked = calls(&[("c1", "echo", "{}"), ("c2", "echo", r#"{"n":2}"#)]);
    let world = world([asked, says("done")]).build();
    let (report, told) = world.run(&agent()).await;
    assert_eq!(count(&told, |told| matches!(told, Told::ModelEnd { calls: 2, .. })), 1);
    let rows = world.store.messages(&report.operation).unwrap();
    let MessageBody::Assistant { tool_calls, .. } = &rows[2].message.body else { panic!("{rows:?}") };
    let ids: Vec<&str> = tool_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["c1", "c2"]);
}

#[tokio::test]
async fn eng_09_an_approved_call_runs_with_its_arguments_and_adds_one_row() {
    let pay = Fake::says("pay", "paid").asks();
    let ran_with = pay.ran_with();
    let world = world([calls(&[("c1", "pay", r#"{"n":7}"#)]), says("done")]).tools([pay.into_tool()]).build();
    let (report, _) = world.run(&careful()).await;
    assert_eq!(report.status, Status::WaitingForHuman);
    assert_eq!(world.rows(&report.operation).len(), 3, "nothing is written for a call that waits");

    world.decide(&report.operation, "c1", PostedVerdict::Approve);
    let (report, _) = world.resume(&report.operation).await;
    assert_eq!(*ran_with.lock().unwrap(), [json!({"n": 7})]);
    let rows = world.rows(&report.operation);
    assert_eq!(rows[2..], [r#"assistant:  +pay {"n":7}"#, "tool ok: paid", "assistant: done"]);
}

#[tokio::test]
async fn eng_10_an_approved_call_whose_tool_is_gone_is_answered_by_naming_it() {
    let first = world([calls(&[("c1", "pay", "{}")])]).tools([Fake::says("pay", "paid").asks().into_tool()]).build();
    let (parked, _) = first.run(&careful()).await;
    let second = world([says("so be it")]).store(first.store.another_process()).build();
    first.store.kill();
    second.decide(&parked.operation, "c1", PostedVerdict::Approve);
    let (report, _) = second.resume(&parked.operation).await;
    assert_eq!(report.reason, Some(Reason::Done));
    let rows = second.rows(&report.operation);
    assert!(rows[3].starts_with("tool no: ") && rows[3].contains("test/pay"), "{rows:?}");
}

#[tokio::test]
async fn eng_15_a_fresh_operation_is_idle_empty_and_dated() {
    let world = world([says("done")]).build();
    let run = world.start(&agent(), Hooks::new());
    let header = world.store.header(run.id()).unwrap();
    assert_eq!((header.summary.status, header.summary.steps), (Status::Idle, 0));
    assert_eq!((header.created_at, header.summary.totals), (1_000, jackline_model::Totals::default()));
    assert_eq!(world.rows(run.id()), ["system: You test.", "user: go"]);
    assert!(world.store.records(run.id()).unwrap().is_empty());
    run.wait().await.unwrap();
}

#[tokio::test]
async fn eng_16_messages_and_step_count_are_kept_when_another_process_goes_on() {
    let pay = || Fake::says("pay", "paid").asks().into_tool();
    let first = world([echo("c0"), calls(&[("c1", "pay", "{}")])]);
    let first = first.tools([Fake::says("echo", "echoed").into_tool(), pay()]).build();
    let (parked, _) = first.run(&careful()).await;
    let before = first.rows(&parked.operation);

    let second = world([says("done")]).store(first.store.another_process()).tools([pay()]).build();
    first.store.kill();
    second.decide(&parked.operation, "c1", PostedVerdict::Approve);
    let (report, told) = second.resume(&parked.operation).await;
    assert_eq!(second.rows(&report.operation)[..before.len()], before);
    let first_step = told.iter().find(|event| event.what == Told::StepStart).unwrap().step;
    assert_eq!((first_step, report.steps), (parked.steps, parked.steps + 2));
}

#[tokio::test]
async fn the_text_of_a_panicking_model_goes_nowhere() {
    struct Breaks(Mutex<u32>);
    impl Model for Breaks {
        fn call<'a>(
            &'a self,
            _request: ModelRequest<'a>,
            _sink: &'a mut dyn DeltaSink,
        ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
            *self.0.lock().unwrap() += 1;
            panic!("the secret")
        }
    }
    let world = world(Vec::<Turn>::new()).model_of("tester", Breaks(Mutex::new(0))).build();
    let (report, told) = world.run(&agent()).await;
    assert_eq!(report.fault.unwrap().code, "model_panicked");
    assert!(!format!("{told:?}").contains("the secret"));
}
