//! What is promised about hooks, with native handlers.

mod after;
mod before;
pub(crate) mod hidden;
mod lifecycle;
