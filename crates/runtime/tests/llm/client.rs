//! What the client sends, and how it is set up.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::sync::Arc;

use jackline_model::{Content, MessageBody, NanoDollars, ToolCall, ToolKey};
use jackline_runtime::llm::{
    History, Model, ModelRequest, OfferedTool, OpenAiConfigError, OpenAiModel, ReasoningReplay, StreamMode,
    ToolCallIds, ToolMenu, WireSettings,
};
use serde_json::json;

use crate::server::{Answer, Server};
use crate::support::{Heard, KEY, ask, ask_with, client, deaf, entry, user};

#[tokio::test]
async fn request_carries_key_headers_and_members() {
    let server = Server::start([Answer::case("_final.json")]).await;
    let model = client(&server).header("X-Team", "blue-team").body_member("temperature", json!(0)).build().unwrap();
    ask(&model, &mut deaf()).await.unwrap();
    let request = &server.requests()[0];
    assert!(request.head.starts_with("post /v1/chat/completions http/1.1\r\n"));
    assert!(request.head.contains(&format!("authorization: bearer {KEY}")));
    assert!(request.head.contains("x-team: blue-team"));
    let messages = json!([{"role": "user", "content": "hello"}]);
    assert_eq!(request.body, json!({"model": "test-model", "messages": messages, "temperature": 0}));
}

#[tokio::test]
async fn no_key_sends_no_authorization() {
    let server = Server::start([Answer::case("_final.json")]).await;
    let model = OpenAiModel::builder().base_url(format!("{}/", server.url)).build().unwrap();
    ask(&model, &mut deaf()).await.unwrap();
    assert!(!server.requests()[0].head.contains("authorization"));
}

#[tokio::test]
async fn stream_is_asked_for_only_if_somebody_reads_or_the_mode_says_so() {
    for (mode, is_deaf, is_stream) in [
        (StreamMode::Auto, true, false),
        (StreamMode::Auto, false, true),
        (StreamMode::Always, true, true),
        (StreamMode::Never, false, false),
    ] {
        let answer = if is_stream { "_final.sse" } else { "_final.json" };
        let server = Server::start([Answer::case(answer)]).await;
        let model = client(&server).stream(mode).build().unwrap();
        let mut heard = Heard { is_deaf, ..Heard::default() };
        assert_eq!(ask(&model, &mut heard).await.unwrap().usage.unwrap().total_tokens, 26);
        let body = &server.requests()[0].body;
        assert_eq!(body.get("stream").is_some(), is_stream, "{mode:?}");
        assert_eq!(body["stream_options"]["include_usage"] == true, is_stream);
        assert_eq!(heard.text, if is_deaf { "" } else { "All done." });
    }
}

#[tokio::test]
async fn price_makes_the_cost() {
    let server = Server::start([Answer::case("_final.json")]).await;
    let model = client(&server).price_per_million(2.5, 10.0).build().unwrap();
    let usage = ask(&model, &mut deaf()).await.unwrap().usage.unwrap();
    assert_eq!(usage.cost, NanoDollars(20 * 2_500 + 6 * 10_000));
}

#[tokio::test]
async fn connection_is_used_again_after_a_stream() {
    let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n";
    let server = Server::start([Answer::chunked(body), Answer::chunked(body)]).await;
    let model = client(&server).build().unwrap();
    for _ in 0..2 {
        ask(&model, &mut Heard::default()).await.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (2, 1));
}

#[tokio::test]
async fn instruction_limit_and_tools_stand_in_the_body() {
    let server = Server::start([Answer::case("_final.json")]).await;
    let model = client(&server).build().unwrap();
    let history: History = [user("hello")].into_iter().collect();
    let tools = ToolMenu::new(vec![OfferedTool {
        wire_name: "clock____now".into(),
        description: "the time".into(),
        parameters: Arc::new(json!({"type": "object"})),
    }]);
    let request = ModelRequest {
        model: "test-model",
        agent: "a",
        history: &history,
        tools: &tools,
        instruction: Some("Answer now."),
        output_tokens_max: Some(7),
    };
    model.call(request, &mut deaf()).await.unwrap();
    let body = &server.requests()[0].body;
    assert_eq!(body["messages"][1], json!({"role": "user", "content": "Answer now."}));
    assert_eq!(body["max_tokens"], 7);
    assert_eq!(body["tools"][0]["function"]["name"], "clock____now");
}

