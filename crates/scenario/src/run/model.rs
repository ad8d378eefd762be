//! The scripted model.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use jackline_model::{Content, FaultAttribution, MessageBody, ModelUsage, NanoDollars, Part, ToolKey};
use jackline_runtime::llm::{
    BoxFuture, Delta, DeltaSink, FinishReason, Model, ModelFault, ModelFaultKind, ModelReply, ModelRequest, RawCall,
};
use jackline_tools::WireNames;
use jackline_tools::arguments::replayable;
use serde_json::Value;

use super::world::World;
use crate::format::{CallScript, Fault, FaultKind, Finish, Reply, RequestExpectation, Turn, TurnWhat, UsageScript};

/// Answers from the script.
pub(crate) struct ScriptedModel(pub(crate) Arc<World>);

impl Model for ScriptedModel {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        let world = Arc::clone(&self.0);
        if world.story().is_dead {
            return Box::pin(std::future::pending());
        }
        let turn = next_turn(&world, &request);
        Box::pin(async move {
            let turn = turn.map_err(|fault| *fault)?;
            world.wait(turn.delay_ms).await;
            world.while_alive().await;
            match turn.what {
                TurnWhat::Reply(reply) => Ok(answer(&world, *reply, sink)),
                TurnWhat::Fault(fault) => Err(model_fault(fault)),
                TurnWhat::Hang => std::future::pending().await,
            }
        })
    }

    fn is_simulated(&self) -> bool {
        true
    }
}

fn next_turn(world: &World, request: &ModelRequest<'_>) -> Result<Turn, Box<ModelFault>> {
    let mut story = world.story();
    story.activity += 1;
    let turns = story.turns.entry(request.agent.to_owned()).or_default();
    let Some(turn) = turns.pop_front() else {
        let text = format!("`turns`: the model of agent `{}` was asked once more than there are turns", request.agent);
        story.problems.push(text.clone());
        let fault = Fault {
            kind: FaultKind::Permanent,
            message: text,
            code: Some("no_turn".to_owned()),
            retry_after_ms: None,
            partial: String::new(),
        };
        return Err(Box::new(model_fault(fault)));
    };
    let left = turns.len();
    let named = if request.agent == world.script.agent.name {
        "`turns`".to_owned()
    } else {
        format!("`turns_of.{}`", request.agent)
    };
    let problems = mismatches(request, &turn.expect);
    story
        .problems
        .extend(problems.into_iter().map(|problem| format!("{named}, {left} turns before the end: {problem}")));
    Ok(turn)
}

/// What is not as expected of a request.
fn mismatches(request: &ModelRequest<'_>, expected: &RequestExpectation) -> Vec<String> {
    let entries = request.history.entries();
    let text = request_text(request);
    let mut problems = Vec::new();
    for part in expected.contains.0.iter().filter(|part| !text.contains(part.as_str())) {
        problems.push(format!("the request must contain {part:?} and is\n{text}"));
    }
    for part in expected.lacks.0.iter().filter(|part| text.contains(part.as_str())) {
        problems.push(format!("the request must not contain {part:?} and is\n{text}"));
    }
    if let Some(tools) = &expected.tools {
        let names = WireNames::new(tools.iter().map(|tool| ToolKey::parse(tool)));
        let wire = |tool: &String| names.name(&ToolKey::parse(tool)).unwrap_or_default().to_owned();
        let mut wanted: Vec<String> = tools.iter().map(wire).collect();
        wanted.sort();
        let mut offered: Vec<String> = request.tools.tools().iter().map(|tool| tool.wire_name.to_string()).collect();
        offered.sort();
        if wanted != offered {
            problems.push(format!("the request must offer the tools {wanted:?} and offers {offered:?}"));
        }
    }
    let last = entries.last().map(|entry| entry.message().role());
    if let Some(role) = expected.last.filter(|role| Some(role.role()) != last) {
        problems.push(format!("the last message must be of the {role:?} and is of {last:?}"));
    }
    if let Some(count) = expected.messages.filter(|count| *count != entries.len()) {
        problems.push(format!("the request must have {count} messages and has {}:\n{text}", entries.len()));
    }
    let is_summary = entries.first().is_some_and(|entry| entry.message().id.as_str() == "summary-instructions");
    if expected.summary.is_some_and(|wanted| wanted != is_summary) {
        problems.push(format!("whether the request asks for a summary: {is_summary}"));
    }
    if let Some(part) = &expected.instruction
        && !request.instruction.is_some_and(|line| line.contains(part.as_str()))
    {
        problems.push(format!("the instruction must contain {part:?} and is {:?}", request.instruction));
    }
    problems
}

