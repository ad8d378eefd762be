//! What a planner may look at.

use jackline_model::ToolCall;

use crate::llm::History;
use crate::machine::{CompactionNeed, Ordinal, Phase, Route};
use crate::permission::{ApprovalMode, Permission};

/// The read-only view of an operation between two steps.
#[derive(Clone, Copy, Debug)]
pub struct PlanView<'a> {
    /// Where the conversation stands.
    pub phase: Phase,
    /// The calls of the open turn that have no result yet, in emission order.
    pub calls: &'a [PlanCall<'a>],
    /// Somebody stops the run.
    pub interrupted: bool,
    /// The model was told to answer without tools, and has answered.
    pub force_finish: bool,
    /// The history does not fit and could be folded. Not offered right after a fold that failed.
    pub compaction: Option<CompactionNeed>,
    /// Who may be asked for approval.
    pub mode: ApprovalMode,
    /// The conversation.
    pub history: &'a History,
}

/// One open call.
#[derive(Clone, Copy, Debug)]
pub struct PlanCall<'a> {
    /// Its place in the turn.
    pub ordinal: Ordinal,
    /// The call.
    pub call: &'a ToolCall,
    /// Who would answer it.
    pub route: Route,
    /// Whether it can be answered at all.
    pub standing: Standing,
    /// What the permission rules say.
    pub permission: Permission,
}

/// Whether a call can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Yes.
    Usable,
    /// The agent's tool list does not have it.
    NotAllowed,
    /// The tool does not exist, or the arguments cannot be used.
    Unusable,
}
