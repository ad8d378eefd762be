//! Tables of answers. Those that stand in the case log are tried over a socket in `tests/llm`.

use jackline_model::{Content, Part};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::llm::decode::{SseEvent, SseReader};
use crate::llm::{ModelFaultKind, RawCall};

#[derive(Debug, Default, PartialEq)]
struct Heard {
    text: String,
    reasoning: String,
}

impl DeltaSink for Heard {
    fn wants_deltas(&self) -> bool {
        true
    }

    fn delta(&mut self, delta: Delta<'_>) {
        match delta {
            Delta::Text(words) => self.text.push_str(words),
            Delta::Reasoning(thoughts) => self.reasoning.push_str(thoughts),
        }
    }
}

fn whole(body: &Value) -> Result<ModelReply, ModelFault> {
    let mut assembler = Assembler::default();
    assembler.handle_body(&body.to_string(), &mut Heard::default());
    assembler.into_reply(AnswerEnd::Complete)
}

fn message(message: Value, finish: Value) -> Result<ModelReply, ModelFault> {
    whole(&json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}]}))
}

fn code(result: Result<ModelReply, ModelFault>) -> (String, ModelFaultKind) {
    let fault = result.unwrap_err();
    (fault.fault.code, fault.kind)
}

#[test]
fn llm_26_refusal_with_reasoning_only_is_a_refusal() {
    let result = message(json!({"content": null, "refusal": "I will not.", "reasoning": "hm"}), json!("stop"));
    assert_eq!(code(result), ("refusal".to_owned(), ModelFaultKind::Permanent));
    let kept = message(json!({"content": "Let us rather", "refusal": "I will not."}), json!("stop")).unwrap();
    assert_eq!(kept.refusal.as_deref(), Some("I will not."));
}

#[test]
fn llm_27_image_only_is_not_empty() {
    let image = Content::Parts(vec![Part::Image { url: "data:x".to_owned() }]);
    let url = json!({"type": "image_url", "image_url": {"url": "data:x"}});
    for body in [json!({"content": [url]}), json!({"content": null, "images": [url]}), json!({"content": url})] {
        assert_eq!(message(body, json!("stop")).unwrap().content, image);
    }
}

#[test]
fn reasoning_only_is_salvaged_and_says_so() {
    let reply = message(json!({"content": "", "reasoning_content": "42"}), json!("stop")).unwrap();
    assert!(reply.salvaged_from_reasoning);
    assert_eq!((reply.content, reply.reasoning), (Content::from("42"), None));
}

#[test]
fn reasoning_of_a_withheld_answer_is_not_salvaged() {
    let result = message(json!({"content": null, "reasoning": "hm"}), json!("content_filter"));
    assert_eq!(code(result), ("content_filter".to_owned(), ModelFaultKind::Permanent));
}

#[test]
fn empty_answers_are_faults_that_are_retried() {
    let empty = ("empty_answer".to_owned(), ModelFaultKind::Retryable);
    for finish in [json!("stop"), json!("tool_calls"), json!("length"), json!(null), json!("eos")] {
        assert_eq!(code(message(json!({"content": " \n"}), finish)), empty);
    }
    assert_eq!(code(whole(&json!({"choices": []}))), empty);
    assert_eq!(code(whole(&json!({}))), empty);
}

#[test]
fn calls_without_name_are_dropped_and_alone_are_a_fault() {
    let nameless = json!({"id": "a", "function": {"name": "", "arguments": "{}"}});
    let named = json!({"id": "b", "function": {"name": "clock_now", "arguments": "{}"}});
    let alone = message(json!({"tool_calls": [nameless]}), json!("tool_calls"));
    assert_eq!(code(alone), ("empty_answer".to_owned(), ModelFaultKind::Retryable));
    let reply = message(json!({"tool_calls": [nameless, named]}), json!("tool_calls")).unwrap();
    let call = RawCall { id: Some("b".to_owned()), name: "clock_now".to_owned(), arguments: "{}".to_owned() };
    assert_eq!(reply.calls, [call]);
    let words = message(json!({"content": "hi", "tool_calls": [nameless]}), json!("tool_calls")).unwrap();
    assert_eq!((words.finish, words.calls), (FinishReason::Stop, vec![]));
}

#[test]
fn content_in_parts_is_joined_and_thinking_is_reasoning() {
    let content = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Hel"},
        {"type": "text", "text": "lo"},
    ]);
    let reply = message(json!({"content": content}), json!("stop")).unwrap();
    assert_eq!((reply.content, reply.reasoning.as_deref()), (Content::from("Hello"), Some("hm")));
}

#[test]
fn aborted_answer_is_a_reply_that_says_so() {
    assert_eq!(message(json!({"content": null}), json!("abort")).unwrap().finish, FinishReason::Abort);
}

