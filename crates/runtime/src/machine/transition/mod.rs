//! The transitions, by the part of a run that they move. Branching is here; the door is `handle.rs`.

pub(super) mod calls;
pub(super) mod compact;
pub(super) mod end;
pub(super) mod human;
pub(super) mod model;
pub(super) mod step;
