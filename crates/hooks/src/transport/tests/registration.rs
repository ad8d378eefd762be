//! Registration of webhooks and commands.

use super::*;

const TOOL_EVENTS: [HookKind; 3] = [HookKind::BeforeToolCall, HookKind::AfterToolCall, HookKind::OnToolCallError];

fn entry(kind: &str, webhook: Value) -> Value {
    json!({"id": "h", "type": kind, "webhook": webhook})
}

fn refused(value: &Value) -> String {
    Hooks::new().stored([value]).unwrap_err().to_string()
}

fn accepted(value: &Value) {
    let hooks = Hooks::new().stored([value]).unwrap();
    let dispatcher = dispatcher(DispatchMode::Local, &Vars::default());
    dispatcher.register(&"op_1".into(), hooks).unwrap();
    assert_eq!(dispatcher.serialized(&"op_1".into()).unwrap(), std::slice::from_ref(value));
}

fn with(kind: &str, key: &str, option: Value) -> Value {
    let mut webhook = json!({"url": "/hook"});
    webhook[key] = option;
    entry(kind, webhook)
}

fn with_control(kind: &str, key: &str, option: Value) -> Value {
    let mut value = with(kind, key, option);
    value["webhook"]["responseHandling"] = json!("toolCall");
    value
}

#[tokio::test]
async fn a04_a05_someone_must_be_there_to_call() {
    let nobody = json!({"id": "h", "type": "afterStep"});
    assert!(refused(&nobody).starts_with("hook `h`: A hook requires a handler or webhook (`webhook`: "));
    let handler = json!({"id": "h", "type": "afterStep", "handler": "print", "webhook": {"url": "/hook"}});
    assert!(refused(&handler).starts_with("hook `h`: Hook handler must be a function (`handler`: "));
    let two = json!({"id": "h", "type": "afterStep", "webhook": {"url": "/hook"}, "command": {"command": ["x"]}});
    assert!(refused(&two).contains("either a webhook or a command"));
}

#[tokio::test]
async fn a06_a07_matchers_are_for_tool_events_only() {
    for kind in HookKind::ALL {
        for matcher in ["", "*", "^fs/readFile$"] {
            let value = json!({"id": "h", "type": kind, "matcher": matcher, "webhook": {"url": "/hook"}});
            if TOOL_EVENTS.contains(&kind) {
                accepted(&value);
            } else {
                let text = "hook `h`: Matchers are only supported for tool events (`matcher`: ";
                assert!(refused(&value).starts_with(text), "{kind}");
            }
        }
    }
}

#[tokio::test]
async fn a08_a_matcher_is_a_regular_expression_in_a_text() {
    let with =
        |matcher: Value| json!({"id": "h", "type": "beforeToolCall", "matcher": matcher, "webhook": {"url": "/h"}});
    assert!(refused(&with(json!("["))).contains("Invalid hook matcher regular expression"));
    let object = refused(&with(json!({"identifier": "fs", "apiName": "x"})));
    assert!(object.contains("Hook matcher must be a string (`matcher`: "));
}

#[tokio::test]
async fn a09_a_control_has_no_handler() {
    let hooks = Hooks::new().after_tool_call("h", |_| std::future::ready(())).with_webhook(control("/hook", json!({})));
    let error = hooks.validate().unwrap_err().to_string();
    assert!(error.starts_with("hook `h`: Control hooks cannot have a handler (`webhook.responseHandling`: "));
    let all = Hooks::new().observe_all("h", |_| std::future::ready(())).with_webhook(WebhookConfig::new("/hook"));
    assert!(all.validate().unwrap_err().to_string().contains("A webhook requires one hook type"));
}

#[tokio::test]
async fn a10_a_control_is_fetched_and_sees_the_whole_event() {
    for delivery in ["qstash", "outbox"] {
        let text = refused(&with_control("beforeToolCall", "delivery", json!(delivery)));
        assert!(text.contains("toolCall response handling requires fetch delivery (`webhook.delivery`: "));
    }
    for (key, option) in [("eventFields", json!([])), ("body", json!({})), ("eventFields", json!(["userId"]))] {
        let text = refused(&with_control("afterToolCall", key, option));
        assert!(text.contains("Control hooks cannot filter or override the event payload"), "{text}");
    }
}

#[tokio::test]
async fn a11_only_the_two_tool_events_are_controlled() {
    for kind in HookKind::ALL {
        let value = with_control(kind.as_str(), "fallback", json!("none"));
        if kind.is_controllable() {
            accepted(&value);
        } else {
            let text = "toolCall response handling requires beforeToolCall or afterToolCall";
            assert!(refused(&value).contains(text), "{kind}");
        }
    }
}

