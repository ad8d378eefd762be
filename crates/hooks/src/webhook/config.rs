//! What a webhook is told to do.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};

use super::{Delay, NetworkPolicy, is_destination};
use crate::environment::is_variable_name;
use crate::register::fields::Fields;
use crate::register::rule::{FieldFault, Rule};
use crate::{HookKind, OnError};

/// The configuration of a webhook, as it is registered and stored.
///
/// Headers keep their templates: `${NAME}` is replaced when a request is sent, by the variable of that
/// name, which must be listed in `allowedEnvVars`. A literal secret in a header or in the URL would be
/// stored; a template is not.
///
/// Read from JSON or TOML it is strict: an unknown key is an error. Its `Debug` shows neither the URL
/// nor header values.
///
/// ```
/// use jackline_hooks::{ResponseHandling, WebhookConfig};
/// let policy: WebhookConfig = serde_json::from_str(r#"{
///     "url": "https://policy.example.test/check",
///     "headers": {"Authorization": "Bearer ${POLICY_TOKEN}"},
///     "allowedEnvVars": ["POLICY_TOKEN"],
///     "responseHandling": "toolCall",
///     "onError": "block"
/// }"#).unwrap();
/// assert_eq!(policy.response_handling, ResponseHandling::ToolCall);
/// assert!(serde_json::from_str::<WebhookConfig>(r#"{"url": "/hook", "retry": 3}"#).is_err());
/// ```
#[derive(Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookConfig {
    /// An HTTP(S) URL, or a path of the application.
    pub url: String,
    /// How it is delivered.
    #[serde(skip_serializing_if = "is_default")]
    pub delivery: DeliveryKind,
    /// What happens if that fails. `none` makes the hook critical, whatever the delivery.
    #[serde(skip_serializing_if = "is_default")]
    pub fallback: Fallback,
    /// The deadline of a whole exchange in seconds; fractions are allowed. Default: 30.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Number>,
    /// Headers, templates included. They are checked when a request is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, String>>,
    /// The variables that templates may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_env_vars: Option<Vec<String>>,
    /// Merged into the payload last: it wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Map<String, Value>>,
    /// The fields of the event that are sent; an empty list sends none. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_fields: Option<Vec<String>>,
    /// Whether the answer decides about a tool call.
    #[serde(skip_serializing_if = "is_default")]
    pub response_handling: ResponseHandling,
    /// What a failure means for the call, if the answer decides.
    #[serde(skip_serializing_if = "is_default")]
    pub on_error: OnError,
    /// How often QStash tries again; as often as the plan allows if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How long QStash waits first; the plan has a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// The variable with the secret that signs requests by the Standard Webhooks scheme. The time of signing is
    /// the time of sending, or of publishing to QStash: receivers that refuse old signatures, as most do after
    /// five minutes, refuse what QStash delivers later than that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_secret_env: Option<String>,
    /// Which addresses it may go to. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkPolicy>,
    /// Whether the hook also applies to the operation's children.
    #[serde(skip_serializing_if = "is_default")]
    pub inherit: bool,
}

/// How a webhook is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryKind {
    /// One request, now.
    #[default]
    Fetch,
    /// Published to QStash, which delivers it.
    Qstash,
    /// Written into the store with the transition, and delivered from there until it succeeds.
    Outbox,
}

/// What happens when a delivery fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fallback {
    /// QStash falls back to one request; a request has no fallback. The failure is logged.
    #[default]
    Fetch,
    /// Nothing: the failure is raised after the other hooks were asked.
    None,
}

/// Whether the answer of a hook decides about a tool call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ResponseHandling {
    /// The answer is not read.
    #[default]
    Ignore,
    /// The answer decides about the tool call: the hook is a control.
    ToolCall,
}

impl WebhookConfig {
    /// A notification to this URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }

    /// A control at this URL.
    pub fn control(url: impl Into<String>) -> Self {
        Self { response_handling: ResponseHandling::ToolCall, ..Self::new(url) }
    }

    /// Reads the strict JSON object. The rules that depend on the event are checked at registration.
    ///
    /// # Errors
    ///
    /// [`FieldFault`] names the first field that is wrong, the rule and the remedy; never a value.
    pub fn from_json(value: &Value) -> Result<Self, FieldFault> {
        let mut fields = Fields::of(value)?;
        let config = Self {
            url: fields.text("url", Rule::Url)?.ok_or_else(|| FieldFault::new("url", Rule::Url))?.to_owned(),
            delivery: fields.one_of("delivery", "fetch, qstash, outbox", DeliveryKind::parse)?,
            fallback: fields.one_of("fallback", "fetch, none", Fallback::parse)?,
            timeout: fields.number("timeout")?,
            headers: fields.text_map("headers")?,
            allowed_env_vars: fields.texts("allowedEnvVars")?,
            body: fields.object("body")?,
            event_fields: fields.texts("eventFields")?,
            response_handling: fields.one_of("responseHandling", "ignore, toolCall", ResponseHandling::parse)?,
            on_error: fields.one_of("onError", "continue, block", OnError::parse)?,
            retries: fields.number("retries")?.map(|number| whole("retries", &number)).transpose()?,
            delay: match fields.any("delay") {
                Some(value) => Some(Delay::from_json(value).ok_or_else(|| FieldFault::new("delay", Rule::Delay))?),
                None => None,
            },
            signing_secret_env: fields.text("signingSecretEnv", Rule::Variable)?.map(str::to_owned),
            network: match fields.any("network") {
                Some(value) => Some(NetworkPolicy::from_json(value).map_err(|fault| fault.inside("network"))?),
                None => None,
            },
            inherit: fields.flag("inherit")?.unwrap_or_default(),
        };
        fields.end()?;
        Ok(config)
    }

