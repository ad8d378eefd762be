//! A runtime in memory whose model, tools, ids and accidents are scripted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use jackline_hooks::{Event, HookKind, Hooks};
use jackline_model::{
    Fault, FaultAttribution, MessageBody, ModelUsage, NanoDollars, OperationId, ToolKey, ToolRunResult,
};
use jackline_runtime::drive::{Agent, Events, Ids, Probe, Report, Run, Runtime, StreamEvent, Told, VirtualClock};
use jackline_runtime::journal::{MemoryStore, PostedDecision, PostedVerdict, Store};
use jackline_runtime::llm::{
    BoxFuture, DeltaSink, Model, ModelFault, ModelFaultKind, ModelReply, ModelRequest, RecordedRequest, ReplyBuilder,
    ScriptedModel, Turn,
};
use jackline_runtime::machine::{Effect, EffectId, Machine, table::RowId};
use jackline_runtime::permission::ApprovalMode;
use jackline_runtime::planner::{GeneralPlanner, Planner};
use jackline_runtime::tokens::ByteBound;
use jackline_tools::{Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value, json};

/// A runtime and what a test may look at.
pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) store: MemoryStore,
    pub(crate) clock: VirtualClock,
    pub(crate) model: Arc<ScriptedModel>,
    watch: Arc<Watch>,
}

/// Builds a [`World`].
pub(crate) struct WorldBuilder {
    model: Arc<ScriptedModel>,
    models: BTreeMap<&'static str, Arc<dyn Model>>,
    tools: Vec<Arc<dyn Tool>>,
    store: MemoryStore,
    seen_store: Option<Arc<dyn Store>>,
    planner: Arc<dyn Planner>,
    acts: BTreeMap<String, Act>,
}

/// Something that happens just before an effect is performed.
type Act = Box<dyn FnOnce(&Runtime, &MemoryStore, &OperationId) + Send>;

/// A world whose model gives these turns.
pub(crate) fn world(turns: impl IntoIterator<Item = Turn>) -> WorldBuilder {
    WorldBuilder {
        model: Arc::new(ScriptedModel::new(turns)),
        models: BTreeMap::new(),
        tools: vec![Fake::says("echo", "echoed").into_tool()],
        store: MemoryStore::new(),
        seen_store: None,
        planner: Arc::new(GeneralPlanner),
        acts: BTreeMap::new(),
    }
}

impl WorldBuilder {
    /// Replaces the tools; without this there is `test/echo`.
    pub(crate) fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools = tools.into_iter().collect();
        self
    }

    /// Gives one agent a model of its own.
    pub(crate) fn model_of(mut self, agent: &'static str, model: impl Model + 'static) -> Self {
        self.models.insert(agent, Arc::new(model));
        self
    }

    /// Another store, or the same one as another process sees it.
    pub(crate) fn store(mut self, store: MemoryStore) -> Self {
        self.store = store;
        self
    }

    /// Puts something between the runtime and its store.
    pub(crate) fn through(mut self, store: Arc<dyn Store>) -> Self {
        self.seen_store = Some(store);
        self
    }

    pub(crate) fn planner(mut self, planner: impl Planner + 'static) -> Self {
        self.planner = Arc::new(planner);
        self
    }

    /// Does something just before the effect of this name is performed, once.
    pub(crate) fn at(
        mut self,
        effect: &str,
        act: impl FnOnce(&Runtime, &MemoryStore, &OperationId) + Send + 'static,
    ) -> Self {
        self.acts.insert(effect.to_owned(), Box::new(act));
        self
    }

    /// Stops the run just before the effect of this name is performed.
    pub(crate) fn stop_at(self, effect: &str) -> Self {
        self.at(effect, |runtime, _, operation| runtime.stop(operation).unwrap())
    }

    /// Kills the process just before the effect of this name is performed.
    pub(crate) fn kill_at(self, effect: &str) -> Self {
        self.at(effect, |_, store, _| store.kill())
    }

    pub(crate) fn build(self) -> World {
        let clock = VirtualClock::starting_at(START_MS);
        let watch = Arc::new(Watch { acts: Mutex::new(self.acts), store: self.store.clone(), ..Watch::default() });
        let mut builder = Runtime::builder()
            .model(Shared(Arc::clone(&self.model)))
            .tools(self.tools)
            .store(self.seen_store.unwrap_or_else(|| Arc::new(self.store.clone())))
            .clock(Arc::new(clock.clone()))
            .ids(Arc::new(Counted::default()))
            .planner(self.planner)
            .token_counter(|_| Arc::new(ByteBound))
            .probe(Arc::clone(&watch) as Arc<dyn Probe>);
        for (agent, model) in self.models {
            builder = builder.model_of(agent, model);
        }
        let runtime = builder.build().unwrap();
        assert!(watch.runtime.set(runtime.clone()).is_ok());
        World { runtime, store: self.store, clock, model: self.model, watch }
    }
}

