//! From bytes to a reply: pure, with no socket and no clock.

mod assemble;
mod calls;
mod chunk;
mod content;
mod finish;
mod sse;
mod usage;

pub(crate) use assemble::{AnswerEnd, Assembler};
pub(crate) use sse::{SseEvent, SseLimit, SseReader};
