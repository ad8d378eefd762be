//! Receipts: what hooks were asked and answered, on their way to readers and into the store.

use jackline_hooks::{AnswerClass, CarrierKind, Delivery, Event, HookKind, Receipt, RulingCause};
use jackline_model::{OperationId, ToolCallId};
use serde_json::json;

use super::stream::HookReceipt;
use crate::journal::Heard;

/// The receipts of a firing in the form in which they are stored; nothing if none is worth it.
///
/// A handler in this process that was heard and changed nothing leaves none: a run with a handler for every event
/// would store more about them than about its own messages.
pub(crate) fn heard(own: &OperationId, call: Option<ToolCallId>, step: u32, delivery: &Delivery) -> Option<Heard> {
    let kept = delivery.receipts.iter().filter(|receipt| is_kept(receipt));
    let asked: Vec<HookReceipt> = kept.map(|receipt| shown(own, receipt)).collect();
    let kind: HookKind = delivery.receipts.first().filter(|_| !asked.is_empty())?.kind;
    let text = json!({"step": step, "type": kind, "asked": asked}).to_string();
    Some(Heard { call, text })
}

/// Whether the hook is outside the process, decided, or failed.
fn is_kept(receipt: &Receipt) -> bool {
    receipt.carrier != CarrierKind::Native
        || receipt.decided_by.is_some()
        || receipt.answer == AnswerClass::Mock
        || receipt.answer.is_failure()
}

/// The call that an event is about.
pub(crate) fn call_of(event: &Event) -> Option<ToolCallId> {
    if let Event::AfterToolCall(event) = event {
        return Some(event.context.tool_call_id.clone());
    }
    if let Event::OnToolCallError(event) = event {
        return Some(event.context.tool_call_id.clone());
    }
    None
}

/// The receipts of a firing, as readers and the store get them.
pub(crate) fn receipts(own: &OperationId, delivery: &Delivery) -> Vec<HookReceipt> {
    delivery.receipts.iter().map(|receipt| shown(own, receipt)).collect()
}

fn shown(own: &OperationId, receipt: &Receipt) -> HookReceipt {
    HookReceipt {
        id: receipt.hook.to_string(),
        inherited_from: (receipt.operation != *own).then(|| receipt.operation.clone()),
        carrier: receipt.carrier.as_str().into(),
        answer: receipt.answer.as_str().into(),
        fault: receipt.fault.map(|fault| fault.as_str().into()),
        decided_by: receipt.decided_by.map(|cause| match cause {
            RulingCause::Policy => "policy".into(),
            RulingCause::Failure => "failure".into(),
        }),
        micros: u64::try_from(receipt.latency.as_micros()).unwrap_or(u64::MAX),
    }
}
