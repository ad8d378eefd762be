//! A model that answers from a list, a tool that says what it is told, and the events of a run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use jackline_hooks::{Event, HookKind, Hooks};
use jackline_model::{Content, ToolKey, ToolRunResult};
use jackline_runtime::drive::{Agent, Runtime, RuntimeBuilder, VirtualClock};
use jackline_runtime::llm::{BoxFuture, DeltaSink, FinishReason, Model, ModelFault, ModelReply, ModelRequest, RawCall};
use jackline_runtime::permission::ApprovalMode;
use jackline_tools::{Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value};

/// Answers from a list; when it is at its end, not at all.
#[derive(Clone)]
pub(crate) struct Turns(Arc<Mutex<VecDeque<Result<ModelReply, ModelFault>>>>);

impl Turns {
    pub(crate) fn new(turns: impl IntoIterator<Item = ModelReply>) -> Self {
        Self(Arc::new(Mutex::new(turns.into_iter().map(Ok).collect())))
    }

    /// A model that fails once.
    pub(crate) fn failing(fault: ModelFault) -> Self {
        Self(Arc::new(Mutex::new([Err(fault)].into())))
    }

    /// How many turns nobody has asked for.
    pub(crate) fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Model for Turns {
    fn call<'a>(
        &'a self,
        _request: ModelRequest<'a>,
        _sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        match self.0.lock().unwrap().pop_front() {
            Some(turn) => Box::pin(std::future::ready(turn)),
            None => Box::pin(std::future::pending()),
        }
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

/// An answer with these calls: the name on the wire and the arguments of each.
pub(crate) fn says(content: impl Into<Content>, calls: &[(&str, &str)]) -> ModelReply {
    let call = |(index, (name, arguments)): (usize, &(&str, &str))| RawCall {
        id: Some(format!("call_{index}")),
        name: (*name).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    ModelReply {
        content: content.into(),
        reasoning: None,
        refusal: None,
        calls: calls.iter().enumerate().map(call).collect(),
        finish: if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls },
        finish_raw: None,
        usage: None,
        salvaged_from_reasoning: false,
    }
}

/// A tool with one result.
pub(crate) struct Fixed {
    spec: ToolSpec,
    result: ToolRunResult,
}

impl Fixed {
    pub(crate) fn new(result: ToolRunResult) -> Self {
        let mut spec = ToolSpec::new(ToolKey::new("test", "tell"), "Tells.");
        spec.simulated = true;
        Self { spec, result }
    }
}

impl Tool for Fixed {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        _arguments: Map<String, Value>,
        _context: &'a ToolContext,
    ) -> jackline_tools::BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(std::future::ready(Ok(self.result.clone().into())))
    }
}

pub(crate) fn builder(turns: &Turns) -> RuntimeBuilder {
    Runtime::builder().model(turns.clone()).clock(Arc::new(VirtualClock::starting_at(1_000)))
}

pub(crate) fn agent() -> Agent {
    Agent::new("tester", "You test.").with_approval(ApprovalMode::AutoRun)
}

/// The events of a run, as JSON.
#[derive(Clone, Default)]
pub(crate) struct Heard(Arc<Mutex<Vec<(HookKind, Value)>>>);

impl Heard {
    /// Hooks that hear everything.
    pub(crate) fn hooks(&self) -> Hooks {
        let heard = Arc::clone(&self.0);
        let observing = Hooks::new().observe_all("all", move |event: Event| {
            heard.lock().unwrap().push((event.kind(), event.to_json()));
            std::future::ready(())
        });
        observing.into()
    }

    pub(crate) fn of(&self, kind: HookKind) -> Vec<Value> {
        let heard = self.0.lock().unwrap();
        heard.iter().filter(|(of, _)| *of == kind).map(|(_, event)| event.clone()).collect()
    }
}
