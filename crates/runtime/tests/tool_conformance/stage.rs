//! A runtime with everything scripted, and all that can be seen of it from outside.

use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};

use jackline_hooks::{Event, HookKind, Hooks};
use jackline_model::{
    ExecutorRoute, MessageBody, ModelUsage, NanoDollars, OperationId, ToolCallId, ToolKey, ToolRunResult,
};
use jackline_runtime::drive::{
    Agent, Clock, Decided, Events, Report, Run, Runtime, RuntimeBuilder, StreamEvent, Told, VirtualClock,
};
use jackline_runtime::journal::{MemoryStore, PostedDecision, PostedVerdict, Store, StoredMessage};
use jackline_runtime::llm::{
    BoxFuture, DeltaSink, Model, ModelFault, ModelReply, ModelRequest, ReplyBuilder, ScriptedModel, Turn,
};
use jackline_runtime::permission::ApprovalMode;
use jackline_tools::{Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value};

/// A runtime on a stage: what it runs is scripted, what it does can be seen.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) runtime: Runtime,
    pub(crate) store: MemoryStore,
    pub(crate) clock: VirtualClock,
    pub(crate) model: Arc<ScriptedModel>,
    props: Vec<Prop>,
    change: Change,
    notes: Arc<Mutex<Vec<String>>>,
    heard: Arc<Mutex<Vec<Event>>>,
    told: Arc<Mutex<(Events, Vec<Arc<StreamEvent>>)>>,
}

/// What is set of the runtimes of later processes besides.
type Change = Arc<dyn Fn(RuntimeBuilder) -> RuntimeBuilder + Send + Sync>;
type Played = Result<ToolAnswer, ToolError>;
type Act = Arc<dyn Fn(Called) -> BoxFuture<'static, Played> + Send + Sync>;

/// A scripted tool.
#[derive(Clone)]
pub(crate) struct Prop {
    spec: ToolSpec,
    act: Act,
}

/// One run of a scripted tool.
pub(crate) struct Called {
    pub(crate) stage: Stage,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) operation: OperationId,
    pub(crate) step: u32,
    pub(crate) call: ToolCallId,
    pub(crate) attempt: u32,
}

/// The result row of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolRow {
    pub(crate) place: u32,
    pub(crate) call: String,
    pub(crate) content: String,
    pub(crate) success: bool,
    pub(crate) error: Option<Value>,
    pub(crate) state: Option<Value>,
}

/// What `ToolEnd` tells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) call: String,
    pub(crate) decision: Decided,
    pub(crate) result: ToolRunResult,
}

impl Prop {
    /// A tool `test/NAME` that does this.
    pub(crate) fn new<F, Fut>(name: &str, act: F) -> Self
    where
        F: Fn(Called) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Played> + Send + 'static,
    {
        let mut spec = ToolSpec::new(ToolKey::new("test", name), "A scripted tool.");
        spec.simulated = true;
        spec.price = NanoDollars(7);
        Self { spec, act: Arc::new(move |called| Box::pin(act(called))) }
    }

    /// A tool that notes `run CALL` and answers at once with `did CALL`.
    pub(crate) fn plain(name: &str) -> Self {
        Self::new(name, |called| async move {
            called.note("run");
            did(format!("did {}", called.call))
        })
    }

    /// A tool that the client runs; to run it here is a mistake.
    pub(crate) fn client(name: &str) -> Self {
        Self::new(name, |called| async move {
            called.note("run here");
            did("a client's tool must not run here")
        })
        .with(|spec| spec.executor = ExecutorRoute::Client)
    }

    /// A tool that stops its own run and then hangs.
    pub(crate) fn stopper(name: &str) -> Self {
        Self::new(name, |called| async move {
            called.note("run");
            called.stop();
            std::future::pending().await
        })
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// A person must approve each call, in every mode.
    pub(crate) fn asking(self) -> Self {
        self.with(|spec| spec.approval = Some(Value::from("always")))
    }
}

/// The answer of a tool that worked.
pub(crate) fn did(text: impl Into<String>) -> Played {
    Ok(ToolRunResult::ok(text).into())
}

impl Called {
    /// Notes what it does, with the id of its call.
    pub(crate) fn note(&self, what: &str) {
        self.stage.note(format!("{what} {}", self.call));
    }

