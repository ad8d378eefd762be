//! How the dispatcher reaches what is outside the process. Nothing is sent here.

use std::fmt::{self, Debug};
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, ready};
use serde_json::{Map, Value};

use super::DeliveryId;
use crate::{CommandConfig, CommandReply, ControlReply, FaultCode, HookFault, HookKind, WebhookConfig};

/// One request to a webhook. `Debug` does not show its payload.
#[derive(Clone)]
pub struct WebhookRequest {
    /// Where it goes, and how. Headers are filled in when it is sent.
    pub config: Arc<WebhookConfig>,
    /// The body.
    pub payload: Map<String, Value>,
    /// The same for each delivery of one firing.
    pub delivery_id: DeliveryId,
}

/// One run of a command. `Debug` does not show its payload.
#[derive(Clone)]
pub struct CommandRequest {
    /// What is run, and how.
    pub config: Arc<CommandConfig>,
    /// The event that it is run for.
    pub kind: HookKind,
    /// What it reads.
    pub payload: Map<String, Value>,
}

/// Delivers webhooks.
///
/// A carrier keeps the deadline of each request itself, over the whole exchange; the dispatcher has none for it.
/// Dropping a future cancels the request.
pub trait WebhookCarrier: Debug + Send + Sync {
    /// Tells a webhook. The reply is not read.
    ///
    /// # Errors
    ///
    /// [`HookFault`]: it was not delivered.
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>>;

    /// Asks a webhook.
    ///
    /// # Errors
    ///
    /// [`HookFault`]: there is no answer, or it is none.
    fn ask(&self, request: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>>;
}

/// Runs commands.
///
/// A carrier keeps the deadline of each run itself. Dropping a future ends the run.
pub trait CommandCarrier: Debug + Send + Sync {
    /// Tells a command. What it prints is not read.
    ///
    /// # Errors
    ///
    /// [`HookFault`]: it did not run, or failed.
    fn notify(&self, request: CommandRequest) -> BoxFuture<'static, Result<(), HookFault>>;

    /// Asks a command.
    ///
    /// # Errors
    ///
    /// [`HookFault`]: it did not run, failed, or printed no answer.
    fn ask(&self, request: CommandRequest) -> BoxFuture<'static, Result<CommandReply, HookFault>>;
}

/// Runs what nobody waits for.
pub trait Spawn: Debug + Send + Sync {
    /// Runs a future to its end, apart from the caller.
    fn spawn(&self, work: BoxFuture<'static, ()>);
}

/// The carriers of a dispatcher. Without one, the hooks that need it fail as if they were misconfigured.
#[derive(Clone, Debug, Default)]
pub struct Carriers {
    /// For webhooks.
    pub webhook: Option<Arc<dyn WebhookCarrier>>,
    /// For commands.
    pub command: Option<Arc<dyn CommandCarrier>>,
    /// For observers of `beforeToolCall` outside the process, which nobody waits for. Without it they are waited for.
    pub spawn: Option<Arc<dyn Spawn>>,
}

impl Carriers {
    pub(super) fn notify_webhook(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        match &self.webhook {
            Some(carrier) => carrier.notify(request),
            None => missing("webhooks"),
        }
    }

    pub(super) fn ask_webhook(&self, request: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        match &self.webhook {
            Some(carrier) => carrier.ask(request),
            None => missing("webhooks"),
        }
    }

    pub(super) fn notify_command(&self, request: CommandRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        match &self.command {
            Some(carrier) => carrier.notify(request),
            None => missing("commands"),
        }
    }

    pub(super) fn ask_command(&self, request: CommandRequest) -> BoxFuture<'static, Result<CommandReply, HookFault>> {
        match &self.command {
            Some(carrier) => carrier.ask(request),
            None => missing("commands"),
        }
    }
}

fn missing<T: Send + 'static>(what: &str) -> BoxFuture<'static, Result<T, HookFault>> {
    let fault = HookFault::new(FaultCode::Configuration).with_diagnostic(format_args!("nothing here carries {what}"));
    ready(Err(fault)).boxed()
}

impl Debug for WebhookRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookRequest")
            .field("config", &self.config)
            .field("delivery_id", &self.delivery_id)
            .finish_non_exhaustive()
    }
}

impl Debug for CommandRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandRequest").field("config", &self.config).field("kind", &self.kind).finish_non_exhaustive()
    }
}
