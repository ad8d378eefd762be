//! Model calls that work: their rows, what they are told, what they may see, what they cost.

use std::sync::{Arc, Mutex};

use jackline_hooks::Hooks;
use jackline_model::{MessageBody, NanoDollars, Reason, Role};
use jackline_runtime::drive::{RunError, Runtime, Told, VirtualClock};
use jackline_runtime::journal::{Store, StoreError};
use jackline_runtime::llm::{
    BoxFuture, DeltaSink, FinishReason, Model, ModelFault, ModelReply, ModelRequest, ReplyBuilder, Turn,
};
use jackline_runtime::machine::{Instruction, Reply, Settings, SettledHow, What};
use serde_json::json;

use crate::script::{drive, plan, settled, to, tool};
use crate::support::{Fake, agent, asked, asking, calls, count, echo, forgetful, is_end, says, usage, world};

#[tokio::test]
async fn llm_01_an_answer_has_its_place_and_a_try_that_left_none_is_asked_again() {
    // The process dies with the answer in hand, before anything of it is written.
    let first = world([says("lost")]).kill_at("s0.h2.fire").build();
    let run = first.start(&agent(), Hooks::new());
    run.wait().await.unwrap_err();
    assert_eq!(first.rows(run.id()), ["system: You test.", "user: go"]);

    let second = world([says("done")]).store(first.store.another_process()).build();
    let (report, told) = second.resume(run.id()).await;
    let rows = second.store.messages(&report.operation).unwrap();
    assert_eq!(rows.iter().map(|row| row.place).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(rows[2].message.id.as_str(), "m2", "the name of a row is its place");
    let start = told.iter().position(|event| matches!(event.what, Told::ModelStart { .. })).unwrap();
    let text = told.iter().position(|event| matches!(event.what, Told::Text { .. })).unwrap();
    assert!(start < text);
}

#[tokio::test]
async fn llm_02_st_07_an_answer_that_is_written_is_used_and_not_told_again() {
    let first = world([says("kept")]).kill_at("s2.h1.fire").build();
    let run = first.start(&agent(), Hooks::new());
    run.wait().await.unwrap_err();
    let is_kept = first.rows(run.id()).len() == 3;

    let second = world([says("asked again")]).store(first.store.another_process()).build();
    let (report, told) = second.resume(run.id()).await;
    assert!(is_kept, "the answer was committed before the process died");
    assert!(second.requests().is_empty());
    assert_eq!(report.answer.as_deref(), Some("kept"));
    assert_eq!(count(&told, |told| matches!(told, Told::ModelEnd { .. } | Told::Text { .. })), 0);
    assert_eq!(count(&told, is_end), 1);
}

#[tokio::test]
async fn llm_04_without_anybody_who_watches_the_run_is_the_same() {
    let turns = || [echo("c1"), says("done")];
    let watched = world(turns()).build();
    let (expected, _) = watched.run(&agent()).await;

    let model = jackline_runtime::llm::ScriptedModel::new(turns());
    let store = jackline_runtime::journal::MemoryStore::new();
    let unwatched = Runtime::builder()
        .model(model)
        .tools([Fake::says("echo", "echoed").into_tool()])
        .store(Arc::new(store.clone()))
        .clock(Arc::new(VirtualClock::starting_at(1_000)))
        .build()
        .unwrap();
    let report = unwatched.start(&agent(), "go", Hooks::new()).unwrap().wait().await.unwrap();
    assert_eq!(store.messages(&report.operation).unwrap(), watched.store.messages(&expected.operation).unwrap());
    assert_eq!((report.totals, report.steps, report.reason), (expected.totals, expected.steps, expected.reason));
}

#[tokio::test]
async fn llm_05_llm_06_what_a_request_cannot_be_built_from_is_refused_before_anything_is_asked() {
    let unreadable = || Fake::says("odd", "").with(|spec| spec.approval = Some(json!("sometimes"))).into_tool();
    let twice = || Fake::says("echo", "").into_tool();
    for (tools, named) in [(vec![unreadable()], "test/odd"), (vec![twice(), twice()], "echo")] {
        let world = world([says("never")]).tools(tools).build();
        let refused = world.runtime.start(&agent(), "go", Hooks::new()).unwrap_err();
        assert!(matches!(refused, RunError::Setup(_)) && refused.to_string().contains(named), "{refused}");
        assert!(world.requests().is_empty());
        assert_eq!(world.store.list(9).unwrap(), [], "nothing was started");
    }
}

#[tokio::test]
async fn llm_07_no_request_is_without_a_word_of_the_user() {
    let long = Fake::says("echo", &"x".repeat(3_000)).into_tool();
    let turns = [echo("c1"), says("so far"), echo("c2"), says("so much"), says("done")];
    let world = world(turns).tools([long]).build();
    let (report, _) = world.run(&forgetful(5_000)).await;
    assert_eq!(report.reason, Some(Reason::Done));
    assert!(world.did("compact.summarize"));
    for request in world.requests() {
        assert!(request.messages.iter().any(|message| message.role() == Role::User), "{:?}", asked(&request));
    }
}

#[tokio::test]
async fn llm_08_an_operation_that_is_not_there_is_a_typed_error_and_no_row() {
    let world = world([says("never")]).build();
    let missing = "op_gone".into();
    let resumed = world.runtime.resume(&missing, Hooks::new()).unwrap_err();
    let stopped = world.runtime.stop(&missing).unwrap_err();
    for error in [resumed, stopped] {
        assert!(matches!(&error, RunError::Store(StoreError::NoSuchOperation(id)) if *id == missing), "{error}");
    }
    assert_eq!((world.store.list(9).unwrap(), world.requests().len()), (vec![], 0));
}

#[tokio::test]
async fn llm_16_a_final_answer_is_told_once() {
    let world = world([echo("c1"), says("four")]).build();
    let (_, told) = world.run(&agent()).await;
    let finals = |told: &Told| matches!(told, Told::ModelEnd { content, calls: 0, .. } if content == "four");
    assert_eq!(count(&told, finals), 1);
    assert_eq!(count(&told, |told| matches!(told, Told::OperationEnd { answer: Some(text), .. } if text == "four")), 1);
}

/// Remembers whether anybody wanted to read along.
struct Asks(Arc<Mutex<Vec<bool>>>);

impl Model for Asks {
    fn call<'a>(
        &'a self,
        _request: ModelRequest<'a>,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        self.0.lock().unwrap().push(sink.wants_deltas());
        Box::pin(std::future::ready(Ok(ReplyBuilder::default().text("four").build())))
    }
}

