//! What the loop promises, promise by promise: engine, planner, model calls, compression, interrupts,
//! and what a host may rely on. Model, tools, ids and time are scripted; nothing sleeps.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod compression;
mod compression_failure;
mod engine;
mod episodes;
mod faulty;
mod host;
mod interrupts;
mod model_calls;
mod model_retries;
mod planner;
mod planner_people;
#[path = "../machine/drive.rs"]
#[expect(dead_code, reason = "the scripts of the machine's own tests need more of it")]
mod script;
mod steps;
mod store;
mod support;