    /// Stops the run that called it.
    pub(crate) fn stop(&self) {
        self.stage.runtime.stop(&self.operation).unwrap();
    }
}

/// A turn in words.
pub(crate) fn says(text: &str) -> Turn {
    Turn::Reply(ReplyBuilder::default().text(text).usage(usage()).build())
}

/// A turn that asks for calls of `test/NAME`: their ids, names and arguments.
pub(crate) fn asks(calls: &[(&str, &str, &str)]) -> Turn {
    let reply = calls.iter().fold(ReplyBuilder::default(), |reply, (id, name, arguments)| {
        reply.call(Some(id), format!("test____{name}"), *arguments)
    });
    Turn::Reply(reply.usage(usage()).build())
}

fn usage() -> ModelUsage {
    ModelUsage { input_tokens: 10, output_tokens: 5, total_tokens: 15, cost: NanoDollars(1_000) }
}

/// An agent that asks nobody unless a tool insists.
pub(crate) fn agent() -> Agent {
    Agent::new("tester", "You test.").with_approval(ApprovalMode::AutoRun)
}

/// A decision about a call.
pub(crate) fn decision(call: &str, verdict: PostedVerdict) -> PostedDecision {
    PostedDecision { call: Some(ToolCallId::from(call)), verdict }
}

/// The approval of these calls.
pub(crate) fn approved(calls: &[&str]) -> Vec<PostedDecision> {
    calls.iter().map(|call| decision(call, PostedVerdict::Approve)).collect()
}

/// A runtime with these turns and tools.
pub(crate) fn stage(turns: impl IntoIterator<Item = Turn>, props: impl IntoIterator<Item = Prop>) -> Stage {
    staged(turns, props, |builder| builder)
}

/// The same, with more to set.
pub(crate) fn staged(
    turns: impl IntoIterator<Item = Turn>,
    props: impl IntoIterator<Item = Prop>,
    change: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
) -> Stage {
    Stage::new(turns, props, change, Arc::new(|builder| builder))
}

/// The same, with more to set in each process.
pub(crate) fn staged_everywhere(
    turns: impl IntoIterator<Item = Turn>,
    props: impl IntoIterator<Item = Prop>,
    change: impl Fn(RuntimeBuilder) -> RuntimeBuilder + Send + Sync + 'static,
) -> Stage {
    let change: Change = Arc::new(change);
    let later = Arc::clone(&change);
    Stage::new(turns, props, |builder| change(builder), later)
}

impl Stage {
    fn new(
        turns: impl IntoIterator<Item = Turn>,
        props: impl IntoIterator<Item = Prop>,
        change: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
        later: Change,
    ) -> Self {
        let (props, clock) = (props.into_iter().collect(), VirtualClock::starting_at(1_000));
        Self::set(turns, props, (MemoryStore::new(), Arc::default()), clock, (change, later))
    }

    fn set(
        turns: impl IntoIterator<Item = Turn>,
        props: Vec<Prop>,
        (store, notes): (MemoryStore, Arc<Mutex<Vec<String>>>),
        clock: VirtualClock,
        (change, later): (impl FnOnce(RuntimeBuilder) -> RuntimeBuilder, Change),
    ) -> Self {
        let model = Arc::new(ScriptedModel::new(turns));
        let cell = Arc::new(OnceLock::new());
        let tools = props.iter().map(|prop| {
            let on_stage = OnStage { prop: prop.clone(), stage: Arc::clone(&cell) };
            Arc::new(on_stage) as Arc<dyn Tool>
        });
        let builder = Runtime::builder()
            .model(Script(Arc::clone(&model)))
            .tools(tools.collect::<Vec<_>>())
            .store(Arc::new(store.clone()))
            .clock(Arc::new(clock.clone()));
        let runtime = change(builder).build().unwrap();
        let told = Arc::new(Mutex::new((runtime.events(), Vec::new())));
        let stage = Self { runtime, store, clock, model, props, change: later, notes, heard: Arc::default(), told };
        let _ = cell.set(stage.clone());
        stage
    }

    /// Kills the process and starts another on the same store, with the same tools and these turns.
    pub(crate) fn after_a_crash(&self, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.store.kill();
        let notes = Arc::clone(&self.notes);
        let (now, later) = (Arc::clone(&self.change), Arc::clone(&self.change));
        let change = (move |builder| now(builder), later);
        Self::set(turns, self.props.clone(), (self.store.another_process(), notes), self.clock.clone(), change)
    }

    pub(crate) fn start(&self, agent: &Agent, hooks: impl Into<Hooks>) -> Run {
        self.runtime.start(agent, "go", hooks).unwrap()
    }

    /// Runs until the run has ended or parks.
    pub(crate) async fn play(&self, agent: &Agent, hooks: impl Into<Hooks>) -> (OperationId, Report) {
        let run = self.start(agent, hooks);
        (run.id().clone(), run.wait().await.unwrap())
    }

    /// Decides, and runs until the run has ended or parks again.
    pub(crate) async fn decide(&self, run: &Run, decisions: Vec<PostedDecision>) -> Report {
        self.runtime.decide(run.id(), decisions).unwrap();
        run.wait().await.unwrap()
    }

    /// Hands an answer in, and runs until the run has ended or parks again.
    pub(crate) async fn complete(&self, run: &Run, call: &str, result: &ToolRunResult) -> Report {
        self.runtime.complete_call(run.id(), &ToolCallId::from(call), result).unwrap();
        run.wait().await.unwrap()
    }

    pub(crate) fn note(&self, what: impl Into<String>) {
        self.notes.lock().unwrap().push(what.into());
    }

    /// What was noted so far, in order.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap().clone()
    }

