//! Any one of the sixteen events.

use std::sync::Arc;

use jackline_model::{HookId, OperationId, ToolKey};
use serde_json::{Value, json};

use super::{
    AfterCallAgentEvent, AfterCompactEvent, AfterHumanInterventionEvent, AfterStepEvent, AfterToolCallEvent,
    BeforeCallAgentEvent, BeforeCompactEvent, BeforeHumanInterventionEvent, BeforeStepEvent, BeforeToolCallEvent,
    OnCallAgentErrorEvent, OnCompactErrorEvent, OnCompleteEvent, OnErrorEvent, OnStopByHumanInterventionEvent,
    OnToolCallErrorEvent, Payload, redacted_for_notification,
};
use crate::HookKind;

/// Any one of the sixteen events. Cloning it shares the payload.
///
/// ```
/// use jackline_hooks::{BeforeStepEvent, Event, HookKind, RunContext};
/// let run = RunContext::new("op_1", "agt_1", "user_1");
/// let event = Event::from(BeforeStepEvent { run, step_index: 0, steps: 0 });
/// assert_eq!(event.kind(), HookKind::BeforeStep);
/// assert_eq!(event.to_json()["operationId"], "op_1");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is named like its kind, and each payload says what happened")]
pub enum Event {
    BeforeStep(Arc<BeforeStepEvent>),
    AfterStep(Arc<AfterStepEvent>),
    OnComplete(Arc<OnCompleteEvent>),
    OnError(Arc<OnErrorEvent>),
    BeforeToolCall(Arc<BeforeToolCallEvent>),
    AfterToolCall(Arc<AfterToolCallEvent>),
    OnToolCallError(Arc<OnToolCallErrorEvent>),
    BeforeHumanIntervention(Arc<BeforeHumanInterventionEvent>),
    AfterHumanIntervention(Arc<AfterHumanInterventionEvent>),
    OnStopByHumanIntervention(Arc<OnStopByHumanInterventionEvent>),
    BeforeCompact(Arc<BeforeCompactEvent>),
    AfterCompact(Arc<AfterCompactEvent>),
    OnCompactError(Arc<OnCompactErrorEvent>),
    BeforeCallAgent(Arc<BeforeCallAgentEvent>),
    AfterCallAgent(Arc<AfterCallAgentEvent>),
    OnCallAgentError(Arc<OnCallAgentErrorEvent>),
}

impl Event {
    /// The payload, whatever it is.
    pub fn payload(&self) -> &dyn Payload {
        match self {
            Self::BeforeStep(event) => event.as_ref(),
            Self::AfterStep(event) => event.as_ref(),
            Self::OnComplete(event) => event.as_ref(),
            Self::OnError(event) => event.as_ref(),
            Self::BeforeToolCall(event) => event.as_ref(),
            Self::AfterToolCall(event) => event.as_ref(),
            Self::OnToolCallError(event) => event.as_ref(),
            Self::BeforeHumanIntervention(event) => event.as_ref(),
            Self::AfterHumanIntervention(event) => event.as_ref(),
            Self::OnStopByHumanIntervention(event) => event.as_ref(),
            Self::BeforeCompact(event) => event.as_ref(),
            Self::AfterCompact(event) => event.as_ref(),
            Self::OnCompactError(event) => event.as_ref(),
            Self::BeforeCallAgent(event) => event.as_ref(),
            Self::AfterCallAgent(event) => event.as_ref(),
            Self::OnCallAgentError(event) => event.as_ref(),
        }
    }

    /// Which event it is.
    pub fn kind(&self) -> HookKind {
        self.payload().kind()
    }

    /// The operation it is about.
    pub fn operation_id(&self) -> &OperationId {
        self.payload().operation_id()
    }

    /// The step it belongs to, where it belongs to one.
    pub fn step_index(&self) -> Option<u32> {
        self.payload().step_index()
    }

    /// The tool it is about, on the three tool events. Matchers see this.
    pub fn tool_name(&self) -> Option<&ToolKey> {
        self.payload().tool_name()
    }

    /// The fields of the event, and nothing more.
    pub fn to_json(&self) -> Value {
        self.payload().to_json()
    }

    /// What a receiver outside the process gets: the fields, `hookId` and `hookType`.
    ///
    /// An `afterToolCall` notification shows a redacted result: see [`redacted_for_notification`].
    pub fn wire_payload(&self, hook: &HookId) -> Value {
        let mut payload = self.to_json();
        if let Self::AfterToolCall(event) = self {
            payload["result"] = json!(redacted_for_notification(&event.result));
        }
        payload["hookId"] = json!(hook);
        payload["hookType"] = json!(self.kind());
        payload
    }
}

/// One row per variant: from the payload to the event, and back.
macro_rules! variants {
    ($($variant:ident($payload:ident);)+) => {$(
        impl From<$payload> for Event {
            fn from(payload: $payload) -> Self {
                Self::$variant(Arc::new(payload))
            }
        }

        #[cfg(feature = "dispatch")]
        impl Pick for $payload {
            fn pick(event: Event) -> Option<Arc<Self>> {
                if let Event::$variant(payload) = event { Some(payload) } else { None }
            }
        }
    )+};
}

/// Takes one payload out of an event, if it is that one.
#[cfg(feature = "dispatch")]
pub(crate) trait Pick: Sized {
    /// The payload.
    fn pick(event: Event) -> Option<Arc<Self>>;
}

variants! {
    BeforeStep(BeforeStepEvent);
    AfterStep(AfterStepEvent);
    OnComplete(OnCompleteEvent);
    OnError(OnErrorEvent);
    BeforeToolCall(BeforeToolCallEvent);
    AfterToolCall(AfterToolCallEvent);
    OnToolCallError(OnToolCallErrorEvent);
    BeforeHumanIntervention(BeforeHumanInterventionEvent);
    AfterHumanIntervention(AfterHumanInterventionEvent);
    OnStopByHumanIntervention(OnStopByHumanInterventionEvent);
    BeforeCompact(BeforeCompactEvent);
    AfterCompact(AfterCompactEvent);
    OnCompactError(OnCompactErrorEvent);
    BeforeCallAgent(BeforeCallAgentEvent);
    AfterCallAgent(AfterCallAgentEvent);
    OnCallAgentError(OnCallAgentErrorEvent);
}
