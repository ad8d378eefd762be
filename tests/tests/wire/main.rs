//! Rows of the case log, run whole: the client asks a server on the loopback that sends the files as they are, and
//! what the runtime makes of them is looked at in the tools, the hooks, the next request and the store.

#![expect(clippy::unwrap_used, reason = "what fails in a helper of these tests fails the test")]

mod args;
mod compat;
mod errors;
mod ids;
mod rows;
#[expect(dead_code, reason = "the tests of the client use more of it")]
#[path = "../../../crates/runtime/tests/llm/server.rs"]
mod server;
mod stream;
mod strict;
mod world;
