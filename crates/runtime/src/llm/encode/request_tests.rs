//! Bodies, and what a strict server demands of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackline_model::{Content, MessageBody, MessageId, Part, ToolCall, ToolKey};

use super::*;
use crate::llm::dialect::{EmptyContent, ReasoningReplay, ToolCallIds};
use crate::llm::{History, HistoryEntry, ToolMenu};

fn entry(body: MessageBody) -> Arc<HistoryEntry> {
    HistoryEntry::new(Message { id: MessageId::from("m"), body })
}

fn user(text: &str) -> Arc<HistoryEntry> {
    entry(MessageBody::User { content: text.into() })
}

fn asks(text: &str, calls: &[(&str, &str)]) -> Arc<HistoryEntry> {
    let tool_calls = calls.iter().map(|(id, arguments)| ToolCall {
        id: (*id).into(),
        key: ToolKey::parse("notes/add"),
        arguments: (*arguments).into(),
    });
    entry(MessageBody::Assistant {
        content: text.into(),
        reasoning: Some("user wants milk noted".into()),
        tool_calls: tool_calls.collect(),
    })
}

fn result(id: &str, content: &str) -> Arc<HistoryEntry> {
    entry(MessageBody::Tool {
        call_id: id.into(),
        key: ToolKey::parse("notes/add"),
        content: content.into(),
        success: true,
        error: None,
        state: None,
        execution_time: None,
        device_execution_time: None,
        work_registration: None,
    })
}

fn body_of(settings: WireSettings, entries: &[Arc<HistoryEntry>], instruction: Option<&str>) -> Value {
    let history: History = entries.iter().cloned().collect();
    let encoder = Encoder::new(settings, Map::new());
    let tools = ToolMenu::default();
    let request =
        ModelRequest { model: "m", agent: "a", history: &history, tools: &tools, instruction, output_tokens_max: None };
    let text = serde_json::to_string(&encoder.body(&request, false)).unwrap();
    let body = serde_json::from_str(&text).unwrap();
    strict_mock(&body);
    body
}

/// The rules of the case log's strict server.
fn strict_mock(body: &Value) {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in body["messages"].as_array().unwrap() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            assert!(open.remove(id), "result without a call: {id}");
            assert_ne!(message["content"], "");
            continue;
        }
        assert!(open.is_empty(), "calls without a result: {open:?}");
        let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        for call in calls {
            let id = call["id"].as_str().unwrap();
            assert!(!id.is_empty() && open.insert(id), "empty or repeated id: {id}");
            let arguments = call["function"]["arguments"].as_str().unwrap();
            assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{arguments}");
        }
        assert!(!calls.is_empty() || message["content"].is_string() || message["content"].is_array());
    }
}

#[test]
fn body_has_the_published_shape() {
    let body = body_of(
        WireSettings::default(),
        &[
            entry(MessageBody::System { content: "be brief".into() }),
            user("add milk"),
            asks("", &[("call_1", "{\"text\":\"milk\"}")]),
            result("call_1", ""),
        ],
        None,
    );
    let call = json!({"id": "call_1", "type": "function",
        "function": {"name": "notes____add", "arguments": "{\"text\":\"milk\"}"}});
    let expected = json!({"model": "m", "messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "add milk"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "content": "(no output)", "tool_call_id": "call_1"},
    ]});
    assert_eq!(body, expected);
}

#[test]
fn c001_c003_c005_c008_c011_c012_broken_arguments_are_replayed_as_objects() {
    for raw in ["", "{\"text\":\"milk\"} now", "{\"{\"", "{\"x\":NaN}", "{\"re\":\"\\x41\nb\"}", "null", "[]", "7"] {
        body_of(WireSettings::default(), &[user("x"), asks("", &[("a", raw)]), result("a", "no")], None);
    }
}

#[test]
fn c017_strict_ids_are_the_same_on_call_and_result() {
    let settings = WireSettings { tool_call_ids: ToolCallIds::Alnum9, ..WireSettings::default() };
    let body = body_of(settings, &[user("x"), asks("", &[("turn1_0", "{}")]), result("turn1_0", "ok")], None);
    assert_eq!(body["messages"][1]["tool_calls"][0]["id"].as_str().unwrap().len(), 9);
}

#[test]
fn c018_long_ids_of_a_stored_state_become_short_pairs() {
    let state: Value = serde_json::from_str(include_str!("../../../../../tests/cases/inputs/C018.state.json")).unwrap();
    let ids: Vec<&str> = [0, 1].map(|at| state[1]["tool_calls"][at]["id"].as_str().unwrap()).to_vec();
    let entries = [
        user("add milk"),
        asks("", &[(ids[0], "{\"text\":\"milk\"}"), (ids[1], "{\"text\":\"tea\"}")]),
        result(ids[0], "ok 1"),
        result(ids[1], "ok 2"),
    ];
    let settings = WireSettings { tool_call_ids: ToolCallIds::Max40, ..WireSettings::default() };
    let body = body_of(settings, &entries, None);
    for at in [0, 1] {
        let id = body["messages"][1]["tool_calls"][at]["id"].as_str().unwrap();
        assert!(id.len() <= 40);
        assert_eq!(body["messages"][2 + at]["tool_call_id"], id);
    }
}

