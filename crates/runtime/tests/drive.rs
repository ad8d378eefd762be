//! The driver, end to end, in memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};

use jackline_hooks::{
    Carriers, ControlReply, Decision, HookFault, HookKind, Hooks, MockAnswer, WebhookCarrier, WebhookConfig,
    WebhookRequest,
};
use jackline_model::{Content, ModelUsage, Reason, Status, ToolKey, ToolRunResult};
use jackline_runtime::drive::{Agent, Runtime, Told, VirtualClock};
use jackline_runtime::journal::{InboxItem, PostedDecision, PostedVerdict};
use jackline_runtime::llm::{BoxFuture, DeltaSink, FinishReason, Model, ModelFault, ModelReply, ModelRequest, RawCall};
use jackline_runtime::permission::ApprovalMode;
use jackline_tools::{Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value};

/// Answers from a list.
struct Turns(Mutex<std::vec::IntoIter<ModelReply>>);

impl Model for Turns {
    fn call<'a>(
        &'a self,
        _request: ModelRequest<'a>,
        _sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        let turn = self.0.lock().unwrap().next().expect("the script has a turn left");
        Box::pin(std::future::ready(Ok(turn)))
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

fn says(text: &str, calls: &[(&str, &str)]) -> ModelReply {
    ModelReply {
        content: Content::from(text),
        reasoning: None,
        refusal: None,
        calls: calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| RawCall {
                id: Some(format!("call_{index}")),
                name: (*name).to_owned(),
                arguments: (*arguments).to_owned(),
            })
            .collect(),
        finish: if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls },
        finish_raw: None,
        usage: Some(ModelUsage { input_tokens: 10, output_tokens: 5, total_tokens: 15, ..ModelUsage::default() }),
        salvaged_from_reasoning: false,
    }
}

struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _context: &'a ToolContext,
    ) -> jackline_tools::BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        let text = arguments.get("text").and_then(Value::as_str).unwrap_or("nothing").to_owned();
        Box::pin(std::future::ready(Ok(ToolRunResult::ok(format!("echo: {text}")).into())))
    }
}

fn runtime(turns: Vec<ModelReply>) -> Runtime {
    let mut spec = ToolSpec::new(ToolKey::new("test", "echo"), "Echoes.");
    spec.simulated = true;
    Runtime::builder()
        .model(Turns(Mutex::new(turns.into_iter())))
        .tools([Arc::new(Echo(spec)) as Arc<dyn Tool>])
        .clock(Arc::new(VirtualClock::starting_at(1_000)))
        .build()
        .unwrap()
}

fn agent() -> Agent {
    Agent::new("tester", "You test.").with_approval(ApprovalMode::AutoRun)
}

