//! Results that arrive while a run is parked, and the hooks that judge them: in the process that parked and in one
//! that knows nothing but the store, in local mode and in queue mode.

mod again;
mod held;
pub(crate) mod receiver;
mod stops;

use std::future::ready;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use self::receiver::Receiver;
use jackline_hooks::{
    Carriers, CommandConfig, DispatchMode, Environment, HookKind, Hooks, OnError, Variables, WebhookConfig,
};
use jackline_model::{OperationId, Reason, Status, ToolCallId, ToolKey, ToolRunResult};
use jackline_runtime::drive::{Agent, FnTool, Report, RunError, Runtime, RuntimeBuilder, VirtualClock};
use jackline_runtime::journal::{MemoryStore, Store, StoreError};
use jackline_runtime::llm::{ScriptedModel, Turn};
use jackline_runtime::permission::ApprovalMode;
use jackline_tools::{ClientTool, Tool, ToolError, ToolSpec};
use serde_json::{Map, Value};

/// Variables that change while a run is parked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changing(Arc<Mutex<Variables>>);

impl Environment for Changing {
    fn get(&self, name: &str) -> Option<String> {
        if name == "SIGNING" {
            Some("whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ=".to_owned())
        } else {
            self.0.lock().unwrap().get(name)
        }
    }
}

impl Changing {
    pub(crate) fn set(&self, variables: Variables) {
        *self.0.lock().unwrap() = variables;
    }
}

/// How a result arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) mode: DispatchMode,
    /// In a process that knows nothing but the store.
    pub(crate) cold: bool,
}

pub(crate) const WAYS: [Way; 4] = [
    Way { mode: DispatchMode::Local, cold: false },
    Way { mode: DispatchMode::Local, cold: true },
    Way { mode: DispatchMode::Queue, cold: false },
    Way { mode: DispatchMode::Queue, cold: true },
];

struct World {
    way: Way,
    store: MemoryStore,
    receiver: Receiver,
    environment: Changing,
}

impl World {
    fn new(way: Way) -> Self {
        Self { way, store: MemoryStore::new(), receiver: Receiver::start(), environment: Changing::default() }
    }

    fn runtime(&self, store: MemoryStore, turns: Vec<Turn>) -> Runtime {
        self.builder(store, turns).carriers(self.carriers()).build().unwrap()
    }

    fn carriers(&self) -> Carriers {
        let http = self.receiver.carrier(self.environment.clone());
        Carriers { webhook: Some(Arc::new(http)), ..Carriers::default() }
    }

    /// A runtime that reaches nobody.
    fn builder(&self, store: MemoryStore, turns: Vec<Turn>) -> RuntimeBuilder {
        Runtime::builder()
            .model(ScriptedModel::new(turns))
            .tool(ClientTool::new(ToolKey::new("desk", "ask"), "Asks the front desk."))
            .tool(look("look", None))
            .tool(look("open", Some("always")))
            .store(Arc::new(store))
            .hook_mode(self.way.mode)
            .hook_environment(Arc::new(self.environment.clone()))
            .clock(Arc::new(VirtualClock::starting_at(1_000)))
    }

    /// Starts a run that parks for the front desk.
    async fn park(&self, hooks: impl Into<Hooks>) -> (Runtime, OperationId) {
        let turns = vec![Turn::call("desk____ask", "{}"), Turn::text("done")];
        let runtime = self.runtime(self.store.clone(), turns);
        let run = runtime.start(&agent(), "go", hooks).unwrap();
        assert_eq!(run.wait().await.unwrap().status, Status::WaitingForAsyncTool);
        self.receiver.asked.lock().unwrap().clear();
        (runtime, run.id().clone())
    }

    /// The process in which the result arrives.
    fn arrival(&self, warm: &Runtime) -> Runtime {
        if !self.way.cold {
            return warm.clone();
        }
        let store = self.store.another_process();
        self.store.kill();
        self.runtime(store, vec![Turn::text("done")])
    }

    /// Lets the result arrive and waits for the end.
    async fn complete(&self, warm: &Runtime, id: &OperationId) -> Result<Report, RunError> {
        let runtime = self.arrival(warm);
        let call = waiting_call(&runtime, id);
        runtime.complete_call(id, &call, &ToolRunResult::ok(RAW))?;
        runtime.resume(id, Hooks::new())?.wait().await
    }

    /// The text of the result in the conversation.
    fn result(&self, id: &OperationId) -> String {
        let messages = self.store.messages(id).unwrap();
        messages.iter().find_map(|stored| stored.message.body.tool_result()).unwrap().content
    }
}

