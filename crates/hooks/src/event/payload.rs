//! What all payloads have in common.

use std::fmt::Debug;

use jackline_model::{OperationId, ToolKey};
use serde::Serialize;
use serde_json::Value;

use super::{
    AfterCallAgentEvent, AfterCompactEvent, AfterHumanInterventionEvent, AfterStepEvent, AfterToolCallEvent,
    BeforeCallAgentEvent, BeforeCompactEvent, BeforeHumanInterventionEvent, BeforeStepEvent, BeforeToolCallEvent,
    OnCallAgentErrorEvent, OnCompactErrorEvent, OnCompleteEvent, OnErrorEvent, OnStopByHumanInterventionEvent,
    OnToolCallErrorEvent,
};
use crate::HookKind;

/// The payload of one event. Implemented by the sixteen structs and by nothing else.
pub trait Payload: Debug + Send + Sync + sealed::Sealed {
    /// Which event it is the payload of.
    fn kind(&self) -> HookKind;

    /// The operation it is about.
    fn operation_id(&self) -> &OperationId;

    /// The step it belongs to, where it belongs to one.
    fn step_index(&self) -> Option<u32>;

    /// The tool it is about, on the three tool events.
    fn tool_name(&self) -> Option<&ToolKey>;

    /// Its fields, and nothing more.
    fn to_json(&self) -> Value;
}

mod sealed {
    pub trait Sealed {}
}

fn json<P: Serialize>(payload: &P) -> Value {
    serde_json::to_value(payload).expect("payloads are structs whose keys are all strings")
}

/// One row per payload: its kind, and where it keeps the three facts.
macro_rules! payloads {
    ($($payload:ident => $kind:ident, $event:ident: $operation:expr, $step:expr, $tool:expr;)+) => {$(
        impl sealed::Sealed for $payload {}

        impl Payload for $payload {
            fn kind(&self) -> HookKind {
                HookKind::$kind
            }

            fn operation_id(&self) -> &OperationId {
                let $event = self;
                &$operation
            }

            fn step_index(&self) -> Option<u32> {
                let $event = self;
                let _ = $event;
                $step
            }

            fn tool_name(&self) -> Option<&ToolKey> {
                let $event = self;
                let _ = $event;
                $tool
            }

            fn to_json(&self) -> Value {
                json(self)
            }
        }
    )+};
}

payloads! {
    BeforeStepEvent => BeforeStep, e: e.run.operation_id, Some(e.step_index), None;
    AfterStepEvent => AfterStep, e: e.run.operation_id, Some(e.step_index), None;
    OnCompleteEvent => OnComplete, e: e.end.run.operation_id, None, None;
    OnErrorEvent => OnError, e: e.end.run.operation_id, None, None;
    BeforeToolCallEvent => BeforeToolCall, e: e.context.operation_id, Some(e.context.step_index), Some(&e.context.key);
    AfterToolCallEvent => AfterToolCall, e: e.context.operation_id, Some(e.context.step_index), Some(&e.context.key);
    OnToolCallErrorEvent => OnToolCallError, e: e.context.operation_id, Some(e.context.step_index), Some(&e.context.key);
    BeforeHumanInterventionEvent => BeforeHumanIntervention, e: e.context.operation_id, Some(e.step_index), None;
    AfterHumanInterventionEvent => AfterHumanIntervention, e: e.context.operation_id, None, None;
    OnStopByHumanInterventionEvent => OnStopByHumanIntervention, e: e.context.operation_id, None, None;
    BeforeCompactEvent => BeforeCompact, e: e.context.operation_id, Some(e.context.step_index), None;
    AfterCompactEvent => AfterCompact, e: e.context.operation_id, Some(e.context.step_index), None;
    OnCompactErrorEvent => OnCompactError, e: e.context.operation_id, Some(e.context.step_index), None;
    BeforeCallAgentEvent => BeforeCallAgent, e: e.operation_id, None, None;
    AfterCallAgentEvent => AfterCallAgent, e: e.operation_id, None, None;
    OnCallAgentErrorEvent => OnCallAgentError, e: e.operation_id, None, None;
}
