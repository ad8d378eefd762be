//! What is promised about tools, people, sub-agents and hooks, tried with the whole driver: a
//! scripted model, scripted tools, native hooks, the memory store and virtual time.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod aborts;
mod batches;
mod blocked;
mod children;
mod deciding;
mod later;
mod parking;
mod single;
mod stage;
mod stored;

#[path = "../hook_conformance/mod.rs"]
mod hook_conformance;
#[path = "../hook_ways/mod.rs"]
mod hook_ways;
#[path = "../webhooks/mod.rs"]
mod webhooks;
