//! Rows of the theme STREAM.

use std::time::Duration;

use jackline_model::Content;
use jackline_runtime::llm::{FinishReason, ModelFaultKind};

use crate::server::{Answer, Mode, Server};
use crate::support::{Heard, SOON, ask, call, case, client, fault, outcome, reply};

#[tokio::test]
async fn c019_call_that_is_numbered_from_one_is_one_call() {
    let reply = reply("C019.sse").await;
    assert_eq!(reply.content, Content::from("Let me look."));
    assert_eq!(reply.calls, [call("call_s1", "clock_now", "{}")]);
}

#[tokio::test]
async fn c020_pieces_without_number_are_joined() {
    assert_eq!(reply("C020.sse").await.calls, [call("call_s2", "notes_add", "{\"text\":\"milk\"}")]);
}

#[tokio::test]
async fn c022_nameless_pieces_under_new_numbers_continue_the_open_call() {
    assert_eq!(reply("C022.sse").await.calls, [call("call_s4", "notes_add", "{\"text\":\"milk\"}")]);
}

#[tokio::test]
async fn c023_repeated_name_is_taken_once() {
    assert_eq!(reply("C023.sse").await.calls, [call("call_s5", "files_read", "{\"path\":\"a.txt\"}")]);
}

#[tokio::test]
async fn c025_empty_finish_reasons_are_none() {
    let reply = reply("C025.sse").await;
    assert_eq!(
        (reply.content, reply.finish, reply.finish_raw),
        (Content::from("Hello there"), FinishReason::Stop, None)
    );
}

#[tokio::test]
async fn c026_unknown_finish_reason_is_an_end_and_is_kept() {
    let reply = reply("C026.sse").await;
    assert_eq!(reply.content, Content::from("Hi"));
    assert_eq!((reply.finish, reply.finish_raw.as_deref()), (FinishReason::Stop, Some("eos_token")));
}

#[tokio::test]
async fn c026_b_model_length_is_length() {
    let reply = reply("C026.b.json").await;
    assert_eq!((reply.finish, reply.finish_raw.as_deref()), (FinishReason::Length, Some("model_length")));
    assert_eq!(reply.calls.len(), 1);
}

#[tokio::test]
async fn c027_calls_with_finish_stop_are_calls() {
    let reply = reply("C027.sse").await;
    assert_eq!(reply.finish, FinishReason::ToolCalls);
    assert_eq!(reply.calls, [call("call_s9", "notes_add", "{\"text\":\"milk\"}")]);
}

#[tokio::test]
async fn c029_cut_arguments_say_length_and_stay_cut() {
    let reply = reply("C029.sse").await;
    assert_eq!(reply.finish, FinishReason::Length);
    assert_eq!(reply.calls, [call("call_s11", "files_write", "{\"path\":\"a.txt\",\"text\":\"line one")]);
    assert_eq!(reply.usage.unwrap().total_tokens, 320);
}

#[tokio::test]
async fn c031_chunks_without_choices_are_read() {
    let reply = reply("C031.sse").await;
    let usage = reply.usage.unwrap();
    assert_eq!(reply.content, Content::from("Hi"));
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (20, 6, 26));
}

#[tokio::test]
async fn c033_nulls_and_repeated_roles_change_nothing() {
    let reply = reply("C033.sse").await;
    assert_eq!(reply.content, Content::from("Hi all"));
    assert_eq!(reply.calls, [call("call_s15", "notes_add", "{\"text\":\"milk\"}")]);
}

#[tokio::test]
async fn c034_end_marker_without_finish_reason_completes() {
    let reply = reply("C034.sse").await;
    assert_eq!((reply.content, reply.finish), (Content::from("Hello"), FinishReason::Stop));
}

#[tokio::test]
async fn c036_answer_is_there_at_the_end_marker_though_the_socket_stays_open() {
    let server = Server::start([Answer::case("C036.sse").mode(Mode::Hold)]).await;
    let model = client(&server).build().unwrap();
    let mut heard = Heard::default();
    let asked = tokio::time::timeout(Duration::from_secs(2), ask(&model, &mut heard));
    assert_eq!(asked.await.unwrap().unwrap().content, Content::from("Hi"));
    tokio::time::timeout(SOON, server.closed()).await.unwrap();
}

