//! Rows of the theme STREAM.

use std::time::Duration;

use jackline_hooks::HookKind;
use jackline_model::{Reason, Status};
use jackline_runtime::drive::Told;
use jackline_runtime::llm::StreamMode;
use jackline_runtime::machine::limits;
use serde_json::{Value, json};

use crate::server::{Answer, Mode};
use crate::world::{Ended, SOON, World};

/// A run of one stream that calls one tool, and its answer.
async fn called(case: &str, tool: &str, arguments: Value) -> Ended {
    let ended = World::of(&[case]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.seen.runs(tool), [arguments], "{case}");
    assert_eq!((ended.seen.runs_of_all(), ended.requests.len()), (1, 2), "{case}");
    assert_eq!(ended.messages(1, "assistant").len(), 1);
    assert_eq!(ended.messages(1, "assistant")[0]["tool_calls"].as_array().map(Vec::len), Some(1), "{case}");
    ended
}

/// A run of one stream that answers in words.
async fn answered(case: &str, text: &str) -> Ended {
    let ended = World::of(&[case]).await.run().await;
    ended.assert_done(text);
    assert_eq!(ended.requests.len(), 1, "{case}");
    ended
}

#[tokio::test]
async fn c019_a_call_that_is_numbered_from_one_leaves_no_ghost() {
    let ended = called("C019.sse", "clock/now", json!({})).await;
    assert_eq!(ended.messages(1, "assistant")[0]["content"], "Let me look.");
}

#[tokio::test]
async fn c020_deltas_without_an_index_make_one_call() {
    called("C020.sse", "notes/add", json!({"text": "milk"})).await;
}

#[tokio::test]
async fn c022_nameless_pieces_make_no_shortened_call() {
    called("C022.sse", "notes/add", json!({"text": "milk"})).await;
}

#[tokio::test]
async fn c023_a_name_in_every_chunk_is_one_name() {
    called("C023.sse", "files/read", json!({"path": "a.txt"})).await;
}

#[tokio::test]
async fn c025_empty_finish_reasons_do_not_end_the_answer() {
    answered("C025.sse", "Hello there").await;
}

#[tokio::test]
async fn c026_an_unknown_finish_reason_ends_well_and_is_told() {
    let ended = answered("C026.sse", "Hi").await;
    let words = ended.told.iter().find_map(|event| {
        let Told::ModelEnd { finish, .. } = &event.what else { return None };
        finish.clone()
    });
    assert_eq!(words.as_deref(), Some("eos_token"));
    let cut = World::of(&["C026.b.json"]).await.run().await;
    cut.assert_done("All done.");
    assert_eq!(cut.seen.runs_of_all(), 0, "half a call must not run");
}

#[tokio::test]
async fn c027_calls_run_whatever_the_finish_reason_says() {
    called("C027.sse", "notes/add", json!({"text": "milk"})).await;
}

#[tokio::test]
async fn c029_a_call_that_was_cut_off_does_not_run() {
    let ended = World::of(&["C029.sse"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!((ended.seen.runs_of_all(), ended.requests.len()), (0, 2));
    assert!(ended.results(1)[0].contains("cut off"), "{:?}", ended.results(1));
}

#[tokio::test]
async fn c031_chunks_without_choices_carry_usage_once() {
    let ended = answered("C031.sse", "Hi").await;
    let totals = &ended.report.totals;
    assert_eq!((totals.input_tokens, totals.output_tokens, totals.total_tokens), (20, 6, 26));
}

#[tokio::test]
async fn c033_nulls_and_repeated_roles_make_one_message() {
    let ended = called("C033.sse", "notes/add", json!({"text": "milk"})).await;
    assert_eq!(ended.messages(1, "assistant")[0]["content"], "Hi all");
}

#[tokio::test]
async fn c034_the_end_marker_completes_an_answer() {
    answered("C034.sse", "Hello").await;
}

#[tokio::test]
async fn c036_a_connection_that_stays_open_behind_the_end_holds_nothing_up() {
    let world = World::answering([Answer::case("C036.sse").mode(Mode::Hold)]).await;
    let ended =
        world.client(|client| client.stream(StreamMode::Always).idle_timeout(Duration::from_secs(60))).run().await;
    // It would take the idle timeout if the end of the connection were waited for, which is beyond `SOON`.
    assert_eq!((ended.report.reason, ended.requests.len()), (Some(Reason::Done), 1));
    const { assert!(SOON.as_secs() < 60) };
}

#[tokio::test]
async fn c037_comments_are_no_data() {
    answered("C037.sse", "Hi").await;
}

#[tokio::test]
async fn c039_characters_that_arrive_in_pieces_are_whole_everywhere() {
    let answers = [Answer::case("C039.sse").mode(Mode::Bytes), Answer::case("_final.sse").mode(Mode::Bytes)];
    let world = World::answering(answers).await.client(|client| client.stream(StreamMode::Always));
    let ended = world.run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.seen.runs("weather/get"), [json!({"city": "杭州"})]);
    assert_eq!(ended.messages(1, "assistant")[0]["content"], "那个🦀");
    let told: String = ended.told.iter().map(|event| event.to_json()).collect();
    assert!(!ended.stored().contains('\u{fffd}') && !told.contains('\u{fffd}'));
}

#[tokio::test]
async fn c041_an_error_inside_a_stream_is_retried_and_then_told() {
    let ended = World::of(&["C041.sse"]).await.run().await;
    ended.assert_done("All done.");
    assert_eq!((ended.waits().len(), ended.requests.len()), (1, 2));
    assert!(!ended.stored().contains("\"The\""), "the part of the failed answer is not kept");

    let ended = World::of(&["C041.sse"; limits::MODEL_ATTEMPTS_MAX as usize]).await.run().await;
    assert!(ended.assert_failed().contains("upstream overloaded"));
    assert_eq!(ended.report.answer, None);
    assert_eq!(ended.requests.len(), usize::from(limits::MODEL_ATTEMPTS_MAX));
    assert_eq!(ended.seen.events(HookKind::OnError)[0]["errorAttribution"], "provider");
}

#[tokio::test]
async fn c043_silence_ends_at_the_idle_limit_and_a_stop_does_not_wait_for_it() {
    let silent = || Answer::case("C043.sse").mode(Mode::Hold);
    let world = World::answering([silent(), Answer::case("_final.sse")]).await;
    let ended =
        world.client(|client| client.stream(StreamMode::Always).idle_timeout(Duration::from_millis(100))).run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.waits().len(), 1);

    let world = World::answering([silent()]).await.client(|client| client.stream(StreamMode::Always));
    let runtime = world.runtime();
    let stopped = async {
        let run = world.start(&runtime);
        world.server.answered().await;
        run.interrupt().unwrap();
        run.wait().await.unwrap()
    };
    // The idle limit is a minute: only the stop can end it this soon.
    let report = tokio::time::timeout(SOON, world.clock.run(stopped)).await.expect("the stop ends the run");
    assert_eq!(report.status, Status::Interrupted);
    assert_eq!(world.requests().len(), 1);
}