#[tokio::test]
async fn llm_17_nothing_is_told_ahead_when_nobody_reads() {
    let wanted = Arc::new(Mutex::new(Vec::new()));
    let world = world([]).model_of("tester", Asks(Arc::clone(&wanted))).build();
    world.start(&agent(), Hooks::new()).wait().await.unwrap();
    let (_, told) = world.run(&agent()).await;
    assert_eq!(*wanted.lock().unwrap(), [false, true]);
    assert_eq!(count(&told, |told| matches!(told, Told::ModelEnd { .. })), 1);
}

#[tokio::test]
async fn llm_18_calls_of_an_answer_that_was_broken_off_are_settled_and_do_not_run() {
    let broken_off = Turn::Reply(asking(&[("c1", "echo", "{}")]).finish(FinishReason::Abort).build());
    let tool = Fake::says("echo", "echoed");
    let ran_with = tool.ran_with();
    let world = world([broken_off, says("never")]).tools([tool.into_tool()]).build();
    let (report, told) = world.run(&agent()).await;
    assert_eq!(report.reason, Some(Reason::Interrupted));
    assert!(ran_with.lock().unwrap().is_empty());
    let rows = world.rows(&report.operation);
    assert!(rows.len() == 4 && rows[3].starts_with("tool no: "), "{rows:?}");
    assert_eq!(count(&told, |told| matches!(told, Told::ModelEnd { calls: 0, .. })), 0, "no final answer is told");
}

/// The same call in every turn, up to one turn before the limit; then an answer that is broken off, or not.
fn repeated(aborted: bool) -> String {
    let mut run = drive(Settings::default(), []);
    for turn in 0..10_u32 {
        let name = |name: &str| format!("s{}.{name}", turn * 2).leak() as &'static str;
        let next = |name: &str| format!("s{}.{name}", turn * 2 + 1).leak() as &'static str;
        let last = turn == 9;
        let reply = Reply { calls: vec![tool(1)], aborted: aborted && last, ..Reply::default() };
        run.go_on([
            to(name("step.plan"), plan([Instruction::CallLlm])),
            to(name("model.ask"), move |id| What::ModelReplied(id, reply)),
        ]);
        if last && !aborted {
            break;
        }
        let instruction = if last { Instruction::ResolveAbortedTools(vec![1]) } else { Instruction::CallTool(1) };
        run.go_on([to(next("step.plan"), plan([instruction]))]);
        if last {
            run.go_on([to(next("c1.refuse"), settled(SettledHow::Aborted))]);
        } else {
            run.go_on([to(next("c1.clear"), What::CallCleared), to(next("c1.run"), settled(SettledHow::Ran))]);
        }
    }
    if !aborted {
        run.go_on([to("s19.c1.refuse", settled(SettledHow::Refused))]);
    }
    run.stands()
}

#[test]
fn llm_18_the_repeat_guard_does_not_look_at_an_answer_that_was_broken_off() {
    assert_eq!(repeated(false), "finished: tool_call_repeat_limit");
    assert_eq!(repeated(true), "finished: interrupted");
}

#[tokio::test]
async fn llm_23_reported_usage_adds_up_and_missing_usage_changes_nothing() {
    let unreported = Turn::Reply(ReplyBuilder::default().call(Some("c2"), "test____echo", "{}").build());
    let world = world([echo("c1"), unreported, says("done")]).build();
    let (report, _) = world.run(&agent()).await;
    let one = usage();
    let totals = report.totals;
    assert_eq!((totals.llm_calls, totals.tool_calls), (2, 2));
    assert_eq!((totals.input_tokens, totals.output_tokens), (2 * one.input_tokens, 2 * one.output_tokens));
    assert_eq!((totals.total_tokens, totals.cost), (2 * one.total_tokens, NanoDollars(2_000)));
}

#[tokio::test]
async fn llm_25_broken_arguments_reach_the_run_as_they_are() {
    let world = world([calls(&[("c1", "echo", r#"{"n": 1"#)]), says("done")]).build();
    let (report, _) = world.run(&agent()).await;
    let rows = world.store.messages(&report.operation).unwrap();
    let MessageBody::Assistant { tool_calls, .. } = &rows[2].message.body else { panic!("{rows:?}") };
    assert_eq!(&*tool_calls[0].arguments, r#"{"n": 1"#);
    assert_eq!(report.reason, Some(Reason::Done), "the model reads the problem and goes on");
}
