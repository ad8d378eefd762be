//! A tour: a directory whose `tour.toml` names operations, the answers that people would give, and
//! how each must end.
//!
//! ```toml
//! title = "What an agent can do"
//!
//! [[operation]]
//! title = "Write a file, once somebody agrees"
//! agent = "agents/clerk.toml"
//! prompt = "Write the report."
//! answers = [{ action = "approve" }]
//! expect = "done"
//! ```
//!
//! The directory is copied beside the store first, and the agents work on the copy.

mod copy;
mod file;
mod play;

pub(crate) use play::run;