fn agent() -> Agent {
    Agent::new("clerk", "You ask.").with_approval(ApprovalMode::AutoRun)
}

/// A tool that says its name.
fn look(name: &'static str, approval: Option<&str>) -> impl Tool {
    let mut spec = ToolSpec::new(ToolKey::new("desk", name), "Looks.");
    spec.approval = approval.map(Value::from);
    spec.simulated = true;
    FnTool::new(spec, move |_: Map<String, Value>, _| {
        ready(Ok::<_, ToolError>(ToolRunResult::ok(format!("did {name}"))))
    })
}

fn waiting_call(runtime: &Runtime, id: &OperationId) -> ToolCallId {
    let messages = runtime.store().messages(id).unwrap();
    let calls = messages.iter().find_map(|stored| match &stored.message.body {
        jackline_model::MessageBody::Assistant { tool_calls, .. } => tool_calls.first().cloned(),
        jackline_model::MessageBody::System { .. }
        | jackline_model::MessageBody::User { .. }
        | jackline_model::MessageBody::Tool { .. } => None,
    });
    calls.unwrap().id
}

/// A webhook that hears, signed, so that each delivery says which one it is.
pub(crate) fn notice(url: &str) -> WebhookConfig {
    WebhookConfig { signing_secret_env: Some("SIGNING".to_owned()), ..WebhookConfig::new(url) }
}

/// A webhook that decides.
pub(crate) fn judge(url: &str) -> WebhookConfig {
    WebhookConfig { signing_secret_env: Some("SIGNING".to_owned()), ..WebhookConfig::control(url) }
}

fn control(url: &str) -> Hooks {
    Hooks::new().webhook("policy", HookKind::AfterToolCall, judge(url)).into()
}

pub(crate) fn policy(url: &str) -> Variables {
    Variables::from([
        ("AGENT_HOOK_WEBHOOK_URL", url),
        ("AGENT_HOOK_WEBHOOK_TOKEN", "secret"),
        ("AGENT_HOOK_WEBHOOK_EVENTS", "afterToolCall"),
        ("AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING", "toolCall"),
    ])
}

#[tokio::test]
async fn j01_j03_stored_controls_judge_a_late_result_when_nothing_else_is_left() {
    for way in WAYS {
        let world = World::new(way);
        let (warm, id) = world.park(control("http://deny.test/a")).await;
        let report = world.complete(&warm, &id).await.unwrap();
        assert_eq!(report.reason, Some(Reason::Done), "{way:?}");
        let payloads = world.receiver.payloads();
        assert_eq!(payloads.len(), 1, "{way:?}");
        assert_eq!(payloads[0]["result"]["content"], RAW, "the whole result is shown");
        assert_eq!(payloads[0]["apiName"], "ask");
        assert_eq!(world.result(&id), "not this", "{way:?}");
        let stored = format!("{:?} {:?}", world.store.messages(&id), world.store.records(&id));
        assert!(!stored.contains(RAW), "{way:?}: {stored}");
    }
}

#[tokio::test]
async fn j02_j05_without_controls_a_late_result_passes() {
    for way in WAYS {
        let world = World::new(way);
        let (warm, id) = world.park(Hooks::new()).await;
        world.complete(&warm, &id).await.unwrap();
        assert_eq!((world.result(&id).as_str(), world.receiver.urls().len()), (RAW, 0), "{way:?}");
    }
}

#[tokio::test]
async fn j04_a_policy_that_cannot_be_read_is_an_error_and_nothing_is_sent() {
    let world = World::new(Way { mode: DispatchMode::Local, cold: true });
    let (warm, id) = world.park(control("http://deny.test/a")).await;
    let runtime = world.arrival(&warm);
    runtime.complete_call(&id, &waiting_call(&runtime, &id), &ToolRunResult::ok(RAW)).unwrap();
    let gone = StoreError::Io { doing: "read", why: "the disk is gone".to_owned() };
    world.store.fail_next_read_of_hooks(gone.clone());
    assert!(matches!(runtime.resume(&id, Hooks::new()), Err(RunError::Store(error)) if error == gone));
    assert!(world.receiver.urls().is_empty());
    assert!(world.store.messages(&id).unwrap().iter().all(|stored| stored.message.body.tool_result().is_none()));
    // Nothing is lost: once the store can be read, the result is judged.
    runtime.resume(&id, Hooks::new()).unwrap().wait().await.unwrap();
    assert_eq!(world.result(&id), "not this");
}

