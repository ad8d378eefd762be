//! The sixteen lifecycle hooks: their events, their answers, and the chain that asks them.
//!
//! There is no tool here and no state machine: this crate knows what an event says, who wants to
//! hear it, and what an answer means. Without the feature `dispatch` only the words remain: nothing
//! can be registered and nothing runs.

#[cfg(feature = "dispatch")]
mod dispatch;
mod event;
mod kind;
#[cfg(feature = "dispatch")]
mod kind_set;
mod matcher;
#[cfg(feature = "dispatch")]
mod register;
mod verdict;

#[cfg(feature = "dispatch")]
pub use dispatch::{AnswerClass, Delivery, HookClock, HookDispatcher, HookHandle, Receipt, Rounds};
pub use event::*;
pub use kind::{HookKind, UnknownHookKind};
pub use matcher::{Matcher, MatcherError};
#[cfg(feature = "dispatch")]
pub use register::{
    Decision, HANDLER_TIMEOUT, HANDLER_TIMEOUT_MAX, HookError, Hooks, IntoAnswer, MockAnswer, MockableToolCall,
    OnError, RegistrationError, stage,
};
pub use verdict::{AfterVerdict, BeforeVerdict, CONTROL_ERROR_REASON, DENIED_ERROR, RuledBy, Ruling, RulingCause};
