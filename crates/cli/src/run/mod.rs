//! `jackline run`, and following a run until it rests.

mod decide;
mod follow;
mod poll;
mod prompt;
mod signals;
mod start;
mod terminal;

pub(crate) use decide::{Answer, Decider, undecided};
pub(crate) use follow::{Follow, say_what_is_next, screen};
pub(crate) use prompt::input_text;
pub(crate) use signals::Signals;
pub(crate) use start::{block_on, run};