#[tokio::test]
async fn j06_controls_of_other_tools_are_not_asked() {
    for way in WAYS {
        let world = World::new(way);
        let other = judge("http://deny.test/a");
        let hooks = Hooks::new().webhook("policy", HookKind::AfterToolCall, other).matching("^fs/");
        let (warm, id) = world.park(hooks).await;
        world.complete(&warm, &id).await.unwrap();
        assert_eq!((world.result(&id).as_str(), world.receiver.urls().len()), (RAW, 0), "{way:?}");
    }
}

#[tokio::test]
async fn j07_j15_the_environment_counts_as_it_stands_when_the_result_arrives() {
    for way in WAYS {
        let world = World::new(way);
        world.environment.set(policy("http://deny.test/env"));
        let (warm, id) = world.park(Hooks::new()).await;
        world.environment.set(Variables::default());
        world.complete(&warm, &id).await.unwrap();
        assert_eq!((world.result(&id).as_str(), world.receiver.urls().len()), (RAW, 0), "removed: {way:?}");

        let world = World::new(way);
        let (warm, id) = world.park(Hooks::new()).await;
        world.environment.set(policy("http://deny.test/env"));
        world.complete(&warm, &id).await.unwrap();
        assert_eq!(world.result(&id), "not this", "added: {way:?}");
        assert_eq!(world.receiver.urls(), ["http://deny.test/env"]);
        assert!(world.store.caller_hooks(&id).unwrap().is_empty(), "it is never stored");
    }
}

#[tokio::test]
async fn j09_notifications_alone_judge_nothing() {
    for way in WAYS {
        let world = World::new(way);
        let notice = notice("http://deny.test/note");
        let (warm, id) = world.park(Hooks::new().webhook("note", HookKind::AfterToolCall, notice)).await;
        world.complete(&warm, &id).await.unwrap();
        assert_eq!((world.result(&id).as_str(), world.receiver.urls().len()), (RAW, 0), "{way:?}");
        assert!(world.receiver.told.lock().unwrap().is_empty(), "a late result is not announced: {way:?}");
    }
}

#[tokio::test]
async fn j10_the_callers_hook_counts_after_the_environments_is_gone() {
    for way in WAYS {
        let world = World::new(way);
        world.environment.set(policy("http://allow.test/env"));
        let (warm, id) = world.park(control("http://deny.test/own")).await;
        world.environment.set(Variables::default());
        world.complete(&warm, &id).await.unwrap();
        assert_eq!((world.result(&id).as_str(), world.receiver.urls().len()), ("not this", 1), "{way:?}");
    }
}

#[tokio::test]
async fn j12_the_callers_controls_are_asked_in_order_and_the_environment_last() {
    for way in WAYS {
        let world = World::new(way);
        world.environment.set(policy("http://allow.test/env"));
        let two = control("http://allow.test/1").and(control("http://allow.test/2"));
        let (warm, id) = world.park(two).await;
        world.complete(&warm, &id).await.unwrap();
        let expected = ["http://allow.test/1", "http://allow.test/2", "http://allow.test/env"];
        assert_eq!(world.receiver.urls(), expected, "{way:?}");
        assert_eq!(world.result(&id), RAW);

        let world = World::new(way);
        world.environment.set(policy("http://allow.test/env"));
        let two = control("http://allow.test/1").and(control("http://deny.test/2"));
        let (warm, id) = world.park(two).await;
        world.complete(&warm, &id).await.unwrap();
        assert_eq!(
            world.receiver.urls(),
            expected[..1].iter().copied().chain(["http://deny.test/2"]).collect::<Vec<_>>()
        );
        assert_eq!(world.result(&id), "not this");
    }
}

#[tokio::test]
async fn j17_a_repeated_callback_does_not_replace_the_first_result() {
    for way in WAYS {
        let world = World::new(way);
        let (warm, id) = world.park(control("http://deny.test/a")).await;
        let runtime = world.arrival(&warm);
        let call = waiting_call(&runtime, &id);
        runtime.complete_call(&id, &call, &ToolRunResult::ok(RAW)).unwrap();
        let again = runtime.complete_call(&id, &call, &ToolRunResult::ok("another"));
        assert!(matches!(again, Err(RunError::Store(StoreError::Refused(_)))), "{way:?}: {again:?}");
        runtime.resume(&id, Hooks::new()).unwrap().wait().await.unwrap();
        let late = runtime.complete_call(&id, &call, &ToolRunResult::ok("another"));
        assert!(matches!(late, Err(RunError::Store(StoreError::Refused(_)))), "{way:?}: {late:?}");
        assert_eq!(world.result(&id), "not this", "{way:?}");
    }
}

