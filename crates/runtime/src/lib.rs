//! The step loop of an agent, run as an explicit state machine.

pub mod agent;
pub mod compress;
pub mod llm;
pub mod permission;
pub mod repeat;
pub mod tokens;