#[tokio::test]
async fn c055_streamed_reasoning_is_replayed_word_for_word_by_switch() {
    for (reasoning, expected) in
        [(ReasoningReplay::Replay, Some("user wants milk noted")), (ReasoningReplay::Omit, None)]
    {
        let server = Server::start([Answer::case("C055.sse"), Answer::case("_final.sse")]).await;
        let wire = WireSettings { reasoning, ..WireSettings::default() };
        let model = client(&server).wire(wire).build().unwrap();
        let mut heard = Heard::default();
        let reply = ask(&model, &mut heard).await.unwrap();
        assert_eq!(heard.reasoning, "user wants milk noted");
        let next = [user("hello"), asked(&reply), answered(&reply)];
        ask_with(&model, &next, &mut Heard::default()).await.unwrap();
        let message = &server.requests()[1].body["messages"][1];
        assert_eq!(message.get("reasoning_content").and_then(|text| text.as_str()), expected);
        assert_eq!(message["content"], json!(null));
    }
}

#[tokio::test]
async fn c017_provider_ids_are_echoed_and_strict_ids_fit() {
    for (rule, expected) in [(ToolCallIds::Any, Some("call_h2")), (ToolCallIds::Alnum9, None)] {
        let server = Server::start([Answer::case("C055.sse"), Answer::case("_final.sse")]).await;
        let wire = WireSettings { tool_call_ids: rule, ..WireSettings::default() };
        let model = client(&server).wire(wire).build().unwrap();
        let reply = ask(&model, &mut Heard::default()).await.unwrap();
        let next = [user("hello"), asked(&reply), answered(&reply)];
        ask_with(&model, &next, &mut Heard::default()).await.unwrap();
        let body = &server.requests()[1].body;
        let id = body["messages"][1]["tool_calls"][0]["id"].as_str().unwrap();
        assert_eq!(body["messages"][2]["tool_call_id"], id);
        assert!(expected.is_none_or(|expected| id == expected));
        assert!(expected.is_some() || id.len() == 9);
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let base = |text: &str| OpenAiModel::builder().base_url(text).build().unwrap_err();
    assert!(matches!(base("nowhere"), OpenAiConfigError::BaseUrl(_)));
    assert!(matches!(base("ftp://x/v1"), OpenAiConfigError::BaseUrl(_)));
    let key = OpenAiModel::builder().api_key("sk\nx").build().unwrap_err();
    assert!(matches!(key, OpenAiConfigError::ApiKey));
    let header = OpenAiModel::builder().header("bad name", "x").build().unwrap_err();
    assert!(matches!(header, OpenAiConfigError::Header(_)));
}

fn asked(reply: &jackline_runtime::llm::ModelReply) -> Arc<jackline_runtime::llm::HistoryEntry> {
    let calls = reply.calls.iter().map(|call| ToolCall {
        id: call.id.clone().unwrap().into(),
        key: ToolKey::parse("notes/add"),
        arguments: call.arguments.as_str().into(),
    });
    let tool_calls = calls.collect();
    entry(MessageBody::Assistant { content: Content::from(""), reasoning: reply.reasoning.clone(), tool_calls })
}

fn answered(reply: &jackline_runtime::llm::ModelReply) -> Arc<jackline_runtime::llm::HistoryEntry> {
    entry(MessageBody::Tool {
        call_id: reply.calls[0].id.clone().unwrap().into(),
        key: ToolKey::parse("notes/add"),
        content: "ok".into(),
        success: true,
        error: None,
        state: None,
        execution_time: None,
        device_execution_time: None,
        work_registration: None,
    })
}
