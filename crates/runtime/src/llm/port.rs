//! What the runtime asks of a model, and what a model answers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jackline_model::{Content, Fault, ModelUsage};

use super::history::{History, ToolMenu};

/// A boxed future, as async trait methods return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A language model.
///
/// One call is one attempt: retries are transitions of the machine, so that they are journaled and
/// seen. Dropping the future must end the request.
pub trait Model: Send + Sync {
    /// Asks for the next turn. Deltas go to the sink while they arrive, if it wants any.
    ///
    /// # Errors
    ///
    /// [`ModelFault`] with a kind that says whether to retry. An answer that was cut off, filtered
    /// or empty is a fault or has a finish reason that says so; it is never a plain success.
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>>;

    /// Whether it takes its time from the runtime's clock, as a scripted one does: while it waits,
    /// a virtual clock may jump.
    fn is_simulated(&self) -> bool {
        false
    }
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// The model's name, as the provider knows it.
    pub model: &'a str,
    /// The agent that asks.
    pub agent: &'a str,
    /// The conversation.
    pub history: &'a History,
    /// What the model may call; empty when it must answer in words.
    pub tools: &'a ToolMenu,
    /// A line that is added to this request only: the order to answer now, without tools.
    pub instruction: Option<&'a str>,
    /// Longest answer in tokens, if bounded.
    pub output_tokens_max: Option<u32>,
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelReply {
    /// The text or parts.
    pub content: Content,
    /// What the model thought, where it shows that.
    pub reasoning: Option<Arc<str>>,
    /// Its words when it refused to answer.
    pub refusal: Option<String>,
    /// The calls it asks for, in emission order, names as on the wire.
    pub calls: Vec<RawCall>,
    /// Why it stopped.
    pub finish: FinishReason,
    /// The provider's own word for that, when it is none of the known ones.
    pub finish_raw: Option<String>,
    /// The tokens, when the provider told.
    pub usage: Option<ModelUsage>,
    /// The only text was in the reasoning, and was taken for the answer.
    pub salvaged_from_reasoning: bool,
}

/// A call as it stands in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawCall {
    /// The provider's id; `None` when it gave none or an empty one.
    pub id: Option<String>,
    /// The name on the wire.
    pub name: String,
    /// The arguments as text, valid JSON or not.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It asks for tools.
    ToolCalls,
    /// The output limit cut it off.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
    /// The request was cancelled.
    Abort,
}

/// A call that gave no usable answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{fault}")]
pub struct ModelFault {
    /// What to do about it.
    pub kind: ModelFaultKind,
    /// What is stored and shown.
    pub fault: Fault,
    /// How long the provider asks to wait, capped.
    pub retry_after: Option<Duration>,
    /// Text that had arrived before the fault. Shown, never stored as an answer.
    pub partial: String,
}

/// What a model fault means for the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelFaultKind {
    /// The same request may work: try again with back-off.
    Retryable,
    /// The request does not fit the window: compress, then try once more.
    ContextOverflow,
    /// Trying again does not help.
    Permanent,
    /// The run was stopped.
    Cancelled,
}

/// A piece of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    /// Text for the reader.
    Text(&'a str),
    /// What the model thinks.
    Reasoning(&'a str),
}

/// Where deltas go.
pub trait DeltaSink: Send {
    /// Whether anybody reads: a client streams only if so.
    fn wants_deltas(&self) -> bool;

    /// Takes a piece. Must not block.
    fn delta(&mut self, delta: Delta<'_>);
}