#[tokio::test]
async fn one_call_and_an_answer_fire_the_hooks_in_order() {
    let runtime = runtime(vec![says("Let me see.", &[("test____echo", r#"{"text":"hi"}"#)]), says("It said hi.", &[])]);
    let fired = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&fired);
    let hooks = Hooks::new().observe_all("all", move |event: jackline_hooks::Event| {
        seen.lock().unwrap().push(event.kind());
        std::future::ready(())
    });
    let report = runtime.start(&agent(), "go", hooks).unwrap().wait().await.unwrap();
    assert_eq!((report.status, report.reason), (Status::Done, Some(Reason::Done)));
    assert_eq!(report.answer.as_deref(), Some("It said hi."));
    assert_eq!((report.totals.llm_calls, report.totals.tool_calls), (2, 1));
    use HookKind::{AfterStep, AfterToolCall, BeforeStep, BeforeToolCall, OnComplete};
    let expected = [
        BeforeStep,
        AfterStep,
        BeforeStep,
        BeforeToolCall,
        AfterToolCall,
        AfterStep,
        BeforeStep,
        AfterStep,
        BeforeStep,
        AfterStep,
        OnComplete,
    ];
    assert_eq!(*fired.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_denied_result_is_replaced_and_a_mock_is_judged_too() {
    let runtime = runtime(vec![says("", &[("test____echo", r#"{"text":"secret"}"#)]), says("done", &[])]);
    let hooks = Hooks::new()
        .mock_before_tool_call("mock", |_event| async { MockAnswer::Mock(ToolRunResult::ok("mocked secret")) })
        .control_after_tool_call("censor", |event: Arc<jackline_hooks::AfterToolCallControl>| async move {
            assert!(event.mocked);
            Decision::deny("not for you")
        });
    let run = runtime.start(&agent(), "go", hooks).unwrap();
    run.wait().await.unwrap();
    let messages = runtime.store().messages(run.id()).unwrap();
    let text = format!("{messages:?}");
    assert!(text.contains("not for you") && !text.contains("secret\")"), "{text}");
    assert!(!text.contains("mocked secret"), "{text}");
}

#[tokio::test]
async fn an_agent_with_tools_of_its_own_gets_those_alone() {
    let mut spec = ToolSpec::new(ToolKey::new("own", "echo"), "Echoes.");
    spec.simulated = true;
    let turns = vec![says("", &[("own____echo", r#"{"text":"hi"}"#)]), says("done", &[])];
    let runtime = Runtime::builder()
        .model(Turns(Mutex::new(turns.into_iter())))
        .tools_of("tester", [Arc::new(Echo(spec)) as Arc<dyn Tool>])
        .clock(Arc::new(VirtualClock::starting_at(1_000)))
        .build()
        .unwrap();
    let mut events = runtime.events();
    let run = runtime.start(&agent(), "go", Hooks::new()).unwrap();
    run.wait().await.unwrap();
    let text = format!("{:?}", runtime.store().messages(run.id()).unwrap());
    assert!(text.contains("echo: hi"), "{text}");
    let mut fired = Vec::new();
    while let Some(event) = events.try_next() {
        if let Told::Hook { hook, asked } = &event.what {
            assert!(asked.is_empty());
            fired.push(*hook);
        }
    }
    // A firing is told although nobody wanted to hear it.
    assert!(fired.contains(&HookKind::BeforeToolCall) && fired.contains(&HookKind::AfterToolCall), "{fired:?}");
}

#[tokio::test]
async fn decisions_that_are_posted_one_after_the_other_are_all_taken() {
    let mut spec = ToolSpec::new(ToolKey::new("test", "echo"), "Echoes.");
    spec.simulated = true;
    spec.approval = Some(serde_json::json!("required"));
    let calls = [("test____echo", r#"{"text":"one"}"#), ("test____echo", r#"{"text":"two"}"#)];
    let runtime = Runtime::builder()
        .model(Turns(Mutex::new(vec![says("", &calls), says("done", &[])].into_iter())))
        .tools([Arc::new(Echo(spec)) as Arc<dyn Tool>])
        .clock(Arc::new(VirtualClock::starting_at(1_000)))
        .build()
        .unwrap();
    let run = runtime.start(&Agent::new("tester", "You test."), "go", Hooks::new()).unwrap();
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
    // Posted past the runtime, as another process does.
    for (call, verdict) in
        [("call_0", PostedVerdict::Approve), ("call_1", PostedVerdict::RejectAndContinue { reason: None })]
    {
        let decision = PostedDecision { call: Some(call.into()), verdict };
        runtime.store().post(run.id(), InboxItem::Decided(vec![decision]), 2_000).unwrap();
    }
    runtime.look().unwrap();
    let report = run.wait().await.unwrap();
    assert_eq!((report.status, report.totals.tool_calls), (Status::Done, 1));
}

#[tokio::test]
async fn a_run_that_is_stopped_before_it_begins_has_no_step() {
    let runtime = runtime(vec![says("never", &[])]);
    let fired = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&fired);
    let hooks = Hooks::new().observe_all("all", move |event: jackline_hooks::Event| {
        seen.lock().unwrap().push(event.kind());
        std::future::ready(())
    });
    let run = runtime.start(&agent(), "go", hooks).unwrap();
    run.interrupt().unwrap();
    let report = run.wait().await.unwrap();
    assert_eq!((report.reason, report.steps), (Some(Reason::Interrupted), 0));
    assert_eq!(*fired.lock().unwrap(), [HookKind::OnComplete]);
}

#[tokio::test]
async fn a_planner_that_panics_fails_the_run_and_nothing_else() {
    struct Broken;
    impl jackline_runtime::planner::Planner for Broken {
        fn plan(&self, _: &jackline_runtime::planner::PlanView<'_>) -> Vec<jackline_runtime::machine::Instruction> {
            std::panic::resume_unwind(Box::new("a mistake"))
        }
    }
    let runtime = Runtime::builder().model(Turns(Mutex::new(Vec::new().into_iter()))).planner(Arc::new(Broken));
    let run = runtime.build().unwrap().start(&agent(), "go", Hooks::new()).unwrap();
    let report = run.wait().await.unwrap();
    assert_eq!((report.reason, report.fault.unwrap().code.as_str()), (Some(Reason::Error), "planner_panicked"));
}

#[tokio::test]
async fn a_webhook_that_denies_keeps_the_tool_from_running() {
    /// Denies whatever it is asked about.
    #[derive(Debug)]
    struct Denies;

    impl WebhookCarrier for Denies {
        fn notify(&self, _: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn ask(&self, _: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
            Box::pin(std::future::ready(Ok(ControlReply::Deny { reason: Some("not today".to_owned()) })))
        }
    }

    let mut spec = ToolSpec::new(ToolKey::new("test", "echo"), "Echoes.");
    spec.simulated = true;
    let turns = vec![says("", &[("test____echo", r#"{"text":"hi"}"#)]), says("done", &[])];
    let runtime = Runtime::builder()
        .model(Turns(Mutex::new(turns.into_iter())))
        .tools([Arc::new(Echo(spec)) as Arc<dyn Tool>])
        .carriers(Carriers { webhook: Some(Arc::new(Denies)), ..Carriers::default() })
        .clock(Arc::new(VirtualClock::starting_at(1_000)))
        .build()
        .unwrap();
    let hooks = Hooks::new().webhook("policy", HookKind::BeforeToolCall, WebhookConfig::control("http://policy/ask"));
    let run = runtime.start(&agent(), "go", hooks).unwrap();
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    let text = format!("{:?}", runtime.store().messages(run.id()).unwrap());
    assert!(text.contains("not today") && !text.contains("echo: hi"), "{text}");
}

#[tokio::test]
async fn a_run_in_its_first_step_is_listed_as_running() {
    /// Never answers.
    struct Silent;

    impl Model for Silent {
        fn call<'a>(
            &'a self,
            _request: ModelRequest<'a>,
            _sink: &'a mut dyn DeltaSink,
        ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
            Box::pin(std::future::pending())
        }
    }

    let runtime = Runtime::builder().model(Silent).build().unwrap();
    let mut events = runtime.events();
    let run = runtime.start(&agent(), "go", Hooks::new()).unwrap();
    while !matches!(events.next().await.unwrap().what, Told::ModelStart { .. }) {}
    // What was decided is with the store before the driver waits; another look may come in between.
    runtime.look().unwrap();
    tokio::task::yield_now().await;
    assert_eq!(runtime.store().header(run.id()).unwrap().summary.status, Status::Running);
}
