//! The section `[model]`, and readers of single values.

use std::fmt;
use std::num::NonZeroU32;

use jackline_model::NanoDollars;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::llm::Dialect;

/// The model of an agent. In the file it is the bare name or a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelConfig {
    /// The name, as the provider knows it.
    pub name: String,
    /// Where the provider answers; by default what the environment says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Tokens that a request and its answer may have together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u32>,
    /// Longest answer in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_max: Option<u32>,
    /// What it costs; without it, cost limits cannot be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// What the provider accepts, where that differs from the published API.
    #[serde(skip_serializing_if = "is_default")]
    pub dialect: Dialect,
}

/// Prices in US dollars for a million tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Of requests.
    #[serde(deserialize_with = "price")]
    #[schemars(range(min = 0))]
    pub input_per_million: f64,
    /// Of answers.
    #[serde(deserialize_with = "price")]
    #[schemars(range(min = 0))]
    pub output_per_million: f64,
}

impl Prices {
    /// What a call costs.
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> NanoDollars {
        let dollars = input_tokens as f64 * self.input_per_million + output_tokens as f64 * self.output_per_million;
        NanoDollars::from_dollars(dollars / TOKENS_PER_PRICE)
    }
}

/// The table form.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ModelTable {
    /// The name, as the provider knows it.
    name: String,
    /// Where the provider answers; by default what the environment says.
    #[serde(default, deserialize_with = "base_url")]
    base_url: Option<String>,
    /// The environment variable that holds the key.
    #[serde(default)]
    api_key_env: Option<String>,
    /// Tokens that a request and its answer may have together.
    #[serde(default)]
    context_window: Option<NonZeroU32>,
    /// Longest answer in tokens.
    #[serde(default)]
    output_tokens_max: Option<NonZeroU32>,
    /// What it costs; without it, cost limits cannot be kept.
    #[serde(default)]
    prices: Option<Prices>,
    /// What the provider accepts, where that differs from the published API.
    #[serde(default)]
    dialect: Dialect,
}

impl From<ModelTable> for ModelConfig {
    fn from(table: ModelTable) -> Self {
        let ModelTable { name, base_url, api_key_env, context_window, output_tokens_max, prices, dialect } = table;
        Self {
            name,
            base_url,
            api_key_env,
            context_window: context_window.map(NonZeroU32::get),
            output_tokens_max: output_tokens_max.map(NonZeroU32::get),
            prices,
            dialect,
        }
    }
}

impl ModelConfig {
    /// A model with nothing but a name.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: None,
            api_key_env: None,
            context_window: None,
            output_tokens_max: None,
            prices: None,
            dialect: Dialect::default(),
        }
    }
}

fn is_default(dialect: &Dialect) -> bool {
    *dialect == Dialect::default()
}

impl<'de> Deserialize<'de> for ModelConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrTable;

        impl<'de> Visitor<'de> for NameOrTable {
            type Value = ModelConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a model, or a table")
            }

            fn visit_str<E>(self, name: &str) -> Result<ModelConfig, E> {
                Ok(ModelConfig::named(name))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ModelConfig, A::Error> {
                ModelTable::deserialize(MapAccessDeserializer::new(map)).map(ModelConfig::from)
            }
        }

        deserializer.deserialize_any(NameOrTable)
    }
}

impl JsonSchema for ModelConfig {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ModelConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<ModelTable>();
        json_schema!({"anyOf": [{"type": "string"}, table]})
    }
}

/// Reads a URL without a password: the configuration is stored, and secrets never are.
fn base_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let url = String::deserialize(deserializer)?;
    let Some((_, rest)) = url.split_once("://").filter(|(scheme, _)| *scheme == "http" || *scheme == "https") else {
        return Err(D::Error::custom("a base URL begins with http:// or https://"));
    };
    if rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@')) {
        return Err(D::Error::custom("a base URL holds no password; name the variable of the key in `api_key_env`"));
    }
    Ok(Some(url))
}

fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let amount = f64::deserialize(deserializer)?;
    if amount.is_finite() && amount >= 0.0 {
        return Ok(amount);
    }
    Err(D::Error::custom(format!("an amount of dollars is a number from 0 up, not {amount}")))
}

/// Reads an amount of dollars.
pub(super) fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    price(deserializer).map(Some)
}

/// Reads a part of a whole.
pub(super) fn ratio<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let ratio = f64::deserialize(deserializer)?;
    if ratio > 0.0 && ratio <= 1.0 {
        return Ok(Some(ratio));
    }
    Err(D::Error::custom(format!("a ratio is more than 0 and at most 1, not {ratio}")))
}

/// Reads a command line with at least a program in it.
pub(super) fn non_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    if words.first().is_none_or(String::is_empty) {
        return Err(D::Error::custom("a command names at least a program"));
    }
    Ok(words)
}

/// Providers state prices for a million tokens.
const TOKENS_PER_PRICE: f64 = 1e6;
