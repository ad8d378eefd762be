//! QStash, through a stand-in for its publish API.

use super::relay::Relay;
use super::*;

/// A service that takes what it is documented to take, and a receiver.
struct Service {
    relay: Relay,
    target: Server,
    vars: Vars,
}

impl Service {
    fn new(target: Reply) -> Self {
        let (relay, target) = (Relay::start("tok-s3cret"), Server::always(target));
        let vars = Vars::of([("QSTASH_URL", relay.server.url("").as_str()), ("QSTASH_TOKEN", "tok-s3cret")]);
        Self { relay, target, vars }
    }

    async fn notify(&self, more: Value) -> Result<(), HookFault> {
        let mut hook = json!({"url": self.target.url("/hook?x=1"), "delivery": "qstash", "fallback": "none"});
        for (name, option) in more.as_object().unwrap() {
            hook[name] = option.clone();
        }
        notify(&self.vars, hook).await
    }
}

#[tokio::test]
async fn e16_what_is_published_arrives_as_the_hook_would_have_sent_it() {
    let service = Service::new(Reply::ok(""));
    service.vars.set("TOKEN", "mine");
    let more = json!({
        "headers": {"Authorization": "Bearer ${TOKEN}", "X-Team": "a", "Content-Type": "application/vnd.x+json"},
        "allowedEnvVars": ["TOKEN"], "timeout": 2.5, "retries": 3, "delay": "1d10h30m"
    });
    service.notify(more).await.unwrap();
    let [message] = service.relay.messages().try_into().unwrap();
    assert_eq!((message.destination.as_str(), message.method.as_str()), (&*service.target.url("/hook?x=1"), "POST"));
    // Whole seconds, and never fewer than the hook allows.
    assert_eq!(
        (message.retries, message.delay.as_deref(), message.timeout.as_deref()),
        (3, Some("1d10h30m"), Some("3s"))
    );
    assert!(service.target.seen().is_empty());
    assert_eq!(service.relay.deliver().await, [200]);
    let [seen] = service.target.seen().try_into().unwrap();
    assert_eq!((seen.path.as_str(), seen.json()), ("/hook?x=1", json!({"a": 1, "b": "é"})));
    for (name, value) in [("authorization", "Bearer mine"), ("x-team", "a"), ("content-type", "application/vnd.x+json")]
    {
        assert_eq!(seen.headers[name], value, "{name}");
    }
    assert!(!format!("{seen:?}").contains("tok-s3cret"));
}

#[tokio::test]
async fn every_option_that_a_hook_may_have_is_one_that_the_service_takes() {
    let service = Service::new(Reply::ok(""));
    for more in [
        json!({}),
        json!({"timeout": 0.001}),
        json!({"timeout": 2_147_483}),
        json!({"delay": 0}),
        json!({"delay": 90}),
        json!({"delay": "50s"}),
        json!({"delay": "1d1h1m1s"}),
        json!({"retries": 0}),
        json!({"url": "https://host.test/a%20b/../c?q=1&q=2#part"}),
        json!({"url": "http://[2606:4700::1111]:8080/"}),
    ] {
        assert_eq!(service.notify(more.clone()).await, Ok(()), "{more}");
    }
    assert_eq!(service.relay.messages()[8].destination, "https://host.test/c?q=1&q=2");
}

#[tokio::test]
async fn what_the_plan_or_the_token_does_not_allow_is_refused_with_its_status() {
    let service = Service::new(Reply::ok(""));
    for (more, status) in [(json!({"retries": 4}), 400), (json!({"delay": "8d"}), 400)] {
        let fault = service.notify(more).await.unwrap_err();
        assert_eq!((fault.code(), fault.status()), (FaultCode::HttpError, Some(status)));
    }
    service.vars.set("QSTASH_TOKEN", "another");
    let fault = service.notify(json!({})).await.unwrap_err();
    assert_eq!((fault.code(), fault.status()), (FaultCode::HttpError, Some(401)));
    assert!(service.relay.messages().is_empty() && service.target.seen().is_empty());
}

