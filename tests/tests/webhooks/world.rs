//! A run whose hooks are webhooks, with tools that count.

use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackline_hooks::transport::{HttpCarrier, HttpSettings, TokioSpawn};
use jackline_hooks::{Carriers, HookKind, Hooks, ProcessEnvironment, WebhookConfig};
use jackline_model::{MessageBody, ToolKey, ToolRunResult};
use jackline_runtime::drive::{Agent, FnTool, Report, Run, RunError, Runtime};
use jackline_runtime::llm::{ReplyBuilder, ScriptedModel, Turn};
use jackline_tools::{Tool, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

/// The longest that any test waits for something that should come at once.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// How often each tool ran.
pub(crate) type Runs = Arc<Mutex<BTreeMap<String, usize>>>;

/// A run that has ended.
pub(crate) struct Ended {
    pub(crate) report: Result<Report, RunError>,
    /// Of each call: its id, the text that the model reads, its error.
    pub(crate) results: Vec<(String, String, Option<Value>)>,
    runs: Runs,
}

impl Ended {
    /// How often a tool ran.
    pub(crate) fn runs(&self, tool: &str) -> usize {
        self.runs.lock().unwrap().get(tool).copied().unwrap_or_default()
    }

    /// The texts that the model reads, in order.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.results.iter().map(|(_, text, _)| text.as_str()).collect()
    }
}

/// Where a run takes place.
pub(crate) struct World {
    pub(crate) runtime: Runtime,
    runs: Runs,
}

impl World {
    /// A model that asks for these calls in one turn and then is done.
    pub(crate) fn calling(calls: &[&str]) -> Self {
        Self::of([asks_for(calls), Turn::text("done")])
    }

    pub(crate) fn of(turns: impl IntoIterator<Item = Turn>) -> Self {
        let runs = Runs::default();
        let http = HttpCarrier::new(Arc::new(ProcessEnvironment), HttpSettings::default()).unwrap();
        let spawn = TokioSpawn::new(tokio::runtime::Handle::current());
        let carriers = Carriers { webhook: Some(Arc::new(http)), spawn: Some(Arc::new(spawn)), command: None };
        let builder = Runtime::builder().model(ScriptedModel::new(turns)).carriers(carriers);
        let runtime = TOOLS.into_iter().fold(builder, |builder, name| builder.tool(tool(name, &runs)));
        Self { runtime: runtime.build().unwrap(), runs }
    }

    pub(crate) fn start(&self, hooks: impl Into<Hooks>) -> Run {
        self.runtime.start(&Agent::new("clerk", "You do as you are told."), "Please do it.", hooks).unwrap()
    }

    pub(crate) async fn run(&self, hooks: impl Into<Hooks>) -> Ended {
        self.end(&self.start(hooks)).await
    }

    pub(crate) async fn end(&self, run: &Run) -> Ended {
        let report = tokio::time::timeout(SOON, run.wait()).await.expect("the run ends soon");
        let messages = self.runtime.store().messages(run.id()).unwrap().into_iter();
        let results = messages.filter_map(|stored| {
            let MessageBody::Tool { call_id, content, error, .. } = stored.message.body else { return None };
            Some((call_id.to_string(), content.to_string(), error))
        });
        Ended { report, results: results.collect(), runs: Arc::clone(&self.runs) }
    }
}

/// A turn that asks for calls of these tools, all with the same arguments.
pub(crate) fn asks_for(calls: &[&str]) -> Turn {
    let reply = calls
        .iter()
        .fold(ReplyBuilder::default(), |reply, name| reply.call(None, name.replace('/', "____"), r#"{"path":"a"}"#));
    Turn::Reply(reply.build())
}

/// One hook.
pub(crate) fn on(kind: HookKind, config: Value) -> Hooks {
    Hooks::new().webhook("hook", kind, WebhookConfig::from_json(&config).unwrap()).into()
}

/// A tool that counts its runs. `bad/throws` throws, `bad/fails` says that it failed.
fn tool(name: &'static str, runs: &Runs) -> impl Tool + 'static {
    let runs = Arc::clone(runs);
    let spec = ToolSpec::new(ToolKey::parse(name), "Does what its name says.");
    FnTool::new(spec, move |_: Map<String, Value>, _: ToolContext| {
        *runs.lock().unwrap().entry(name.to_owned()).or_default() += 1;
        ready(match name {
            "bad/throws" => Err(ToolError::new("the disk is gone")),
            "bad/fails" => Ok(ToolRunResult::failed("there is no such file")),
            _ => Ok(ToolRunResult::ok(format!("{name} ran"))),
        })
    })
}

const TOOLS: [&str; 7] =
    ["bank/pay", "bad/throws", "bad/fails", "fs/readFile", "myfs/readFile", "fs/readFileSync", "net/get"];

/// A file of the case log.
pub(crate) fn case(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/inputs").join(name)).unwrap()
}

/// A log that is kept.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Keeps what this thread logs until the guard is dropped.
    pub(crate) fn start() -> (Self, impl Sized) {
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(log.clone()).finish();
        (log, subscriber.set_default())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
