//! The tables `[[client_tool]]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::permission::ApprovalConfig;

/// A tool that is answered from outside: the run parks until somebody gives the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientToolConfig {
    /// The name, as `identifier/apiName`.
    pub name: String,
    /// What it does, in words for the model.
    pub description: String,
    /// The JSON Schema of the arguments; by default none are taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// When a person must approve: `never`, `required`, `always`, a list of rules, or `{dynamic}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub approval: Option<ApprovalConfig>,
}
