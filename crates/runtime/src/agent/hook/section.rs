//! One table `[[hook]]`.

use jackline_hooks::HookKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CommandHookConfig, WebhookHookConfig};

/// A hook outside the process: a webhook or a program, for one event.
///
/// Its JSON is the form in which hooks are stored. The rules that need more than one key are checked when the file
/// is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookConfig {
    /// Its id, for receipts and messages. Hooks with equal ids all run.
    pub id: String,
    /// The event, such as `beforeToolCall`.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = HookKind::ALL))]
    pub kind: String,
    /// The tools that it is about, on tool events: a regular expression that is searched in `identifier/apiName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// The webhook that is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookHookConfig>,
    /// The program that is run: the program and its arguments, or a table with options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandHookConfig>,
}