/// The messages as text, a line each; arguments as they would go back to a provider.
fn request_text(request: &ModelRequest<'_>) -> String {
    let mut text = String::new();
    for entry in request.history.entries() {
        let message = entry.message();
        let _ = write!(text, "{}: ", message.role().as_str());
        match &message.body {
            MessageBody::System { content } | MessageBody::User { content } => text += &content.text(),
            MessageBody::Assistant { content, tool_calls, .. } => {
                text += &content.text();
                for call in tool_calls {
                    let _ = write!(text, " [{} {} {}]", call.id, call.key, replayable(&call.arguments));
                }
            }
            MessageBody::Tool { call_id, content, .. } => {
                let _ = write!(text, "[{call_id}] {content}");
            }
        }
        text.push('\n');
    }
    text
}

fn answer(world: &World, reply: Reply, sink: &mut dyn DeltaSink) -> ModelReply {
    if sink.wants_deltas() {
        if let Some(thought) = &reply.reasoning {
            sink.delta(Delta::Reasoning(thought));
        }
        if !reply.text.0.is_empty() {
            sink.delta(Delta::Text(&reply.text.0));
        }
    }
    let calls: Vec<RawCall> = reply.calls.into_iter().map(|call| raw_call(world, call)).collect();
    let usual = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    ModelReply {
        content: content(reply.text.0, reply.images),
        reasoning: reply.reasoning.map(Into::into),
        refusal: None,
        calls,
        finish: reply.finish.map_or(usual, finish),
        finish_raw: None,
        usage: reply.usage.map(usage),
        salvaged_from_reasoning: false,
    }
}

fn content(text: String, images: Vec<String>) -> Content {
    if images.is_empty() {
        return Content::from(text);
    }
    let said = (!text.is_empty()).then_some(Part::Text { text });
    Content::Parts(said.into_iter().chain(images.into_iter().map(|url| Part::Image { url })).collect())
}

fn raw_call(world: &World, call: CallScript) -> RawCall {
    let mut story = world.story();
    story.calls_named += 1;
    let id = call.id.unwrap_or_else(|| format!("call_{}", story.calls_named));
    let name = match (call.tool, call.name) {
        (_, Some(name)) => name,
        (Some(tool), None) => {
            let key = ToolKey::parse(&tool);
            WireNames::new([key.clone()]).name(&key).unwrap_or_default().to_owned()
        }
        (None, None) => {
            story.problems.push("`turns`: a call needs `tool` or `name`".to_owned());
            String::new()
        }
    };
    let arguments = match call.arguments {
        Value::String(text) => text,
        value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            value.to_string()
        }
    };
    RawCall { id: (!id.is_empty()).then_some(id), name, arguments }
}

fn finish(finish: Finish) -> FinishReason {
    match finish {
        Finish::Stop => FinishReason::Stop,
        Finish::ToolCalls => FinishReason::ToolCalls,
        Finish::Length => FinishReason::Length,
        Finish::ContentFilter => FinishReason::ContentFilter,
        Finish::Abort => FinishReason::Abort,
    }
}

fn usage(usage: UsageScript) -> ModelUsage {
    ModelUsage {
        input_tokens: usage.input,
        output_tokens: usage.output,
        total_tokens: usage.total.unwrap_or(usage.input + usage.output),
        cost: NanoDollars::from_dollars(usage.cost),
    }
}

fn model_fault(fault: Fault) -> ModelFault {
    ModelFault {
        kind: match fault.kind {
            FaultKind::Retryable => ModelFaultKind::Retryable,
            FaultKind::Overflow => ModelFaultKind::ContextOverflow,
            FaultKind::Permanent => ModelFaultKind::Permanent,
        },
        fault: jackline_model::Fault {
            code: fault.code.unwrap_or_else(|| "model_failed".to_owned()),
            message: fault.message,
            attribution: FaultAttribution::Provider,
            detail: None,
        },
        retry_after: fault.retry_after_ms.map(Duration::from_millis),
        partial: fault.partial,
    }
}
