//! Programs that embed Jackline, one for each thing that one may want from it.
//!
//! Each is one file to copy from, needs no network, and runs with
//! `cargo run -p jackline-examples --example NAME`:
//!
//! - `minimal`: ask an agent, read its answer
//! - `own_tool`: a tool of your own, with typed arguments and errors that the model can read
//! - `cost`: hooks that watch what a run costs
//! - `mock`: a hook that stands in for a tool
//! - `deny`: hooks that forbid a call, or withhold its result
//! - `approval`: a call that waits for a decision, and the decision
//! - `sub_agent`: an agent that calls another
//! - `stream`: everything that a run tells, as JSON lines
//! - `resume`: a run that one process begins and another ends
//!
//! The tests of the workspace run every one of them.
