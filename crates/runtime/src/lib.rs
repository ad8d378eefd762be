//! The step loop of an agent, run as an explicit state machine.
//!
//! [`machine`] decides, [`planner`] plans, [`journal`] says what is written down, and `drive`
//! performs. Without default features there is no async runtime here, no HTTP client, no store.

pub mod agent;
pub mod compress;
pub mod journal;
pub mod llm;
pub mod machine;
pub mod permission;
pub mod planner;
pub mod repeat;
pub mod tokens;

#[cfg(feature = "drive")]
pub mod drive;
