//! The two chains that decide about a tool call: the only place where a [`Ruling`] is made.

use std::sync::Arc;

use jackline_model::{RawOutput, ToolKey};

use super::ask::Failure;
use super::handle::Bound;
use super::{AnswerClass, Delivery, HookHandle};
use crate::register::entry::{Carrier, Entry, Handler, Native};
use crate::register::mockable::MockSlot;
use crate::{
    AfterToolCallControl, AfterVerdict, BeforeToolCallEvent, BeforeVerdict, CONTROL_ERROR_REASON, Decision, Event,
    HookKind, MockAnswer, MockableToolCall, OnError, RuledBy, Ruling, RulingCause, ToolCallContext,
};

/// A denial, and who is behind it.
type Denial = (Option<String>, RuledBy);

impl HookHandle {
    /// Asks the before-hooks about a call.
    ///
    /// First all controls, in order, until one denies or fails where failures block. Then
    /// observers and mocks, in their common order, until one mocks. The event is built only if a
    /// hook wants it. Without hooks the ruling is to proceed.
    pub async fn dispatch_before_tool_call(
        &self,
        make_event: impl FnOnce() -> BeforeToolCallEvent,
    ) -> (Ruling<BeforeVerdict>, Delivery) {
        let mut delivery = Delivery::default();
        let kind = HookKind::BeforeToolCall;
        if !self.wants(kind) && !self.controls(kind) {
            return (Ruling::new(BeforeVerdict::Proceed, None), delivery);
        }
        let event = Arc::new(make_event());
        let tool = &event.context.key;
        let controls = self.of_tool(kind, tool).filter_map(|bound| Some((bound, bound.entry.control_before()?)));
        if let Some((reason, by)) = self.judge(kind, &event, controls, &mut delivery).await {
            return (Ruling::new(BeforeVerdict::Deny { reason }, Some(by)), delivery);
        }
        let ruling = match self.consult(&event, &mut delivery).await {
            Some((raw, by)) => Ruling::new(BeforeVerdict::Mock(raw), Some(by)),
            None => Ruling::new(BeforeVerdict::Proceed, None),
        };
        (ruling, delivery)
    }

    /// Asks the after-controls about a result: the tool's, a mock's, or one that was handed in.
    ///
    /// In order, until one denies or fails where failures block. The result is copied for them only
    /// if one of them is about this tool. Without controls the ruling is to keep the result.
    pub async fn evaluate_after_tool_call(
        &self,
        raw: &RawOutput,
        mocked: bool,
        make_context: impl FnOnce() -> ToolCallContext,
    ) -> (Ruling<AfterVerdict>, Delivery) {
        let mut delivery = Delivery::default();
        let kind = HookKind::AfterToolCall;
        if !self.controls(kind) {
            return (Ruling::new(AfterVerdict::Keep, None), delivery);
        }
        let context = make_context();
        if self.after_controls(&context.key).next().is_none() {
            return (Ruling::new(AfterVerdict::Keep, None), delivery);
        }
        let event = Arc::new(AfterToolCallControl { context, mocked, result: raw.as_result().clone() });
        let controls = self.after_controls(&event.context.key);
        let ruling = match self.judge(kind, &event, controls, &mut delivery).await {
            Some((reason, by)) => Ruling::new(AfterVerdict::Deny { reason }, Some(by)),
            None => Ruling::new(AfterVerdict::Keep, None),
        };
        (ruling, delivery)
    }

    fn after_controls(
        &self,
        tool: &ToolKey,
    ) -> impl Iterator<Item = (&Bound, &Handler<Arc<AfterToolCallControl>, Decision>)> {
        let about_tool = self.of_tool(HookKind::AfterToolCall, tool);
        about_tool.filter_map(|bound| Some((bound, bound.entry.control_after()?)))
    }

    /// Asks controls until one ends the chain.
    async fn judge<'a, E: Send + Sync + 'a>(
        &'a self,
        kind: HookKind,
        event: &Arc<E>,
        controls: impl Iterator<Item = (&'a Bound, &'a Handler<Arc<E>, Decision>)>,
        delivery: &mut Delivery,
    ) -> Option<Denial> {
        for (bound, handler) in controls {
            let (answer, latency) = self.ask(bound, kind, || handler(Arc::clone(event))).await;
            let (class, denial) = weigh(kind, &bound.entry, answer);
            let cause = denial.as_ref().map(|(_, by)| by.cause);
            delivery.receipts.push(bound.receipt(kind, class, latency, cause));
            if denial.is_some() {
                return denial;
            }
        }
        None
    }

