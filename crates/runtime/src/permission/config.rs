//! What a tool, or one function of it, says about approval.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::matcher::ArgumentMatcher;

/// How much a call is trusted. Ordered: the later is the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Nobody need be asked.
    Never,
    /// A person is asked where one is there to ask.
    Required,
    /// A person is asked in every mode.
    Always,
}

impl Policy {
    /// The name in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Required => "required",
            Self::Always => "always",
        }
    }

    fn parse(text: &str) -> Result<Self, ApprovalConfigError> {
        [Self::Never, Self::Required, Self::Always]
            .into_iter()
            .find(|policy| policy.as_str() == text)
            .ok_or_else(|| ApprovalConfigError::new(format!("unknown policy `{text}`; known: never, required, always")))
    }
}

/// Who is there to approve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalMode {
    /// A person, for every call that is not trusted.
    #[default]
    Manual,
    /// A person, for every call that is not listed.
    AllowList,
    /// A person, but only for calls that always need one.
    AutoRun,
    /// Nobody: calls that always need a person are blocked.
    Headless,
}

impl ApprovalMode {
    /// The name in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::AllowList => "allow-list",
            Self::AutoRun => "auto-run",
            Self::Headless => "headless",
        }
    }
}

/// When a person must approve a call.
///
/// ```
/// use jackline_runtime::permission::{ApprovalConfig, Policy};
/// use serde_json::json;
///
/// let always = ApprovalConfig::from_value(&json!("always"))?;
/// assert_eq!(always, ApprovalConfig::Policy(Policy::Always));
///
/// let error = ApprovalConfig::from_value(&json!("sometimes")).unwrap_err();
/// assert_eq!(error.to_string(), "unknown policy `sometimes`; known: never, required, always");
/// # Ok::<(), jackline_runtime::permission::ApprovalConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ApprovalConfig {
    /// The same for every call.
    Policy(Policy),
    /// By the arguments: the first rule that matches.
    Rules(Vec<Rule>),
    /// By the answer of a resolver that the embedder registered.
    Dynamic(DynamicConfig),
}

/// One rule of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What each named argument must look like; a rule without any applies to every call.
    pub matches: BTreeMap<String, ArgumentMatcher>,
    /// What then holds.
    pub policy: Policy,
}

/// A question to a resolver.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicConfig {
    /// Which resolver.
    pub resolver: String,
    /// What holds when it says yes. `always` unless given.
    pub policy: Option<Policy>,
    /// What holds when it says no, or is not registered. `never` unless given.
    pub default: Option<Policy>,
}

/// Approval settings that do not make sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApprovalConfigError {
    message: String,
}

impl ApprovalConfigError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// The settings that count: those of the function, or else those of the tool.
pub fn effective_config<'a>(
    of_function: Option<&'a ApprovalConfig>,
    of_tool: Option<&'a ApprovalConfig>,
) -> Option<&'a ApprovalConfig> {
    of_function.or(of_tool)
}

impl ApprovalConfig {
    /// Reads settings: a policy, a list of rules, or `{dynamic: {type, policy?, default?}}`.
    ///
    /// # Errors
    ///
    /// [`ApprovalConfigError`] names the first word that is not understood. Correct it: settings
    /// that are only half understood are never used.
    pub fn from_value(value: &Value) -> Result<Self, ApprovalConfigError> {
        match value {
            Value::String(policy) => Policy::parse(policy).map(Self::Policy),
            Value::Array(rules) => read_rules(rules).map(Self::Rules),
            Value::Object(map) => read_dynamic(map).map(Self::Dynamic),
            Value::Null | Value::Bool(_) | Value::Number(_) => Err(ApprovalConfigError::new(format!(
                "approval is a policy (never, required, always), a list of rules, or {{dynamic}}; found {value}"
            ))),
        }
    }

    /// The resolver that must be asked before the decision, where the settings are dynamic.
    pub fn resolver(&self) -> Option<&str> {
        match self {
            Self::Policy(_) | Self::Rules(_) => None,
            Self::Dynamic(dynamic) => Some(&dynamic.resolver),
        }
    }

    /// The settings as [`from_value`](Self::from_value) reads them.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Policy(policy) => json!(policy.as_str()),
            Self::Rules(rules) => rules.iter().map(Rule::to_value).collect(),
            Self::Dynamic(dynamic) => dynamic.to_value(),
        }
    }
}

impl Rule {
    /// Whether all that the rule names is there and fits.
    pub fn applies_to(&self, arguments: &Map<String, Value>) -> bool {
        self.matches.iter().all(|(name, matcher)| arguments.get(name).is_some_and(|value| matcher.matches(value)))
    }

    fn to_value(&self) -> Value {
        let mut map = Map::from_iter([("policy".to_owned(), json!(self.policy.as_str()))]);
        if !self.matches.is_empty() {
            let matches = self.matches.iter().map(|(name, matcher)| (name.clone(), matcher.to_value()));
            map.insert("match".to_owned(), Value::Object(matches.collect()));
        }
        Value::Object(map)
    }
}

impl DynamicConfig {
    fn to_value(&self) -> Value {
        let mut map = Map::from_iter([("type".to_owned(), json!(self.resolver))]);
        for (key, policy) in [("policy", self.policy), ("default", self.default)] {
            if let Some(policy) = policy {
                map.insert(key.to_owned(), json!(policy.as_str()));
            }
        }
        json!({"dynamic": map})
    }
}

fn read_rules(rules: &[Value]) -> Result<Vec<Rule>, ApprovalConfigError> {
    let read = |(index, rule)| {
        read_rule(rule).map_err(|error| ApprovalConfigError::new(format!("rule {}: {error}", index + 1)))
    };
    rules.iter().enumerate().map(read).collect()
}

