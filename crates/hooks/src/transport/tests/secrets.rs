//! No secret in any log line, error or stored form.

use std::io;
use std::sync::PoisonError;

use tracing_subscriber::fmt::MakeWriter;

use super::*;

/// All that is logged.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn captured() -> (Captured, tracing::subscriber::DefaultGuard) {
    let log = Captured::default();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).with_ansi(false);
    (log, tracing::subscriber::set_default(subscriber.finish()))
}

fn text(log: &Captured) -> String {
    String::from_utf8(log.0.lock().unwrap().clone()).unwrap()
}

#[tokio::test]
async fn c133_no_secret_is_logged_stored_or_shown_whatever_fails() {
    let (log, _guard) = captured();
    let vars = Vars::of([
        ("TOKEN", "s3cret-token"),
        ("SIGNING", "whsec_czNjcmV0LXNpZ25pbmc="),
        ("QSTASH_TOKEN", "s3cret-qstash"),
        ("AGENT_HOOK_WEBHOOK_TOKEN", "s3cret-environment"),
        ("AGENT_HOOK_WEBHOOK_EVENTS", "onComplete,beforeToolCall"),
        ("AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING", "toolCall"),
    ]);
    let replies = [
        Reply::Full(401, b"s3cret-token is wrong".to_vec()),
        Reply::Close,
        Reply::ok(r#"{"decision":"s3cret"}"#),
        Reply::deny("fine"),
    ];
    let mut shown = String::new();
    for reply in replies {
        let server = Server::always(reply);
        vars.set("AGENT_HOOK_WEBHOOK_URL", &server.url("/?key=s3cret-query"));
        vars.set("QSTASH_URL", &server.url(""));
        let secret = json!({
            "url": server.url("/?key=${KEY}"), "headers": {"Authorization": "Bearer ${TOKEN}"}, "allowedEnvVars": ["TOKEN"],
            "signingSecretEnv": "SIGNING", "fallback": "none"
        });
        let mut qstash = secret.clone();
        qstash["delivery"] = json!("qstash");
        let command = "echo s3cret-output; echo s3cret-error >&2; exit 1";
        let hooks = Hooks::new()
            .webhook("fetch", HookKind::OnComplete, config(secret.clone()))
            .webhook("qstash", HookKind::OnComplete, config(qstash))
            .webhook("observe", HookKind::BeforeToolCall, config(secret))
            .command("asked", HookKind::BeforeToolCall, CommandConfig::control(["/bin/sh", "-c", command]));
        let dispatcher = dispatcher(DispatchMode::Local, &vars);
        dispatcher.register(&"op_1".into(), hooks).unwrap();
        let handle = dispatcher.handle(&Rounds::of("op_1"));
        let delivery = fire(&handle, HookKind::OnComplete).await;
        shown += &format!("{delivery:?} {:?}", delivery.clone().surface());
        let (ruling, delivery) = before(&handle).await;
        shown += &format!("{ruling:?} {delivery:?} {handle:?} {dispatcher:?}");
        let stored = json!(dispatcher.serialized(&"op_1".into()).unwrap()).to_string();
        assert!(!stored.contains("s3cret-token") && !stored.contains("s3cret-signing"));
    }
    let logged = text(&log);
    assert!(logged.contains("[HookDispatcher] Critical webhook delivery failed"), "{logged}");
    for place in [&logged, &shown] {
        for secret in ["s3cret-", "czNjcmV0", "decision\":\"s3cret"] {
            assert!(!place.contains(secret), "{secret} in {place}");
        }
    }
}

#[tokio::test]
async fn b13_failures_are_logged_with_operation_hook_and_type() {
    let (log, _guard) = captured();
    let critical = WebhookConfig { fallback: Fallback::None, ..WebhookConfig::new(closed_port()) };
    let hooks = Hooks::new().webhook("ordinary", HookKind::OnComplete, WebhookConfig::new(closed_port())).webhook(
        "critical",
        HookKind::OnComplete,
        critical,
    );
    fire(&local(&Vars::default(), hooks), HookKind::OnComplete).await;
    let logged = text(&log);
    let line = |message: &str| logged.lines().find(|line| line.contains(message)).unwrap_or_default().to_owned();
    for (message, hook) in [
        ("[HookDispatcher] Webhook delivery failed (non-fatal)", "ordinary"),
        ("[HookDispatcher] Critical webhook delivery failed", "critical"),
    ] {
        let line = line(message);
        assert!(line.contains("ERROR"), "{logged}");
        for field in ["operationId=op_1".to_owned(), format!("hookId={hook}"), "hookType=onComplete".to_owned()] {
            assert!(line.contains(&field), "{line}");
        }
    }
}

#[tokio::test]
async fn e21_a_fallback_is_logged_with_code_and_status_and_no_reply() {
    let (log, _guard) = captured();
    let (relay, target) = (Server::always(Reply::Full(503, b"s3cret reply".to_vec())), Server::always(Reply::ok("")));
    let vars = Vars::of([("QSTASH_URL", relay.url("").as_str()), ("QSTASH_TOKEN", "t")]);
    notify(&vars, json!({"url": target.url("/"), "delivery": "qstash"})).await.unwrap();
    let logged = text(&log);
    let line = logged.lines().find(|line| line.contains("QStash delivery failed, falling back to fetch")).unwrap();
    assert!(line.contains("ERROR") && line.contains("http_error") && line.contains("503"));
    assert!(!logged.contains("s3cret"));
}
