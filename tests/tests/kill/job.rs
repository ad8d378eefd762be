//! The job: parallel tools of every side effect, an approval, a compression, a sub-agent.

use std::sync::Arc;

use jackline_hooks::{Decision, Event, Hooks};
use jackline_model::{Content, MessageBody, SideEffect, ToolKey, ToolRunResult};
use jackline_runtime::compress::ThresholdSettings;
use jackline_runtime::drive::Agent;
use jackline_runtime::llm::{BoxFuture, DeltaSink, FinishReason, Model, ModelFault, ModelReply, ModelRequest, RawCall};
use jackline_tools::{Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value, json};

use crate::child::Log;

pub(crate) fn agent() -> Agent {
    let mut helper = Agent::new("helper", "You help.");
    helper.tools = Some(vec!["work/read".to_owned()]);
    let mut agent = Agent::new("root", "You do the job.").with_agent(helper);
    // Each byte counts as a token: the tools take a thousand, the results of the first turn make it too long.
    agent.compression = ThresholdSettings { window: Some(6_000), ..ThresholdSettings::default() };
    agent
}

/// Answers by what the conversation holds, so that asking again gives the same answer.
pub(crate) struct Script;

impl Model for Script {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        _sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        let seen: String = request.history.entries().iter().map(|entry| said(&entry.message().body)).collect();
        let reply = match request.agent {
            "helper" if seen.contains("work/read") => says("The helper has read it.", &[]),
            "helper" => says("", &[("read", r#"{"what":"h"}"#)]),
            _ if seen.contains("[user]") || seen.contains("result of") => {
                says(&format!("Summary: {}", marks(&seen)), &[])
            }
            _ => root(&seen),
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

fn root(seen: &str) -> ModelReply {
    let asks_agent = r#"{"agentId":"helper","instruction":"Read it."}"#;
    if !seen.contains("work/note") {
        return says(
            "First three at once.",
            &[("note", r#"{"what":"a"}"#), ("read", r#"{"what":"b"}"#), ("put", r#"{"what":"c"}"#)],
        );
    }
    if !seen.contains("work/danger") {
        return says("Now the dangerous one.", &[("danger", r#"{"what":"d"}"#)]);
    }
    if !seen.contains("agent/callAgent") {
        return says("Now the helper.", &[("agent", asks_agent)]);
    }
    says("All done.", &[])
}

fn said(body: &MessageBody) -> String {
    match body {
        MessageBody::System { content } | MessageBody::User { content } => content.text(),
        MessageBody::Assistant { .. } => String::new(),
        MessageBody::Tool { key, .. } => key.to_string(),
    }
}

fn marks(seen: &str) -> String {
    let all = ["work/note", "work/read", "work/put", "work/danger", "agent/callAgent"];
    all.into_iter().filter(|mark| seen.contains(mark)).collect::<Vec<_>>().join(" ")
}

fn says(text: &str, calls: &[(&str, &str)]) -> ModelReply {
    let raw = |(name, arguments): &(&str, &str)| RawCall {
        id: Some(format!("call_{name}")),
        name: if *name == "agent" { "agent____callAgent".to_owned() } else { format!("work____{name}") },
        arguments: (*arguments).to_owned(),
    };
    ModelReply {
        content: Content::from(text),
        reasoning: None,
        refusal: None,
        calls: calls.iter().map(raw).collect(),
        finish: if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls },
        finish_raw: None,
        usage: None,
        salvaged_from_reasoning: false,
    }
}

pub(crate) fn tools(log: &Log) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &str, side_effect: SideEffect, approval: Option<&str>| -> Arc<dyn Tool> {
        let mut spec = ToolSpec::new(ToolKey::new("work", name), "Works.");
        spec.parameters = Arc::new(json!({"type": "object", "properties": {"what": {"type": "string"}}}));
        spec.side_effect = side_effect;
        spec.approval = approval.map(Value::from);
        Arc::new(Work { spec, log: log.clone() })
    };
    vec![
        tool("note", SideEffect::Effect, None),
        tool("read", SideEffect::Pure, None),
        tool("put", SideEffect::Idempotent, None),
        tool("danger", SideEffect::Idempotent, Some("required")),
    ]
}

struct Work {
    spec: ToolSpec,
    log: Log,
}

impl Tool for Work {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a ToolContext,
    ) -> jackline_tools::BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        self.log.add(&format!("ran {} {}", self.spec.key, context.idempotency_key));
        let what = arguments.get("what").and_then(Value::as_str).unwrap_or_default();
        // Long enough that the history must be folded once.
        let text = format!("{} {what} {}", self.spec.key.api_name, "word ".repeat(150));
        Box::pin(std::future::ready(Ok(ToolRunResult::ok(text).into())))
    }
}

pub(crate) fn hooks(log: &Log) -> Hooks {
    let (observed, before, after) = (log.clone(), log.clone(), log.clone());
    Hooks::new()
        .control_before_tool_call("before", move |_event| {
            before.add("hook control-before");
            async { Decision::Allow }
        })
        .control_after_tool_call("after", move |_event| {
            after.add("hook control-after");
            async { Decision::Allow }
        })
        .observe_all("all", move |event: Event| {
            observed.add(&format!("hook {}", event.kind()));
            async {}
        })
        .into()
}
