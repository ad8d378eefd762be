//! The JSON Schema of events, for programs that read them.

use serde_json::Value;

/// The JSON Schema of the lines that `--json` prints: events, and the report at the end.
pub fn events_schema() -> Value {
    serde_json::from_str(TEXT).expect("a test reads the schema that is compiled in")
}

const TEXT: &str = include_str!("events.schema.json");

#[cfg(test)]
mod tests {
    use jackline_hooks::HookKind;
    use jackline_model::{Fault, FaultAttribution, ModelUsage, Reason, Status, ToolKey, ToolRunResult, Totals};

    use super::super::stream::{Decided, HookReceipt, PendingCallView, StreamEvent, Told};
    use super::*;

    fn told() -> Vec<Told> {
        let error = Fault {
            code: "overloaded".to_owned(),
            message: "later".to_owned(),
            attribution: FaultAttribution::Provider,
            detail: Some(serde_json::json!({"status": 529})),
        };
        let tool = ToolKey::new("fs", "read");
        let (usage, receipt) =
            (Some(ModelUsage::default()), HookReceipt { id: "h".into(), answer: "ok".into(), micros: 1 });
        let pending = PendingCallView { call: "c".into(), tool: tool.clone(), arguments: "{}".into() };
        let denied = Decided::Denied { hook: "h".into(), after: true, failure: false };
        vec![
            Told::OperationStart { agent: "a".into(), parent: Some("p".into()), resumed: false },
            Told::StepStart,
            Told::StepEnd { status: Status::Running },
            Told::ModelStart { model: "m".into(), attempt: 1, with_tools: true },
            Told::Text { delta: "t".into() },
            Told::Reasoning { delta: "t".into() },
            Told::ModelRetry { attempt: 2, delay_ms: 1_000, error: "later".into() },
            Told::ModelEnd { content: "t".into(), calls: 1, usage },
            Told::ModelError { error: error.clone() },
            Told::ToolStart { call: "c".into(), tool: tool.clone(), arguments: "{}".into(), index: 1 },
            Told::ToolEnd {
                call: "c".into(),
                tool: tool.clone(),
                decision: denied,
                result: ToolRunResult::ok("t"),
                duration_ms: 1,
            },
            Told::ToolParked { call: "c".into(), tool, child: None },
            Told::ApprovalRequired { approval: "a".into(), calls: vec![pending], question: None, expires_at: Some(1) },
            Told::ApprovalDecided { action: "approve".into(), calls: vec!["c".into()], reason: None },
            Told::CompactionStart { messages: 1, tokens: 1 },
            Told::CompactionEnd { messages_before: 2, messages_after: 1, error: None },
            Told::Hook { hook: HookKind::AfterStep, asked: vec![receipt] },
            Told::Parked { status: Status::WaitingForHuman },
            Told::OperationEnd {
                status: Status::Error,
                reason: Reason::Error,
                answer: None,
                error: Some(error),
                totals: Totals::default(),
                resumable: false,
            },
            Told::Gap { missed: 1 },
        ]
    }

    #[test]
    fn the_schema_knows_every_event_as_it_is_written() {
        let schema = events_schema();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let mut types = Vec::new();
        for what in told() {
            let event = StreamEvent { v: 1, at: 1, operation: "op".into(), step: 1, what };
            let line = serde_json::to_value(&event).unwrap();
            assert!(validator.is_valid(&line), "{line}");
            types.push(line["type"].clone());
        }
        let known = schema["oneOf"].as_array().unwrap().iter().map(|one| one["properties"]["type"]["const"].clone());
        types.extend(["report".into(), "tour".into()]);
        assert_eq!(known.collect::<Vec<_>>(), types);
        assert!(!validator.is_valid(&serde_json::json!({"type": "text"})));
    }
}
