//! The job that every runner does: rounds of calls of one local tool, then an answer.

use std::time::Duration;

use serde_json::{Value, json};

/// How much there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Rounds of calls before the answer.
    pub(crate) rounds: usize,
    /// Calls in each round.
    pub(crate) calls: usize,
    /// Bytes of each result.
    pub(crate) result_bytes: usize,
    /// How long the model thinks.
    pub(crate) latency: Duration,
    /// Somebody reads the pieces of the answers while they arrive.
    pub(crate) is_read: bool,
}

impl Job {
    /// One call a round, small results, no latency, nobody reads.
    pub(crate) fn of(rounds: usize) -> Self {
        Self { rounds, calls: 1, result_bytes: SMALL, latency: Duration::ZERO, is_read: false }
    }

    /// How often the model is asked.
    pub(crate) fn model_calls(&self) -> usize {
        self.rounds + 1
    }

    /// The tool: adds, and says so at some length.
    pub(crate) fn add(&self, a: i64, b: i64) -> String {
        let mut text = format!("{a} + {b} = {}. ", a + b);
        while text.len() < self.result_bytes {
            text.push_str(FILLING);
        }
        text.truncate(self.result_bytes);
        text
    }
}

/// The parameters of the tool.
pub(crate) fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": false,
    })
}

/// A result of the usual size: a line or two.
pub(crate) const SMALL: usize = 200;
/// A large result: a page of a file.
pub(crate) const LARGE: usize = 8_000;

pub(crate) const INSTRUCTIONS: &str = "You are a careful calculator. Use the tool for every sum.";
pub(crate) const PROMPT: &str =
    "Add the numbers that I will not tell you, one after the other, then say that it is done.";
pub(crate) const ANSWER: &str = "All sums are done. Each was added by the tool, and none of them was wrong.";
pub(crate) const MODEL: &str = "bench";
pub(crate) const TOOL_IDENTIFIER: &str = "math";
pub(crate) const TOOL_API: &str = "add";
pub(crate) const TOOL_WIRE_NAME: &str = "math____add";
pub(crate) const TOOL_DESCRIPTION: &str = "Adds two integers.";
const FILLING: &str = "The sum was computed in the usual way, and a second look confirmed it. ";
