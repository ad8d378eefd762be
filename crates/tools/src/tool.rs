//! The trait behind every tool.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use jackline_model::{OperationId, ToolCallId, ToolRunResult};
use serde_json::{Map, Value};

use crate::ToolSpec;

/// A boxed future, as async trait methods return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool that a model can call.
///
/// The runtime checks the arguments against the schema, asks the hooks, waits for approval and
/// makes the journal durable before it calls [`run`](Tool::run). Dropping the future must stop the
/// work: that is how a deadline or an interrupt ends a call.
///
/// Anybody who holds a tool can run it, as they could run whatever it wraps. That is no way around
/// the hooks of a run: the runtime itself runs a call only with a [`Clearance`](crate::Clearance),
/// and what a tool gives back by hand is no [`Publishable`](crate::Publishable), so no store takes it
/// for the result of a call.
pub trait Tool: Send + Sync {
    /// The declaration. Must not change while the tool is registered.
    fn spec(&self) -> &ToolSpec;

    /// Runs once. A failure that the model should read is `Ok` with `success: false`; `Err` is for
    /// a tool that broke, and fires `onToolCallError`.
    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>>;
}

/// What a run of a tool gives back.
#[derive(Debug, PartialEq)]
pub enum ToolAnswer {
    /// The result.
    Now(ToolRunResult),
    /// The result comes later, from anywhere, through `complete_call`. The run parks.
    Later,
}

impl From<ToolRunResult> for ToolAnswer {
    fn from(result: ToolRunResult) -> Self {
        Self::Now(result)
    }
}

/// A tool that broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What broke, in words for the model.
    pub message: String,
    /// Whether the same run may be tried again at once.
    pub retry: bool,
}

impl ToolError {
    /// A failure that another try would not mend.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry: false }
    }

    /// A failure that may pass: the runtime tries again, up to the tool's limit.
    pub fn retryable(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry: true }
    }
}

/// What a running tool may know about the call it serves.
pub struct ToolContext {
    /// The operation.
    pub operation: OperationId,
    /// The step.
    pub step: u32,
    /// The provider's id of the call.
    pub call_id: ToolCallId,
    /// The same for every run of the same call with the same arguments, in any process: hand it to
    /// services that accept one.
    pub idempotency_key: String,
    /// Which try this is, from 1.
    pub attempt: u32,
    /// How long this run may take.
    pub deadline: Duration,
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("operation", &self.operation)
            .field("call_id", &self.call_id)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}
