//! Rows of the themes HOOKS and WEBHOOK of the case log, run whole: a runtime whose hooks are webhooks asks and tells
//! a receiver on the loopback.

#![expect(clippy::unwrap_used, reason = "what fails in a helper of these tests fails the test")]

mod controls;
mod observers;
mod receiver;
mod world;
