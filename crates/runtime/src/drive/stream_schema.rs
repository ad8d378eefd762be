//! The format of the event stream, as a JSON Schema.

use jackline_hooks::HookKind;
use serde_json::{Map, Value, json};

use super::stream::EVENTS_VERSION;

/// The JSON Schema (draft 2020-12) of one line of the event stream: of [`StreamEvent`](super::StreamEvent)
/// in JSON, and of each line that `--json` prints.
///
/// Fields and types that a reader does not know may come without a new version; the schema lets
/// them pass, and so should readers.
///
/// ```
/// let schema = jackline_runtime::drive::events_schema();
/// assert_eq!(schema["properties"]["v"]["const"], jackline_runtime::drive::EVENTS_VERSION);
/// ```
pub fn events_schema() -> Value {
    let types: Vec<Value> = types().into_iter().map(|(name, fields)| of_type(name, &fields)).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "One event of a Jackline run",
        "type": "object",
        "properties": {
            "v": {"const": EVENTS_VERSION, "description": "The version of the format."},
            "at": {"type": "integer", "minimum": 0, "description": "Milliseconds since the Unix epoch."},
            "operation": {"type": "string", "description": "The operation: the run's own, or a sub-agent's."},
            "step": {"type": "integer", "minimum": 0, "description": "The step."},
            "type": {"type": "string", "description": "What happened."},
        },
        "required": ["v", "at", "operation", "step", "type"],
        "allOf": types,
        "$defs": defs(),
    })
}

/// A field: its name, its schema, and whether it is always there.
type Field = (&'static str, Value, bool);

fn of_type(name: &str, fields: &[Field]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema, _)| ((*name).to_owned(), schema.clone())).collect();
    let required: Vec<&str> = fields.iter().filter(|(_, _, required)| *required).map(|(name, ..)| *name).collect();
    json!({
        "if": {"properties": {"type": {"const": name}}},
        "then": {"properties": properties, "required": required},
    })
}

/// Every type of event with its fields.
fn types() -> Vec<(&'static str, Vec<Field>)> {
    let mut all = about_steps_and_models();
    all.extend(about_calls_and_people());
    all.extend(about_the_rest());
    all
}

fn about_steps_and_models() -> Vec<(&'static str, Vec<Field>)> {
    vec![
        (
            "operation_start",
            vec![must("agent", text()), must("parent", or_null(text())), must("resumed", json!({"type": "boolean"}))],
        ),
        ("step_start", vec![]),
        ("step_end", vec![must("status", named("status"))]),
        (
            "model_start",
            vec![must("model", text()), must("attempt", count()), must("withTools", json!({"type": "boolean"}))],
        ),
        ("text", vec![must("delta", text())]),
        ("reasoning", vec![must("delta", text())]),
        ("model_retry", vec![must("attempt", count()), must("delayMs", count()), must("error", text())]),
        (
            "model_end",
            vec![
                must("content", text()),
                must("calls", count()),
                must("usage", or_null(named("usage"))),
                may("finish", text()),
            ],
        ),
        ("model_error", vec![must("error", named("fault"))]),
    ]
}

fn about_calls_and_people() -> Vec<(&'static str, Vec<Field>)> {
    let call = || must("call", text());
    let tool = || must("tool", named("tool"));
    vec![
        ("tool_start", vec![call(), tool(), must("arguments", text()), must("index", count())]),
        (
            "tool_end",
            vec![
                call(),
                tool(),
                must("decision", named("decision")),
                must("result", named("result")),
                must("durationMs", count()),
            ],
        ),
        ("tool_parked", vec![call(), tool(), must("child", or_null(text()))]),
        (
            "approval_required",
            vec![
                must("approval", text()),
                must("calls", list(named("pendingCall"))),
                must("question", or_null(text())),
                must("expiresAt", or_null(count())),
            ],
        ),
        (
            "approval_decided",
            vec![
                must("action", json!({"enum": ["approve", "reject", "rejectAndContinue", "answer"]})),
                must("calls", list(text())),
                must("reason", or_null(text())),
            ],
        ),
    ]
}

