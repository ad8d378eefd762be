//! What a receiver decides.

use std::time::{Duration, Instant};

use jackline_hooks::{CONTROL_ERROR_REASON, HookKind, Hooks, WebhookConfig};
use jackline_model::{Reason, ToolRunResult};
use jackline_runtime::llm::Turn;
use serde_json::{Value, json};

use crate::receiver::{Receiver, Reply};
use crate::world::{Ended, Log, World, asks_for, case, on};

/// A control of calls.
fn control(url: &str, more: &Value) -> Hooks {
    on(HookKind::BeforeToolCall, asking(url, more))
}

/// The options of a control.
fn asking(url: &str, more: &Value) -> Value {
    let mut config = json!({"url": url, "responseHandling": "toolCall"});
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    config
}

/// Runs one payment whose control gets this reply.
async fn pay(reply: Reply, more: Value) -> Ended {
    let receiver = Receiver::always(reply).await;
    let ended = World::calling(&["bank/pay"]).run(control(&receiver.url("/"), &more)).await;
    assert_eq!(receiver.seen().len(), 1);
    ended
}

/// The payment was blocked because nothing decided.
fn assert_blocked(ended: &Ended, what: &str) {
    assert_eq!((ended.runs("bank/pay"), ended.texts()), (0, vec![CONTROL_ERROR_REASON]), "{what}");
    assert_eq!(ended.results[0].2, Some(json!("hook_denied")), "{what}");
}

/// The payment was made, once.
fn assert_paid(ended: &Ended, what: &str) {
    assert_eq!((ended.runs("bank/pay"), ended.texts()), (1, vec!["bank/pay ran"]), "{what}");
}

#[tokio::test]
async fn c107_c125_a_control_that_hangs_can_be_stopped_and_costs_its_limit() {
    for on_error in ["continue", "block"] {
        let receiver = Receiver::always(Reply::Hang).await;
        let world = World::calling(&["bank/pay"]);
        let run = world.start(control(&receiver.url("/"), &json!({"onError": on_error})));
        receiver.wait_for(1).await;
        run.interrupt().unwrap();
        let ended = world.end(&run).await;
        assert_eq!(ended.report.as_ref().unwrap().reason, Some(Reason::Interrupted), "{on_error}");
        assert_eq!(ended.runs("bank/pay"), 0, "{on_error}");

        let started = Instant::now();
        let ended = pay(Reply::Hang, json!({"onError": on_error, "timeout": 1})).await;
        let taken = started.elapsed();
        assert!(taken >= Duration::from_secs(1) && taken < Duration::from_secs(2), "{taken:?}");
        if on_error == "block" {
            assert_blocked(&ended, on_error);
        } else {
            assert_paid(&ended, on_error);
        }
    }
}

#[tokio::test]
async fn c113_a_denied_call_is_answered_under_its_id_and_is_no_error_of_the_tool() {
    let receiver = Receiver::start(|seen| match seen.path.as_str() {
        "/policy" => Reply::deny("no transfers"),
        _ => Reply::ok(""),
    })
    .await;
    let hooks = Hooks::new()
        .webhook("errors", HookKind::OnToolCallError, WebhookConfig::new(receiver.url("/errors")))
        .webhook("policy", HookKind::BeforeToolCall, WebhookConfig::control(receiver.url("/policy")));
    let ended = World::calling(&["bank/pay"]).run(hooks).await;
    let asked = receiver.at("/policy");
    let id = asked[0]["toolCallId"].as_str().unwrap().to_owned();
    assert_eq!(ended.results, [(id, "no transfers".to_owned(), Some(json!("hook_denied")))]);
    assert_eq!((ended.runs("bank/pay"), receiver.at("/errors")), (0, Vec::new()));
}

