//! The words that every other crate of Jackline shares.
//!
//! Ids, messages, tool calls and their results, token usage, money, and the ways a run can end.
//! There is no behaviour here that decides anything: no clock, no I/O, no policy.

mod call;
mod ids;
mod message;
mod money;
mod origin;
mod outcome;
mod result;
mod usage;

pub use call::{ExecutorRoute, SideEffect, ToolCall, ToolKey, ToolSource};
pub use ids::{
    AgentId, ApprovalId, BlobId, ConfigHash, HookId, MessageId, OperationId, StopRequestId, ThreadId, ToolCallId,
    UserId,
};
pub use message::{Content, Message, MessageBody, Part, Role};
pub use money::NanoDollars;
pub use origin::{Lineage, Origin};
pub use outcome::{Advice, ExitCode, Fault, FaultAttribution, Reason, Status};
pub use result::{RawOutput, ToolRunResult};
pub use usage::{ModelUsage, Totals};