impl World {
    /// Starts an operation with the prompt `go`.
    pub(crate) fn start(&self, agent: &Agent, hooks: impl Into<Hooks>) -> Run {
        self.runtime.start(agent, "go", hooks).unwrap()
    }

    /// Runs an agent until it rests, and listens.
    pub(crate) async fn run(&self, agent: &Agent) -> (Report, Vec<StreamEvent>) {
        self.run_with(agent, "go", Hooks::new()).await
    }

    /// Like [`run`](Self::run), with a prompt and hooks.
    pub(crate) async fn run_with(
        &self,
        agent: &Agent,
        prompt: &str,
        hooks: impl Into<Hooks>,
    ) -> (Report, Vec<StreamEvent>) {
        let mut events = self.runtime.events();
        let report = self.runtime.start(agent, prompt, hooks).unwrap().wait().await.unwrap();
        (report, drain(&mut events))
    }

    /// Resumes an operation until it rests, and listens.
    pub(crate) async fn resume(&self, id: &OperationId) -> (Report, Vec<StreamEvent>) {
        let mut events = self.runtime.events();
        let report = self.runtime.resume(id, Hooks::new()).unwrap().wait().await.unwrap();
        (report, drain(&mut events))
    }

    /// Decides about one call.
    pub(crate) fn decide(&self, id: &OperationId, call: &str, verdict: PostedVerdict) {
        self.runtime.decide(id, vec![PostedDecision { call: Some(call.into()), verdict }]).unwrap();
    }

    /// The requests that the model got.
    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.model.requests()
    }

    /// The effects that were performed, in order.
    pub(crate) fn effects(&self) -> Vec<String> {
        self.watch.effects.lock().unwrap().clone()
    }

    /// Whether an effect of this kind was performed.
    pub(crate) fn did(&self, verb: &str) -> bool {
        self.effects().iter().any(|effect| effect.contains(verb))
    }

    /// The rows of an operation in words, oldest first; folded ones behind a dash.
    pub(crate) fn rows(&self, id: &OperationId) -> Vec<String> {
        let rows = self.store.messages(id).unwrap();
        rows.iter().map(|row| format!("{}{}", if row.folded { "- " } else { "" }, words(&row.message.body))).collect()
    }
}

/// A message in a few words.
pub(crate) fn words(body: &MessageBody) -> String {
    match body {
        MessageBody::System { content } => format!("system: {}", content.text()),
        MessageBody::User { content } => format!("user: {}", content.text()),
        MessageBody::Assistant { content, tool_calls, .. } => {
            let calls: String =
                tool_calls.iter().map(|call| format!(" +{} {}", call.key.api_name, call.arguments)).collect();
            format!("assistant: {}{calls}", content.text())
        }
        MessageBody::Tool { content, success, .. } => format!("tool {}: {content}", if *success { "ok" } else { "no" }),
    }
}

/// The messages of a request in a few words.
pub(crate) fn asked(request: &RecordedRequest) -> Vec<String> {
    request.messages.iter().map(|message| words(&message.body)).collect()
}

/// Whether another process could take the operation over.
pub(crate) fn is_free(store: &MemoryStore, id: &OperationId) -> bool {
    let other = store.another_process();
    match other.claim(id) {
        Ok(fence) => other.release(id, fence).is_ok(),
        Err(_) => false,
    }
}

/// All that has been told and not read yet.
pub(crate) fn drain(events: &mut Events) -> Vec<StreamEvent> {
    let mut told = Vec::new();
    while let Some(event) = events.try_next() {
        told.push((*event).clone());
    }
    told
}

/// How many of the events are such.
pub(crate) fn count(events: &[StreamEvent], is_such: impl Fn(&Told) -> bool) -> usize {
    events.iter().filter(|event| is_such(&event.what)).count()
}

pub(crate) fn is_end(told: &Told) -> bool {
    matches!(told, Told::OperationEnd { .. })
}

/// An agent that may run everything.
pub(crate) fn agent() -> Agent {
    Agent::new("tester", "You test.").with_approval(ApprovalMode::AutoRun)
}

/// An agent that asks a person about everything.
pub(crate) fn careful() -> Agent {
    Agent::new("tester", "You test.").with_approval(ApprovalMode::Manual)
}

/// An agent whose history is soon too long: bytes are counted as tokens.
pub(crate) fn forgetful(window: u64) -> Agent {
    let mut agent = agent();
    agent.compression.window = Some(window);
    agent.compression.drift = 1.0;
    agent
}

/// An answer in words that used 100 tokens.
pub(crate) fn says(text: &str) -> Turn {
    Turn::Reply(ReplyBuilder::default().text(text).usage(usage()).build())
}

/// An answer that asks for calls of `test/…`: their ids, names and arguments.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Turn {
    Turn::Reply(asking(calls).build())
}

pub(crate) fn asking(calls: &[(&str, &str, &str)]) -> ReplyBuilder {
    calls.iter().fold(ReplyBuilder::default().usage(usage()), |reply, (id, name, arguments)| {
        reply.call(Some(id), format!("test____{name}"), *arguments)
    })
}