#[tokio::test]
async fn c118_a_control_of_results_that_hangs_once_changes_no_result_and_is_named_in_the_log() {
    let (log, _kept) = Log::start();
    let is_first = std::sync::atomic::AtomicBool::new(true);
    let receiver = Receiver::start(move |_| match is_first.swap(false, std::sync::atomic::Ordering::SeqCst) {
        true => Reply::Hang,
        false => Reply::allow(),
    })
    .await;
    let world = World::of([asks_for(&["bank/pay"]), asks_for(&["net/get"]), Turn::text("done")]);
    let ended = world.run(on(HookKind::AfterToolCall, asking(&receiver.url("/"), &json!({"timeout": 0.2})))).await;
    assert_eq!(ended.texts(), ["bank/pay ran", "net/get ran"]);
    assert_eq!(receiver.seen().len(), 2);
    let warning = log.text();
    let warning = warning.lines().find(|line| line.contains("hook=hook")).expect("the hook is named");
    assert!(warning.contains("WARN") && warning.contains("timeout"), "{warning}");
}

#[tokio::test]
async fn c120_one_mock_ends_the_chain_and_webhooks_are_told_of_it() {
    let receiver = Receiver::always(Reply::ok("")).await;
    let told = |path: &str| WebhookConfig::new(receiver.url(path));
    let mock = |text: &'static str| {
        move |call: jackline_hooks::MockableToolCall| async move {
            assert!(call.mock(ToolRunResult::ok(text)));
        }
    };
    let hooks = Hooks::new()
        .webhook("a", HookKind::BeforeToolCall, told("/before"))
        .webhook("after", HookKind::AfterToolCall, told("/after"))
        .mock_before_tool_call("b", mock("x"))
        .mock_before_tool_call("c", mock("y"));
    let ended = World::calling(&["bank/pay"]).run(hooks).await;
    assert_eq!((ended.runs("bank/pay"), ended.texts()), (0, vec!["x"]));
    receiver.wait_for(2).await;
    assert_eq!(receiver.at("/before").len(), 1);
    let after = receiver.at("/after");
    assert_eq!((after.len(), &after[0]["mocked"], &after[0]["result"]["content"]), (1, &json!(true), &json!("x")));
}

#[tokio::test]
async fn c121_a_redirect_is_not_followed_and_is_no_decision() {
    let second = Receiver::always(Reply::allow()).await;
    for status in [302, 307] {
        let to = format!("HTTP/1.1 {status} X\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", second.url("/other"));
        let reply = Reply::Raw(to.into_bytes());
        assert_blocked(&pay(reply.clone(), json!({"onError": "block"})).await, "block");
        assert_paid(&pay(reply, json!({})).await, "continue");
    }
    assert_blocked(&pay(Reply::Raw(case("C121.http")), json!({"onError": "block"})).await, "the file");
    assert!(second.seen().is_empty());
}

#[tokio::test]
async fn c123_a_misspelled_decision_is_no_permission_and_is_logged() {
    let (log, _kept) = Log::start();
    for letter in ["a", "b", "c", "d", "e"] {
        let body = String::from_utf8(case(&format!("C123.{letter}.body.json"))).unwrap();
        assert_blocked(&pay(Reply::ok(&body), json!({"onError": "block"})).await, &body);
        let before = log.text().len();
        assert_paid(&pay(Reply::ok(&body), json!({"onError": "continue"})).await, &body);
        let logged = log.text().split_off(before);
        assert!(logged.lines().any(|line| line.contains("WARN") && line.contains("hook=hook")), "{logged}");
    }
}

#[tokio::test]
async fn c126_a_reply_without_end_is_cut_off_and_is_no_decision() {
    let started = Instant::now();
    assert_blocked(&pay(Reply::Flood, json!({"onError": "block"})).await, "block");
    assert_paid(&pay(Reply::Flood, json!({})).await, "continue");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn c128_the_status_counts_before_the_body() {
    for name in ["C128.a.http", "C128.b.http"] {
        assert_blocked(&pay(Reply::Raw(case(name)), json!({"onError": "block"})).await, name);
        assert_paid(&pay(Reply::Raw(case(name)), json!({})).await, name);
    }
    for on_error in ["block", "continue"] {
        let ended = pay(Reply::Raw(case("C128.c.http")), json!({"onError": on_error})).await;
        assert_eq!((ended.runs("bank/pay"), ended.texts()), (0, vec!["x"]));
    }
}
