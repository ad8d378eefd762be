//! The tables `[[command_tool]]`.

use std::num::NonZeroU64;

use jackline_model::SideEffect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permission::ApprovalConfig;

/// A program that the model can call as a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandToolConfig {
    /// The name, as `identifier/apiName`.
    pub name: String,
    /// What it does, in words for the model.
    pub description: String,
    /// The program and its fixed arguments. No shell is involved.
    #[schemars(length(min = 1))]
    #[serde(deserialize_with = "super::model::non_empty")]
    pub command: Vec<String>,
    /// The JSON Schema of the arguments; by default none are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// How long one run may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<NonZeroU64>,
    /// What a second run would do to the world: `pure`, `idempotent` or `effect`.
    #[serde(default)]
    #[schemars(extend("enum" = ["pure", "idempotent", "effect"]), with = "String")]
    pub side_effect: SideEffect,
    /// When a person must approve: `never`, `required`, `always`, a list of rules, or `{dynamic}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub approval: Option<ApprovalConfig>,
    /// Calls run one after another, in the order in which the model asked for them.
    #[serde(default)]
    pub ordered: bool,
    /// Calls that name the same thing in this argument run one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serialize_by: Option<String>,
    /// Names of environment variables that the program gets besides the harmless ones. Values are
    /// read when it starts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
}
