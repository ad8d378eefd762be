//! Rows of the theme ERRORS.

use std::time::{Duration, SystemTime};

use jackline_hooks::HookKind;
use jackline_model::Reason;
use jackline_runtime::drive::Told;
use jackline_runtime::llm::StreamMode;
use jackline_runtime::machine::limits;
use serde_json::Value;

use crate::server::{Answer, Mode};
use crate::world::World;

#[tokio::test]
async fn c136_the_wait_that_the_provider_asks_for_is_kept() {
    let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3));
    let past = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    for (header, waits) in
        [(soon.as_str(), 1_000..=3_000), (&past, 0..=0), ("1.5", 1_500..=1_500), ("abc", 1..=120_000)]
    {
        let refusal = Answer::refusal(429, &format!("Retry-After: {header}\r\n"), SLOW_DOWN).mode(Mode::Reuse);
        let world = World::answering([refusal, Answer::case("_final.json")]).await;
        let ended = world.client(|client| client.stream(StreamMode::Never)).run().await;
        ended.assert_done("All done.");
        let waited = ended.waits();
        assert!(waited.len() == 1 && waits.contains(&waited[0]), "{header}: {waited:?}");
    }
}

#[tokio::test]
async fn c137_the_last_refusal_is_what_is_told() {
    let tries = usize::from(limits::MODEL_ATTEMPTS_MAX);
    let ended = World::answering(vec![Answer::refusal(429, "", SLOW_DOWN).mode(Mode::Reuse); tries]).await.run().await;
    let message = ended.assert_failed();
    assert!(message.contains("429") && message.contains("slow down"), "{message}");
    assert_eq!(ended.requests.len(), tries);
}

#[tokio::test]
async fn c140_an_overflow_folds_once_and_keeps_the_request() {
    let called = |_| Answer::case("C003.json");
    // The summary comes in a stream that begins and ends with chunks without choices (C031).
    let summary = || Answer::case("C031.sse");
    let overflow = || Answer::case("C140.http").mode(Mode::Reuse);
    let rounds = 4;
    let answers = (0..rounds).map(called).chain([overflow(), summary(), Answer::case("_final.json")]);
    let ended = World::answering(answers).await.client(|client| client.stream(StreamMode::Never)).run().await;
    ended.assert_done("All done.");
    let count = |kind| ended.seen.events(kind).len();
    assert_eq!((count(HookKind::BeforeCompact), count(HookKind::AfterCompact)), (1, 1));
    let size = |request: usize| ended.requests[request].to_string().len();
    assert!(size(rounds + 2) < size(rounds), "{} is not below {}", size(rounds + 2), size(rounds));
    let users = ended.messages(rounds + 2, "user");
    assert!(users.iter().any(|message| message["content"] == "Please do it."), "{users:?}");

    // If it does not fit then either, that is the end.
    let answers = (0..rounds).map(called).chain([overflow(), summary(), overflow()]);
    let ended = World::answering(answers).await.client(|client| client.stream(StreamMode::Never)).run().await;
    assert_eq!(ended.report.reason, Some(Reason::ContextOverflow), "{:?}", ended.report);
    assert_eq!(ended.requests.len(), rounds + 3);
}

#[tokio::test]
async fn c142_a_withheld_answer_is_an_error_of_its_own_and_asked_once() {
    for case in ["C142.json", "C142.sse"] {
        let ended = World::of(&[case]).await.run().await;
        ended.assert_failed();
        assert_eq!(ended.seen.events(HookKind::OnError)[0]["errorType"], "content_filter", "{case}");
        assert_eq!((ended.requests.len(), ended.report.answer.as_deref()), (1, None), "{case}");
    }
}

#[tokio::test]
async fn c145_a_reset_in_the_middle_leaves_the_good_answer_alone() {
    let reset = || Answer::case("C043.sse").mode(Mode::Reset);
    let world = World::answering([reset(), reset(), Answer::case("_final.sse")]).await;
    let ended = world.client(|client| client.stream(StreamMode::Always)).run().await;
    ended.assert_done("All done.");
    assert_eq!(ended.waits().len(), 2);
    let answered = |payload: &Value| payload["content"] == "All done.";
    let after = ended.seen.events(HookKind::AfterStep);
    assert_eq!(after.iter().filter(|payload| answered(payload)).count(), 1);
    // Who has shown the pieces of a failed try is told that they are void before the next piece comes.
    let last_retry = ended.told.iter().rposition(|event| matches!(event.what, Told::ModelRetry { .. })).unwrap();
    let pieces: String = ended.told[last_retry..]
        .iter()
        .filter_map(|event| {
            let Told::Text { delta } = &event.what else { return None };
            Some(delta.as_str())
        })
        .collect();
    assert_eq!(pieces, "All done.");
}

const SLOW_DOWN: &str = r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#;
