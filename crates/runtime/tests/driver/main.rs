//! The driver, one question at a time: what events say, what is sent, who is stopped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod children;
mod events;
mod overflow;
mod support;
mod turn;
