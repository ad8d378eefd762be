//! The hooks of agent files and of the environment, and what carries them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use jackline_hooks::transport::{HttpCarrier, HttpSettings, ProcessCarrier};
use jackline_hooks::{
    Carriers, ControlReply, HookError, HookFault, Hooks, ProcessEnvironment, Spawn, UserDirectory, WebhookCarrier,
    WebhookRequest,
};
use jackline_runtime::drive::{Agent, OUTBOX_GRACE, Runtime};

use super::frozen::Frozen;
use crate::problem::Problem;
use crate::render::say;

/// The hooks that an agent's file declares.
pub(crate) fn hooks_of(agent: &Agent) -> Result<Hooks, Problem> {
    let frozen = Frozen::of(agent)?;
    let stored = frozen.config.stored_hooks(&frozen.directory);
    Hooks::new().stored(&stored).map_err(|error| Problem::usage(format!("agent `{}`: {error}", agent.name)))
}

/// The way out of the process: requests and programs.
pub(crate) fn carriers() -> Result<Carriers, Problem> {
    let http = LazyHttp::default();
    if let Some(proxy) = proxy() {
        // Whether it makes sense is to be known before anything is started. A carrier takes any scheme.
        let scheme = proxy.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if !matches!(scheme.as_deref(), None | Some("http" | "https")) {
            return Err(Problem::usage("webhooks cannot be sent: the proxy is no HTTP URL").hint(PROXY_HINT));
        }
        let cannot = |fault| Problem::usage(format!("webhooks cannot be sent: {fault}")).hint(PROXY_HINT);
        http.carrier().map_err(cannot)?;
    }
    Ok(Carriers {
        webhook: Some(Arc::new(http)),
        command: Some(Arc::new(ProcessCarrier::new(Arc::new(ProcessEnvironment)))),
        spawn: Some(Arc::new(InRuntime)),
    })
}

/// Delivers webhooks; made at the first delivery. It reads all certificates of the machine, which is most of what a
/// start costs, and most runs send nothing.
#[derive(Debug, Default)]
struct LazyHttp(OnceLock<Result<HttpCarrier, HookFault>>);

impl LazyHttp {
    fn carrier(&self) -> Result<&HttpCarrier, HookFault> {
        let make = || {
            let settings = HttpSettings { proxy: proxy(), ..HttpSettings::default() };
            HttpCarrier::new(Arc::new(ProcessEnvironment), settings)
        };
        self.0.get_or_init(make).as_ref().map_err(Clone::clone)
    }
}

impl WebhookCarrier for LazyHttp {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        match self.carrier() {
            Ok(carrier) => carrier.notify(request),
            Err(fault) => ready(Err(fault)).boxed(),
        }
    }

    fn ask(&self, request: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        match self.carrier() {
            Ok(carrier) => carrier.ask(request),
            Err(fault) => ready(Err(fault)).boxed(),
        }
    }
}

/// The proxy, if one is set. What is no text is no URL either, and is refused as one.
fn proxy() -> Option<String> {
    let proxy = std::env::var_os(PROXY).filter(|proxy| !proxy.is_empty())?;
    Some(proxy.to_string_lossy().into_owned())
}

/// The addresses that agent files list.
pub(crate) fn directory<'a>(agents: impl IntoIterator<Item = &'a Agent>) -> Result<Users, Problem> {
    let mut users = BTreeMap::new();
    for agent in agents {
        // The file of the agent that was started counts before those of the agents below it.
        for (user, email) in Frozen::of(agent)?.config.users {
            users.entry(user).or_insert(email);
        }
    }
    Ok(Users(users))
}

/// The e-mail addresses of `[users]`. Its `Debug` shows how many there are.
pub(crate) struct Users(BTreeMap<String, String>);

impl UserDirectory for Users {
    fn email(&self, user: &str) -> BoxFuture<'static, Result<Option<String>, HookError>> {
        ready(Ok(self.0.get(user).cloned())).boxed()
    }
}

impl std::fmt::Debug for Users {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Users({})", self.0.len())
    }
}

/// Runs what nobody waits for in the runtime that fires the hook.
#[derive(Debug)]
struct InRuntime;

impl Spawn for InRuntime {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        drop(tokio::spawn(work));
    }
}

/// Delivers what waits in the outbox and is due, whoever left it there, for a short while. The rest stays there.
pub(crate) async fn deliver_due(runtime: &Runtime) {
    if let Ok(Err(error)) = tokio::time::timeout(OUTBOX_GRACE, runtime.deliver_outbox()).await {
        say(format!("the outbox was not delivered: {error}"));
    }
}

/// The proxy for webhooks. That of other programs is not taken: a policy service is rarely behind it.
const PROXY: &str = "JACKLINE_WEBHOOK_PROXY";

const PROXY_HINT: &str = "JACKLINE_WEBHOOK_PROXY must be the URL of an HTTP proxy, or unset.";