    /// Asks observers and mocks in their common order until one mocks.
    async fn consult(&self, event: &Arc<BeforeToolCallEvent>, delivery: &mut Delivery) -> Option<(RawOutput, RuledBy)> {
        let kind = HookKind::BeforeToolCall;
        for bound in self.of_tool(kind, &event.context.key) {
            let (class, latency, mock) = match &bound.entry.carrier {
                Carrier::Native(Native::Observe(handler)) => {
                    let call = || handler(Event::BeforeToolCall(Arc::clone(event)));
                    let (answer, latency) = self.ask(bound, kind, call).await;
                    (answer.map_or_else(Failure::class, |()| AnswerClass::Ok), latency, None)
                }
                Carrier::Native(Native::Mock(handler)) => {
                    let slot = MockSlot::new();
                    let call = || handler(MockableToolCall::new(Arc::clone(event), Arc::clone(&slot)));
                    let (answer, latency) = self.ask(bound, kind, call).await;
                    let (class, mock) = settle(&slot, answer);
                    (class, latency, mock)
                }
                Carrier::Native(Native::ControlBefore(_) | Native::ControlAfter(_)) => continue,
            };
            let cause = mock.as_ref().map(|_| RulingCause::Policy);
            delivery.receipts.push(bound.receipt(kind, class, latency, cause));
            if let Some(raw) = mock {
                return Some((raw, ruled_by(kind, &bound.entry, RulingCause::Policy)));
            }
        }
        None
    }
}

/// What a control's answer is called, and the denial in it.
fn weigh(kind: HookKind, entry: &Entry, answer: Result<Decision, Failure>) -> (AnswerClass, Option<Denial>) {
    match answer {
        Ok(Decision::Allow) if kind == HookKind::AfterToolCall => (AnswerClass::Keep, None),
        Ok(Decision::Allow) => (AnswerClass::Allow, None),
        Ok(Decision::Deny { reason }) => {
            (AnswerClass::Deny, Some((reason, ruled_by(kind, entry, RulingCause::Policy))))
        }
        Err(failure) => match entry.on_error {
            OnError::Continue => (failure.class(), None),
            OnError::Block => {
                let reason = Some(CONTROL_ERROR_REASON.to_owned());
                (failure.class(), Some((reason, ruled_by(kind, entry, RulingCause::Failure))))
            }
        },
    }
}

/// Ends the turn of a mock handler. What it mocked stands, however its turn ended.
fn settle(slot: &MockSlot, answer: Result<MockAnswer, Failure>) -> (AnswerClass, Option<RawOutput>) {
    let failed = match answer {
        Ok(MockAnswer::PassThrough) => None,
        Ok(MockAnswer::Mock(result)) => {
            slot.accept(result);
            None
        }
        Err(failure) => Some(failure.class()),
    };
    let mock = slot.close();
    let unfailed = if mock.is_some() { AnswerClass::Mock } else { AnswerClass::Ok };
    (failed.unwrap_or(unfailed), mock)
}

fn ruled_by(kind: HookKind, entry: &Entry, cause: RulingCause) -> RuledBy {
    RuledBy { hook: entry.id.clone(), event: kind, cause }
}

impl Entry {
    fn control_before(&self) -> Option<&Handler<Arc<BeforeToolCallEvent>, Decision>> {
        match &self.carrier {
            Carrier::Native(Native::ControlBefore(handler)) => Some(handler),
            Carrier::Native(Native::Observe(_) | Native::Mock(_) | Native::ControlAfter(_)) => None,
        }
    }

    fn control_after(&self) -> Option<&Handler<Arc<AfterToolCallControl>, Decision>> {
        match &self.carrier {
            Carrier::Native(Native::ControlAfter(handler)) => Some(handler),
            Carrier::Native(Native::Observe(_) | Native::Mock(_) | Native::ControlBefore(_)) => None,
        }
    }
}
