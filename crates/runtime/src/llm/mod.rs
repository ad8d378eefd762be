//! Models: the port, the OpenAI-compatible client, the scripted one.

mod history;
mod port;

pub use history::{History, HistoryEntry, OfferedTool, ToolMenu};
pub use port::{
    BoxFuture, Delta, DeltaSink, FinishReason, Model, ModelFault, ModelFaultKind, ModelReply, ModelRequest, RawCall,
};
