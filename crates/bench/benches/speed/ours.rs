//! The runtime: everything on. A journal on disk, all sixteen hooks, deadlines, limits.

use std::path::Path;
use std::sync::Arc;

use jackline_hooks::{Decision, Hooks, MockAnswer};
use jackline_model::{SideEffect, Status, ToolKey, ToolRunResult};
use jackline_runtime::compress::ThresholdSettings;
use jackline_runtime::drive::{Agent, Runtime};
use jackline_runtime::llm::OpenAiModel;
use jackline_store_sqlite::{OpenOptions, SqliteStore};
use jackline_tools::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value};

use crate::Failed;
use crate::job::{INSTRUCTIONS, Job, MODEL, PROMPT, TOOL_API, TOOL_DESCRIPTION, TOOL_IDENTIFIER, parameters};

/// How much of the runtime is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All sixteen hooks.
    Everything,
    /// No hooks.
    NoHooks,
}

/// A runtime with the tool and a journal in this file, or in memory.
pub(crate) fn runtime(base_url: &str, job: &Job, store: Option<&Path>) -> Result<Runtime, Failed> {
    let model = OpenAiModel::builder().base_url(base_url).api_key("sk-bench").build()?;
    let mut builder =
        Runtime::builder().model(model).tools([Arc::new(Add::new(*job)) as Arc<dyn Tool>]).running_max(RUNNING_MAX);
    if let Some(path) = store {
        builder = builder.store(Arc::new(SqliteStore::open(path, &OpenOptions::default())?));
    }
    Ok(builder.build()?)
}

/// Does a job once, and gives the answer.
pub(crate) async fn run(runtime: &Runtime, extent: Extent) -> Result<String, Failed> {
    let mut agent = Agent::new("bench", INSTRUCTIONS).with_model(MODEL);
    // Folding the history is not part of the job: the bare loop does not do it either.
    agent.compression = ThresholdSettings { window: Some(WINDOW), ..ThresholdSettings::default() };
    let hooks = if extent == Extent::Everything { hooks() } else { Hooks::new() };
    let report = runtime.start(&agent, PROMPT, hooks)?.wait().await?;
    match (report.status, report.answer) {
        (Status::Done, Some(answer)) => Ok(answer),
        (status, answer) => Err(format!("the run ended {status:?}: {answer:?} {:?}", report.fault).into()),
    }
}

/// An observer of all sixteen events, and one hook of each other kind. None of them does anything.
pub(crate) fn hooks() -> Hooks {
    Hooks::new()
        .observe_all("observe", |_event| std::future::ready(()))
        .control_before_tool_call("before", |_event| std::future::ready(Decision::Allow))
        .mock_before_tool_call("mock", |_event| std::future::ready(MockAnswer::PassThrough))
        .control_after_tool_call("after", |_event| std::future::ready(Decision::Allow))
        .into()
}

/// Reads everything that a runtime tells, as an interface would, until it is dropped.
pub(crate) fn read(runtime: &Runtime) -> tokio::task::JoinHandle<()> {
    let mut events = runtime.events();
    tokio::spawn(async move {
        while let Some(event) = events.next().await {
            std::hint::black_box(&event);
        }
    })
}

struct Add {
    spec: ToolSpec,
    job: Job,
}

impl Add {
    fn new(job: Job) -> Self {
        let mut spec = ToolSpec::new(ToolKey::new(TOOL_IDENTIFIER, TOOL_API), TOOL_DESCRIPTION);
        spec.parameters = Arc::new(parameters());
        spec.side_effect = SideEffect::Pure;
        Self { spec, job }
    }
}

impl Tool for Add {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        let term = |name| arguments.get(name).and_then(Value::as_i64);
        let answer = match (term("a"), term("b")) {
            (Some(a), Some(b)) => Ok(ToolRunResult::ok(self.job.add(a, b)).into()),
            _ => Err(ToolError::new("two integers are needed")),
        };
        Box::pin(std::future::ready(answer))
    }
}

/// More than the longest job needs.
const WINDOW: u64 = 100_000_000;

/// All operations of the crowd at once.
const RUNNING_MAX: usize = 1_000;