#[tokio::test]
async fn a_receiver_that_fails_is_tried_again_by_the_service_as_often_as_the_hook_says() {
    let service = Service::new(Reply::Full(503, Vec::new()));
    service.notify(json!({"retries": 2})).await.unwrap();
    assert_eq!(service.relay.deliver().await, [503; 3]);
    service.notify(json!({"retries": 0})).await.unwrap();
    assert_eq!(service.relay.deliver().await, [503]);
    let tries: Vec<_> = service.target.seen().into_iter().map(|seen| seen.headers["upstash-retried"].clone()).collect();
    assert_eq!(tries, ["0", "1", "2", "0"]);
}

#[tokio::test]
async fn a_signature_passes_the_service_unbroken() {
    let (service, secret) = (Service::new(Reply::ok("")), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    service.vars.set("SIGNING", secret);
    service.notify(json!({"signingSecretEnv": "SIGNING"})).await.unwrap();
    assert_eq!(service.relay.deliver().await, [200]);
    let [seen] = service.target.seen().try_into().unwrap();
    let mut headers = reqwest::header::HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        headers.insert(name, seen.headers[name].parse().unwrap());
    }
    assert!(standardwebhooks::Webhook::new(secret).unwrap().verify(&seen.body, &headers).is_ok());
}

#[tokio::test]
async fn a_refused_address_is_not_published_either() {
    let service = Service::new(Reply::ok(""));
    for url in ["http://169.254.169.254/", "http://2130706433/", "http://[::ffff:10.0.0.1]/"] {
        let fault = service.notify(json!({"url": url, "network": {"denyPrivate": true}})).await.unwrap_err();
        assert_eq!(fault.code(), FaultCode::Configuration, "{url}");
    }
    assert!(service.relay.messages().is_empty());
    // The service looks names up itself, and it is outside.
    assert_eq!(service.notify(json!({"url": "https://host.test/", "network": {"denyPrivate": true}})).await, Ok(()));
}

#[tokio::test]
async fn one_firing_is_published_once_however_often_it_is_repeated() {
    let service = Service::new(Reply::ok(""));
    let hook = json!({"url": service.target.url("/hook"), "delivery": "qstash", "fallback": "none"});
    let first = request(config(hook.clone()), json!({"a": 1}));
    // The answer may be lost in a crash: then the firing is repeated.
    for _ in 0..2 {
        carrier(&service.vars).notify(first.clone()).await.unwrap();
    }
    carrier(&service.vars).notify(request(config(hook), json!({"a": 1}))).await.unwrap();
    let ids: Vec<_> = service.relay.messages().into_iter().map(|message| message.deduplication_id.unwrap()).collect();
    assert_eq!((ids.len(), ids[0].as_str()), (2, first.delivery_id.as_str()));
}

/// A service that answers by rule.
struct Bench {
    relay: Server,
    target: Server,
    vars: Vars,
}

impl Bench {
    fn new(relay: Reply) -> Self {
        let (relay, target) = (Server::always(relay), Server::always(Reply::ok("")));
        let vars = Vars::of([("QSTASH_URL", relay.url("").as_str()), ("QSTASH_TOKEN", "tok-s3cret")]);
        Self { relay, target, vars }
    }

    async fn notify(&self, more: Value) -> Result<(), HookFault> {
        let mut hook = json!({"url": self.target.url("/hook?x=1"), "delivery": "qstash"});
        for (name, option) in more.as_object().unwrap() {
            hook[name] = option.clone();
        }
        notify(&self.vars, hook).await
    }
}

