//! One request, whatever the receiver does.

use super::*;

const KEY: &str = "?key=s3cret";

fn code(result: Result<(), HookFault>) -> Option<FaultCode> {
    result.err().map(|fault| {
        assert!(!format!("{fault} {fault:?}").contains("s3cret"));
        fault.code()
    })
}

#[tokio::test]
async fn e01_a_notification_is_one_post_of_exactly_the_payload() {
    let server = Server::always(Reply::ok(""));
    notify(&Vars::default(), json!({"url": server.url("/hook?x=1")})).await.unwrap();
    let [seen] = server.seen().try_into().unwrap();
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/hook?x=1"));
    assert_eq!(seen.body, r#"{"a":1,"b":"é"}"#.as_bytes());
    assert_eq!(seen.headers["content-type"], "application/json");
    for absent in ["user-agent", "webhook-id", "webhook-signature", "idempotency-key", "authorization", "referer"] {
        assert!(!seen.headers.contains_key(absent), "{absent}");
    }
    let typed = json!({"url": server.url("/"), "headers": {"Content-Type": "application/vnd.x+json"}});
    notify(&Vars::default(), typed).await.unwrap();
    assert_eq!(server.seen()[1].headers["content-type"], "application/vnd.x+json");
}

#[tokio::test]
async fn e02_any_status_of_success_will_do() {
    for status in [200, 201, 202, 204, 205, 206] {
        let server = Server::always(Reply::Full(status, Vec::new()));
        assert_eq!(notify(&Vars::default(), json!({"url": server.url("/")})).await, Ok(()), "{status}");
    }
}

#[tokio::test]
async fn e03_the_reply_to_a_notification_is_not_read() {
    for body in [b"not json".as_slice(), b"\xff\xfe", br#"{"decision":"deny"}"#, br#"{"decision":7}"#] {
        let server = Server::always(Reply::ok(body));
        assert_eq!(notify(&Vars::default(), json!({"url": server.url("/")})).await, Ok(()));
    }
}

#[tokio::test]
async fn e04_a_reply_without_end_does_not_hold_a_notification_up() {
    let replies =
        [Reply::ok(vec![b'x'; 100_000]), Reply::Endless { announced: false }, Reply::Endless { announced: true }];
    for reply in replies {
        let (server, started) = (Server::always(reply), Instant::now());
        assert_eq!(notify(&Vars::default(), json!({"url": server.url("/"), "timeout": 5})).await, Ok(()));
        assert!(started.elapsed() < Duration::from_secs(4));
    }
}

#[tokio::test]
async fn e06_other_statuses_are_errors_after_one_attempt() {
    for status in [301, 304, 400, 401, 404, 429, 500, 503] {
        let server = Server::always(Reply::Full(status, b"s3cret".to_vec()));
        let fault = notify(&Vars::default(), json!({"url": server.url(KEY)})).await.unwrap_err();
        assert_eq!((fault.code(), fault.status()), (FaultCode::HttpError, Some(status)));
        assert_eq!(fault.to_string(), "Hook HTTP request failed: http_error");
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_receiver_that_wants_to_be_left_alone_is_understood() {
    let date = |seconds: i64| {
        let now = SystemTime::now();
        let at = if seconds < 0 { now - Duration::from_secs(60) } else { now + Duration::from_secs(60) };
        httpdate::fmt_http_date(at)
    };
    for (status, text, least, most) in [
        (503, "7".to_owned(), 7, 7),
        (429, " 120 ".to_owned(), 120, 120),
        (503, "0".to_owned(), 0, 0),
        (503, date(60), 30, 60),
        (503, date(-60), 0, 0),
    ] {
        let server = Server::always(Reply::Later(status, text.clone()));
        let fault = notify(&Vars::default(), json!({"url": server.url(KEY)})).await.unwrap_err();
        let wait = fault.retry_after().unwrap().as_secs();
        assert!((least..=most).contains(&wait) && fault.status() == Some(status), "{text}: {wait}");
    }
    for text in ["soon", "-1", "1.5", "", "Thu, 99 Foo 2026"] {
        let server = Server::always(Reply::Later(503, text.to_owned()));
        let fault = notify(&Vars::default(), json!({"url": server.url(KEY)})).await.unwrap_err();
        assert_eq!(fault.retry_after(), None, "{text}");
    }
}

#[tokio::test]
async fn e07_a_connection_that_fails_is_an_error_without_its_text() {
    let fault = notify(&Vars::default(), json!({"url": closed_port()})).await.unwrap_err();
    assert_eq!(fault.to_string(), "Hook HTTP request failed: network_error");
}

#[tokio::test]
async fn e08_a_connection_that_breaks_off_leaks_no_query() {
    let server = Server::always(Reply::Close);
    let result = notify(&Vars::default(), json!({"url": server.url(KEY)})).await;
    assert_eq!(code(result), Some(FaultCode::NetworkError));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn e09_redirects_are_not_followed() {
    let target = Server::always(Reply::allow());
    for status in [301, 302, 303, 307, 308] {
        let server = Server::always(Reply::Redirect(status, target.url("/internal")));
        let with_token = json!({"url": server.url("/"), "headers": {"Authorization": "Bearer s3cret"}});
        assert_eq!(code(notify(&Vars::default(), with_token).await), Some(FaultCode::HttpError));
        let asked = ask(&Vars::default(), json!({"url": server.url("/"), "responseHandling": "toolCall"})).await;
        assert_eq!(asked.unwrap_err().code(), FaultCode::HttpError);
    }
    assert!(target.seen().is_empty());
}

#[tokio::test]
async fn e10_the_deadline_covers_head_and_body() {
    for reply in [Reply::Hang, Reply::Drip(vec![b' '; 4_000])] {
        let (server, started) = (Server::always(reply.clone()), Instant::now());
        let asking = json!({"url": server.url("/"), "responseHandling": "toolCall", "timeout": 0.2});
        assert_eq!(ask(&Vars::default(), asking).await.unwrap_err().code(), FaultCode::Timeout, "{reply:?}");
        assert!(started.elapsed() < Duration::from_secs(5));
    }
    let server = Server::always(Reply::Hang);
    let fault = notify(&Vars::default(), json!({"url": server.url(KEY), "timeout": 0.2})).await;
    assert_eq!(code(fault), Some(FaultCode::Timeout));
}

#[tokio::test]
async fn e11_a_control_is_asked_and_nothing_else_is() {
    let server = Server::always(Reply::allow());
    let as_notification =
        notify(&Vars::default(), json!({"url": server.url("/"), "responseHandling": "toolCall"})).await;
    assert_eq!(code(as_notification), Some(FaultCode::Configuration));
    for invalid in [
        json!({"url": server.url("/")}),
        json!({"url": server.url("/"), "responseHandling": "toolCall", "body": {}}),
        json!({"url": server.url("/"), "responseHandling": "toolCall", "eventFields": []}),
        json!({"url": server.url("/"), "responseHandling": "toolCall", "delivery": "qstash"}),
        json!({"url": server.url("/"), "responseHandling": "toolCall", "timeout": 0}),
        json!({"url": "ftp://host/", "responseHandling": "toolCall"}),
    ] {
        assert_eq!(ask(&Vars::default(), invalid).await.unwrap_err().code(), FaultCode::Configuration);
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn e12_secrets_are_filled_in_when_a_request_is_sent() {
    let (server, vars) = (Server::always(Reply::ok("")), Vars::of([("TOKEN", "first")]));
    let template =
        json!({"url": server.url("/"), "headers": {"Authorization": "Bearer ${TOKEN}"}, "allowedEnvVars": ["TOKEN"]});
    notify(&vars, template.clone()).await.unwrap();
    vars.set("TOKEN", "second");
    notify(&vars, template.clone()).await.unwrap();
    let sent: Vec<_> = server.seen().into_iter().map(|seen| seen.headers["authorization"].clone()).collect();
    assert_eq!(sent, ["Bearer first", "Bearer second"]);
    assert_eq!(json!(config(template.clone())), template);
}

#[tokio::test]
async fn e13_e14_what_must_not_be_sent_stops_the_request() {
    let (server, vars) = (Server::always(Reply::ok("")), Vars::of([("TOKEN", "s3cret"), ("BAD", "s3cret\r\nX: 1")]));
    for (name, value) in [
        ("X", "${TOKEN}"),
        ("X", "${ABSENT}"),
        ("X", "${BAD}"),
        ("X", "${broken"),
        ("Host", "s3cret"),
        ("Content-Length", "5"),
        ("Upstash-Callback", "s3cret"),
        ("Proxy-Authorization", "s3cret"),
    ] {
        let hook = json!({"url": server.url("/"), "headers": {name: value}, "allowedEnvVars": ["ABSENT", "BAD"]});
        assert_eq!(code(notify(&vars, hook).await), Some(FaultCode::Configuration), "{name}: {value}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn e15_a_path_goes_to_the_application() {
    let server = Server::always(Reply::ok(""));
    for base in ["INTERNAL_APP_URL", "APP_URL"] {
        let vars = Vars::of([(base, server.url("").as_str())]);
        notify(&vars, json!({"url": "/plain"})).await.unwrap();
        notify(&vars, json!({"url": "/relay", "delivery": "qstash"})).await.unwrap();
    }
    assert_eq!(server.paths(), ["/plain", "/relay", "/plain", "/relay"]);
    assert_eq!(code(notify(&Vars::default(), json!({"url": "/plain"})).await), Some(FaultCode::Configuration));
}

#[tokio::test]
async fn signatures_are_verified_by_an_independent_library() {
    let (server, secret) = (Server::always(Reply::ok("")), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    let vars = Vars::of([("SIGNING", secret), ("PLAIN", "not base64!")]);
    notify(&vars, json!({"url": server.url("/"), "signingSecretEnv": "SIGNING"})).await.unwrap();
    let [seen] = server.seen().try_into().unwrap();
    let mut headers = reqwest::header::HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        headers.insert(name, seen.headers[name].parse().unwrap());
    }
    assert!(seen.headers["webhook-id"].starts_with("dlv_"));
    let verifier = standardwebhooks::Webhook::new(secret).unwrap();
    assert!(verifier.verify(&seen.body, &headers).is_ok());
    assert!(verifier.verify(b"{\"a\":2}", &headers).is_err());
    for missing in ["ABSENT", "PLAIN"] {
        let hook = json!({"url": server.url("/"), "signingSecretEnv": missing});
        assert_eq!(code(notify(&vars, hook).await), Some(FaultCode::Configuration));
    }
    let own = json!({"url": server.url("/"), "signingSecretEnv": "SIGNING", "headers": {"Webhook-Id": "mine"}});
    assert_eq!(code(notify(&vars, own).await), Some(FaultCode::Configuration));
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_delivery_from_the_outbox_says_which_one_it_is() {
    let server = Server::always(Reply::ok(""));
    let delivery = request(config(json!({"url": server.url("/"), "delivery": "outbox"})), json!({}));
    carrier(&Vars::default()).notify(delivery.clone()).await.unwrap();
    assert_eq!(server.seen()[0].headers["webhook-id"], delivery.delivery_id.as_str());
}