#[tokio::test]
async fn a12_only_failures_of_controls_block() {
    let text = refused(&with("beforeToolCall", "onError", json!("block")));
    assert!(text.contains("onError:block requires toolCall response handling (`webhook.onError`: "));
    let command = json!({"id": "h", "type": "beforeToolCall", "command": {"command": ["x"], "onError": "block"}});
    assert!(refused(&command).contains("onError:block requires toolCall response handling (`command.onError`: "));
}

#[tokio::test]
async fn a13_a_deadline_fits_a_timer() {
    for timeout in [json!(0), json!(-1), json!(2_147_484), json!(1e300), json!("30"), json!(null)] {
        assert!(refused(&with("afterStep", "timeout", timeout.clone())).contains("`webhook.timeout`"), "{timeout}");
    }
    for timeout in [json!(2_147_483.647), json!(0.01), json!(30)] {
        accepted(&with("afterStep", "timeout", timeout));
    }
    let odd = WebhookConfig::from_json(&json!({"url": "/hook", "timeout": 0.0101})).unwrap();
    assert_eq!(odd.deadline(), Duration::from_millis(11));
    assert_eq!(WebhookConfig::new("/hook").deadline(), Duration::from_secs(30));
}

#[tokio::test]
async fn a14_a_destination_is_http_or_a_path() {
    let text = "Webhook URL must be HTTP(S) or an application-relative path without credentials (`webhook.url`: ";
    for url in ["file:///x", "//host/path", "http://user:s3cret@host/", "/a\\b", ""] {
        let refusal = refused(&entry("afterStep", json!({"url": url})));
        assert!(refusal.contains(text) && !refusal.contains("s3cret"), "{url}");
    }
    assert!(refused(&entry("afterStep", json!({}))).contains(text));
    accepted(&entry("afterStep", json!({"url": "http://internal:8080/hook"})));
}

#[tokio::test]
async fn a15_unknown_keys_types_and_options_are_refused() {
    assert!(refused(&with("afterStep", "retry", json!(3))).contains("Unrecognized key (`webhook.retry`: "));
    assert!(
        refused(&json!({"id": "h", "type": "afterStep", "webhook": {"url": "/h"}, "x": 1}))
            .contains("Unrecognized key (`x`")
    );
    for kind in ["AfterStep", "afterSteps", ""] {
        assert!(refused(&entry(kind, json!({"url": "/h"}))).contains("Invalid hook type (`type`: "));
    }
    for (key, option) in
        [("responseHandling", "tool"), ("delivery", "queue"), ("fallback", "retry"), ("onError", "stop")]
    {
        assert!(refused(&with("afterStep", key, json!(option))).contains("Invalid option: expected one of"), "{key}");
    }
    for (key, option) in [("retries", json!(3)), ("delay", json!("10s"))] {
        assert!(refused(&with("afterStep", key, option)).contains("retries and delay require qstash delivery"));
    }
    let id = json!({"id": 7, "type": "afterStep", "webhook": {"url": "/h"}});
    assert!(refused(&id).starts_with("hook `#0`: Hook id must be a string (`id`: "));
}

#[tokio::test]
async fn a15_what_is_refused_is_named_and_its_value_is_not() {
    for (key, option) in [
        ("headers", json!({"Authorization": {"value": "s3cret"}})),
        ("headers", json!("s3cret")),
        ("allowedEnvVars", json!(["s3cret value"])),
        ("signingSecretEnv", json!("whsec_s3cret=")),
        ("body", json!("s3cret")),
        ("network", json!({"allow": ["http://s3cret"]})),
        ("onError", json!("s3cret")),
    ] {
        let text = refused(&with("afterStep", key, option));
        assert!(text.contains(&format!("`webhook.{key}")) && !text.contains("s3cret"), "{text}");
    }
}

#[tokio::test]
async fn a16_every_type_takes_every_option_of_a_notification() {
    for kind in HookKind::ALL {
        let webhook = json!({"url": "/hook", "body": {"a": 1}, "eventFields": ["userId"], "fallback": "none"});
        accepted(&entry(kind.as_str(), webhook));
    }
}

#[tokio::test]
async fn a17_a22_a_whole_control_survives_being_stored() {
    let webhook = json!({
        "url": "https://policy.test/check", "headers": {"Authorization": "Bearer ${TOKEN}"}, "allowedEnvVars": ["TOKEN"],
        "timeout": 2.5, "onError": "block", "fallback": "none", "responseHandling": "toolCall",
        "signingSecretEnv": "SIGNING", "network": {"denyPrivate": true, "allow": ["policy.test"]}, "inherit": true
    });
    accepted(&json!({"id": "h", "type": "beforeToolCall", "matcher": "^fs/", "webhook": webhook}));
    let qstash = json!({"url": "/hook", "delivery": "qstash", "retries": 3, "delay": "10s"});
    accepted(&entry("onComplete", qstash));
    let command = json!({
        "command": ["./policy.py", "--strict"], "env": ["PATH"], "timeout": 5, "responseHandling": "toolCall",
        "onError": "block", "inherit": false
    });
    accepted(&json!({"id": "h", "type": "afterToolCall", "matcher": "", "command": command}));
}

