//! QStash, through a stand-in for its publish API.

use super::*;

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
    Reply::Full(201, br#"{"messageId":"msg_1"}"#.to_vec())
}

#[tokio::test]
async fn e16_headers_options_and_deadline_are_forwarded() {
    let bench = Bench::new(created());
    bench.vars.set("TOKEN", "mine");
    let more = json!({
        "headers": {"Authorization": "Bearer ${TOKEN}", "X-Team": "a"}, "allowedEnvVars": ["TOKEN"], "timeout": 2.5,
        "retries": 3, "delay": "1h30m"
    });
    bench.notify(more).await.unwrap();
    let [seen] = bench.relay.seen().try_into().unwrap();
    assert_eq!(
        (seen.method.as_str(), seen.path.clone()),
        ("POST", format!("/v2/publish/{}", bench.target.url("/hook?x=1")))
    );
    for (name, value) in [
        ("authorization", "Bearer tok-s3cret"),
        ("upstash-forward-authorization", "Bearer mine"),
        ("upstash-forward-x-team", "a"),
        ("upstash-timeout", "2.5s"),
        ("upstash-retries", "3"),
        ("upstash-delay", "1h30m"),
        ("content-type", "application/json"),
    ] {
        assert_eq!(seen.headers[name], value, "{name}");
    }
    assert_eq!(seen.json(), json!({"a": 1, "b": "é"}));
    assert!(bench.target.seen().is_empty());
    bench.notify(json!({})).await.unwrap();
    assert_eq!(bench.relay.seen()[1].headers["upstash-timeout"], "30s");
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
    for status in [401, 429, 503] {
        let bench = Bench::new(Reply::Full(status, b"tok-s3cret is invalid".to_vec()));
        let fault = bench.notify(json!({"fallback": "none"})).await.unwrap_err();
        assert_eq!((fault.code(), fault.status()), (FaultCode::HttpError, Some(status)));
        let text = format!("Hook HTTP request failed: http_error: QStash publish failed (HTTP {status})");
        assert_eq!(fault.to_string(), text);
        assert!(!format!("{fault:?}").contains("s3cret") && bench.target.seen().is_empty());
    }
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
