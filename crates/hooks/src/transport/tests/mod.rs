//! Hooks outside the process, through real sockets on the loopback interface and real programs.
//!
//! Nothing here sleeps: what must wait, waits for an event.

mod cases;
mod command;
mod control;
mod dispatch;
mod environment;
mod network;
mod payload;
mod qstash;
mod receivers;
mod registration;
mod relay;
mod secrets;
mod server;
mod transport;
mod ways;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use jackline_model::{RawOutput, ToolKey, ToolRunResult};
use serde_json::{Value, json};

pub(super) use self::server::{Reply, Server};
use super::{HttpCarrier, HttpSettings, ProcessCarrier, TokioSpawn};
use crate::event::tests::{one_of_each, tool_context};
use crate::*;

/// A clock that runs, and whose deadlines for handlers never come.
#[derive(Debug)]
struct Clock(Instant);

impl HookClock for Clock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        pending().boxed()
    }
}

/// Variables that a test changes.
#[derive(Clone, Default)]
struct Vars(Arc<Mutex<BTreeMap<String, String>>>);

impl Vars {
    fn of<const N: usize>(list: [(&str, &str); N]) -> Self {
        let vars = Self::default();
        list.into_iter().for_each(|(name, value)| vars.set(name, value));
        vars
    }

    fn set(&self, name: &str, value: &str) {
        self.0.lock().unwrap().insert(name.to_owned(), value.to_owned());
    }

    fn remove(&self, name: &str) {
        self.0.lock().unwrap().remove(name);
    }
}

impl fmt::Debug for Vars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vars")
    }
}

impl Environment for Vars {
    fn get(&self, name: &str) -> Option<String> {
        self.0.lock().unwrap().get(name).cloned()
    }
}

/// One way to run a case: each must give the same result.
#[derive(Clone, Copy, Debug)]
struct Way {
    mode: DispatchMode,
    is_cold: bool,
}

/// Local and queue mode, each with the dispatcher that registered and with one that restores what was stored.
const WAYS: [Way; 4] = [
    Way { mode: DispatchMode::Local, is_cold: false },
    Way { mode: DispatchMode::Local, is_cold: true },
    Way { mode: DispatchMode::Queue, is_cold: false },
    Way { mode: DispatchMode::Queue, is_cold: true },
];

/// A directory that knows `user_1` and `user_2`, and counts.
#[derive(Debug, Default)]
struct Directory {
    asked: Mutex<Vec<String>>,
}

impl UserDirectory for Directory {
    fn email(&self, user: &str) -> BoxFuture<'static, Result<Option<String>, HookError>> {
        self.asked.lock().unwrap().push(user.to_owned());
        let known = matches!(user, "user_1" | "user_2").then(|| format!("{user}@example.test"));
        std::future::ready(Ok(known)).boxed()
    }
}

/// A dispatcher with real carriers.
fn dispatcher(mode: DispatchMode, vars: &Vars) -> HookDispatcher {
    let environment: Arc<dyn Environment> = Arc::new(vars.clone());
    let http = HttpCarrier::new(Arc::clone(&environment), HttpSettings::default()).unwrap();
    let carriers = Carriers {
        webhook: Some(Arc::new(http)),
        command: Some(Arc::new(ProcessCarrier::new(Arc::clone(&environment)))),
        spawn: Some(Arc::new(TokioSpawn::new(tokio::runtime::Handle::current()))),
    };
    let directory = Arc::new(Directory::default());
    HookDispatcher::with_ports(HookPorts {
        mode,
        environment: Some(environment),
        carriers,
        directory,
        ..HookPorts::new(Arc::new(Clock(Instant::now())))
    })
}

/// The hooks of `op_1`, taken the given way.
fn handle(way: Way, vars: &Vars, hooks: impl Into<Hooks>) -> HookHandle {
    let first = dispatcher(way.mode, vars);
    first.register(&"op_1".into(), hooks).unwrap();
    if !way.is_cold {
        return first.handle(&Rounds::of("op_1"));
    }
    let stored = first.serialized(&"op_1".into()).unwrap_or_default();
    dispatcher(way.mode, vars).handle(&Rounds::of("op_1").with_stored("op_1", stored))
}

/// A handle in local mode, not restored.
fn local(vars: &Vars, hooks: impl Into<Hooks>) -> HookHandle {
    handle(WAYS[0], vars, hooks)
}

fn example(kind: HookKind) -> Event {
    one_of_each().into_iter().find(|event| event.kind() == kind).unwrap()
}

async fn fire(handle: &HookHandle, kind: HookKind) -> Delivery {
    handle.dispatch(kind, || example(kind)).await
}

async fn before(handle: &HookHandle) -> (Ruling<BeforeVerdict>, Delivery) {
    before_tool(handle, "fs", "readFile").await
}

async fn before_tool(handle: &HookHandle, identifier: &str, api_name: &str) -> (Ruling<BeforeVerdict>, Delivery) {
    let context = ToolCallContext { key: ToolKey::new(identifier, api_name), ..tool_context() };
    handle.dispatch_before_tool_call(|| BeforeToolCallEvent { context }).await
}

async fn after(handle: &HookHandle, result: ToolRunResult) -> (Ruling<AfterVerdict>, Delivery) {
    handle.evaluate_after_tool_call(&RawOutput::new(result), false, tool_context).await
}

/// What a ruling before a call comes to: nothing, or the reason of a denial.
fn denial(ruling: &Ruling<BeforeVerdict>) -> Option<Option<&str>> {
    match ruling.verdict() {
        BeforeVerdict::Deny { reason } => Some(reason.as_deref()),
        BeforeVerdict::Proceed | BeforeVerdict::Mock(_) => None,
    }
}

/// What a ruling about a result comes to.
fn withheld(ruling: &Ruling<AfterVerdict>) -> Option<Option<&str>> {
    match ruling.verdict() {
        AfterVerdict::Deny { reason } => Some(reason.as_deref()),
        AfterVerdict::Keep => None,
    }
}

fn config(value: Value) -> WebhookConfig {
    WebhookConfig::from_json(&value).unwrap()
}

/// A control at a URL, with more options.
fn control(url: &str, more: Value) -> WebhookConfig {
    let mut value = json!({"url": url, "responseHandling": "toolCall"});
    for (name, option) in more.as_object().unwrap() {
        value[name] = option.clone();
    }
    config(value)
}

/// A request, each for a firing of its own.
fn request(config: WebhookConfig, payload: Value) -> WebhookRequest {
    static FIRINGS: AtomicUsize = AtomicUsize::new(1);
    let payload = payload.as_object().unwrap().clone();
    let delivery_id = DeliveryId::from_stored(format!("dlv_{}", FIRINGS.fetch_add(1, Ordering::Relaxed)));
    WebhookRequest { config: Arc::new(config), payload, delivery_id }
}

fn carrier(vars: &Vars) -> HttpCarrier {
    HttpCarrier::new(Arc::new(vars.clone()), HttpSettings::default()).unwrap()
}

/// Notifies once, with a body of two fields.
async fn notify(vars: &Vars, value: Value) -> Result<(), HookFault> {
    carrier(vars).notify(request(config(value), json!({"a": 1, "b": "é"}))).await
}

/// Asks once.
async fn ask(vars: &Vars, value: Value) -> Result<ControlReply, HookFault> {
    carrier(vars).ask(request(config(value), json!({"a": 1}))).await
}

/// The URL of a port where nobody listens.
fn closed_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/hook?key=s3cret", listener.local_addr().unwrap())
}
