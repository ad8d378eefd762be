//! The global audit: calls that need a person whatever their tool says.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::config::{ApprovalConfigError, Policy, read_matches, read_policy};
use super::defaults;
use super::matcher::ArgumentMatcher;

/// Rules over arguments that hold for every tool.
///
/// All rules are looked at, and the strictest of those that match counts. It is a net against
/// accidents, not a wall: it sees arguments, not what a program does with them.
///
/// ```
/// use jackline_runtime::permission::{Blacklist, Policy};
/// use jackline_tools::arguments;
///
/// let arguments = arguments::parse(r#"{"command":"sudo rm -rf /"}"#).expect("an object").object;
/// let finding = Blacklist::standard().audit(&arguments).expect("a finding");
/// assert_eq!(finding.policy, Policy::Always);
/// assert!(Blacklist::empty().audit(&arguments).is_none());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Blacklist {
    rules: Arc<[BlacklistRule]>,
}

/// One rule of the blacklist.
#[derive(Clone, Debug, PartialEq)]
pub struct BlacklistRule {
    /// What the rule guards against, in a few words: people read it when they are asked.
    pub category: Arc<str>,
    /// What each named argument must look like; a rule without any applies to every call.
    pub matches: BTreeMap<String, ArgumentMatcher>,
    /// What then holds. `always` unless given.
    pub policy: Option<Policy>,
}

/// The strictest rule that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The category of the rule; of the first one, where several are equally strict.
    pub category: Arc<str>,
    /// What holds.
    pub policy: Policy,
}

impl Blacklist {
    /// The rules that Jackline ships with, over the arguments `command` and `path`.
    pub fn standard() -> Self {
        defaults::standard()
    }

    /// No rules: nothing is ever found.
    pub fn empty() -> Self {
        Self::new(Vec::new())
    }

    /// Exactly these rules.
    pub fn new(rules: Vec<BlacklistRule>) -> Self {
        Self { rules: rules.into() }
    }

    /// The rules, in order.
    pub fn rules(&self) -> &[BlacklistRule] {
        &self.rules
    }

    /// Looks for the strictest rule that matches.
    pub fn audit(&self, arguments: &Map<String, Value>) -> Option<Finding> {
        let mut strictest: Option<Finding> = None;
        for rule in self.rules.iter().filter(|rule| rule.applies_to(arguments)) {
            let policy = rule.policy.unwrap_or(Policy::Always);
            if strictest.as_ref().is_none_or(|found| policy > found.policy) {
                strictest = Some(Finding { category: Arc::clone(&rule.category), policy });
            }
        }
        strictest
    }
}

impl BlacklistRule {
    /// Reads `{category, match?, policy?}`.
    ///
    /// # Errors
    ///
    /// [`ApprovalConfigError`] names the first word that is not understood.
    pub fn from_value(value: &Value) -> Result<Self, ApprovalConfigError> {
        let Some(map) = value.as_object() else {
            return Err(ApprovalConfigError::new(format!(
                "a blacklist rule is {{category, match, policy?}}; found {value}"
            )));
        };
        if let Some(key) = map.keys().find(|key| !["category", "match", "policy"].contains(&key.as_str())) {
            return Err(ApprovalConfigError::new(format!("a blacklist rule has no key `{key}`")));
        }
        let Some(category) = map.get("category").and_then(Value::as_str) else {
            return Err(ApprovalConfigError::new("a blacklist rule needs the text `category`"));
        };
        Ok(Self {
            category: category.into(),
            matches: read_matches(map.get("match"))?,
            policy: map.get("policy").map(read_policy).transpose()?,
        })
    }

    fn applies_to(&self, arguments: &Map<String, Value>) -> bool {
        self.matches.iter().all(|(name, matcher)| arguments.get(name).is_some_and(|value| matcher.matches(value)))
    }
}

impl<'de> Deserialize<'de> for BlacklistRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(&value).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
