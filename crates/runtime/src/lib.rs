//! The step loop of an agent, run as an explicit state machine.

pub mod llm;
pub mod permission;
