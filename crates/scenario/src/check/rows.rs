//! Messages and sub-agents.

use jackline_model::{Message, MessageBody, OperationId};
use jackline_runtime::journal::{Header, Store as _};
use serde_json::Value;

use super::diff::side_by_side;
use super::partial::mismatch;
use crate::format::{ExpectedMessage, ExpectedOperation};
use crate::run::{OPERATIONS_MAX, World};

pub(super) fn check(world: &World, problems: &mut Vec<String>) {
    let expect = &world.script.expect;
    let root = world.story().root.clone();
    if let (Some(wanted), Some(root)) = (&expect.messages, &root) {
        check_messages("expect.messages", wanted, &visible(world, root), problems);
    }
    if expect.operations.is_empty() {
        return;
    }
    let mut headers = world.store.list(OPERATIONS_MAX).unwrap_or_default();
    headers.reverse();
    let children: Vec<Header> = headers.into_iter().filter(|header| Some(&header.id) != root.as_ref()).collect();
    let wanted: Vec<String> = expect.operations.iter().map(|operation| operation.agent.clone()).collect();
    let real: Vec<String> = children.iter().map(|header| header.agent.to_string()).collect();
    if wanted != real {
        problems.push(format!("`expect.operations`:\n{}", side_by_side(&wanted, &real)));
        return;
    }
    for (wanted, header) in expect.operations.iter().zip(&children) {
        check_operation(world, wanted, header, problems);
    }
}

fn check_operation(world: &World, wanted: &ExpectedOperation, header: &Header, problems: &mut Vec<String>) {
    let key = format!("expect.operations ({})", wanted.agent);
    let summary = &header.summary;
    if wanted.status.is_some_and(|status| status != summary.status) {
        problems.push(format!("`{key}`: it stands at {}", summary.status));
    }
    if wanted.reason.is_some() && wanted.reason != summary.reason {
        problems.push(format!("`{key}`: it ended with {:?}", summary.reason));
    }
    if let Some(messages) = &wanted.messages {
        check_messages(&key, messages, &visible(world, &header.id), problems);
    }
}

/// The messages that a model would see next, in their places.
fn visible(world: &World, operation: &OperationId) -> Vec<Message> {
    let mut stored = world.store.messages(operation).unwrap_or_default();
    stored.sort_by_key(|stored| stored.place);
    stored.into_iter().filter(|stored| !stored.folded).map(|stored| stored.message).collect()
}

fn check_messages(key: &str, wanted: &[ExpectedMessage], real: &[Message], problems: &mut Vec<String>) {
    let roles: Vec<String> =
        wanted.iter().map(|message| line(message.role.role().as_str(), message.call.as_deref())).collect();
    let real_roles: Vec<String> = real
        .iter()
        .zip(wanted.iter().map(Some).chain(std::iter::repeat(None)))
        .map(|(message, wanted)| {
            let call = facts(message).call.filter(|_| wanted.is_some_and(|wanted| wanted.call.is_some()));
            line(message.role().as_str(), call.as_deref())
        })
        .collect();
    if roles != real_roles {
        let texts: Vec<String> = real.iter().map(|message| format!("\n  {:?}", message.body)).collect();
        problems.push(format!("`{key}`:\n{}  the messages are:{}", side_by_side(&roles, &real_roles), texts.concat()));
        return;
    }
    for (at, (wanted, message)) in wanted.iter().zip(real).enumerate() {
        if let Some(problem) = check_message(wanted, &facts(message)) {
            problems.push(format!("`{key}[{at}]` ({}): {problem}", message.role().as_str()));
        }
    }
}

fn line(role: &str, call: Option<&str>) -> String {
    match call {
        Some(call) => format!("{role} {call}"),
        None => role.to_owned(),
    }
}

/// What can be expected of a message.
struct Facts {
    text: String,
    calls: Vec<String>,
    call: Option<String>,
    success: Option<bool>,
    error: Option<Value>,
    state: Option<Value>,
}

fn facts(message: &Message) -> Facts {
    let plain = |text: String| Facts { text, calls: Vec::new(), call: None, success: None, error: None, state: None };
    match &message.body {
        MessageBody::System { content } | MessageBody::User { content } => plain(content.text()),
        MessageBody::Assistant { content, tool_calls, .. } => {
            Facts { calls: tool_calls.iter().map(|call| call.id.to_string()).collect(), ..plain(content.text()) }
        }
        MessageBody::Tool { call_id, content, success, error, state, .. } => Facts {
            call: Some(call_id.to_string()),
            success: Some(*success),
            error: error.clone(),
            state: state.clone(),
            ..plain(content.to_string())
        },
    }
}

fn check_message(wanted: &ExpectedMessage, real: &Facts) -> Option<String> {
    if let Some(text) = wanted.text.as_ref().filter(|text| **text != real.text) {
        return Some(format!("the text must be {text:?} and is {:?}", real.text));
    }
    if let Some(part) = wanted.contains.0.iter().find(|part| !real.text.contains(part.as_str())) {
        return Some(format!("the text must contain {part:?} and is {:?}", real.text));
    }
    if let Some(calls) = wanted.calls.as_ref().filter(|calls| **calls != real.calls) {
        return Some(format!("the calls must be {calls:?} and are {:?}", real.calls));
    }
    if wanted.success.is_some() && wanted.success != real.success {
        return Some(format!("whether it is a success: {:?}; its text is {:?}", real.success, real.text));
    }
    let fields = [("error", &wanted.error, &real.error), ("state", &wanted.state, &real.state)];
    fields.into_iter().find_map(|(name, wanted, real)| {
        let real = real.clone().unwrap_or_default();
        mismatch(wanted.as_ref()?, &real).map(|problem| format!("`{name}`{problem}"))
    })
}