/// One call of `test/echo`.
pub(crate) fn echo(id: &str) -> Turn {
    calls(&[(id, "echo", "{}")])
}

pub(crate) fn usage() -> ModelUsage {
    ModelUsage { input_tokens: 90, output_tokens: 10, total_tokens: 100, cost: NanoDollars(1_000) }
}

/// A model call that fails, after this much of an answer.
pub(crate) fn fails(kind: ModelFaultKind, partial: &str) -> Turn {
    let fault = Fault {
        code: "provider_down".to_owned(),
        message: "the provider is down".to_owned(),
        attribution: FaultAttribution::Provider,
        detail: None,
    };
    Turn::Fault(ModelFault { kind, fault, retry_after: None, partial: partial.to_owned() })
}

/// A scripted model that a test keeps a hand on.
pub(crate) struct Shared(pub(crate) Arc<ScriptedModel>);

impl Model for Shared {
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

/// A tool that does one thing.
pub(crate) struct Fake {
    spec: ToolSpec,
    does: Does,
    ran_with: Arc<Mutex<Vec<Value>>>,
}

enum Does {
    Say(String),
    Hang,
    Later,
}

impl Fake {
    /// `test/{name}`, which answers this.
    pub(crate) fn says(name: &str, text: &str) -> Self {
        Self::new(name, Does::Say(text.to_owned()))
    }

    /// `test/{name}`, which never answers.
    pub(crate) fn hangs(name: &str) -> Self {
        Self::new(name, Does::Hang)
    }

    /// `test/{name}`, whose result comes from elsewhere.
    pub(crate) fn later(name: &str) -> Self {
        Self::new(name, Does::Later)
    }

    fn new(name: &str, does: Does) -> Self {
        let mut spec = ToolSpec::new(ToolKey::new("test", name), "Does what a test wants.");
        spec.simulated = true;
        spec.parameters = Arc::new(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
        Self { spec, does, ran_with: Arc::default() }
    }

    /// Changes the declaration.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// A person is asked about each call.
    pub(crate) fn asks(self) -> Self {
        self.with(|spec| spec.approval = Some(json!("always")))
    }

    /// The arguments of each run, as they come.
    pub(crate) fn ran_with(&self) -> Arc<Mutex<Vec<Value>>> {
        Arc::clone(&self.ran_with)
    }

    pub(crate) fn into_tool(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }
}

impl Tool for Fake {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _context: &'a ToolContext,
    ) -> jackline_tools::BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        self.ran_with.lock().unwrap().push(Value::Object(arguments));
        Box::pin(async move {
            match &self.does {
                Does::Say(text) => Ok(ToolRunResult::ok(text.as_str()).into()),
                Does::Hang => std::future::pending().await,
                Does::Later => Ok(ToolAnswer::Later),
            }
        })
    }
}

/// Ids that count; no chance.
#[derive(Default)]
struct Counted(AtomicU32);

impl Ids for Counted {
    fn operation(&self) -> OperationId {
        OperationId::from(format!("op{}", self.0.fetch_add(1, Ordering::Relaxed) + 1))
    }

    fn permille(&self) -> u16 {
        0
    }
}

/// Writes down effects, and lets accidents happen.
#[derive(Default)]
struct Watch {
    effects: Mutex<Vec<String>>,
    acts: Mutex<BTreeMap<String, Act>>,
    store: MemoryStore,
    runtime: OnceLock<Runtime>,
}

impl Probe for Watch {
    fn transition(&self, _row: RowId, _machine: &Machine) {}

    fn effect(&self, operation: &OperationId, id: EffectId, _effect: &Effect) {
        let name = id.to_string();
        self.effects.lock().unwrap().push(name.clone());
        let act = self.acts.lock().unwrap().remove(&name);
        if let (Some(act), Some(runtime)) = (act, self.runtime.get()) {
            act(runtime, &self.store, operation);
        }
    }
}

/// All events that hooks hear, and the hook that hears them.
pub(crate) fn listen() -> (Arc<Mutex<Vec<Event>>>, Hooks) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let hooks = Hooks::new().observe_all("ear", move |event: Event| {
        ear.lock().unwrap().push(event);
        std::future::ready(())
    });
    (heard, hooks.into())
}

/// How often hooks of this type were asked.
pub(crate) fn heard_of(heard: &Mutex<Vec<Event>>, kind: HookKind) -> usize {
    heard.lock().unwrap().iter().filter(|event| event.kind() == kind).count()
}

/// Lets the other tasks go on until something is so.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    for _ in 0..YIELDS_MAX {
        if is_so() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("what the test waits for does not happen");
}

/// More than any scripted run needs.
const YIELDS_MAX: usize = 10_000;

/// When a scripted world begins, in milliseconds since the epoch.
pub(crate) const START_MS: u64 = 1_000;
