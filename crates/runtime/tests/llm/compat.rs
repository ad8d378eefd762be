//! Rows of the themes COMPAT, ARGS and IDS: what stands in the reply is what the model wrote.

use jackline_model::Content;
use jackline_runtime::llm::{FinishReason, ModelFaultKind};

use crate::support::{call, fault, reply};

async fn arguments_of(name: &str) -> Vec<String> {
    reply(name).await.calls.into_iter().map(|call| call.arguments).collect()
}

#[tokio::test]
async fn c045_unknown_service_tier_is_ignored() {
    for name in ["C045.json", "C045.sse"] {
        assert_eq!(reply(name).await.content, Content::from("hi"));
    }
}

#[tokio::test]
async fn c046_number_as_code_keeps_status_and_message() {
    let fault = fault("C046.http").await;
    assert_eq!(fault.kind, ModelFaultKind::Permanent);
    assert_eq!(fault.fault.message, "the provider answered 400: model not found: foo");
    assert_eq!(fault.fault.detail.unwrap()["status"], 400);
}

#[tokio::test]
async fn c048_partial_usage_never_fails_the_answer() {
    for (name, expected) in
        [("C048.a.json", None), ("C048.b.json", Some(12)), ("C048.c.json", Some(26)), ("C048.d.json", None)]
    {
        let reply = reply(name).await;
        assert_eq!(reply.content, Content::from("hi"), "{name}");
        assert_eq!(reply.usage.map(|usage| usage.total_tokens), expected, "{name}");
    }
}

#[tokio::test]
async fn c050_extra_and_null_members_leave_text_and_reasoning() {
    let reply = reply("C050.json").await;
    assert_eq!((reply.content, reply.reasoning.as_deref()), (Content::from("hi"), Some("thinking...")));
    assert!(reply.refusal.is_none() && reply.calls.is_empty() && !reply.salvaged_from_reasoning);
}

#[tokio::test]
async fn c052_other_number_forms_are_read_exactly() {
    let large = reply("C052.a.json").await;
    assert_eq!(large.content, Content::from("hi"));
    assert_eq!(large.usage.unwrap().total_tokens, 5_000_000_000);
    assert_eq!(reply("C052.b.json").await.usage.unwrap().total_tokens, 26);
}

#[tokio::test]
async fn c053_good_status_without_an_answer_is_a_fault() {
    let empty = fault("C053.a.json").await;
    assert_eq!((empty.kind, empty.fault.code.as_str()), (ModelFaultKind::Retryable, "empty_answer"));
    let error = fault("C053.b.json").await;
    assert_eq!((error.kind, error.fault.code.as_str()), (ModelFaultKind::Retryable, "provider_error"));
    assert!(error.fault.message.contains("no provider available"));
}

#[tokio::test]
async fn c001_empty_arguments_arrive_as_they_are() {
    let reply = reply("C001.sse").await;
    assert_eq!((reply.calls, reply.finish), (vec![call("call_a1", "clock_now", "")], FinishReason::ToolCalls));
}

#[tokio::test]
async fn c003_prose_after_the_object_arrives_as_it_is() {
    assert_eq!(arguments_of("C003.json").await, ["{\"text\":\"milk\"} I will add this now"]);
}

#[tokio::test]
async fn c004_doubly_quoted_arguments_arrive_as_they_are() {
    let arguments = arguments_of("C004.json").await;
    let inner: String = serde_json::from_str(&arguments[0]).unwrap();
    assert_eq!(inner, "{\"text\": \"milk\"}");
    assert_eq!(arguments.len(), 2);
}

#[tokio::test]
async fn c005_broken_arguments_arrive_as_they_are() {
    assert_eq!(arguments_of("C005.json").await, ["{\"{\"text\":\"milk\"}"]);
}

#[tokio::test]
async fn c008_numbers_that_are_none_arrive_as_they_are() {
    assert_eq!(arguments_of("C008.json").await, ["{\"x\":NaN,\"y\":-Infinity}"]);
}

#[tokio::test]
async fn c011_unknown_escapes_arrive_as_they_are() {
    assert_eq!(arguments_of("C011.json").await, ["{\"re\":\"\\x41\nb\"}"]);
}

#[tokio::test]
async fn c012_arguments_that_are_no_object_arrive_as_they_are() {
    assert_eq!(arguments_of("C012.json").await, ["null", "[]", "7"]);
}

#[tokio::test]
async fn c013_empty_and_missing_ids_are_none_and_both_calls_stay() {
    let expected = [call("", "clock_now", "{}"), call("", "notes_add", "{\"text\":\"milk\"}")];
    assert_eq!(reply("C013.sse").await.calls, expected);
}

#[tokio::test]
async fn c060_parallel_calls_keep_their_order() {
    let ids: Vec<_> = reply("C060.json").await.calls.into_iter().filter_map(|call| call.id).collect();
    assert_eq!(ids, ["call_h7a", "call_h7b", "call_h7c"]);
}

#[tokio::test]
async fn c146_unknown_name_is_still_a_call() {
    assert_eq!(reply("C146.json").await.calls, [call("call_t1", "search_filez", "{}")]);
}