#[tokio::test]
async fn a_control_that_fails_blocks_in_any_process_where_it_was_told_to() {
    for way in WAYS {
        for (on_error, is_shown) in [(OnError::Continue, true), (OnError::Block, false)] {
            let world = World::new(way);
            let config = WebhookConfig { on_error, ..judge("http://broken.test/a") };
            let hooks = Hooks::new().webhook("policy", HookKind::AfterToolCall, config);
            let (warm, id) = world.park(hooks).await;
            world.complete(&warm, &id).await.unwrap();
            assert_eq!(world.result(&id) == RAW, is_shown, "{way:?} {on_error:?}");
        }
    }
}

#[tokio::test]
async fn hooks_that_are_given_again_take_the_place_of_the_stored_ones() {
    let world = World::new(Way { mode: DispatchMode::Local, cold: true });
    let command = CommandConfig { command: vec!["policy".to_owned()], ..CommandConfig::default() };
    let hooks = control("http://deny.test/a").and(Hooks::new().command("log", HookKind::OnComplete, command));
    let (warm, id) = world.park(hooks).await;
    assert_eq!(world.store.caller_hooks(&id).unwrap().len(), 2);
    let runtime = world.arrival(&warm);
    runtime.complete_call(&id, &waiting_call(&runtime, &id), &ToolRunResult::ok(RAW)).unwrap();
    runtime.resume(&id, control("http://allow.test/new")).unwrap().wait().await.unwrap();
    assert_eq!(world.receiver.urls(), ["http://allow.test/new"]);
    assert_eq!(world.result(&id), RAW);
}

#[tokio::test]
async fn l08_a_critical_hook_that_fails_about_the_end_is_raised_when_the_end_is_stored() {
    let way = Way { mode: DispatchMode::Local, cold: false };
    let world = World::new(way);
    world.receiver.fails.store(true, Ordering::Relaxed);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = |name: &'static str| {
        let heard = Arc::clone(&heard);
        move || {
            heard.lock().unwrap().push(name);
            ready(())
        }
    };
    let (complete, error) = (hear("onComplete"), hear("onError"));
    let critical = WebhookConfig { fallback: jackline_hooks::Fallback::None, ..notice("http://x.test/") };
    let hooks = Hooks::new()
        .webhook("audit", HookKind::OnComplete, critical)
        .on_complete("sibling", move |_| complete())
        .on_run_error("never", move |_| error());
    // The model has no answer: the run fails.
    let runtime = world.runtime(world.store.clone(), Vec::new());
    let run = runtime.start(&agent(), "go", hooks).unwrap();
    let Err(RunError::CriticalHook { report, error }) = run.wait().await else { panic!("it is raised") };
    assert_eq!(error.to_string(), "Critical webhook delivery failed: audit");
    assert_eq!(report.reason, Some(Reason::Error));
    assert_eq!(*heard.lock().unwrap(), ["onComplete"], "siblings are asked, `onError` is not fired");
    assert_eq!(world.store.header(run.id()).unwrap().summary.status, Status::Error);
    assert!(!runtime.hooks().has_hooks(run.id()));
}

const RAW: &str = "the raw answer of the desk";

#[tokio::test]
async fn a_critical_hook_that_does_not_hear_of_an_error_is_raised_like_one_that_does_not_hear_of_the_end() {
    let world = World::new(Way { mode: DispatchMode::Local, cold: false });
    world.receiver.fails.store(true, Ordering::Relaxed);
    let critical = WebhookConfig { fallback: jackline_hooks::Fallback::None, ..WebhookConfig::new("https://x.test/") };
    let hooks = Hooks::new().webhook("alarm", HookKind::OnError, critical);
    // The model has no answer: the run fails.
    let runtime = world.runtime(world.store.clone(), Vec::new());
    let run = runtime.start(&agent(), "go", hooks).unwrap();
    let Err(RunError::CriticalHook { report, error }) = run.wait().await else { panic!("it is raised") };
    assert_eq!(
        (error.to_string().as_str(), report.reason),
        ("Critical webhook delivery failed: alarm", Some(Reason::Error))
    );
    assert_eq!(world.store.header(run.id()).unwrap().summary.status, Status::Error);
}