    /// Checks every rule for a hook of this type.
    ///
    /// # Errors
    ///
    /// [`FieldFault`] names the first field that is wrong, the rule and the remedy.
    pub fn check(&self, kind: HookKind) -> Result<(), FieldFault> {
        let must = |holds: bool, field: &str, rule| if holds { Ok(()) } else { Err(FieldFault::new(field, rule)) };
        must(is_destination(&self.url), "url", Rule::Url)?;
        must(self.timeout.as_ref().is_none_or(|timeout| seconds(timeout).is_some()), "timeout", Rule::Timeout)?;
        for (index, name) in self.allowed_env_vars.iter().flatten().enumerate() {
            must(is_variable_name(name), &format!("allowedEnvVars[{index}]"), Rule::Variable)?;
        }
        let secret = self.signing_secret_env.as_deref();
        must(secret.is_none_or(is_variable_name), "signingSecretEnv", Rule::Variable)?;
        if let Some(network) = &self.network {
            network.check().map_err(|fault| fault.inside("network"))?;
        }
        let is_qstash = self.delivery == DeliveryKind::Qstash;
        must(is_qstash || self.retries.is_none(), "retries", Rule::QstashOnly)?;
        must(is_qstash || self.delay.is_none(), "delay", Rule::QstashOnly)?;
        match self.response_handling {
            ResponseHandling::Ignore => must(self.on_error == OnError::Continue, "onError", Rule::Block),
            ResponseHandling::ToolCall => {
                must(self.delivery == DeliveryKind::Fetch, "delivery", Rule::ControlDelivery)?;
                must(self.event_fields.is_none(), "eventFields", Rule::ControlPayload)?;
                must(self.body.is_none(), "body", Rule::ControlPayload)?;
                must(kind.is_controllable(), "responseHandling", Rule::ControlEvent)
            }
        }
    }

    /// The deadline of a whole exchange, rounded up to milliseconds.
    pub fn deadline(&self) -> Duration {
        self.timeout.as_ref().and_then(seconds).unwrap_or(TIMEOUT_DEFAULT)
    }

    /// Whether the answer decides.
    pub fn is_control(&self) -> bool {
        self.response_handling == ResponseHandling::ToolCall
    }

    /// Whether a failure is raised.
    pub fn is_critical(&self) -> bool {
        self.fallback == Fallback::None
    }
}

impl<'de> Deserialize<'de> for WebhookConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl fmt::Debug for WebhookConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookConfig")
            .field("delivery", &self.delivery)
            .field("fallback", &self.fallback)
            .field("timeout", &self.timeout)
            .field("headers", &self.headers.as_ref().map(|headers| headers.keys().collect::<Vec<_>>()))
            .field("response_handling", &self.response_handling)
            .field("on_error", &self.on_error)
            .finish_non_exhaustive()
    }
}

impl DeliveryKind {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "fetch" => Some(Self::Fetch),
            "qstash" => Some(Self::Qstash),
            "outbox" => Some(Self::Outbox),
            _ => None,
        }
    }
}

impl Fallback {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "fetch" => Some(Self::Fetch),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

impl ResponseHandling {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "ignore" => Some(Self::Ignore),
            "toolCall" => Some(Self::ToolCall),
            _ => None,
        }
    }
}

/// A deadline in seconds as a duration, rounded up to milliseconds. Nothing if no timer can hold it.
pub(crate) fn seconds(number: &Number) -> Option<Duration> {
    let seconds = number.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= TIMEOUT_SECONDS_MAX)?;
    // At most 31 bits, and more than zero: it fits.
    Some(Duration::from_millis((seconds * 1000.0).ceil() as u64))
}

fn whole(field: &str, number: &Number) -> Result<u32, FieldFault> {
    let whole = number.as_u64().and_then(|number| u32::try_from(number).ok());
    whole.ok_or_else(|| FieldFault::new(field, Rule::Expected("a whole number")))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How long an exchange may take: long enough for a policy service that asks others.
pub(crate) const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// The longest deadline that a timer of 31 bits of milliseconds can hold.
const TIMEOUT_SECONDS_MAX: f64 = 2_147_483.647;
