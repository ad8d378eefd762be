//! One notification to a hook outside the process.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jackline_model::{HookId, OperationId};
use serde_json::{Map, Value};

use super::ports::Ports;
use super::{DeliveryId, WebhookRequest};
use crate::dispatch::CommandRequest;
use crate::{
    CommandConfig, CriticalHookDeliveryError, DeliveryKind, FaultCode, HookFault, HookKind, Purpose, WebhookConfig,
    build_payload,
};

/// A webhook's delivery that waits to be written into the store.
///
/// The driver writes it in the transaction of the transition, and some process delivers it from there.
/// What it holds may be stored: headers are templates, and what it says is published already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxItem {
    /// The same however often it is delivered.
    pub delivery_id: DeliveryId,
    /// The operation that the event is about.
    pub operation: OperationId,
    /// The hook.
    pub hook: HookId,
    /// The event.
    pub kind: HookKind,
    /// Where it goes.
    pub webhook: Arc<WebhookConfig>,
    /// What is sent.
    pub payload: Map<String, Value>,
}

impl OutboxItem {
    /// The request that delivers it.
    pub fn request(&self) -> WebhookRequest {
        let (config, payload) = (Arc::clone(&self.webhook), self.payload.clone());
        WebhookRequest { config, payload, delivery_id: self.delivery_id.clone() }
    }
}

/// A hook outside the process.
#[derive(Clone)]
pub(super) enum Remote {
    Webhook(Arc<WebhookConfig>),
    Command(Arc<CommandConfig>),
}

/// All that one notification needs, owned, so that it can outlive the dispatch.
pub(super) struct Notice {
    pub(super) hook: HookId,
    pub(super) kind: HookKind,
    pub(super) operation: OperationId,
    pub(super) event: Arc<Map<String, Value>>,
    pub(super) remote: Remote,
    pub(super) delivery_id: DeliveryId,
}

/// What became of a notification.
pub(super) enum Noticed {
    Delivered,
    Enqueue(Box<OutboxItem>),
    Failed(HookFault),
}

impl Notice {
    /// Builds the payload and sends it. Failures are logged: an ordinary one ends there.
    pub(super) async fn send(self, ports: &Ports) -> Noticed {
        let sent = match &self.remote {
            Remote::Webhook(config) => {
                let payload = self.payload(ports, Some(config)).await;
                if config.delivery == DeliveryKind::Outbox {
                    let webhook = Arc::clone(config);
                    return Noticed::Enqueue(Box::new(self.into_outbox(webhook, payload)));
                }
                let (config, delivery_id) = (Arc::clone(config), self.delivery_id.clone());
                caught(|| ports.carriers.notify_webhook(WebhookRequest { config, payload, delivery_id })).await
            }
            Remote::Command(config) => {
                let payload = self.payload(ports, None).await;
                let (config, kind) = (Arc::clone(config), self.kind);
                caught(|| ports.carriers.notify_command(CommandRequest { config, kind, payload })).await
            }
        };
        match sent {
            Ok(()) => Noticed::Delivered,
            Err(fault) => {
                self.log(&fault);
                Noticed::Failed(fault)
            }
        }
    }

    /// What the failure of this hook raises, if it is critical.
    pub(super) fn critical(hook: &HookId, remote: &Remote, fault: &HookFault) -> Option<CriticalHookDeliveryError> {
        match remote {
            Remote::Webhook(config) if config.is_critical() => {
                Some(CriticalHookDeliveryError { hook_id: hook.clone(), cause: fault.clone() })
            }
            Remote::Webhook(_) | Remote::Command(_) => None,
        }
    }

    async fn payload(&self, ports: &Ports, config: Option<&Arc<WebhookConfig>>) -> Map<String, Value> {
        let config = config.map(AsRef::as_ref);
        complete(ports, &self.event, &self.hook, self.kind, Purpose::Notify, config).await
    }

    fn into_outbox(self, webhook: Arc<WebhookConfig>, payload: Map<String, Value>) -> OutboxItem {
        let (delivery_id, operation, hook, kind) = (self.delivery_id, self.operation, self.hook, self.kind);
        OutboxItem { delivery_id, operation, hook, kind, webhook, payload }
    }

    fn log(&self, fault: &HookFault) {
        let message = match Self::critical(&self.hook, &self.remote, fault) {
            Some(_) => "[HookDispatcher] Critical webhook delivery failed",
            None => "[HookDispatcher] Webhook delivery failed (non-fatal)",
        };
        tracing::error!(
            operationId = %self.operation,
            hookId = %self.hook,
            hookType = %self.kind,
            code = fault.code().as_str(),
            status = fault.status(),
            diagnostic = fault.diagnostic(),
            "{message}"
        );
    }
}

/// Builds a payload, the address of its user included.
pub(super) async fn complete(
    ports: &Ports,
    event: &Map<String, Value>,
    hook: &HookId,
    kind: HookKind,
    purpose: Purpose,
    config: Option<&WebhookConfig>,
) -> Map<String, Value> {
    let draft = build_payload(event, hook, kind, purpose, config);
    let email = match draft.user() {
        Some(user) => ports.emails.find(user).await,
        None => None,
    };
    draft.complete(email)
}

/// Runs a carrier. One that panics has failed; what it said then is gone.
pub(super) async fn caught<T>(
    carry: impl FnOnce() -> BoxFuture<'static, Result<T, HookFault>>,
) -> Result<T, HookFault> {
    let carrying = async move { carry().await };
    match AssertUnwindSafe(carrying).catch_unwind().await {
        Ok(answer) => answer,
        Err(_) => Err(HookFault::new(FaultCode::NetworkError).with_diagnostic("the carrier panicked")),
    }
}