fn read_rule(value: &Value) -> Result<Rule, ApprovalConfigError> {
    let Some(map) = value.as_object() else {
        return Err(ApprovalConfigError::new(format!("a rule is {{match?, policy}}; found {value}")));
    };
    if let Some(key) = map.keys().find(|key| *key != "match" && *key != "policy") {
        return Err(ApprovalConfigError::new(format!("a rule has `match` and `policy`, not `{key}`")));
    }
    let policy = match map.get("policy") {
        Some(policy) => read_policy(policy)?,
        None => return Err(ApprovalConfigError::new("a rule needs a `policy`")),
    };
    Ok(Rule { matches: read_matches(map.get("match"))?, policy })
}

pub(super) fn read_matches(value: Option<&Value>) -> Result<BTreeMap<String, ArgumentMatcher>, ApprovalConfigError> {
    match value {
        None => Ok(BTreeMap::new()),
        Some(Value::Object(map)) => map
            .iter()
            .map(|(name, matcher)| match ArgumentMatcher::from_value(matcher) {
                Ok(matcher) => Ok((name.clone(), matcher)),
                Err(error) => Err(ApprovalConfigError::new(format!("argument `{name}`: {error}"))),
            })
            .collect(),
        Some(other) => Err(ApprovalConfigError::new(format!("`match` names arguments; found {other}"))),
    }
}

fn read_dynamic(map: &Map<String, Value>) -> Result<DynamicConfig, ApprovalConfigError> {
    if let Some(key) = map.keys().find(|key| *key != "dynamic") {
        return Err(ApprovalConfigError::new(format!("approval as a table has the one key `dynamic`, not `{key}`")));
    }
    let Some(Value::Object(inner)) = map.get("dynamic") else {
        return Err(ApprovalConfigError::new("`dynamic` is {type, policy?, default?}"));
    };
    if let Some(key) = inner.keys().find(|key| !["type", "policy", "default"].contains(&key.as_str())) {
        return Err(ApprovalConfigError::new(format!("`dynamic` has `type`, `policy` and `default`, not `{key}`")));
    }
    let Some(resolver) = inner.get("type").and_then(Value::as_str) else {
        return Err(ApprovalConfigError::new("`dynamic` needs the text `type`: the name of a resolver"));
    };
    Ok(DynamicConfig {
        resolver: resolver.to_owned(),
        policy: inner.get("policy").map(read_policy).transpose()?,
        default: inner.get("default").map(read_policy).transpose()?,
    })
}

pub(super) fn read_policy(value: &Value) -> Result<Policy, ApprovalConfigError> {
    match value.as_str() {
        Some(text) => Policy::parse(text),
        None => Err(ApprovalConfigError::new(format!("a policy is never, required or always; found {value}"))),
    }
}

impl<'de> Deserialize<'de> for ApprovalConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(&value).map_err(serde::de::Error::custom)
    }
}

impl Serialize for ApprovalConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_all_three_forms_survive_their_own_text() {
        for text in [
            r#""required""#,
            r#"[{"match":{"command":"git add:*","path":{"pattern":"/tmp/","type":"prefix"}},"policy":"never"},{"policy":"always"}]"#,
            r#"{"dynamic":{"type":"path_scope"}}"#,
            r#"{"dynamic":{"default":"required","policy":"always","type":"path_scope"}}"#,
        ] {
            let config: ApprovalConfig = serde_json::from_str(text).unwrap();
            let again = serde_json::to_value(&config).unwrap();
            assert_eq!(again, serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn errors_name_the_rule_the_argument_and_the_word() {
        for (value, expected) in [
            (json!(true), "approval is a policy (never, required, always), a list of rules, or {dynamic}; found true"),
            (json!([{"policy": "never"}, {"match": {}}]), "rule 2: a rule needs a `policy`"),
            (json!([{"policy": "nevr"}]), "rule 1: unknown policy `nevr`; known: never, required, always"),
            (json!([{"polciy": "never"}]), "rule 1: a rule has `match` and `policy`, not `polciy`"),
            (
                json!([{"match": {"path": 7}, "policy": "never"}]),
                "rule 1: argument `path`: a matcher is a pattern such as `git add:*`, or {type, pattern}; found 7",
            ),
            (json!({"dynamik": {}}), "approval as a table has the one key `dynamic`, not `dynamik`"),
            (json!({"dynamic": {}}), "`dynamic` needs the text `type`: the name of a resolver"),
        ] {
            assert_eq!(ApprovalConfig::from_value(&value).unwrap_err().to_string(), expected);
        }
        let error = ApprovalConfig::from_value(
            &json!([{"match": {"a": {"type": "regex", "pattern": "("}}, "policy": "never"}]),
        );
        assert!(error.unwrap_err().to_string().starts_with("rule 1: argument `a`: `(` is no regular expression"));
    }

    #[test]
    fn perm_02_a_policy_string_is_that_policy() {
        for policy in [Policy::Never, Policy::Required, Policy::Always] {
            let config = ApprovalConfig::from_value(&json!(policy.as_str())).unwrap();
            assert_eq!(config, ApprovalConfig::Policy(policy));
        }
        assert!(Policy::Never < Policy::Required && Policy::Required < Policy::Always);
    }

    #[test]
    fn perm_13_settings_of_the_function_win() {
        let function = ApprovalConfig::Policy(Policy::Never);
        let tool = ApprovalConfig::Policy(Policy::Always);
        assert_eq!(effective_config(Some(&function), Some(&tool)), Some(&function));
        assert_eq!(effective_config(None, Some(&tool)), Some(&tool));
        assert_eq!(effective_config(None, None), None);
    }
}