#[tokio::test]
async fn c037_comments_and_named_events_are_no_data() {
    assert_eq!(reply("C037.sse").await.content, Content::from("Hi"));
}

#[tokio::test]
async fn c039_split_characters_stay_whole() {
    let reply = outcome(Answer::case("C039.sse").mode(Mode::Bytes), true).await.unwrap();
    assert_eq!(reply.content, Content::from("那个🦀"));
    assert_eq!(reply.calls, [call("call_s21", "weather_get", "{\"city\":\"杭州\"}")]);
}

#[tokio::test]
async fn c041_error_inside_of_a_stream_is_a_fault() {
    let fault = fault("C041.sse").await;
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Retryable, "provider_error"));
    assert!(fault.fault.message.contains("upstream overloaded"));
    assert_eq!(fault.partial, "The");
}

#[tokio::test]
async fn c043_silence_ends_at_the_idle_limit() {
    let server = Server::start([Answer::case("C043.sse").mode(Mode::Hold)]).await;
    let model = client(&server).idle_timeout(Duration::from_millis(150)).build().unwrap();
    let fault = ask(&model, &mut Heard::default()).await.unwrap_err();
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Retryable, "timeout"));
    assert_eq!(fault.partial, "Hi");
}

#[tokio::test]
async fn c043_silence_before_the_first_byte_ends_too() {
    let server = Server::start([]).await;
    let model = client(&server).first_byte_timeout(Duration::from_millis(150)).build().unwrap();
    assert_eq!(ask(&model, &mut Heard::default()).await.unwrap_err().fault.code, "timeout");
}

#[tokio::test]
async fn c043_dropped_call_ends_its_connection() {
    let server = Server::start([Answer::case("C043.sse").mode(Mode::Hold)]).await;
    let model = client(&server).build().unwrap();
    let mut heard = Heard::default();
    tokio::select! {
        result = ask(&model, &mut heard) => panic!("answered: {result:?}"),
        () = server.answered() => {}
    }
    tokio::time::timeout(Duration::from_secs(1), server.closed()).await.unwrap();
}

#[tokio::test]
async fn stream_that_is_cut_off_is_a_fault_that_is_retried() {
    let fault = fault("C043.sse").await;
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Retryable, "truncated_answer"));
    assert_eq!(fault.partial, "Hi");
}

#[tokio::test]
async fn c145_reset_in_the_middle_is_a_fault_with_the_part_that_came() {
    let mut cut = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    cut.extend_from_slice(format!("{:x}\r\n{chunk}\r\n", chunk.len()).as_bytes());
    for mode in [Mode::Reset, Mode::Whole] {
        let fault = outcome(Answer::raw(cut.clone()).mode(mode), true).await.unwrap_err();
        assert_eq!(fault.kind, ModelFaultKind::Retryable);
        assert_eq!(fault.fault.code, "connection_failed");
    }
}

#[tokio::test]
async fn stream_under_another_name_is_read_as_a_stream() {
    let text = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n";
    let reply = outcome(Answer::ok("text/plain", text.as_bytes()), false).await.unwrap();
    assert_eq!(reply.content, Content::from("Hi"));
}

#[tokio::test]
async fn whole_answer_to_a_stream_request_is_read_as_a_whole() {
    let reply = outcome(Answer::case("C045.json"), true).await.unwrap();
    assert_eq!(reply.content, Content::from("hi"));
}

#[tokio::test]
async fn endless_line_ends_as_a_fault() {
    let mut answer = b"data: ".to_vec();
    answer.resize(17 * 1024 * 1024, b'x');
    let fault = outcome(Answer::ok("text/event-stream", &answer), true).await.unwrap_err();
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Permanent, "answer_too_large"));
}

#[tokio::test]
async fn final_answer_is_plain() {
    for name in ["_final.sse", "_final.json"] {
        assert_eq!(case(name).await.unwrap().content, Content::from("All done."));
    }
}
