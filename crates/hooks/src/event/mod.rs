//! What the sixteen events say, one struct each, field for field as receivers read them.
//!
//! JSON is camelCase; what is absent is left out and never `null`. There is no `finalState`, no
//! e-mail address and no projection here.

mod any;
mod attachment;
mod call_agent;
mod compact;
mod excerpt;
mod human;
mod payload;
mod run_context;
mod sample;
mod step;
mod terminal;
#[cfg(test)]
pub(crate) mod tests;
mod tool;

pub use any::Event;
#[cfg(feature = "dispatch")]
pub(crate) use any::Pick;
pub use attachment::{Attachment, AttachmentKind, AttachmentSource};
pub use call_agent::{AfterCallAgentEvent, BeforeCallAgentEvent, OnCallAgentErrorEvent};
pub use compact::{AfterCompactEvent, BeforeCompactEvent, CompactContext, OnCompactErrorEvent};
pub use excerpt::{instruction_excerpt, last_content_excerpt, summary_excerpt};
pub use human::{
    AfterHumanInterventionEvent, BeforeHumanInterventionEvent, DecidedCalls, HumanAction, HumanContext,
    OnStopByHumanInterventionEvent, PendingTool,
};
pub use payload::Payload;
pub use run_context::RunContext;
pub use sample::Sample;
pub use step::{AfterStepEvent, BeforeStepEvent, StepType, ToolCalling, ToolOutcome};
pub use terminal::{OnCompleteEvent, OnErrorEvent, RunEnd};
pub use tool::{
    AfterToolCallControl, AfterToolCallEvent, BeforeToolCallEvent, OnToolCallErrorEvent, ToolCallContext,
    effective_args, redacted_for_notification,
};

use jackline_model::NanoDollars;
use serde::Serializer;

fn dollars<S: Serializer>(amount: &NanoDollars, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(amount.dollars())
}

/// Called for amounts that are there only: absent ones are skipped.
fn dollars_option<S: Serializer>(amount: &Option<NanoDollars>, serializer: S) -> Result<S::Ok, S::Error> {
    match amount {
        Some(amount) => dollars(amount, serializer),
        None => serializer.serialize_none(),
    }
}
