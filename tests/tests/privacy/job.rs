//! The jobs: one call whose output must not get out, and all who would tell.

use std::sync::Arc;

use jackline_hooks::{AfterToolCallControl, Decision, Event, Hooks, OnError};
use jackline_model::{MessageBody, SideEffect, ToolKey, ToolRunResult};
use jackline_runtime::llm::{BoxFuture, DeltaSink, Model, ModelFault, ModelReply, ModelRequest, ReplyBuilder};
use jackline_tools::{Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value, json};

/// How the secret comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// In every field of a result.
    Result,
    /// All over a result that is longer than what a model sees of one.
    LongResult,
    /// In the text of a mock.
    Mock,
    /// In the error of a tool that breaks.
    Error,
    /// In an answer that is handed in later.
    Later,
    /// In an answer that is handed in when the run has been stopped.
    TooLate,
    /// In the text of a panic of the control that judges it.
    ControlPanics,
    /// In the text of a panic of the tool.
    ToolPanics,
}

/// What a process does.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each turns one thing on, whatever the others are")]
pub(crate) struct Job {
    pub(crate) case: Case,
    /// The control lets it pass.
    pub(crate) allow: bool,
    /// The control kills the process.
    pub(crate) kill: bool,
    /// Panics print their text.
    pub(crate) loud: bool,
    /// The tool may not run twice.
    pub(crate) effect: bool,
}

impl Job {
    pub(crate) fn new(case: Case) -> Self {
        Self { case, allow: false, kill: false, loud: false, effect: false }
    }

    pub(crate) fn to_text(self) -> String {
        let Self { case, allow, kill, loud, effect } = self;
        let number = CASES.iter().position(|known| *known == case).unwrap();
        json!([number, allow, kill, loud, effect]).to_string()
    }

    pub(crate) fn from_text(text: &str) -> Self {
        let (number, allow, kill, loud, effect): (usize, bool, bool, bool, bool) = serde_json::from_str(text).unwrap();
        Self { case: CASES[number], allow, kill, loud, effect }
    }
}

const CASES: [Case; 8] = [
    Case::Result,
    Case::LongResult,
    Case::Mock,
    Case::Error,
    Case::Later,
    Case::TooLate,
    Case::ControlPanics,
    Case::ToolPanics,
];

/// What the model reads in place of the secret.
pub(crate) const REASON: &str = "not for you";

/// Calls the tool, then tells what it has read.
pub(crate) struct Script;

impl Model for Script {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        _sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        println!("{request:?}");
        let mut results = request.history.entries().iter().filter_map(|entry| match &entry.message().body {
            MessageBody::Tool { content, .. } => Some(content.to_string()),
            MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Assistant { .. } => None,
        });
        let reply = match results.next_back() {
            Some(result) => ReplyBuilder::default().text(result),
            None => ReplyBuilder::default().call(Some("call_1"), "vault____read", "{}"),
        };
        Box::pin(std::future::ready(Ok(reply.build())))
    }
}

pub(crate) struct Vault {
    spec: ToolSpec,
    case: Case,
    secret: String,
}

impl Vault {
    pub(crate) fn new(job: Job, secret: &str) -> Self {
        let mut spec = ToolSpec::new(ToolKey::new("vault", "read"), "Reads the vault.");
        spec.side_effect = if job.effect { SideEffect::Effect } else { SideEffect::Pure };
        Self { spec, case: job.case, secret: secret.to_owned() }
    }
}

impl Tool for Vault {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        _arguments: Map<String, Value>,
        _context: &'a ToolContext,
    ) -> jackline_tools::BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async move {
            match self.case {
                Case::Result | Case::ControlPanics => Ok(everywhere(&self.secret).into()),
                Case::LongResult => Ok(ToolRunResult::ok(format!("{} ", self.secret).repeat(20_000)).into()),
                Case::Error => Err(ToolError::new(format!("no key for {}", self.secret))),
                Case::Later | Case::TooLate => Ok(ToolAnswer::Later),
                Case::ToolPanics => panic!("the vault holds {}", self.secret),
                Case::Mock => panic!("a mock stands in for the tool"),
            }
        })
    }
}

/// A result that holds the secret in every field that can.
pub(crate) fn everywhere(secret: &str) -> ToolRunResult {
    ToolRunResult {
        content: format!("the secret is {secret}"),
        success: true,
        error: Some(json!({"kind": secret})),
        state: Some(Map::from_iter([(secret.to_owned(), json!(secret))])),
        work_registration: Some(json!({"type": "skill", "args": secret})),
        ..ToolRunResult::default()
    }
}

pub(crate) fn hooks(job: Job, secret: &str) -> Hooks {
    let observers = Hooks::new().observe_all("all", |event: Event| {
        println!("{event:?}\n{}", event.to_json());
        async {}
    });
    let text = secret.to_owned();
    let judge = move |event: Arc<AfterToolCallControl>| {
        println!("{event:?}");
        if job.kill {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
        assert!(job.case != Case::ControlPanics, "it says {text}");
        let decision = if job.allow { Decision::Allow } else { Decision::deny(REASON) };
        std::future::ready(decision)
    };
    let hooks = observers.control_after_tool_call("judge", judge).on_error(OnError::Block);
    if job.case != Case::Mock {
        return hooks.into();
    }
    let mocked = everywhere(secret);
    hooks
        .mock_before_tool_call("mock", move |call| {
            println!("{call:?} {}", call.mock(mocked.clone()));
            async {}
        })
        .into()
}