#[tokio::test]
async fn a18_one_bad_hook_leaves_the_list_as_it_was() {
    let dispatcher = dispatcher(DispatchMode::Local, &Vars::default());
    dispatcher
        .register(&"op_1".into(), Hooks::new().webhook("a", HookKind::AfterStep, WebhookConfig::new("/a")))
        .unwrap();
    let before = dispatcher.serialized(&"op_1".into());
    let batch = Hooks::new().webhook("b", HookKind::AfterStep, WebhookConfig::new("/b")).webhook(
        "c",
        HookKind::AfterStep,
        WebhookConfig::new("ftp://c"),
    );
    assert!(dispatcher.register(&"op_1".into(), batch).unwrap_err().to_string().starts_with("hook `c`"));
    assert_eq!(dispatcher.serialized(&"op_1".into()), before);
}

#[tokio::test]
async fn a19_what_is_registered_is_a_snapshot() {
    let server = Server::always(Reply::ok(""));
    let mut mine = WebhookConfig::new(server.url("/registered"));
    let dispatcher = dispatcher(DispatchMode::Local, &Vars::default());
    dispatcher.register(&"op_1".into(), Hooks::new().webhook("w", HookKind::AfterStep, mine.clone())).unwrap();
    mine.url = server.url("/later");
    fire(&dispatcher.handle(&Rounds::of("op_1")), HookKind::AfterStep).await;
    assert_eq!(server.paths(), ["/registered"]);
}

#[tokio::test]
async fn a20_a21_only_what_survives_is_stored_and_unregistering_removes_all() {
    let dispatcher = dispatcher(DispatchMode::Local, &Vars::default());
    let hooks = Hooks::new()
        .after_step("native", |_| std::future::ready(()))
        .after_step("both", |_| std::future::ready(()))
        .with_webhook(WebhookConfig::new("/both"))
        .webhook("webhook", HookKind::OnError, WebhookConfig::new("/w"));
    dispatcher.register(&"op_1".into(), hooks).unwrap();
    let stored = json!([
        {"id": "both", "type": "afterStep", "webhook": {"url": "/both"}},
        {"id": "webhook", "type": "onError", "webhook": {"url": "/w"}}
    ]);
    assert_eq!(json!(dispatcher.serialized(&"op_1".into()).unwrap()), stored);
    assert_eq!(dispatcher.serialized(&"op_2".into()), None);
    dispatcher.unregister(&"op_1".into());
    assert!(!dispatcher.has_hooks(&"op_1".into()));
}

#[tokio::test]
async fn a23_reserved_ids_are_dropped() {
    let server = Server::always(Reply::ok(""));
    for way in WAYS {
        let reserved = Hooks::new().webhook(
            "server-env-webhook:beforeToolCall",
            HookKind::BeforeToolCall,
            control(&server.url("/"), json!({})),
        );
        let (ruling, delivery) = before(&handle(way, &Vars::default(), reserved)).await;
        assert!(denial(&ruling).is_none() && delivery.is_empty());
    }
    let broken = json!({"id": "server-env-webhook:x", "nonsense": true});
    assert!(Hooks::new().stored([&broken]).unwrap().is_empty());
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a25_equal_ids_are_two_hooks() {
    for way in WAYS {
        let server = Server::always(Reply::ok(""));
        let hooks = Hooks::new().webhook("same", HookKind::AfterStep, WebhookConfig::new(server.url("/1"))).webhook(
            "same",
            HookKind::AfterStep,
            WebhookConfig::new(server.url("/2")),
        );
        fire(&handle(way, &Vars::default(), hooks), HookKind::AfterStep).await;
        assert_eq!(server.paths(), ["/1", "/2"], "{way:?}");
    }
}

#[tokio::test]
async fn a26_a_forbidden_header_is_found_when_it_is_sent() {
    let server = Server::always(Reply::ok(""));
    let webhook = config(json!({"url": server.url("/"), "headers": {"Host": "other"}}));
    let hooks = Hooks::new().webhook("w", HookKind::AfterStep, webhook);
    let delivery = fire(&local(&Vars::default(), hooks), HookKind::AfterStep).await;
    assert_eq!(delivery.receipts[0].fault, Some(FaultCode::Configuration));
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_control_in_this_process_is_refused_in_queue_mode_where_nobody_would_ask_it() {
    let native = Hooks::new().control_before_tool_call("c", |_| std::future::ready(Decision::Allow));
    let error = dispatcher(DispatchMode::Queue, &Vars::default()).register(&"op_1".into(), native).unwrap_err();
    assert_eq!(error, RegistrationError::ControlInQueue { hook: "c".into() });
}
