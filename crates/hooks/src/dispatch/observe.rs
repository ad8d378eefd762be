//! Tells observers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Map, Value};

use super::ask::Failure;
use super::handle::Bound;
use super::notice::{Notice, Noticed, Remote};
use super::ports::Ports;
use super::{AnswerClass, CarrierKind, Delivery, HookHandle, Receipt};
use crate::register::entry::{Consumer, Handler, Native};
use crate::{DeliveryKind, Event, FaultCode, HookFault, HookKind};

/// Somebody who is told and has no say.
pub(super) enum Observer<'a> {
    Native(&'a Handler<Event, ()>),
    Remote(Remote),
}

impl HookHandle {
    /// Lets the observers of an event hear it, one after the other. Controls and mocks are not asked.
    ///
    /// The event is built only if there is an observer. Failures are logged and recorded, and end
    /// nothing: every observer hears the event. A critical one is in the delivery, for
    /// [`Delivery::surface`] to raise; so is a configuration that cannot be read, and then nobody heard.
    pub async fn dispatch(&self, kind: HookKind, make_event: impl FnOnce() -> Event) -> Delivery {
        let environment = match self.policy(kind) {
            Ok(environment) => environment,
            Err(error) => return Delivery::failed(error),
        };
        if !self.wants(kind) {
            return Delivery::default();
        }
        self.deliver(make_event(), environment.as_ref()).await
    }

    async fn deliver(&self, event: Event, environment: Option<&Bound>) -> Delivery {
        let kind = event.kind();
        let mut delivery = Delivery::default();
        let mut wire = None;
        for bound in self.of(kind).chain(environment) {
            match self.observer(bound, &event) {
                None => {}
                Some(Observer::Native(handler)) => {
                    let (answer, latency) = self.ask(bound, kind, || handler(event.clone())).await;
                    let class = answer.map_or_else(|failure| failure.class(), |()| AnswerClass::Ok);
                    delivery.receipts.push(bound.receipt(kind, class, latency, None));
                }
                Some(Observer::Remote(remote)) => {
                    let wire = wire.get_or_insert_with(|| to_wire(event.to_json()));
                    self.tell(bound, remote, kind, wire, &mut delivery).await;
                }
            }
        }
        delivery
    }

    /// Who of a hook is told of an event, if anybody.
    pub(super) fn observer<'a>(&self, bound: &'a Bound, event: &Event) -> Option<Observer<'a>> {
        match self.consumer(bound, event.tool_name())? {
            Consumer::Native(Native::Observe(handler)) => Some(Observer::Native(handler)),
            Consumer::Native(Native::Mock(_) | Native::ControlBefore(_) | Native::ControlAfter(_)) => None,
            Consumer::Webhook(config) if config.is_control() => None,
            Consumer::Webhook(config) => Some(Observer::Remote(Remote::Webhook(Arc::clone(config)))),
            Consumer::Command(config) if config.is_control() => None,
            Consumer::Command(config) => Some(Observer::Remote(Remote::Command(Arc::clone(config)))),
        }
    }

    /// Tells a hook outside the process, and waits until it was told.
    async fn tell(
        &self,
        bound: &Bound,
        remote: Remote,
        kind: HookKind,
        event: &Arc<Map<String, Value>>,
        delivery: &mut Delivery,
    ) {
        let notice = self.notice(bound, remote.clone(), kind, event);
        let mut receipt = self.told(bound, &notice, AnswerClass::Ok);
        let started = self.ports().clock.now();
        let noticed = notice.send(self.ports()).await;
        receipt.latency = self.ports().clock.now().saturating_sub(started);
        match noticed {
            Noticed::Delivered => {}
            Noticed::Enqueue(item) if self.ports().outbox.has_room() => {
                receipt.answer = AnswerClass::Enqueued;
                delivery.outbox.push(*item);
            }
            Noticed::Enqueue(_) => {
                let fault = HookFault::new(FaultCode::OutboxFull);
                tracing::error!(hookId = %bound.entry.id, hookType = %kind, "[HookDispatcher] The outbox is full, dropped a delivery");
                let critical = Notice::critical(&bound.entry.id, &remote, &fault);
                (receipt.answer, receipt.fault) = (AnswerClass::Dropped, Some(fault.code()));
                delivery.failure = delivery.failure.take().or(critical.map(Into::into));
            }
            Noticed::Failed(fault) => {
                let critical = Notice::critical(&bound.entry.id, &remote, &fault);
                let failure = Failure::Remote(fault);
                (receipt.answer, receipt.fault) = (failure.class(), failure.fault());
                delivery.failure = delivery.failure.take().or(critical.map(Into::into));
            }
        }
        delivery.receipts.push(receipt);
    }

    /// Starts to tell a hook outside the process. Nobody waits, and a failure is logged only.
    ///
    /// What goes into the outbox is not sent, so it is waited for.
    pub(super) async fn start(
        &self,
        bound: &Bound,
        remote: Remote,
        kind: HookKind,
        event: &Arc<Map<String, Value>>,
        delivery: &mut Delivery,
    ) {
        let spawn = self.ports().carriers.spawn.as_ref().filter(|_| !remote.is_enqueued());
        let Some(spawn) = spawn else {
            let before = delivery.failure.take();
            self.tell(bound, remote, kind, event, delivery).await;
            delivery.failure = before;
            return;
        };
        let notice = self.notice(bound, remote, kind, event);
        let Some(room) = Ports::enter(self.ports()) else {
            tracing::error!(hookId = %bound.entry.id, hookType = %kind, "[HookDispatcher] Too many deliveries, dropped one");
            delivery.receipts.push(self.told(bound, &notice, AnswerClass::Dropped));
            return;
        };
        delivery.receipts.push(self.told(bound, &notice, AnswerClass::Started));
        let ports = Arc::clone(self.ports());
        let telling = async move {
            notice.send(&ports).await;
            drop(room);
        };
        spawn.spawn(telling.boxed());
    }

    fn notice(&self, bound: &Bound, remote: Remote, kind: HookKind, event: &Arc<Map<String, Value>>) -> Notice {
        let operation = event.get("operationId").and_then(Value::as_str).unwrap_or_default().into();
        let delivery_id = self.delivery_id(bound, kind, event);
        Notice { hook: bound.entry.id.clone(), kind, operation, event: Arc::clone(event), remote, delivery_id }
    }

    fn told(&self, bound: &Bound, notice: &Notice, answer: AnswerClass) -> Receipt {
        let carrier = match &notice.remote {
            Remote::Webhook(_) => CarrierKind::Webhook,
            Remote::Command(_) => CarrierKind::Command,
        };
        let delivery_id = Some(notice.delivery_id.clone());
        Receipt { carrier, delivery_id, ..bound.receipt(notice.kind, answer, Duration::ZERO, None) }
    }
}

impl Remote {
    fn is_enqueued(&self) -> bool {
        match self {
            Self::Webhook(config) => config.delivery == DeliveryKind::Outbox,
            Self::Command(_) => false,
        }
    }
}

/// The fields of an event, shared by all who are told.
pub(super) fn to_wire(event: Value) -> Arc<Map<String, Value>> {
    match event {
        Value::Object(fields) => Arc::new(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Arc::default(),
    }
}
