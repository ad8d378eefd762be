//! What a receiver is told.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jackline_hooks::{HookKind, Hooks, WebhookConfig};
use jackline_model::{Fault, FaultAttribution, Reason};
use jackline_runtime::drive::{Agent, RunError};
use jackline_runtime::llm::{ModelFault, ModelFaultKind, Turn};
use serde_json::{Value, json};

use crate::receiver::{Receiver, Reply};
use crate::world::{World, asks_for, case};

/// A notification of each of these types, at a path of the type's name.
fn told(receiver: &Receiver, kinds: &[HookKind]) -> Hooks {
    kinds.iter().fold(Hooks::new(), |hooks, kind| {
        hooks.webhook(kind.to_string(), *kind, WebhookConfig::new(receiver.url(&format!("/{kind}")))).into()
    })
}

#[tokio::test]
async fn c109_a_step_that_is_tried_again_is_told_of_once() {
    let mut counts = Vec::new();
    for is_faulty in [false, true] {
        let receiver = Receiver::always(Reply::ok("")).await;
        let hooks = told(&receiver, &[HookKind::BeforeStep, HookKind::AfterStep, HookKind::OnError]);
        let fault = is_faulty.then(|| Turn::Fault(unavailable()));
        let world = World::of(fault.into_iter().chain([asks_for(&["bank/pay"]), Turn::text("done")]));
        let ended = world.run(hooks).await;
        assert_eq!(ended.report.unwrap().reason, Some(Reason::Done));
        assert!(receiver.at("/onError").is_empty());
        counts.push((receiver.at("/beforeStep").len(), receiver.at("/afterStep").len()));
    }
    assert_eq!(counts[0], counts[1]);
    assert!(counts[0].0 >= 2 && counts[0].0 == counts[0].1, "{counts:?}");
}

#[tokio::test]
async fn c111_c117_three_equal_calls_can_be_told_apart_and_arguments_are_objects() {
    let receiver = Receiver::always(Reply::ok("")).await;
    let hooks = told(&receiver, &[HookKind::BeforeToolCall, HookKind::AfterToolCall]);
    World::calling(&["bank/pay"; 3]).run(hooks).await;
    receiver.wait_for(6).await;
    let mut ids = Vec::new();
    for path in ["/beforeToolCall", "/afterToolCall"] {
        let payloads = receiver.at(path);
        assert_eq!(payloads.len(), 3, "{path}");
        for payload in &payloads {
            assert_eq!(payload["args"], json!({"path": "a"}), "{path}");
            assert!(payload["stepIndex"].is_u64() && payload["callIndex"].is_u64(), "{payload}");
        }
        let of = |field: &str| payloads.iter().map(|payload| payload[field].to_string()).collect::<BTreeSet<_>>();
        assert_eq!((of("callIndex").len(), of("stepIndex").len()), (3, 1), "{path}");
        ids.push(of("toolCallId"));
    }
    assert_eq!((ids[0].len(), &ids[0]), (3, &ids[1]));
}

#[tokio::test]
async fn c114_what_a_tool_throws_is_an_error_and_what_it_says_of_itself_is_a_result() {
    let receiver = Receiver::always(Reply::ok("")).await;
    let hooks = told(&receiver, &[HookKind::AfterToolCall, HookKind::OnToolCallError]);
    let ended = World::calling(&["bad/throws", "bad/fails"]).run(hooks).await;
    assert_eq!(ended.results.len(), 2);
    let errors = receiver.at("/onToolCallError");
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("the disk is gone") && errors[0]["apiName"] == "throws", "{errors:?}");
    let results = receiver.at("/afterToolCall");
    let failed: Vec<_> = results.iter().filter(|payload| payload["apiName"] == "fails").collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["result"]["success"], false);
}

#[tokio::test]
async fn c130_matchers_of_webhooks_select_by_the_table() {
    let table: Value = serde_json::from_slice(&case("C130.matchers.json")).unwrap();
    let tools: Vec<&str> = table["tools"].as_array().unwrap().iter().map(|tool| tool.as_str().unwrap()).collect();
    let rows: Vec<_> = table["expect"].as_object().unwrap().iter().collect();
    let receiver = Receiver::always(Reply::allow()).await;
    let hooks = rows.iter().enumerate().fold(Hooks::new(), |hooks, (index, (matcher, _))| {
        let hook = WebhookConfig::control(receiver.url(&format!("/{index}")));
        let hooks = hooks.webhook("row", HookKind::BeforeToolCall, hook);
        if matcher.as_str() == "<none>" { hooks.into() } else { hooks.matching(matcher.as_str()).into() }
    });
    let ended = World::calling(&tools).run(hooks).await;
    assert_eq!(ended.results.len(), 4);
    for (index, (matcher, expected)) in rows.iter().enumerate() {
        let asked = receiver.at(&format!("/{index}"));
        let name = |payload: &Value| {
            format!("{}/{}", payload["identifier"].as_str().unwrap(), payload["apiName"].as_str().unwrap())
        };
        let asked: BTreeSet<String> = asked.iter().map(name).collect();
        let found: Vec<u64> = tools.iter().map(|tool| u64::from(asked.contains(*tool))).collect();
        assert_eq!(json!(found), **expected, "{matcher}");
    }
}

#[tokio::test]
async fn c130_c131_a_matcher_in_the_wrong_place_or_of_a_monstrous_size_stops_the_start() {
    let world = World::calling(&["bank/pay"]);
    let hook = || WebhookConfig::new("http://127.0.0.1:9/");
    let agent = Agent::new("clerk", "You do as you are told.");
    let refused = |hooks: Hooks| -> RunError { world.runtime.start(&agent, "go", hooks).err().unwrap() };
    let started = Instant::now();
    let monster = Hooks::new().webhook("hook", HookKind::BeforeToolCall, hook()).matching(r"(\w{1,500}){1,500}");
    assert!(refused(monster.into()).to_string().contains("size"));
    let misplaced = Hooks::new().webhook("hook", HookKind::OnComplete, hook()).matching("^fs/");
    assert!(refused(misplaced.into()).to_string().contains("hook"));
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn c134_a_critical_failure_is_told_once_and_after_its_siblings() {
    let receiver = Receiver::always(Reply::ok("")).await;
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let critical = WebhookConfig::from_json(&json!({"url": closed, "fallback": "none"})).unwrap();
    let hooks = Hooks::new()
        .webhook("first", HookKind::OnComplete, WebhookConfig::new(receiver.url("/first")))
        .webhook("critical", HookKind::OnComplete, critical)
        .webhook("third", HookKind::OnComplete, WebhookConfig::new(receiver.url("/third")))
        .webhook("errors", HookKind::OnError, WebhookConfig::new(receiver.url("/errors")));
    let ended = World::calling(&["bank/pay"]).run(hooks).await;
    let paths: Vec<_> = receiver.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, ["/first", "/third"]);
    let Err(RunError::CriticalHook { report, error }) = ended.report else { panic!("it is critical") };
    assert_eq!(report.reason, Some(Reason::Done));
    assert_eq!(error.to_string(), "Critical webhook delivery failed: critical");
}

/// What a server that answers 503 once is to the runtime.
fn unavailable() -> ModelFault {
    let fault = Fault {
        code: "http_503".to_owned(),
        message: "the server is busy".to_owned(),
        attribution: FaultAttribution::Provider,
        detail: None,
    };
    ModelFault {
        kind: ModelFaultKind::Retryable,
        fault,
        retry_after: Some(Duration::from_millis(1)),
        partial: String::new(),
    }
}
