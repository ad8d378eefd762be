//! What a tool says about itself.

use std::sync::Arc;
use std::time::Duration;

use jackline_model::{ExecutorRoute, NanoDollars, SideEffect, ToolKey, ToolSource};
use serde_json::{Value, json};

use crate::limits;

/// The declaration of a tool: what the model reads, and what the runtime must know to run it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name.
    pub key: ToolKey,
    /// What it does, in words for the model.
    pub description: Arc<str>,
    /// The JSON Schema of its arguments.
    pub parameters: Arc<Value>,
    /// What a second run would do.
    pub side_effect: SideEffect,
    /// Where it comes from.
    pub source: ToolSource,
    /// Who runs it.
    pub executor: ExecutorRoute,
    /// When a person must approve. `None` means never.
    pub approval: Option<Value>,
    /// All calls to this tool share one lane: they run one after another, in emission order.
    pub ordered: bool,
    /// Calls that name the same resource in this argument share a lane, across the tool's functions.
    pub serialize_by: Option<Arc<str>>,
    /// How long one run may take.
    pub deadline: Duration,
    /// How often a run that failed with "retry" is tried in all.
    pub attempts_max: u32,
    /// Longest text that goes to the model whole, in bytes; longer text goes to the archive.
    pub result_bytes_max: usize,
    /// What one run costs.
    pub price: NanoDollars,
    /// The tool takes its time from the runtime's clock, as scripted ones do: while it waits, a
    /// virtual clock may jump.
    pub simulated: bool,
}

impl ToolSpec {
    /// A tool with the defaults: no arguments, unknown side effect, the runtime runs it, nobody
    /// need approve.
    pub fn new(key: ToolKey, description: impl Into<Arc<str>>) -> Self {
        Self {
            key,
            description: description.into(),
            parameters: Arc::new(json!({"type": "object", "properties": {}})),
            side_effect: SideEffect::Effect,
            source: ToolSource::Native,
            executor: ExecutorRoute::Server,
            approval: None,
            ordered: false,
            serialize_by: None,
            deadline: limits::TOOL_DEADLINE,
            attempts_max: limits::TOOL_ATTEMPTS_MAX,
            result_bytes_max: limits::RESULT_BYTES_MAX,
            price: NanoDollars::ZERO,
            simulated: false,
        }
    }
}
