//! The two chains that decide about a tool call: the only place where a [`Ruling`] is made.

use std::sync::Arc;
use std::time::Duration;

use jackline_model::{RawOutput, ToolRunResult};

use super::ask::Failure;
use super::handle::Bound;
use super::notice::{caught, complete};
use super::observe::{Observer, to_wire};
use super::question::Question;
use super::{AnswerClass, CarrierKind, CommandRequest, Delivery, DispatchError, HookHandle, Receipt, WebhookRequest};
use crate::register::entry::{Answering, Consumer, Entry, Native};
use crate::register::mockable::MockSlot;
use crate::{
    AfterToolCallControl, AfterVerdict, BeforeToolCallEvent, BeforeVerdict, CONTROL_ERROR_REASON, CommandReply,
    ControlReply, Decision, Event, HookFault, HookKind, MockAnswer, MockableToolCall, OnError, Purpose, RuledBy,
    Ruling, RulingCause, ToolCallContext,
};

/// A denial, and who is behind it.
type Denial = (Option<String>, RuledBy);

/// A mock that waits for the other controls.
struct Held {
    raw: RawOutput,
    by: RuledBy,
    /// Which of the receipts is its own.
    receipt: usize,
    /// Where its hook stands among those of the event.
    place: usize,
}

/// What a control says.
enum Answer {
    Decision(Decision),
    Notification,
    Mock(ToolRunResult),
}

impl HookHandle {
    /// Asks the before-hooks about a call.
    ///
    /// First all controls, in order, until one denies or fails where failures block. Then observers outside the
    /// process are told, and nobody waits for them. Then observers and mocks in this process, in their common
    /// order, until one mocks; if a command among the controls mocked, they are not asked. The event is built only
    /// if a hook wants it. Without hooks the ruling is to proceed. If hooks cannot be read, it is to deny, and the
    /// delivery says why.
    pub async fn dispatch_before_tool_call(
        &self,
        make_event: impl FnOnce() -> BeforeToolCallEvent,
    ) -> (Ruling<BeforeVerdict>, Delivery) {
        let mut delivery = Delivery::default();
        let kind = HookKind::BeforeToolCall;
        let environment = match self.policy(kind) {
            Ok(environment) => environment,
            Err(error) => {
                let (reason, by) = unread(kind, &error);
                return (Ruling::new(BeforeVerdict::Deny { reason }, Some(by)), Delivery::failed(error));
            }
        };
        if !self.wants(kind) && !self.controls(kind) {
            return (Ruling::new(BeforeVerdict::Proceed, None), delivery);
        }
        let event = Arc::new(make_event());
        let question = Question::Before(Arc::clone(&event));
        let held = match self.judge(&question, environment.as_ref(), &mut delivery).await {
            Ok(held) => held,
            Err((reason, by)) => return (Ruling::new(BeforeVerdict::Deny { reason }, Some(by)), delivery),
        };
        self.announce(&event, environment.as_ref(), &mut delivery).await;
        // A handler that comes before the program that mocks hears of the call, and its mock comes first.
        let before = held.as_ref().map_or(usize::MAX, |held| held.place);
        let mock = match (self.consult(&event, before, &mut delivery).await, held) {
            (Some(mock), _) => Some(mock),
            (None, Some(held)) => {
                delivery.receipts[held.receipt].decided_by = Some(RulingCause::Policy);
                Some((held.raw, held.by))
            }
            (None, None) => None,
        };
        let ruling = match mock {
            Some((raw, by)) => Ruling::new(BeforeVerdict::Mock(raw), Some(by)),
            None => Ruling::new(BeforeVerdict::Proceed, None),
        };
        (ruling, delivery)
    }

    /// Asks the after-controls about a result: the tool's, a mock's, or one that was handed in.
    ///
    /// In order, until one denies or fails where failures block. The result is copied for them only
    /// if one of them is about this tool. Without controls the ruling is to keep the result. If hooks cannot be
    /// read, it is to deny, and the delivery says why.
    pub async fn evaluate_after_tool_call(
        &self,
        raw: &RawOutput,
        mocked: bool,
        make_context: impl FnOnce() -> ToolCallContext,
    ) -> (Ruling<AfterVerdict>, Delivery) {
        let mut delivery = Delivery::default();
        let kind = HookKind::AfterToolCall;
        let environment = match self.policy(kind) {
            Ok(environment) => environment,
            Err(error) => {
                let (reason, by) = unread(kind, &error);
                return (Ruling::new(AfterVerdict::Deny { reason }, Some(by)), Delivery::failed(error));
            }
        };
        if !self.controls(kind) {
            return (Ruling::new(AfterVerdict::Keep, None), delivery);
        }
        let context = make_context();
        let is_asked = |bound: &Bound| bound.entry.is_control() && bound.entry.accepts(Some(&context.key));
        if !self.of(kind).chain(environment.as_ref()).any(is_asked) {
            return (Ruling::new(AfterVerdict::Keep, None), delivery);
        }
        let event = AfterToolCallControl { context, mocked, result: raw.as_result().clone() };
        let question = Question::After(Arc::new(event));
        let ruling = match self.judge(&question, environment.as_ref(), &mut delivery).await {
            Err((reason, by)) => Ruling::new(AfterVerdict::Deny { reason }, Some(by)),
            Ok(_) => Ruling::new(AfterVerdict::Keep, None),
        };
        (ruling, delivery)
    }

