//! What it costs to tell a webhook, beside the same posts made by hand, and what one costs that never answers.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackline_hooks::transport::{HttpCarrier, HttpSettings, TokioSpawn};
use jackline_hooks::{
    AnswerClass, BeforeStepEvent, BeforeToolCallEvent, Carriers, Event, HookDispatcher, HookHandle, HookKind,
    HookPorts, Hooks, ProcessEnvironment, Rounds, RunContext, ToolCallContext, WebhookConfig, effective_args,
};
use jackline_model::ToolKey;
use jackline_runtime::drive::{HookTime, SystemClock};
use serde_json::json;

use crate::Failed;
use crate::measure::Tries;
use crate::server::Server;
use crate::table::{Goals, Measure, line, section};

/// Measures all three.
pub(crate) fn bench(server: &Server, goals: &mut Goals) -> Result<(), Failed> {
    section("Webhooks: 1,000 notifications one after the other, and receivers that hang");
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
        told(server, goals).await?;
        hung(server, goals).await
    })
}

async fn told(server: &Server, goals: &mut Goals) -> Result<(), Failed> {
    let url = format!("http://{}/0/0/0/hook", server.address());
    let handle = handle(WebhookConfig::new(url.as_str()))?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut payload = event().payload().to_json();
    payload["hookId"] = json!("notified");
    payload["hookType"] = json!(HookKind::BeforeStep);
    let body = serde_json::to_vec(&payload)?;
    let (mut ours, mut bare) = (Tries::new(), Tries::new());
    for _ in 0..TRIES {
        bare.push(millis(thousand(|| post(&client, &url, &body))).await?);
        ours.push(millis(thousand(|| tell(&handle))).await?);
    }
    let times = ours.against(&bare, |ours, bare| ours / bare);
    goals.check("1,000 notifications, against bare reqwest", Measure::Times, times.median(), 2.0);
    line(&format!("  ours {:.1} ms, bare reqwest {:.1} ms (the least of {TRIES})", ours.least(), bare.least()));
    Ok(())
}

async fn hung(server: &Server, goals: &mut Goals) -> Result<(), Failed> {
    let url = format!("http://{}/0/0/600000/hook", server.address());
    let deadline = json!({"url": url, "timeout": DEADLINE.as_secs_f64()});
    let handle = handle(WebhookConfig::from_json(&deadline)?)?;
    let (mut awaited, mut unawaited) = (Tries::new(), Tries::new());
    for _ in 0..TRIES {
        let telling = async {
            let delivery = handle.dispatch(HookKind::BeforeStep, event).await;
            expect(delivery.receipts[0].answer, AnswerClass::Timeout)
        };
        awaited.push(millis(telling).await? - DEADLINE.as_secs_f64() * 1e3);
        let calling = async {
            let (_, delivery) = handle.dispatch_before_tool_call(|| BeforeToolCallEvent { context: call() }).await;
            expect(delivery.receipts[0].answer, AnswerClass::Started)
        };
        unawaited.push(millis(calling).await?);
    }
    goals.check("a hung observer that is awaited, beyond its deadline", Measure::Millis, awaited.median(), 10.0);
    goals.check("a hung observer that nobody waits for", Measure::Millis, unawaited.median(), 1.0);
    Ok(())
}

/// Tells once, and makes sure that it was heard.
async fn tell(handle: &HookHandle) -> Result<(), Failed> {
    expect(handle.dispatch(HookKind::BeforeStep, event).await.receipts[0].answer, AnswerClass::Ok)
}

/// The same post, as it is written by hand.
async fn post(client: &reqwest::Client, url: &str, body: &[u8]) -> Result<(), Failed> {
    let request = client.post(url).header("content-type", "application/json").body(body.to_vec());
    request.send().await?.error_for_status()?.bytes().await?;
    Ok(())
}

fn expect(found: AnswerClass, wanted: AnswerClass) -> Result<(), Failed> {
    if found == wanted { Ok(()) } else { Err(format!("the webhook was {found:?}, not {wanted:?}").into()) }
}

async fn thousand<F: Future<Output = Result<(), Failed>>>(mut one: impl FnMut() -> F) -> Result<(), Failed> {
    for _ in 0..1_000 {
        one().await?;
    }
    Ok(())
}

/// How long something takes.
async fn millis(what: impl Future<Output = Result<(), Failed>>) -> Result<f64, Failed> {
    let started = Instant::now();
    what.await?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// A webhook for steps and for calls, with the carrier that a runtime has.
fn handle(config: WebhookConfig) -> Result<HookHandle, Failed> {
    let http = HttpCarrier::new(Arc::new(ProcessEnvironment), HttpSettings::default())?;
    let spawn = TokioSpawn::new(tokio::runtime::Handle::current());
    let carriers = Carriers { webhook: Some(Arc::new(http)), spawn: Some(Arc::new(spawn)), command: None };
    let time = HookTime(Arc::new(SystemClock::new()));
    let dispatcher = HookDispatcher::with_ports(HookPorts { carriers, ..HookPorts::new(Arc::new(time)) });
    let hooks = Hooks::new().webhook("notified", HookKind::BeforeStep, config.clone()).webhook(
        "notified",
        HookKind::BeforeToolCall,
        config,
    );
    dispatcher.register(&OPERATION.into(), hooks)?;
    Ok(dispatcher.handle(&Rounds::of(OPERATION)))
}

fn event() -> Event {
    BeforeStepEvent { run: RunContext::new(OPERATION, "agent", "local"), step_index: 3, steps: 3 }.into()
}

fn call() -> ToolCallContext {
    ToolCallContext {
        operation_id: OPERATION.into(),
        step_index: 3,
        tool_call_id: "call_1".into(),
        assistant_message_id: "msg_1".into(),
        key: ToolKey::new("fs", "readFile"),
        args: effective_args(r#"{"path":"a"}"#),
        call_index: 1,
        executor: Default::default(),
        user_id: None,
        agent_id: None,
        topic_id: None,
        session_id: None,
        thread_id: None,
        group_id: None,
        task_id: None,
        workspace_id: None,
        document_id: None,
        source_message_id: None,
        tool_message_id: None,
        parent_operation_id: None,
        tool_source: None,
        execution_target: None,
        active_device_id: None,
    }
}

const OPERATION: &str = "op_0123456789abcdef0123456789abcdef";

/// Of the receiver that hangs.
const DEADLINE: Duration = Duration::from_millis(50);

const TRIES: u32 = 15;
