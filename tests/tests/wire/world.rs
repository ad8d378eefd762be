//! One run against the server, with tools that count and hooks that write everything down.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackline_hooks::{Event, HookKind, Hooks};
use jackline_model::{Reason, SideEffect, ToolKey, ToolRunResult};
use jackline_runtime::drive::{Agent, FnTool, Report, Run, Runtime, StreamEvent, Told, VirtualClock};
use jackline_runtime::journal::Store;
use jackline_runtime::llm::{OpenAiModel, OpenAiModelBuilder, StreamMode};
use jackline_tools::{Tool, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::server::{Answer, Server};
use crate::strict::refuses;

/// The longest that any test waits for something that should come at once.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Where a run takes place.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) clock: VirtualClock,
    pub(crate) seen: Arc<Seen>,
    client: OpenAiModelBuilder,
    agent: Agent,
    store: Option<Arc<dyn Store>>,
}

/// What tools and hooks were given.
#[derive(Default)]
pub(crate) struct Seen {
    bodies: Mutex<BTreeMap<String, Vec<Value>>>,
    events: Mutex<Vec<(HookKind, Value)>>,
}

/// A run that has ended.
pub(crate) struct Ended {
    pub(crate) report: Report,
    pub(crate) requests: Vec<Value>,
    pub(crate) told: Vec<Arc<StreamEvent>>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) store: Arc<dyn Store>,
}

impl World {
    /// A server that gives these case files in order and then, for a run that goes on, the answer `All done.`
    pub(crate) async fn of(cases: &[&str]) -> Self {
        let is_stream = cases.iter().any(|name| name.ends_with(".sse"));
        let end = if is_stream { "_final.sse" } else { "_final.json" };
        let world = Self::answering(cases.iter().chain([&end]).map(|name| Answer::case(name))).await;
        world.client(|client| client.stream(if is_stream { StreamMode::Always } else { StreamMode::Never }))
    }

    /// A server that gives these answers in order and then none.
    pub(crate) async fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let server = Server::start_refusing(answers, Some(refuses)).await;
        let client = OpenAiModel::builder().base_url(&server.url).api_key("sk-test");
        let agent = Agent::new("clerk", "You keep notes.").with_model("test-model");
        let clock = VirtualClock::starting_at(1_700_000_000_000);
        Self { server, clock, seen: Arc::default(), client, agent, store: None }
    }

    /// Other settings of the client.
    pub(crate) fn client(mut self, change: impl FnOnce(OpenAiModelBuilder) -> OpenAiModelBuilder) -> Self {
        self.client = change(self.client);
        self
    }

    /// A store that outlives the run.
    pub(crate) fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// The runtime, ready to start.
    pub(crate) fn runtime(&self) -> Runtime {
        let builder = Runtime::builder()
            .model(self.client.clone().build().unwrap())
            .tools(tools(&self.seen))
            .clock(Arc::new(self.clock.clone()));
        let builder = match &self.store {
            Some(store) => builder.store(Arc::clone(store)),
            None => builder,
        };
        builder.build().unwrap()
    }

    pub(crate) fn hooks(&self) -> Hooks {
        let seen = Arc::clone(&self.seen);
        Hooks::new()
            .observe_all("recorder", move |event: Event| {
                let payload = event.payload();
                seen.events.lock().unwrap().push((payload.kind(), payload.to_json()));
                ready(())
            })
            .into()
    }

    pub(crate) fn start(&self, runtime: &Runtime) -> Run {
        runtime.start(&self.agent, "Please do it.", self.hooks()).unwrap()
    }

    /// Runs to the end; every request is one that a strict provider takes.
    pub(crate) async fn run(self) -> Ended {
        let runtime = self.runtime();
        let whole = async {
            let mut events = runtime.events();
            let report = self.start(&runtime).wait().await.unwrap();
            let told = std::iter::from_fn(|| events.try_next()).collect();
            (report, told)
        };
        let (report, told) = tokio::time::timeout(SOON, self.clock.run(whole)).await.expect("the run ends soon");
        let requests = self.requests();
        Ended { report, requests, told, seen: self.seen, store: Arc::clone(runtime.store()) }
    }

    /// The bodies of the requests so far, each of which a strict provider takes.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let bodies: Vec<Value> = self.server.requests().into_iter().map(|request| request.body).collect();
        for body in &bodies {
            assert_eq!(refuses(body), None, "a strict provider refuses {body}");
        }
        bodies
    }
}

impl Seen {
    /// The arguments of each time that the body of a tool ran.
    pub(crate) fn runs(&self, tool: &str) -> Vec<Value> {
        self.bodies.lock().unwrap().get(tool).cloned().unwrap_or_default()
    }

    /// How many bodies ran.
    pub(crate) fn runs_of_all(&self) -> usize {
        self.bodies.lock().unwrap().values().map(Vec::len).sum()
    }

    /// The payloads of one type of event.
    pub(crate) fn events(&self, kind: HookKind) -> Vec<Value> {
        let events = self.events.lock().unwrap();
        events.iter().filter(|(found, _)| *found == kind).map(|(_, payload)| payload.clone()).collect()
    }