fn created() -> Reply {
    Reply::ok(r#"{"messageId":"msg_1"}"#)
}

#[tokio::test]
async fn e17_without_a_fallback_a_failed_publish_is_the_failure() {
    let bench = Bench::new(Reply::Close);
    let fault = bench.notify(json!({"fallback": "none"})).await.unwrap_err();
    assert_eq!(fault.to_string(), "Hook HTTP request failed: network_error: QStash publish failed");
    assert!(bench.target.seen().is_empty());
}

#[tokio::test]
async fn e18_without_a_token_there_is_one_plain_request() {
    let bench = Bench::new(created());
    bench.vars.remove("QSTASH_TOKEN");
    bench.notify(json!({})).await.unwrap();
    assert_eq!((bench.target.seen().len(), bench.relay.seen().len()), (1, 0));
    let fault = notify(&bench.vars, json!({"url": closed_port(), "delivery": "qstash"})).await.unwrap_err();
    assert_eq!(fault.code(), FaultCode::NetworkError);
    assert!(bench.relay.seen().is_empty());
}

#[tokio::test]
async fn e19_without_a_token_and_a_fallback_nothing_is_sent() {
    let bench = Bench::new(created());
    bench.vars.remove("QSTASH_TOKEN");
    let fault = bench.notify(json!({"fallback": "none"})).await.unwrap_err();
    assert_eq!(fault.to_string(), "Hook HTTP request failed: configuration: QSTASH_TOKEN not available");
    assert_eq!((bench.target.seen().len(), bench.relay.seen().len()), (0, 0));
}

#[tokio::test]
async fn e20_a_refusal_is_named_by_its_status_only() {
    for status in [400, 401, 412, 429, 500, 503] {
        let bench = Bench::new(Reply::Full(status, br#"{"error":"tok-s3cret is invalid"}"#.to_vec()));
        let fault = bench.notify(json!({"fallback": "none"})).await.unwrap_err();
        assert_eq!((fault.code(), fault.status()), (FaultCode::HttpError, Some(status)));
        let text = format!("Hook HTTP request failed: http_error: QStash publish failed (HTTP {status})");
        assert_eq!(fault.to_string(), text);
        assert!(!format!("{fault:?}").contains("s3cret") && bench.target.seen().is_empty());
    }
}

#[tokio::test]
async fn a_message_that_the_service_knows_already_is_published() {
    let known = br#"{"messageId":"msg_1","deduplicated":true}"#;
    let bench = Bench::new(Reply::Full(202, known.to_vec()));
    assert_eq!(bench.notify(json!({"fallback": "none"})).await, Ok(()));
    assert!(bench.target.seen().is_empty());
}

#[tokio::test]
async fn e21_e05_by_default_a_refusal_leads_to_one_plain_request_whatever_its_reply() {
    for reply in [Reply::ok(""), Reply::ok(vec![b'x'; 100_000]), Reply::Endless { announced: false }] {
        let (bench, target) = (Bench::new(Reply::Full(503, Vec::new())), Server::always(reply));
        let hook = json!({"url": target.url("/hook"), "delivery": "qstash", "timeout": 5});
        notify(&bench.vars, hook).await.unwrap();
        assert_eq!((bench.relay.seen().len(), target.seen().len()), (1, 1));
    }
}

#[tokio::test]
async fn e22_the_bypass_is_for_the_own_origin_only() {
    let bench = Bench::new(created());
    bench.vars.set("VERCEL_AUTOMATION_BYPASS_SECRET", "bypass");
    bench.vars.set("APP_URL", "https://app.test");
    let name = "upstash-forward-x-vercel-protection-bypass";
    for (url, expected) in [
        ("/hook", Some("bypass")),
        ("https://app.test/other", Some("bypass")),
        ("https://app.test:444/other", None),
        ("http://app.test/other", None),
        ("https://app.test.evil.test/", None),
    ] {
        notify(&bench.vars, json!({"url": url, "delivery": "qstash"})).await.unwrap();
        assert_eq!(bench.relay.seen().last().unwrap().headers.get(name).map(String::as_str), expected, "{url}");
    }
    let plain = bench.target.url("/");
    notify(&bench.vars, json!({"url": plain})).await.unwrap();
    assert!(!bench.target.seen()[0].headers.contains_key("x-vercel-protection-bypass"));
}

#[tokio::test]
async fn e23_a_path_is_resolved_again_for_the_fallback() {
    let bench = Bench::new(Reply::Full(503, Vec::new()));
    bench.vars.set("APP_URL", "https://app.test");
    bench.vars.set("INTERNAL_APP_URL", &bench.target.url(""));
    notify(&bench.vars, json!({"url": "/hook", "delivery": "qstash"})).await.unwrap();
    assert_eq!(bench.relay.paths(), ["/v2/publish/https://app.test/hook"]);
    assert_eq!(bench.target.paths(), ["/hook"]);
}

#[tokio::test]
async fn a_bad_header_has_no_fallback() {
    let bench = Bench::new(created());
    let fault = bench.notify(json!({"headers": {"Upstash-Callback": "x"}})).await.unwrap_err();
    assert_eq!(fault.code(), FaultCode::Configuration);
    bench.vars.set("QSTASH_URL", "ftp://relay");
    assert_eq!(bench.notify(json!({})).await.unwrap_err().code(), FaultCode::Configuration);
    assert_eq!((bench.target.seen().len(), bench.relay.seen().len()), (0, 0));
}
