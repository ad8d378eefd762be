//! What needs several crates to be tested: scenarios, kills, privacy, house rules, the pages.

/// The Rust in the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