#[test]
fn errors_of_every_place_and_shape_are_faults() {
    for data in [
        r#"{"error":{"message":"boom","code":502},"choices":[]}"#,
        r#"{"error":"boom"}"#,
        r#"{"object":"error","message":"boom","type":"InternalServerError","code":500}"#,
        r#"{"type":"error","message":"boom"}"#,
        r#"{"choices":[{"index":0,"delta":{},"error":{"message":"boom"},"finish_reason":"error"}]}"#,
    ] {
        let mut assembler = Assembler::default();
        assembler.handle_data(data, false, &mut Heard::default());
        assert!(assembler.is_lost());
        let fault = assembler.into_reply(AnswerEnd::Complete).unwrap_err();
        assert!(fault.fault.message.contains("boom"), "{data}: {fault}");
        assert_eq!(fault.kind, ModelFaultKind::Retryable, "{data}");
    }
}

#[test]
fn empty_error_members_are_no_errors() {
    for error in [json!(null), json!(""), json!({}), json!([]), json!(false), json!({"message": null})] {
        let body = json!({"error": error, "choices": [{"message": {"content": "hi"}}]});
        assert_eq!(whole(&body).unwrap().content, Content::from("hi"));
    }
}

#[test]
fn event_named_error_is_a_fault_in_any_words() {
    for data in ["upstream overloaded", r#"{"message":"upstream overloaded"}"#] {
        let mut assembler = Assembler::default();
        assembler.handle_data(data, true, &mut Heard::default());
        let fault = assembler.into_reply(AnswerEnd::Complete).unwrap_err();
        assert!(fault.fault.message.contains("upstream overloaded"));
    }
}

#[test]
fn damaged_event_loses_the_answer_and_a_bare_word_does_not() {
    let mut assembler = Assembler::default();
    assembler.handle_data("ping", false, &mut Heard::default());
    assert!(!assembler.is_lost());
    assembler.handle_data(r#"{"choices":[{"delta":{"content":"hi"#, false, &mut Heard::default());
    assert_eq!(code(assembler.into_reply(AnswerEnd::Complete)).0, "unreadable_answer");
}

#[test]
fn only_the_first_of_several_answers_counts() {
    let mut assembler = Assembler::default();
    let mut heard = Heard::default();
    for (index, words) in [(1, "a"), (0, "x"), (1, "b")] {
        let chunk = json!({"choices": [{"index": index, "delta": {"content": words}}]});
        assembler.handle_data(&chunk.to_string(), false, &mut heard);
    }
    assert_eq!(heard.text, "ab");
}

#[test]
fn c034_end_marker_alone_completes_and_a_closed_connection_does_not() {
    let build = || {
        let mut assembler = Assembler::default();
        assembler.handle_data(r#"{"choices":[{"delta":{"content":"Hel"}}]}"#, false, &mut Heard::default());
        assembler
    };
    assert_eq!(build().into_reply(AnswerEnd::Complete).unwrap().content, Content::from("Hel"));
    let fault = build().into_reply(AnswerEnd::Closed).unwrap_err();
    assert_eq!((fault.fault.code.as_str(), fault.partial.as_str()), ("truncated_answer", "Hel"));
}

/// Reads a stream that is cut at these places.
fn read(stream: &[u8], cuts: &[usize]) -> (Heard, Result<ModelReply, ModelFault>) {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
    places.extend([0, stream.len()]);
    places.sort_unstable();
    let (mut reader, mut assembler, mut heard) = (SseReader::default(), Assembler::default(), Heard::default());
    let mut end = AnswerEnd::Closed;
    for pair in places.windows(2) {
        reader.handle_bytes(&stream[pair[0]..pair[1]]).unwrap();
        while let Some(event) = reader.next_event() {
            match event {
                SseEvent::Data { text, is_error } => assembler.handle_data(&text, is_error, &mut heard),
                SseEvent::Done => end = AnswerEnd::Complete,
            }
        }
    }
    (heard, assembler.into_reply(end))
}

proptest! {
    #[test]
    fn c039_reply_does_not_depend_on_where_the_bytes_were_cut(cuts in prop::collection::vec(any::<usize>(), 0..12)) {
        let stream = include_bytes!("../../../../../tests/cases/inputs/C039.sse");
        let (heard, reply) = read(stream, &cuts);
        prop_assert_eq!(heard.text, "那个🦀");
        let reply = reply.unwrap();
        prop_assert_eq!(reply.calls[0].arguments.as_str(), "{\"city\":\"杭州\"}");
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes, &[3, 50]);
        let _ = read(&[b"data: ", &bytes[..], b"\n\n"].concat(), &[7]);
    }

    #[test]
    fn no_whole_body_makes_the_decoder_panic_or_answer_with_nothing(
        text in "(\\{\"(choices|error|usage|message|content|tool_calls)\":){0,5}[\\[\\]{}\"a:,0-9-]{0,30}\\}{0,5}",
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        for body in [text.as_str(), &String::from_utf8_lossy(&bytes)] {
            let mut assembler = Assembler::default();
            assembler.handle_body(body, &mut Heard::default());
            if let Ok(reply) = assembler.into_reply(AnswerEnd::Complete) {
                prop_assert!(!reply.content.text().is_empty() || !reply.calls.is_empty(), "{body} is no answer");
            }
        }
    }

    #[test]
    fn no_json_makes_the_decoder_panic(text in "(\\{\"(choices|error|usage|delta)\":){0,4}[\\[\\]{}\"a:,0-9-]{0,30}\\}{0,4}") {
        let _ = read(format!("data: {text}\n\ndata: [DONE]\n\n").as_bytes(), &[]);
    }
}
