//! What hooks were asked and answered, read back from the store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::future::ready;
use std::sync::Arc;

use jackline_hooks::{
    Carriers, ControlReply, Decision, FaultCode, HookFault, HookKind, Hooks, OnError, WebhookCarrier, WebhookConfig,
    WebhookRequest,
};
use jackline_model::{ToolKey, ToolRunResult};
use jackline_runtime::drive::{Agent, FnTool, Runtime};
use jackline_runtime::journal::{MemoryStore, Store};
use jackline_runtime::llm::{BoxFuture, ScriptedModel, Turn};
use jackline_runtime::{Tool, ToolContext, ToolError, ToolSpec};
use serde_json::{Value, json};

/// A receiver that answers by its address.
#[derive(Clone, Debug)]
struct Receiver;

impl WebhookCarrier for Receiver {
    fn notify(&self, _: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        Box::pin(ready(Err(HookFault::new(FaultCode::NetworkError))))
    }

    fn ask(&self, request: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        let is_down = request.config.url.contains("down");
        Box::pin(ready(if is_down { Err(HookFault::new(FaultCode::Timeout)) } else { Ok(ControlReply::Allow) }))
    }
}

fn runtime(store: &MemoryStore) -> Runtime {
    Runtime::builder()
        .model(ScriptedModel::new([Turn::call("fs____read", "{}"), Turn::text("done")]))
        .tool(reader())
        .store(Arc::new(store.clone()))
        .carriers(Carriers { webhook: Some(Arc::new(Receiver)), ..Carriers::default() })
        .build()
        .unwrap()
}

fn reader() -> impl Tool + 'static {
    let spec = ToolSpec::new(ToolKey::new("fs", "read"), "Reads.");
    FnTool::new(
        spec,
        |_: Value, _: ToolContext| async move { Ok::<_, ToolError>(ToolRunResult::ok("the secret text")) },
    )
}

/// Runs once; gives the receipts: type, hook, carrier, answer, fault and who decided, and whether they name a call.
async fn heard(hooks: impl Into<Hooks>) -> Vec<Value> {
    let store = MemoryStore::new();
    let run = runtime(&store).start(&Agent::new("clerk", "You read."), "go", hooks).unwrap();
    run.wait().await.unwrap();
    let mut shown = Vec::new();
    for heard in store.heard(run.id()).unwrap() {
        assert!(!heard.text.contains("secret"), "{heard:?}");
        let firing: Value = serde_json::from_str(&heard.text).unwrap();
        for asked in firing["asked"].as_array().unwrap() {
            let [id, carrier, answer, fault, by] =
                ["id", "carrier", "answer", "fault", "decidedBy"].map(|name| asked[name].clone());
            shown.push(json!([firing["type"], id, carrier, answer, fault, by, heard.call.is_some()]));
        }
    }
    shown
}

#[tokio::test]
async fn the_store_tells_which_hook_decided_a_call_and_none_of_its_words() {
    let shown = heard(
        Hooks::new()
            .webhook("asked", HookKind::BeforeToolCall, WebhookConfig::control("http://in.test/"))
            .control_after_tool_call("policy", |_| async { Decision::deny("the secret reason") })
            .webhook("told", HookKind::AfterToolCall, WebhookConfig::new("http://in.test/")),
    );
    let expected = [
        json!(["beforeToolCall", "asked", "webhook", "allow", null, null, true]),
        json!(["afterToolCall", "policy", "native", "deny", null, "policy", true]),
        json!(["afterToolCall", "told", "webhook", "error", "network_error", null, true]),
    ];
    assert_eq!(shown.await, expected);
}

#[tokio::test]
async fn a_failure_that_decides_is_told_from_a_policy() {
    let control = WebhookConfig { on_error: OnError::Block, ..WebhookConfig::control("http://down.test/") };
    let shown = heard(Hooks::new().webhook("gone", HookKind::BeforeToolCall, control)).await;
    assert_eq!(shown, [json!(["beforeToolCall", "gone", "webhook", "timeout", "timeout", "failure", true])]);
}

#[tokio::test]
async fn without_hooks_no_receipt_is_written() {
    assert_eq!(heard(Hooks::new()).await, Vec::<Value>::new());
}

#[tokio::test]
async fn handlers_that_change_nothing_leave_no_receipt() {
    let hooks = Hooks::new()
        .observe_all("observer", |_| ready(()))
        .control_before_tool_call("before", |_| ready(Decision::Allow))
        .control_after_tool_call("after", |_| ready(Decision::Allow));
    assert_eq!(heard(hooks).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_hook_of_an_operation_above_says_whose_it_is() {
    let store = MemoryStore::new();
    let call = json!({"agentId": "reader", "instruction": "read"}).to_string();
    let turns = [
        Turn::call("agent____callAgent", &call),
        Turn::call("fs____read", "{}"),
        Turn::text("read"),
        Turn::text("done"),
    ];
    let runtime = Runtime::builder()
        .model(ScriptedModel::new(turns))
        .tool(reader())
        .store(Arc::new(store.clone()))
        .carriers(Carriers { webhook: Some(Arc::new(Receiver)), ..Carriers::default() })
        .hooks_of(
            "reader",
            Hooks::new().webhook("own", HookKind::BeforeToolCall, WebhookConfig::control("https://x.test/")),
        )
        .build()
        .unwrap();
    let agent = Agent::new("clerk", "You read.").with_agent(Agent::new("reader", "You read."));
    let above = WebhookConfig { inherit: true, ..WebhookConfig::control("https://x.test/") };
    let run = runtime.start(&agent, "go", Hooks::new().webhook("above", HookKind::BeforeToolCall, above)).unwrap();
    run.wait().await.unwrap();
    let below = store.list(9).unwrap().into_iter().find(|header| header.id != *run.id()).unwrap().id;
    let asked: Value = serde_json::from_str(&store.heard(&below).unwrap()[0].text).unwrap();
    let shown: Vec<_> = asked["asked"]
        .as_array()
        .unwrap()
        .iter()
        .map(|receipt| (receipt["id"].as_str(), &receipt["inheritedFrom"]))
        .collect();
    assert_eq!(shown, [(Some("above"), &json!(run.id())), (Some("own"), &Value::Null)]);
    let own: Value = serde_json::from_str(&store.heard(run.id()).unwrap()[0].text).unwrap();
    assert_eq!(own["asked"][0]["inheritedFrom"], Value::Null);
}
