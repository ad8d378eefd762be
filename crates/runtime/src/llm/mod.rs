//! Models: the port, the OpenAI-compatible client, the scripted one.
//!
//! Absent: retries. How long to wait and when to try again are transitions of the machine, so that they are
//! journaled and seen.

#[cfg(feature = "openai")]
mod decode;
pub(crate) mod dialect;
#[cfg(feature = "openai")]
mod encode;
#[cfg(feature = "openai")]
mod fault;
mod history;
#[cfg(feature = "openai")]
mod limits;
#[cfg(feature = "openai")]
mod openai;
mod port;
#[cfg(feature = "openai")]
mod provider_error;
#[cfg(feature = "openai")]
mod retry_after;
#[cfg(feature = "drive")]
mod scripted;

pub use dialect::{Dialect, EmptyContent, MessageOrder, OutputLimitField, ReasoningReplay, SchemaDialect, ToolCallIds};
#[cfg(feature = "openai")]
pub use encode::{WireName, WireSettings};
pub use history::{History, HistoryEntry, OfferedTool, ToolMenu};
#[cfg(feature = "openai")]
pub use openai::{OpenAiConfigError, OpenAiModel, OpenAiModelBuilder, StreamMode};
pub use port::{
    BoxFuture, Delta, DeltaSink, FinishReason, Model, ModelFault, ModelFaultKind, ModelReply, ModelRequest, RawCall,
};
#[cfg(feature = "drive")]
pub use scripted::{RecordedRequest, ReplyBuilder, ScriptedModel, Turn};
