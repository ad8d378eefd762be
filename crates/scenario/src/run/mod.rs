//! Running a scenario: everything scripted around the real runtime, in virtual time.
//!
//! Each life of the process is a thread with an executor of its own: a kill drops the executor, so
//! that nothing that ran survives it, as with a real process.

mod clock;
mod hooks;
mod life;
mod model;
mod outside;
mod people;
mod planner;
mod probe;
mod seen;
mod setup;
mod tool;
mod world;

pub(crate) use life::{End, live_through};
pub use outside::{Outside, OutsideAnswer};
pub(crate) use people::OPERATIONS_MAX;
pub(crate) use seen::{Answered, Seen};
pub(crate) use world::{Fired, Heard, Story, World};