    /// Asks controls until one ends the chain. The first mock is held until all have answered.
    async fn judge(
        &self,
        question: &Question,
        environment: Option<&Bound>,
        delivery: &mut Delivery,
    ) -> Result<Option<Held>, Denial> {
        let kind = question.kind();
        let mut held = None;
        let all = self.of(kind).chain(environment).enumerate();
        for (place, bound) in all.filter(|(_, bound)| bound.entry.is_control()) {
            let Some(consumer) = self.consumer(bound, Some(question.tool())) else {
                continue;
            };
            let Some((answer, mut receipt)) = self.put(bound, consumer, question).await else {
                continue;
            };
            let (class, said) = weigh(kind, &bound.entry, answer);
            receipt.answer = class;
            match said {
                Said::Nothing => {}
                Said::Mock(result) if held.is_none() => {
                    let by = ruled_by(kind, &bound.entry, RulingCause::Policy);
                    held = Some(Held { raw: RawOutput::new(result), by, receipt: delivery.receipts.len(), place });
                }
                Said::Mock(_) => {}
                Said::Denial(denial) => {
                    receipt.decided_by = Some(denial.1.cause);
                    delivery.receipts.push(receipt);
                    return Err(denial);
                }
            }
            delivery.receipts.push(receipt);
        }
        Ok(held)
    }

    /// Puts the question to one control, however it is reached. Nothing if it is no control of this question.
    async fn put(
        &self,
        bound: &Bound,
        consumer: Consumer<'_>,
        question: &Question,
    ) -> Option<(Result<Answer, Failure>, Receipt)> {
        let kind = question.kind();
        let spoken = bound.speaks_for.then(|| question.speaking_for(&bound.operation));
        let question = spoken.as_ref().unwrap_or(question);
        let receipt = bound.receipt(kind, AnswerClass::Ok, Duration::ZERO, None);
        if let Consumer::Native(native) = consumer {
            let call = native_call(native, question)?;
            let (answer, latency) = self.ask(bound, kind, call).await;
            return Some((answer.map(Answer::Decision), Receipt { latency, ..receipt }));
        }
        let wire = question.to_wire();
        let delivery_id = self.delivery_id(bound, kind, &wire);
        let started = self.ports().clock.now();
        let payload = complete(self.ports(), &wire, &bound.entry.id, kind, Purpose::Control, None).await;
        let carriers = &self.ports().carriers;
        let (carrier, answer) = match consumer {
            Consumer::Native(_) => return None,
            Consumer::Webhook(config) => {
                let (config, delivery_id) = (Arc::clone(config), delivery_id.clone());
                let request = WebhookRequest { config, payload, delivery_id };
                (CarrierKind::Webhook, caught(|| carriers.ask_webhook(request)).await.map(from_reply))
            }
            Consumer::Command(config) => {
                let request = CommandRequest { config: Arc::clone(config), kind, payload };
                (CarrierKind::Command, caught(|| carriers.ask_command(request)).await.map(from_command))
            }
        };
        let latency = self.ports().clock.now().saturating_sub(started);
        let fault = answer.as_ref().err().map(HookFault::code);
        let answer = answer.map_err(Failure::Remote);
        if let Err(failure) = &answer {
            self.warn(bound, kind, failure);
        }
        Some((answer, Receipt { carrier, fault, delivery_id: Some(delivery_id), latency, ..receipt }))
    }

    /// Starts to tell the observers outside the process that a tool is about to run.
    async fn announce(&self, event: &Arc<BeforeToolCallEvent>, environment: Option<&Bound>, delivery: &mut Delivery) {
        let kind = HookKind::BeforeToolCall;
        let event = Event::BeforeToolCall(Arc::clone(event));
        let mut wire = None;
        for bound in self.of(kind).chain(environment) {
            if let Some(Observer::Remote(remote)) = self.observer(bound, &event) {
                let wire = wire.get_or_insert_with(|| to_wire(event.to_json()));
                self.start(bound, remote, kind, wire, delivery).await;
            }
        }
    }

