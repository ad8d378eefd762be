//! The key `webhook` of a hook.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// A webhook. Its `Debug` shows neither the URL nor header values.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct WebhookHookConfig {
    /// An HTTP(S) URL without credentials, or a path that is resolved against `INTERNAL_APP_URL` or `APP_URL`.
    pub url: String,
    /// How it is delivered: one request now, through QStash, or from the store until it succeeds.
    #[serde(default = "fetch")]
    #[schemars(extend("enum" = ["fetch", "qstash", "outbox"]))]
    pub delivery: String,
    /// What a failed delivery does: `fetch` logs it, `none` makes the hook critical.
    #[serde(default = "fetch")]
    #[schemars(extend("enum" = ["fetch", "none"]))]
    pub fallback: String,
    /// The deadline of the whole exchange in seconds, fractions allowed; 30 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0, "maximum" = 2_147_483.647))]
    pub timeout: Option<Number>,
    /// Headers. `${NAME}` becomes the value of a variable of `allowedEnvVars` when a request is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// The variables that headers may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_env_vars: Option<Vec<String>>,
    /// Merged into the payload last: it wins. Not for a hook that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Map<String, Value>>,
    /// The fields of the event that are sent; all by default. Not for a hook that decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_fields: Option<Vec<String>>,
    /// Whether the answer decides about a tool call.
    #[serde(default = "ignore")]
    #[schemars(extend("enum" = ["ignore", "toolCall"]))]
    pub response_handling: String,
    /// What a failure means for the call, if the answer decides.
    #[serde(default = "go_on")]
    #[schemars(extend("enum" = ["continue", "block"]))]
    pub on_error: String,
    /// How often QStash tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How long QStash waits first: seconds, or a span such as `1h30m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = ["integer", "string"]))]
    pub delay: Option<Value>,
    /// The variable that holds the secret which signs requests by the Standard Webhooks scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_secret_env: Option<String>,
    /// Which addresses it may go to; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkSection>,
    /// Whether it also applies to the agents below this one.
    #[serde(default)]
    pub inherit: bool,
}

/// Which addresses a webhook may go to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NetworkSection {
    /// Refuses addresses that are not on the public internet, whatever their form and whatever name leads to them.
    #[serde(default, alias = "deny_private")]
    pub deny_private: bool,
    /// The exceptions: host names, addresses, ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
}

impl fmt::Debug for WebhookHookConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookHookConfig")
            .field("delivery", &self.delivery)
            .field("headers", &self.headers.as_ref().map(|headers| headers.keys().collect::<Vec<_>>()))
            .field("response_handling", &self.response_handling)
            .field("on_error", &self.on_error)
            .finish_non_exhaustive()
    }
}

fn fetch() -> String {
    "fetch".to_owned()
}

/// Nothing reads the answer.
pub(super) fn ignore() -> String {
    "ignore".to_owned()
}

/// A failure changes nothing.
pub(super) fn go_on() -> String {
    "continue".to_owned()
}