#[test]
fn c055_reasoning_is_replayed_word_for_word_or_not_at_all() {
    let turn = || [user("x"), asks("", &[("a", "{}")]), result("a", "ok")];
    let kept = WireSettings { reasoning: ReasoningReplay::Replay, ..WireSettings::default() };
    assert_eq!(body_of(kept, &turn(), None)["messages"][1]["reasoning_content"], "user wants milk noted");
    let left_out = body_of(WireSettings::default(), &turn(), None);
    assert!(left_out["messages"][1].get("reasoning_content").is_none());
}

#[test]
fn c058_content_beside_calls_is_null_or_empty_text_by_switch() {
    let turn = || [user("x"), asks("", &[("a", "{}")]), result("a", "ok")];
    assert_eq!(body_of(WireSettings::default(), &turn(), None)["messages"][1]["content"], Value::Null);
    let text = WireSettings { empty_content: EmptyContent::EmptyText, ..WireSettings::default() };
    assert_eq!(body_of(text, &turn(), None)["messages"][1]["content"], "");
}

#[test]
fn c059_strict_order_puts_an_assistant_message_between_tool_and_user() {
    let turn = || [user("x"), asks("", &[("a", "{}")]), result("a", "rejected"), user("do tea instead")];
    let roles = |body: &Value| -> Vec<String> {
        let messages = body["messages"].as_array().unwrap();
        messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    let plain = body_of(WireSettings::default(), &turn(), None);
    assert_eq!(roles(&plain), ["user", "assistant", "tool", "user"]);
    let settings = WireSettings { order: MessageOrder::AssistantAfterTool, ..WireSettings::default() };
    let strict = body_of(settings.clone(), &turn(), None);
    assert_eq!(roles(&strict), ["user", "assistant", "tool", "assistant", "user"]);
    assert_eq!(strict["messages"][4]["content"], "do tea instead");
    let ordered = body_of(settings, &turn()[..3], Some("Answer now."));
    assert_eq!(roles(&ordered), ["user", "assistant", "tool", "assistant", "user"]);
}

#[test]
fn answer_without_words_and_calls_still_says_something() {
    let body = body_of(WireSettings::default(), &[user("x"), asks("", &[]), user("y")], None);
    assert_eq!(body["messages"][1]["content"], "(no answer)");
}

#[test]
fn media_of_a_user_are_parts_and_of_others_notes() {
    let parts = || {
        Content::Parts(vec![
            Part::Text { text: "see".to_owned() },
            Part::Image { url: "data:image/png;base64,AA".to_owned() },
            Part::Audio { url: "data:audio/mpeg;base64,BB".to_owned() },
            Part::File { url: "https://x/a.pdf".to_owned(), name: None },
        ])
    };
    let answer = MessageBody::Assistant { content: parts(), reasoning: None, tool_calls: vec![] };
    let body = body_of(WireSettings::default(), &[entry(MessageBody::User { content: parts() }), entry(answer)], None);
    let expected = json!([
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        {"type": "input_audio", "input_audio": {"data": "BB", "format": "mp3"}},
        {"type": "text", "text": "[file: https://x/a.pdf]"},
    ]);
    assert_eq!(body["messages"][0]["content"], expected);
    assert_eq!(body["messages"][1]["content"], "see[image][audio][file: https://x/a.pdf]");
}

#[test]
fn tools_stream_limit_and_extra_members_stand_in_the_body_once() {
    let history: History = [user("x")].into_iter().collect();
    let tools = ToolMenu::new(vec![OfferedTool {
        wire_name: "notes____add".into(),
        description: "adds".into(),
        parameters: Arc::new(Value::Null),
    }]);
    let extra = Map::from_iter([("temperature".to_owned(), json!(0.2)), ("stream".to_owned(), json!(false))]);
    let settings = WireSettings { output_limit: OutputLimitField::MaxCompletionTokens, ..WireSettings::default() };
    let encoder = Encoder::new(settings, extra);
    let request = ModelRequest {
        model: "m",
        agent: "a",
        history: &history,
        tools: &tools,
        instruction: None,
        output_tokens_max: Some(100),
    };
    let text = serde_json::to_string(&encoder.body(&request, true)).unwrap();
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text.matches("\"stream\"").count(), 1);
    assert_eq!(body["stream"], true);
    assert_eq!(body["stream_options"], json!({"include_usage": true}));
    assert_eq!(body["max_completion_tokens"], 100);
    assert_eq!(body["temperature"], 0.2);
    let parameters = json!({"type": "object", "properties": {}});
    let function = json!({"name": "notes____add", "description": "adds", "parameters": parameters});
    assert_eq!(body["tools"], json!([{"type": "function", "function": function}]));
}

#[test]
fn a_message_that_was_sent_is_never_written_again() {
    let entries: Vec<_> = (0..400).map(|at| user(&format!("line {at}"))).collect();
    let first = entries.iter().map(|entry| entry.wire(|message| wire_message(message, &WireSettings::default())));
    let kept: Vec<*const RawValue> = first.map(std::ptr::from_ref).collect();
    body_of(WireSettings::default(), &entries, None);
    for (entry, kept) in entries.iter().zip(kept) {
        let again = entry.wire(|_| panic!("written a second time"));
        assert!(std::ptr::eq(again, kept));
    }
}
