//! When a history is folded into a summary, what of it, and whether the result is any good.
//!
//! The decisions only: the summary is written by a model, the rows are moved by the store, and
//! neither is here.

mod accept;
mod fold;
mod guard;
mod prompt;
mod threshold;

pub use accept::{Proposal, Rejection, accept, overflow_fault, sizes};
pub use fold::{Entry, EntryKind, FoldPlan, entries_of, select_fold};
pub use guard::{CompressionGuard, GuardVerdict};
pub use prompt::{SummaryPrompt, summary_prompt};
pub use threshold::{Sizing, ThresholdSettings, tail_budget};