fn about_the_rest() -> Vec<(&'static str, Vec<Field>)> {
    vec![
        ("compaction_start", vec![must("messages", count()), must("tokens", count())]),
        (
            "compaction_end",
            vec![must("messagesBefore", count()), must("messagesAfter", count()), must("error", or_null(text()))],
        ),
        ("hook", vec![must("hook", named("hook")), must("asked", list(named("receipt")))]),
        ("parked", vec![must("status", named("status"))]),
        (
            "operation_end",
            vec![
                must("status", named("status")),
                must("reason", named("reason")),
                must("answer", or_null(text())),
                must("error", or_null(named("fault"))),
                must("totals", named("totals")),
                must("resumable", json!({"type": "boolean"})),
            ],
        ),
        ("gap", vec![must("missed", count())]),
    ]
}

fn defs() -> Value {
    json!({
        "status": {"enum": [
            "idle", "running", "waiting_for_human", "waiting_for_async_tool", "interrupted", "done", "error",
        ]},
        "reason": {"enum": [
            "done", "error", "interrupted", "max_steps", "cost_limit", "token_limit", "tool_call_repeat_limit",
            "unresolved_tools", "context_overflow",
        ]},
        "hook": {"enum": HookKind::ALL.map(HookKind::as_str)},
        "tool": object(&[must("identifier", text()), must("apiName", text())]),
        "usage": object(&[
            must("inputTokens", count()), must("outputTokens", count()), must("totalTokens", count()),
            must("cost", nano_dollars()),
        ]),
        "totals": object(&[
            must("llmCalls", count()), must("toolCalls", count()), must("inputTokens", count()),
            must("outputTokens", count()), must("totalTokens", count()), must("cost", nano_dollars()),
        ]),
        "fault": object(&[
            must("code", text()), must("message", text()),
            must("attribution", json!({"enum": ["user", "provider", "harness", "system"]})),
            may("detail", json!({})),
        ]),
        "result": object(&[
            must("content", text()), must("success", json!({"type": "boolean"})), may("error", json!({})),
            may("state", json!({"type": "object"})), may("executionTime", count()),
            may("deviceExecutionTime", count()), may("stop", json!({"const": true})),
            may("workRegistration", json!({})),
        ]),
        "decision": {"oneOf": [
            decision("ran", &[]), decision("threw", &[]), decision("mocked", &[must("hook", text())]),
            decision("denied", &[
                must("hook", text()), must("after", json!({"type": "boolean"})),
                must("failure", json!({"type": "boolean"})),
            ]),
            decision("answered", &[]), decision("refused", &[]), decision("aborted", &[]),
        ]},
        "pendingCall": object(&[must("call", text()), must("tool", named("tool")), must("arguments", text())]),
        "receipt": object(&[
            must("id", text()),
            must("carrier", json!({"enum": ["native", "webhook", "command"]})),
            must("answer", json!({
                "enum": [
                    "ok", "allow", "keep", "deny", "notification", "started", "enqueued", "dropped", "mock", "error",
                    "panic", "timeout",
                ],
            })),
            may("inheritedFrom", text()),
            may("fault", text()),
            may("decidedBy", json!({"enum": ["policy", "failure"]})),
            must("micros", count()),
        ]),
    })
}

fn decision(by: &str, fields: &[Field]) -> Value {
    let mut all = vec![must("by", json!({"const": by}))];
    all.extend_from_slice(fields);
    object(&all)
}

fn object(fields: &[Field]) -> Value {
    let mut schema = json!({"type": "object"});
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema, _)| ((*name).to_owned(), schema.clone())).collect();
    schema["properties"] = Value::Object(properties);
    schema["required"] = fields.iter().filter(|(_, _, required)| *required).map(|(name, ..)| *name).collect();
    schema
}

fn must(name: &'static str, schema: Value) -> Field {
    (name, schema, true)
}

fn may(name: &'static str, schema: Value) -> Field {
    (name, schema, false)
}

fn text() -> Value {
    json!({"type": "string"})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn nano_dollars() -> Value {
    json!({"type": "integer", "description": "Billionths of a US dollar."})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn or_null(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

fn named(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

#[cfg(test)]
mod tests;
