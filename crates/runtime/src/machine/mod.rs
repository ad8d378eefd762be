//! The machine of one operation: plain data in, plain data out.
//!
//! [`What`] lists all that can happen, [`Effect`] all that can be asked, [`State`] where a run can
//! stand, [`table::ROWS`] every transition. There is no clock here, no chance, no I/O and no
//! `async`; time, ids and random numbers come in with the inputs.

mod boundary;
mod calls;
pub mod draw;
mod effect;
mod fault;
mod firing;
mod handle;
mod id;
mod input;
mod instruction;
pub mod invariants;
pub mod limits;
mod shared;
mod state;
pub mod table;
mod transition;

pub use boundary::{Boundary, Stands};
pub use calls::{CallSlot, Calls, Place};
pub use effect::{Durability, Effect, EffectKind, Firing, HumanAction, Question, StepSummary};
pub use fault::{MachineFault, Moved, Problem};
pub use firing::{Moment, hooks_of};
pub use handle::Machine;
pub use id::{BadEffectId, EffectId, Unit, Verb};
pub use input::{
    CallFacts, CompactionNeed, Decision, FailureKind, Folded, HumanVerdict, Input, InputKind, ModelFailure, Reply,
    Route, Settled, SettledHow, What,
};
pub use instruction::{Instruction, Ordinal, Phase, Refusal};
pub use shared::{Emitted, Settings, Shared, is_notice};
pub use state::{Compaction, Ending, ParkReason, State, StateKind, StepOutcome, StopNotice, StopTold};
