use std::sync::Arc;

use jackline_model::{
    ApprovalId, Fault, FaultAttribution, ModelUsage, OperationId, Reason, Status, ToolCallId, ToolKey, ToolRunResult,
    Totals,
};
use jsonschema::Validator;

use super::*;
use crate::drive::{Decided, HookReceipt, PendingCallView, StreamEvent, Told};

#[test]
fn every_type_of_event_fits_the_schema_and_has_no_field_that_the_schema_does_not_know() {
    let schema = closed(events_schema());
    let mut seen = [false; 20];
    for told in samples() {
        seen[number(&told)] = true;
        let event = event(told);
        let json: Value = serde_json::from_str(&event.to_json()).unwrap();
        let problems: Vec<String> = schema.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{json}: {problems:?}");
        assert_eq!(serde_json::from_value::<StreamEvent>(json).unwrap(), event);
    }
    assert_eq!(seen, [true; 20], "every type has a sample");
}

#[test]
fn an_event_that_lacks_a_field_or_has_an_unknown_word_is_refused() {
    let schema = jsonschema::validator_for(&events_schema()).unwrap();
    let whole = serde_json::to_value(event(Told::Parked { status: Status::WaitingForHuman })).unwrap();
    assert!(schema.is_valid(&whole));
    for (field, value) in [("status", None), ("status", Some("asleep")), ("v", None), ("type", None)] {
        let mut broken = whole.clone();
        match value {
            Some(value) => broken[field] = Value::from(value),
            None => drop(broken.as_object_mut().unwrap().remove(field)),
        }
        assert!(!schema.is_valid(&broken), "{broken}");
    }
}

#[test]
fn what_a_later_version_adds_passes() {
    let schema = jsonschema::validator_for(&events_schema()).unwrap();
    let mut added = serde_json::to_value(event(Told::StepStart)).unwrap();
    added["weather"] = Value::from("fair");
    assert!(schema.is_valid(&added));
    added["type"] = Value::from("tide_turned");
    assert!(schema.is_valid(&added));
}

fn event(what: Told) -> StreamEvent {
    StreamEvent { v: EVENTS_VERSION, at: 1, operation: OperationId::from("op"), step: 2, what }
}

/// The schema that lets nothing unknown pass.
fn closed(mut schema: Value) -> Validator {
    schema["unevaluatedProperties"] = Value::Bool(false);
    let defs = schema["$defs"].as_object_mut().unwrap();
    for definition in defs.values_mut() {
        match definition.get_mut("oneOf").and_then(Value::as_array_mut) {
            Some(choices) => choices.iter_mut().for_each(close),
            None => close(definition),
        }
    }
    jsonschema::validator_for(&schema).unwrap()
}

fn close(object: &mut Value) {
    if object.get("properties").is_some() {
        object["additionalProperties"] = Value::Bool(false);
    }
}

/// A new type needs a number here, a sample below, and its fields in the schema.
fn number(told: &Told) -> usize {
    match told {
        Told::OperationStart { .. } => 0,
        Told::StepStart => 1,
        Told::StepEnd { .. } => 2,
        Told::ModelStart { .. } => 3,
        Told::Text { .. } => 4,
        Told::Reasoning { .. } => 5,
        Told::ModelRetry { .. } => 6,
        Told::ModelEnd { .. } => 7,
        Told::ModelError { .. } => 8,
        Told::ToolStart { .. } => 9,
        Told::ToolEnd { .. } => 10,
        Told::ToolParked { .. } => 11,
        Told::ApprovalRequired { .. } => 12,
        Told::ApprovalDecided { .. } => 13,
        Told::CompactionStart { .. } => 14,
        Told::CompactionEnd { .. } => 15,
        Told::Hook { .. } => 16,
        Told::Parked { .. } => 17,
        Told::OperationEnd { .. } => 18,
        Told::Gap { .. } => 19,
    }
}

