//! Models: the port, the OpenAI-compatible client, the scripted one.
//!
//! Absent: retries as such. [`retry`] computes delays; waiting and trying again are transitions of
//! the machine, so that they are journaled and seen.

#[cfg(feature = "openai")]
mod decode;
#[cfg(feature = "openai")]
mod fault;
mod history;
#[cfg(feature = "openai")]
mod limits;
mod port;
#[cfg(feature = "openai")]
mod provider_error;

pub use history::{History, HistoryEntry, OfferedTool, ToolMenu};
pub use port::{
    BoxFuture, Delta, DeltaSink, FinishReason, Model, ModelFault, ModelFaultKind, ModelReply, ModelRequest, RawCall,
};