    /// Asks observers and mocks in this process in their common order until one mocks, those before a place only.
    async fn consult(
        &self,
        event: &Arc<BeforeToolCallEvent>,
        before: usize,
        delivery: &mut Delivery,
    ) -> Option<(RawOutput, RuledBy)> {
        let kind = HookKind::BeforeToolCall;
        for bound in self.of(kind).take(before) {
            let (class, latency, mock) = match self.consumer(bound, Some(&event.context.key)) {
                Some(Consumer::Native(Native::Observe(handler))) => {
                    let call = || handler(Event::BeforeToolCall(Arc::clone(event)));
                    let (answer, latency) = self.ask(bound, kind, call).await;
                    (answer.map_or_else(|failure| failure.class(), |()| AnswerClass::Ok), latency, None)
                }
                Some(Consumer::Native(Native::Mock(handler))) => {
                    let slot = MockSlot::new();
                    let call = || handler(MockableToolCall::new(Arc::clone(event), Arc::clone(&slot)));
                    let (answer, latency) = self.ask(bound, kind, call).await;
                    let (class, mock) = settle(&slot, answer);
                    (class, latency, mock)
                }
                Some(Consumer::Native(Native::ControlBefore(_) | Native::ControlAfter(_)))
                | Some(Consumer::Webhook(_) | Consumer::Command(_))
                | None => continue,
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

/// What the answer of a control comes to.
enum Said {
    Nothing,
    Mock(ToolRunResult),
    Denial(Denial),
}

/// What a control's answer is called, and what it comes to.
fn weigh(kind: HookKind, entry: &Entry, answer: Result<Answer, Failure>) -> (AnswerClass, Said) {
    match answer {
        Ok(Answer::Decision(Decision::Allow)) if kind == HookKind::AfterToolCall => (AnswerClass::Keep, Said::Nothing),
        Ok(Answer::Decision(Decision::Allow)) => (AnswerClass::Allow, Said::Nothing),
        Ok(Answer::Notification) => (AnswerClass::Notification, Said::Nothing),
        Ok(Answer::Mock(result)) => (AnswerClass::Mock, Said::Mock(result)),
        Ok(Answer::Decision(Decision::Deny { reason })) => {
            (AnswerClass::Deny, Said::Denial((reason, ruled_by(kind, entry, RulingCause::Policy))))
        }
        Err(failure) => match entry.on_error {
            OnError::Continue => (failure.class(), Said::Nothing),
            OnError::Block => {
                let reason = Some(CONTROL_ERROR_REASON.to_owned());
                (failure.class(), Said::Denial((reason, ruled_by(kind, entry, RulingCause::Failure))))
            }
        },
    }
}

/// The call of a handler in this process, if it is a control of this question.
fn native_call(native: &Native, question: &Question) -> Option<Box<dyn FnOnce() -> Answering<Decision> + Send>> {
    match (native, question) {
        (Native::ControlBefore(handler), Question::Before(event)) => {
            let (handler, event) = (Arc::clone(handler), Arc::clone(event));
            Some(Box::new(move || handler(event)))
        }
        (Native::ControlAfter(handler), Question::After(event)) => {
            let (handler, event) = (Arc::clone(handler), Arc::clone(event));
            Some(Box::new(move || handler(event)))
        }
        (
            Native::Observe(_) | Native::Mock(_) | Native::ControlBefore(_) | Native::ControlAfter(_),
            Question::Before(_) | Question::After(_),
        ) => None,
    }
}

fn from_reply(reply: ControlReply) -> Answer {
    match reply {
        ControlReply::Allow => Answer::Decision(Decision::Allow),
        ControlReply::Deny { reason } => Answer::Decision(Decision::Deny { reason }),
        ControlReply::Notification => Answer::Notification,
    }
}

fn from_command(reply: CommandReply) -> Answer {
    match reply {
        CommandReply::Control(reply) => from_reply(reply),
        CommandReply::Mock(result) => Answer::Mock(result),
    }
}

/// What hooks that cannot be read come to: nothing may pass.
fn unread(kind: HookKind, error: &DispatchError) -> Denial {
    let by = RuledBy { hook: error.hook(kind), event: kind, cause: RulingCause::Failure };
    (Some(CONTROL_ERROR_REASON.to_owned()), by)
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
