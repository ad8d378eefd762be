//! The step loop of an agent, run as an explicit state machine.

pub mod journal;
pub mod llm;
pub mod machine;
pub mod repeat;
