//! What a receiver or a program answered, and what that means.
//!
//! Nothing is received here: bytes come in, a class goes out.

mod command;
mod fault;
mod parse;
#[cfg(test)]
mod tests;

pub use command::{CommandReply, parse_command_reply};
pub use fault::{FaultCode, HookFault};
pub use parse::{ControlReply, REPLY_BYTES_MAX, parse_reply, parse_reply_body};