    fn note(&self, tool: &str, arguments: &Map<String, Value>) {
        let mut bodies = self.bodies.lock().unwrap();
        bodies.entry(tool.to_owned()).or_default().push(Value::Object(arguments.clone()));
    }
}

impl Ended {
    /// The run ended well, with this answer.
    pub(crate) fn assert_done(&self, answer: &str) {
        assert_eq!(self.report.reason, Some(Reason::Done), "{:?}", self.report);
        assert_eq!(self.report.answer.as_deref(), Some(answer));
        assert!(self.seen.events(HookKind::OnError).is_empty());
    }

    /// The run failed; its fault.
    pub(crate) fn assert_failed(&self) -> String {
        assert_eq!(self.report.reason, Some(Reason::Error), "{:?}", self.report);
        let message = self.report.fault.clone().expect("an error has a fault").message;
        let told = self.seen.events(HookKind::OnError);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["errorMessage"].as_str(), Some(message.as_str()));
        message
    }

    /// The messages with this role in one request.
    pub(crate) fn messages(&self, request: usize, role: &str) -> Vec<Value> {
        let messages = self.requests[request]["messages"].as_array().unwrap();
        messages.iter().filter(|message| message["role"] == role).cloned().collect()
    }

    /// The texts of the results in one request, in order.
    pub(crate) fn results(&self, request: usize) -> Vec<String> {
        let text = |message: Value| message["content"].as_str().unwrap().to_owned();
        self.messages(request, "tool").into_iter().map(text).collect()
    }

    /// The waits between tries, in milliseconds.
    pub(crate) fn waits(&self) -> Vec<u64> {
        let waits = self.told.iter().filter_map(|event| {
            let Told::ModelRetry { delay_ms, .. } = &event.what else { return None };
            Some(*delay_ms)
        });
        waits.collect()
    }

    /// All that is stored, as text.
    pub(crate) fn stored(&self) -> String {
        let operation = &self.report.operation;
        let messages = self.store.messages(operation).unwrap();
        let bodies = messages.iter().map(|stored| serde_json::to_string(&stored.message).unwrap());
        let records = self.store.records(operation).unwrap();
        for record in &records {
            assert!(serde_json::from_str::<Value>(record).is_ok(), "{record}");
        }
        records.into_iter().chain(bodies).collect::<Vec<_>>().join("\n")
    }
}

/// The tools that the case files name.
fn tools(seen: &Arc<Seen>) -> Vec<Arc<dyn Tool>> {
    let text = || json!({"text": {"type": "string"}});
    let list = json!({"type": "array", "items": {"type": "string"}});
    let number = || json!({"type": "number"});
    vec![
        tool(seen, "clock/now", &json!({}), "12:00"),
        tool(seen, "notes/add", &text(), "noted"),
        tool(seen, "notes/add_many", &json!({"items": list, "raw": {"type": "string"}}), "noted"),
        tool(seen, "files/read", &json!({"path": {"type": "string"}}), "old"),
        tool(seen, "files/write", &json!({"path": {"type": "string"}, "text": {"type": "string"}}), "written"),
        tool(seen, "weather/get", &json!({"city": {"type": "string"}}), "rain"),
        tool(seen, "text/grep", &json!({"re": {"type": "string"}}), "none"),
        tool(seen, "stats/mean", &json!({"x": number(), "y": number()}), "1"),
        slow_echo(seen),
    ]
}

fn tool(seen: &Arc<Seen>, name: &'static str, properties: &Value, answer: &'static str) -> Arc<dyn Tool> {
    let seen = Arc::clone(seen);
    Arc::new(FnTool::new(spec(name, properties), move |arguments: Map<String, Value>, _: ToolContext| {
        seen.note(name, &arguments);
        ready(Ok::<_, ToolError>(ToolRunResult::ok(answer)))
    }))
}

/// Answers 3 before 1 before 2, whatever the order of the calls.
fn slow_echo(seen: &Arc<Seen>) -> Arc<dyn Tool> {
    let seen = Arc::clone(seen);
    let ended = Arc::new(watch::Sender::new(0));
    let properties = json!({"ms": {"type": "integer"}, "text": {"type": "string"}});
    Arc::new(FnTool::new(spec("slow/echo", &properties), move |arguments: Map<String, Value>, _: ToolContext| {
        seen.note("slow/echo", &arguments);
        let ended = Arc::clone(&ended);
        async move {
            let text = arguments["text"].as_str().unwrap_or_default().to_owned();
            let before = ["3", "1", "2"].iter().position(|other| *other == text).unwrap_or_default();
            let mut others = ended.subscribe();
            others.wait_for(|count| *count >= before).await.map_err(|_| ToolError::new("nobody else is there"))?;
            ended.send_modify(|count| *count += 1);
            Ok::<_, ToolError>(ToolRunResult::ok(text))
        }
    }))
}

fn spec(name: &str, properties: &Value) -> ToolSpec {
    let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
    let mut spec = ToolSpec::new(ToolKey::parse(name), "A tool of the case log.");
    spec.parameters = Arc::new(json!({"type": "object", "properties": properties, "required": required}));
    spec.side_effect = SideEffect::Effect;
    spec
}
