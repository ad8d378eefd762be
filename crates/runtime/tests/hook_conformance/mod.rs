//! What is promised about hooks, with native handlers.

mod after;
mod before;
mod hidden;
mod lifecycle;