fn samples() -> Vec<Told> {
    let mut samples = vec![
        Told::OperationStart { agent: "a".into(), parent: None, resumed: false },
        Told::StepStart,
        Told::StepEnd { status: Status::Running },
        Told::ModelStart { model: "m".into(), attempt: 1, with_tools: true },
        Told::Text { delta: "t".to_owned() },
        Told::Reasoning { delta: "t".to_owned() },
        Told::ModelRetry { attempt: 2, delay_ms: 1_000, error: "busy".to_owned() },
        Told::ModelEnd {
            content: "c".to_owned(),
            calls: 1,
            usage: Some(ModelUsage::default()),
            finish: Some("eos".to_owned()),
        },
        Told::ModelEnd { content: "c".to_owned(), calls: 1, usage: None, finish: None },
        Told::ModelError { error: fault() },
        Told::ToolParked { call: call(), tool: key(), child: Some(OperationId::from("child")) },
        Told::ToolStart { call: call(), tool: key(), arguments: "{}".into(), index: 1 },
        Told::ApprovalRequired {
            approval: ApprovalId::from("a"),
            calls: vec![PendingCallView { call: call(), tool: key(), arguments: "{}".into() }],
            question: None,
            expires_at: Some(1),
        },
        Told::CompactionStart { messages: 1, tokens: 2 },
        Told::CompactionEnd { messages_before: 2, messages_after: 1, error: None },
        Told::Gap { missed: 3 },
    ];
    samples.extend(decisions().map(|decision| Told::ToolEnd {
        call: call(),
        tool: key(),
        decision,
        result: result(),
        duration_ms: 1,
    }));
    let actions = ["approve", "reject", "rejectAndContinue", "answer"].map(Arc::from);
    samples.extend(actions.map(|action| Told::ApprovalDecided { action, calls: vec![call()], reason: None }));
    samples.extend(HookKind::ALL.map(|hook| {
        let receipt = HookReceipt {
            id: "h".to_owned(),
            inherited_from: Some("op_1".into()),
            carrier: "webhook".into(),
            answer: "deny".into(),
            fault: Some("TIMEOUT".into()),
            decided_by: Some("policy".into()),
            micros: 1,
        };
        Told::Hook { hook, asked: vec![receipt] }
    }));
    samples.extend(STATUSES.map(|status| Told::Parked { status }));
    samples.extend(REASONS.map(|reason| Told::OperationEnd {
        status: reason.status(),
        reason,
        answer: None,
        error: Some(fault()),
        totals: Totals::default(),
        resumable: true,
    }));
    samples
}

fn decisions() -> [Decided; 7] {
    let hook = || "h".to_owned();
    [
        Decided::Ran,
        Decided::Threw,
        Decided::Mocked { hook: hook() },
        Decided::Denied { hook: hook(), after: true, failure: false },
        Decided::Answered,
        Decided::Refused,
        Decided::Aborted,
    ]
}

fn result() -> ToolRunResult {
    ToolRunResult {
        content: "c".to_owned(),
        success: true,
        error: Some(json!({"kind": "retry"})),
        state: Some(Map::new()),
        execution_time: Some(1),
        device_execution_time: Some(1),
        stop: true,
        work_registration: Some(json!({})),
    }
}

fn fault() -> Fault {
    Fault {
        code: "c".to_owned(),
        message: "m".to_owned(),
        attribution: FaultAttribution::Provider,
        detail: Some(json!(1)),
    }
}

fn call() -> ToolCallId {
    ToolCallId::from("call")
}

fn key() -> ToolKey {
    ToolKey::new("a", "b")
}

const STATUSES: [Status; 7] = [
    Status::Idle,
    Status::Running,
    Status::WaitingForHuman,
    Status::WaitingForAsyncTool,
    Status::Interrupted,
    Status::Done,
    Status::Error,
];

const REASONS: [Reason; 9] = [
    Reason::Done,
    Reason::Error,
    Reason::Interrupted,
    Reason::MaxSteps,
    Reason::CostLimit,
    Reason::TokenLimit,
    Reason::ToolCallRepeatLimit,
    Reason::UnresolvedTools,
    Reason::ContextOverflow,
];
