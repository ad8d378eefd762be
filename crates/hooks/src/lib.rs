//! The sixteen lifecycle hooks: their events, their answers, and the chain that asks them.
//!
//! There is no tool here and no state machine: this crate knows what an event says, who wants to
//! hear it, and what an answer means.

mod event;
mod kind;
mod matcher;
mod verdict;

pub use event::*;
pub use kind::{HookKind, UnknownHookKind};
pub use matcher::{Matcher, MatcherError};
pub use verdict::{AfterVerdict, BeforeVerdict, CONTROL_ERROR_REASON, DENIED_ERROR, RuledBy, Ruling, RulingCause};
