//! Each event against a literal example of its JSON.

use jackline_model::{FaultAttribution, HookId, NanoDollars, Part, Reason, Status, ToolKey, ToolRunResult, ToolSource};
use serde_json::{Value, json};

use super::*;
use crate::HookKind;

fn run() -> RunContext {
    RunContext { topic_id: Some("tpc_1".to_owned()), ..RunContext::new("op_1", "agt_1", "user_1") }
}

fn read_file() -> ToolKey {
    ToolKey::new("fs", "readFile")
}

fn calling() -> ToolCalling {
    ToolCalling { key: read_file(), arguments: r#"{"path":"a"}"#.to_owned() }
}

pub(crate) fn tool_context() -> ToolCallContext {
    ToolCallContext {
        operation_id: "op_1".into(),
        step_index: 1,
        tool_call_id: "call_abc".into(),
        assistant_message_id: "msg_a".into(),
        key: read_file(),
        args: effective_args(r#"{"path":"a"}"#),
        call_index: 1,
        executor: Default::default(),
        user_id: Some("user_1".into()),
        agent_id: Some("agt_1".into()),
        topic_id: Some("tpc_1".to_owned()),
        session_id: None,
        thread_id: None,
        group_id: None,
        task_id: None,
        workspace_id: None,
        document_id: None,
        source_message_id: Some("msg_u".into()),
        tool_message_id: None,
        parent_operation_id: None,
        tool_source: Some(ToolSource::Builtin),
        execution_target: None,
        active_device_id: None,
    }
}

fn tool_json(extra: Value) -> Value {
    let mut fields = json!({
        "agentId": "agt_1", "apiName": "readFile", "args": {"path": "a"}, "assistantMessageId": "msg_a",
        "callIndex": 1, "executor": "server", "identifier": "fs", "operationId": "op_1",
        "sourceMessageId": "msg_u", "stepIndex": 1, "toolCallId": "call_abc", "toolSource": "builtin",
        "topicId": "tpc_1", "userId": "user_1"
    });
    for (name, value) in extra.as_object().unwrap() {
        fields[name] = value.clone();
    }
    fields
}

fn compact() -> CompactContext {
    CompactContext {
        agent_id: Some("agt_1".into()),
        topic_id: Some("tpc_1".to_owned()),
        user_id: Some("user_1".into()),
        ..CompactContext::new("op_1", 4)
    }
}

fn human() -> HumanContext {
    HumanContext { user_id: Some("user_1".into()), ..HumanContext::new("op_1") }
}

fn after_step() -> AfterStepEvent {
    AfterStepEvent {
        run: run(),
        step_index: 1,
        steps: 2,
        step_type: StepType::CallTool,
        step_label: None,
        content: None,
        reasoning: None,
        tools_calling: Vec::new(),
        tools_result: vec![ToolOutcome {
            key: read_file(),
            is_success: true,
            output: Some("file text".to_owned()),
            execution_time_ms: Some(42),
            device_execution_time_ms: None,
        }],
        should_continue: true,
        status: Status::Running,
        execution_time_ms: 840,
        elapsed_ms: Some(5312),
        step_cost: None,
        total_cost: NanoDollars::from_dollars(0.004),
        total_tokens: 1280,
        total_input_tokens: 1200,
        total_output_tokens: 80,
        total_steps: 2,
        tool_calls: 1,
        total_tool_calls: 1,
        last_llm_content: Some("Let me read that file.".to_owned()),
        last_tools_calling: vec![calling()],
    }
}

fn end() -> RunEnd {
    RunEnd {
        cost: Some(NanoDollars::from_dollars(0.01)),
        duration: Some(9120),
        llm_calls: Some(2),
        tool_calls: Some(1),
        total_tokens: Some(2100),
        last_assistant_content: Some("Finished.".to_owned()),
        ..RunEnd::new(run(), Reason::Done, 3)
    }
}

/// One event of each kind, in the order of [`HookKind::ALL`].
pub(crate) fn one_of_each() -> Vec<Event> {
    let context = tool_context;
    let result = ToolRunResult { execution_time: Some(42), ..ToolRunResult::ok("file text") };
    let mut events: Vec<Event> = vec![
        BeforeStepEvent { run: run(), step_index: 1, steps: 1 }.into(),
        after_step().into(),
        OnCompleteEvent { end: end() }.into(),
        OnErrorEvent {
            end: RunEnd {
                error_message: "No provider available".to_owned(),
                error_type: Some("NoAvailableProvider".to_owned()),
                error_attribution: Some(FaultAttribution::User),
                ..RunEnd::new(run(), Reason::Error, 1)
            },
        }
        .into(),
        BeforeToolCallEvent { context: context() }.into(),
        AfterToolCallEvent { context: context(), mocked: false, result }.into(),
        OnToolCallErrorEvent { context: context(), error: "connection refused".to_owned() }.into(),
    ];
    events.extend(human_events());
    events.extend(later_events());
    events
}

fn later_events() -> [Event; 6] {
    [
        BeforeCompactEvent { context: compact(), message_count: 20, token_count: 90_000 }.into(),
        AfterCompactEvent {
            context: compact(),
            group_id: "mg_1".to_owned(),
            messages_before: 20,
            messages_after: 3,
            summary: summary_excerpt("The user asked"),
        }
        .into(),
        OnCompactErrorEvent { context: compact(), token_count: 90_000, error: "boom".to_owned() }.into(),
        BeforeCallAgentEvent {
            operation_id: "op_parent".into(),
            agent_id: "agt_child".into(),
            instruction: "Look it up".to_owned(),
            user_id: Some("user_1".into()),
        }
        .into(),
        AfterCallAgentEvent {
            operation_id: "op_parent".into(),
            agent_id: "agt_child".into(),
            sub_operation_id: "op_child".into(),
            success: true,
            thread_id: Some("thd_1".into()),
            user_id: Some("user_1".into()),
        }
        .into(),
        OnCallAgentErrorEvent {
            operation_id: "op_parent".into(),
            agent_id: "agt_child".into(),
            error: "busy".to_owned(),
            user_id: None,
        }
        .into(),
    ]
}

fn human_events() -> [Event; 3] {
    let one = DecidedCalls(vec!["call_abc".into()]);
    let two = DecidedCalls(vec!["call_a".into(), "call_b".into()]);
    let pending = PendingTool {
        key: ToolKey::new("fs", "write"),
        tool_call_id: Some("call_abc".into()),
        arguments: Some(r#"{"path":"a"}"#.to_owned()),
        args: Some(effective_args(r#"{"path":"a"}"#)),
    };
    [
        BeforeHumanInterventionEvent { context: human(), step_index: 1, pending_tools: vec![pending] }.into(),
        AfterHumanInterventionEvent {
            context: human(),
            action: HumanAction::Approve,
            calls: one,
            rejection_reason: None,
        }
        .into(),
        OnStopByHumanInterventionEvent {
            context: human(),
            calls: two,
            rejection_reason: None,
            reason: Some("user_stop".to_owned()),
        }
        .into(),
    ]
}

fn expected() -> Vec<Value> {
    let child = |extra: Value| {
        let mut fields = json!({"operationId": "op_parent", "agentId": "agt_child"});
        fields.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        fields
    };
    let fold = |extra: Value| {
        let mut fields =
            json!({"operationId": "op_1", "stepIndex": 4, "agentId": "agt_1", "topicId": "tpc_1", "userId": "user_1"});
        fields.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        fields
    };
    vec![
        json!({"operationId": "op_1", "agentId": "agt_1", "userId": "user_1", "topicId": "tpc_1", "stepIndex": 1, "steps": 1}),
        json!({
            "agentId": "agt_1", "elapsedMs": 5312, "executionTimeMs": 840, "lastLLMContent": "Let me read that file.",
            "lastToolsCalling": [{"apiName": "readFile", "arguments": "{\"path\":\"a\"}", "identifier": "fs"}],
            "operationId": "op_1", "shouldContinue": true, "status": "running", "stepIndex": 1, "stepType": "call_tool",
            "steps": 2, "thinking": false, "toolCalls": 1,
            "toolsResult": [{"apiName": "readFile", "executionTimeMs": 42, "identifier": "fs", "isSuccess": true,
                             "output": "file text"}],
            "topicId": "tpc_1", "totalCost": 0.004, "totalInputTokens": 1200, "totalOutputTokens": 80, "totalSteps": 2,
            "totalTokens": 1280, "totalToolCalls": 1, "userId": "user_1"
        }),
        json!({
            "agentId": "agt_1", "cost": 0.01, "duration": 9120, "errorMessage": "", "lastAssistantContent": "Finished.",
            "llmCalls": 2, "operationId": "op_1", "reason": "done", "status": "done", "steps": 3, "toolCalls": 1,
            "topicId": "tpc_1", "totalTokens": 2100, "userId": "user_1"
        }),
        json!({
            "agentId": "agt_1", "errorMessage": "No provider available", "errorType": "NoAvailableProvider",
            "errorAttribution": "user", "operationId": "op_1", "reason": "error", "status": "error", "steps": 1,
            "topicId": "tpc_1", "userId": "user_1"
        }),
        tool_json(json!({})),
        tool_json(json!({"mocked": false, "result": {"content": "file text", "success": true, "executionTime": 42}})),
        tool_json(json!({"error": "connection refused"})),
        json!({
            "operationId": "op_1", "stepIndex": 1, "userId": "user_1",
            "pendingTools": [{"apiName": "write", "args": {"path": "a"}, "arguments": "{\"path\":\"a\"}",
                              "identifier": "fs", "toolCallId": "call_abc"}]
        }),
        json!({"action": "approve", "operationId": "op_1", "toolCallId": "call_abc", "toolCallIds": ["call_abc"], "userId": "user_1"}),
        json!({"operationId": "op_1", "reason": "user_stop", "toolCallIds": ["call_a", "call_b"], "userId": "user_1"}),
        fold(json!({"messageCount": 20, "tokenCount": 90_000})),
        fold(json!({"groupId": "mg_1", "messagesBefore": 20, "messagesAfter": 3, "summary": "The user asked"})),
        fold(json!({"tokenCount": 90_000, "error": "boom"})),
        child(json!({"instruction": "Look it up", "userId": "user_1"})),
        child(json!({"subOperationId": "op_child", "success": true, "threadId": "thd_1", "userId": "user_1"})),
        child(json!({"error": "busy"})),
    ]
}

#[test]
fn each_event_reads_as_its_example() {
    let events = one_of_each();
    let expected = expected();
    assert_eq!(events.len(), 16);
    assert_eq!(expected.len(), 16);
    for ((event, example), kind) in events.iter().zip(expected).zip(HookKind::ALL) {
        assert_eq!(event.kind(), kind);
        assert_eq!(event.to_json(), example, "{kind}");
        assert_eq!(event.step_index().map(Value::from), example.get("stepIndex").cloned(), "{kind}");
        assert_eq!(event.operation_id().as_str(), example["operationId"], "{kind}");
        assert_eq!(event.tool_name().is_some(), kind.is_tool_event());
    }
}

#[test]
fn absent_values_are_left_out_and_never_null() {
    for event in one_of_each() {
        assert!(!event.to_json().to_string().contains("null"), "{}", event.kind());
    }
}

#[test]
fn thinking_says_the_same_as_the_step_type() {
    let thinking = Event::from(AfterStepEvent { step_type: StepType::CallLlm, ..after_step() }).to_json();
    assert_eq!((&thinking["stepType"], &thinking["thinking"]), (&json!("call_llm"), &json!(true)));
}

#[test]
fn c117_arguments_are_an_object_whatever_the_model_wrote() {
    for text in ["", "null", "3", "[]", "\"a\"", "{", "{\"a\":1} x"] {
        assert!(effective_args(text).is_empty(), "{text}");
    }
    assert_eq!(effective_args("{\"a\":1}")["a"], 1);
}

#[test]
fn a_receiver_outside_also_reads_the_id_and_the_type_of_the_hook() {
    for event in one_of_each() {
        let wire = event.wire_payload(&HookId::new("h"));
        assert_eq!(wire["hookId"], "h");
        assert_eq!(wire["hookType"], event.kind().as_str());
    }
}

#[test]
fn f15_a_skill_registration_is_trimmed_on_the_wire_and_stays_whole_in_the_process() {
    let work = json!({"type": "skill", "args": {"a": 1}, "data": {"b": 2}, "id": "w"});
    let result = ToolRunResult { work_registration: Some(work.clone()), ..ToolRunResult::ok("x") };
    let event = Event::from(AfterToolCallEvent { context: tool_context(), mocked: false, result });
    let wire = event.wire_payload(&HookId::new("h"));
    assert_eq!(wire["result"]["workRegistration"], json!({"type": "skill", "data": null, "id": "w"}));
    assert_eq!(event.to_json()["result"]["workRegistration"], work);
}

#[test]
fn f16_other_registrations_are_left_alone() {
    let work = json!({"type": "task", "args": {"a": 1}, "data": {"b": 2}});
    let result = ToolRunResult { work_registration: Some(work.clone()), ..ToolRunResult::ok("x") };
    assert_eq!(redacted_for_notification(&result).work_registration, Some(work));
}

#[test]
fn l10_attachments_come_from_data_and_http_and_nothing_else() {
    let image = |url: &str| Attachment::from_part(&Part::Image { url: url.to_owned() }).map(|a| json!(a));
    assert_eq!(
        image("data:image/png;base64,AAAA"),
        Some(json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}))
    );
    assert_eq!(image("data:application/pdf;base64,AAAA").unwrap()["type"], "file");
    assert_eq!(image("https://a.test/b.png"), Some(json!({"type": "image", "fetchUrl": "https://a.test/b.png"})));
    assert_eq!(image("ftp://a.test/b.png"), None);
}

#[test]
fn an_after_control_event_shows_no_content_when_printed() {
    let event = AfterToolCallControl { context: tool_context(), mocked: true, result: ToolRunResult::ok("sesame") };
    let text = format!("{event:?}");
    assert!(text.contains("6 bytes") && !text.contains("sesame"), "{text}");
}
