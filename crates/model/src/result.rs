//! What a tool produced, before and after anybody judged it.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The result of one tool run, field for field as hooks see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRunResult {
    /// The text for the model.
    pub content: String,
    /// Whether the tool did what was asked.
    pub success: bool,
    /// The tool's error, in any form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// State that the tool keeps with the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Map<String, Value>>,
    /// How long the tool ran, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_time: Option<u64>,
    /// How long the device says it ran, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_execution_time: Option<u64>,
    /// The tool asks the run to end after this result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
    /// Opaque data about work that the tool registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_registration: Option<Value>,
}

impl ToolRunResult {
    /// A success with this text.
    pub fn ok(content: impl Into<String>) -> Self {
        Self { content: content.into(), success: true, ..Self::default() }
    }

    /// A failure that the tool itself reports, with this text.
    pub fn failed(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }
}

/// What a tool or a mock produced and nobody has judged yet.
///
/// Anybody can make one, since a tool must. Nothing can store it or show it: there is no `Clone`
/// and no `Serialize`, and `Debug` prints the length only. The one way out is the gate of
/// `jackline-tools`, which wants a ruling of the after-hooks.
///
/// ```
/// use jackline_model::{RawOutput, ToolRunResult};
/// let raw = RawOutput::new(ToolRunResult::ok("the secret"));
/// assert_eq!(format!("{raw:?}"), "RawOutput(10 bytes)");
/// ```
///
/// ```compile_fail
/// use jackline_model::{RawOutput, ToolRunResult};
/// let raw = RawOutput::new(ToolRunResult::ok("the secret"));
/// let copy = raw.clone();
/// ```
///
/// ```compile_fail
/// use jackline_model::{RawOutput, ToolRunResult};
/// let raw = RawOutput::new(ToolRunResult::ok("the secret"));
/// serde_json::to_string(&raw).unwrap();
/// ```
#[derive(PartialEq)]
pub struct RawOutput {
    result: ToolRunResult,
}

impl RawOutput {
    /// Wraps a result until it is judged.
    pub fn new(result: ToolRunResult) -> Self {
        Self { result }
    }

    /// The result, for those who judge it: after-hooks and the gate.
    pub fn as_result(&self) -> &ToolRunResult {
        &self.result
    }

    /// Gives up the wrapper. For the gate, which holds the ruling.
    pub fn into_result(self) -> ToolRunResult {
        self.result
    }
}

impl fmt::Debug for RawOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawOutput({} bytes)", self.result.content.len())
    }
}