    /// Hooks that hear everything.
    pub(crate) fn listen(&self) -> Hooks {
        let heard = Arc::clone(&self.heard);
        let observe = move |event: Event| {
            heard.lock().unwrap().push(event);
            std::future::ready(())
        };
        Hooks::new().observe_all("listener", observe).into()
    }

    /// The events that were heard.
    pub(crate) fn heard(&self) -> Vec<Event> {
        self.heard.lock().unwrap().clone()
    }

    /// How many events of a kind were heard.
    pub(crate) fn count(&self, kind: HookKind) -> usize {
        self.heard().iter().filter(|event| event.kind() == kind).count()
    }

    /// The only event of a kind, as JSON.
    pub(crate) fn only(&self, kind: HookKind) -> Value {
        let events: Vec<Event> = self.heard().into_iter().filter(|event| event.kind() == kind).collect();
        assert_eq!(events.len(), 1, "{kind}: {events:?}");
        events[0].to_json()
    }

    /// What time it is.
    pub(crate) fn clock_ms(&self) -> u64 {
        Clock::now_ms(&self.clock)
    }

    /// All that the runtime has told.
    pub(crate) fn told(&self) -> Vec<Told> {
        let mut guard = self.told.lock().unwrap();
        let (events, told) = &mut *guard;
        while let Some(event) = events.try_next() {
            told.push(event);
        }
        told.iter().map(|event| event.what.clone()).collect()
    }

    /// The results that were told, in order.
    pub(crate) fn ends(&self) -> Vec<End> {
        let end = |told| {
            let Told::ToolEnd { call, decision, result, .. } = told else { return None };
            Some(End { call: call.to_string(), decision, result })
        };
        self.told().into_iter().filter_map(end).collect()
    }

    /// What a hook is told to have answered.
    pub(crate) fn told_answers(&self, hook: &str) -> Vec<String> {
        let asked = self.told().into_iter().filter_map(|told| {
            let Told::Hook { asked, .. } = told else { return None };
            Some(asked)
        });
        asked.flatten().filter(|receipt| receipt.id == hook).map(|receipt| receipt.answer.to_string()).collect()
    }

    /// The calls that were told to wait.
    pub(crate) fn parked(&self) -> Vec<String> {
        let parked = |told| {
            let Told::ToolParked { call, .. } = told else { return None };
            Some(call.to_string())
        };
        self.told().into_iter().filter_map(parked).collect()
    }

    /// All messages of an operation.
    pub(crate) fn messages(&self, operation: &OperationId) -> Vec<StoredMessage> {
        self.store.messages(operation).unwrap()
    }

    /// The result rows of an operation, in the order of the conversation.
    pub(crate) fn rows(&self, operation: &OperationId) -> Vec<ToolRow> {
        let row = |stored: StoredMessage| {
            let MessageBody::Tool { call_id, content, success, error, state, .. } = stored.message.body else {
                return None;
            };
            let (call, content) = (call_id.to_string(), content.to_string());
            Some(ToolRow { place: stored.place, call, content, success, error, state })
        };
        self.messages(operation).into_iter().filter_map(row).collect()
    }

    /// The only result row.
    pub(crate) fn row(&self, operation: &OperationId) -> ToolRow {
        let rows = self.rows(operation);
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows[0].clone()
    }

    /// Calls and texts of the result rows.
    pub(crate) fn texts(&self, operation: &OperationId) -> Vec<(String, String)> {
        self.rows(operation).into_iter().map(|row| (row.call, row.content)).collect()
    }

    /// Calls and error classes of the result rows.
    pub(crate) fn classes(&self, operation: &OperationId) -> Vec<(String, String)> {
        let class = |row: ToolRow| (row.call, row.error.as_ref().and_then(Value::as_str).unwrap_or("ok").to_owned());
        self.rows(operation).into_iter().map(class).collect()
    }

    /// Everything that is stored, told, heard by observers or shown to the model.
    pub(crate) fn trace(&self) -> String {
        let (store, told, heard, requests) = (&self.store, self.told(), self.heard(), self.model.requests());
        format!("{store:?} {told:?} {heard:?} {requests:?}")
    }
}

/// Pairs of words, for comparing.
pub(crate) fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(call, text)| ((*call).to_owned(), (*text).to_owned())).collect()
}

/// A script that many hold.
pub(crate) struct Script(pub(crate) Arc<ScriptedModel>);

impl Model for Script {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        self.0.call(request, sink)
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

struct OnStage {
    prop: Prop,
    stage: Arc<OnceLock<Stage>>,
}

impl Tool for OnStage {
    fn spec(&self) -> &ToolSpec {
        &self.prop.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a ToolContext,
    ) -> jackline_tools::BoxFuture<'a, Played> {
        (self.prop.act)(Called {
            stage: self.stage.get().unwrap().clone(),
            arguments,
            operation: context.operation.clone(),
            step: context.step,
            call: context.call_id.clone(),
            attempt: context.attempt,
        })
    }
}
