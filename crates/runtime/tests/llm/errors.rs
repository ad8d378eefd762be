//! Rows of the theme ERRORS, and C133.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::time::{Duration, SystemTime};

use jackline_runtime::llm::{ModelFault, ModelFaultKind, OpenAiModel};
use tokio::net::TcpListener;

use crate::server::{Answer, Server};
use crate::support::{Heard, KEY, ask, case, client, fault, outcome};

async fn refused(status: u16, headers: &str, body: &str) -> ModelFault {
    outcome(Answer::refusal(status, headers, body), false).await.unwrap_err()
}

#[tokio::test]
async fn c133_key_that_the_server_quotes_is_masked() {
    let fault = fault("C133.http").await;
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Permanent, "unauthorized"));
    assert!(fault.fault.message.contains("Incorrect API key provided"));
    assert!(!format!("{fault:?} {fault}").contains("1234567890"), "{fault:?}");
}

#[tokio::test]
async fn c133_connect_error_and_debug_hold_no_key() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let builder = OpenAiModel::builder().base_url(format!("http://{unused}/v1")).api_key(KEY).header("x-other", KEY);
    assert!(!format!("{builder:?}").contains("1234567890"));
    let model = builder.build().unwrap();
    assert!(!format!("{model:?}").contains("1234567890"));
    let fault = ask(&model, &mut Heard::default()).await.unwrap_err();
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Retryable, "connection_failed"));
    assert!(!format!("{fault:?}").contains("1234567890"));
}

#[tokio::test]
async fn c136_retry_after_is_read_from_the_answer() {
    let soon = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(30));
    let wait = refused(429, &format!("Retry-After: {soon}\r\n"), "{}").await.retry_after.unwrap();
    assert!((20..=30).contains(&wait.as_secs()), "{wait:?}");
    for (text, expected) in [("1.5", Some(Duration::from_millis(1500))), ("abc", None), ("-1", None)] {
        assert_eq!(refused(429, &format!("Retry-After: {text}\r\n"), "{}").await.retry_after, expected);
    }
    // The date in the file is read against the clock: in the past it is "at once".
    let fault = fault("C136.http").await;
    assert_eq!(fault.fault.message, "the provider answered 429: slow down");
    assert!(fault.retry_after.is_some_and(|wait| wait <= Duration::from_secs(120)));
}

#[tokio::test]
async fn c137_one_call_is_one_request_and_the_fault_keeps_all() {
    let server =
        Server::start([429, 429].map(|status| Answer::refusal(status, "", "{\"error\":{\"message\":\"slow down\"}}")))
            .await;
    let model = client(&server).build().unwrap();
    let fault = ask(&model, &mut Heard::default()).await.unwrap_err();
    assert_eq!(server.requests().len(), 1);
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Retryable, "rate_limited"));
    assert!(fault.fault.message.contains("429") && fault.fault.message.contains("slow down"));
}

#[tokio::test]
async fn c140_overflow_is_its_own_kind() {
    let fault = fault("C140.http").await;
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::ContextOverflow, "context_overflow"));
    assert!(fault.fault.message.contains("9001 tokens"));
}

#[tokio::test]
async fn c142_withheld_answer_is_not_retried() {
    for name in ["C142.json", "C142.sse"] {
        let fault = case(name).await.unwrap_err();
        assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Permanent, "content_filter"), "{name}");
    }
}

#[tokio::test]
async fn llm_15_no_shape_of_body_loses_the_status() {
    for (status, body, kind) in [
        (429, "<html><body>slow</body></html>", ModelFaultKind::Retryable),
        (429, "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"x\"}}", ModelFaultKind::Permanent),
        (422, "{\"detail\":[{\"msg\":\"field required\"}]}", ModelFaultKind::Permanent),
        (503, "", ModelFaultKind::Retryable),
        (400, "{\"error\":\"nope\"}", ModelFaultKind::Permanent),
    ] {
        let fault = refused(status, "", body).await;
        assert_eq!(fault.kind, kind, "{status} {body}");
        assert!(fault.fault.message.contains(&status.to_string()), "{}", fault.fault.message);
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let other = Server::start([Answer::case("_final.json")]).await;
    let location = format!("Location: {}/chat/completions\r\n", other.url);
    for status in [302, 307] {
        let fault = refused(status, &location, "").await;
        assert_eq!(fault.kind, ModelFaultKind::Permanent);
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn long_error_body_is_cut() {
    let fault = refused(500, "", &"x".repeat(1_000_000)).await;
    assert!(fault.fault.message.len() < 3_000);
}

#[tokio::test]
async fn page_with_a_good_status_is_no_answer() {
    let fault = outcome(Answer::ok("text/html", b"<html>please log in</html>"), false).await.unwrap_err();
    assert_eq!((fault.kind, fault.fault.code.as_str()), (ModelFaultKind::Retryable, "unreadable_answer"));
    assert!(fault.fault.message.contains("please log in"));
}
