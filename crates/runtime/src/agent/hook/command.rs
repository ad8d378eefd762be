//! The key `command` of a hook.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Number;

use super::webhook::{go_on, ignore};

/// A program as a hook. In the file it is the bare list of the program and its arguments, or a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandHookConfig {
    /// The program and its arguments. No shell is involved.
    pub command: Vec<String>,
    /// Names of the environment variables that it gets; no others are there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// The deadline in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Number>,
    /// Whether what it prints decides about a tool call.
    pub response_handling: String,
    /// What a failure means for the call, if it decides.
    pub on_error: String,
    /// Whether it also applies to the agents below this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherit: Option<bool>,
}

/// The table form.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct CommandTable {
    /// The program and its arguments. No shell is involved; both are found from the directory of the agent file.
    #[schemars(length(min = 1))]
    command: Vec<String>,
    /// Names of the environment variables that it gets; no others are there.
    #[serde(default)]
    env: Vec<String>,
    /// The deadline in seconds, fractions allowed; 30 by default. It ends the whole process group.
    #[serde(default)]
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0, "maximum" = 2_147_483.647))]
    timeout: Option<Number>,
    /// Whether what it prints decides about a tool call.
    #[serde(default = "ignore")]
    #[schemars(extend("enum" = ["ignore", "toolCall"]))]
    response_handling: String,
    /// What a failure means for the call, if it decides.
    #[serde(default = "go_on")]
    #[schemars(extend("enum" = ["continue", "block"]))]
    on_error: String,
    /// Whether it also applies to the agents below this one; by default if it decides.
    #[serde(default)]
    inherit: Option<bool>,
}

impl From<CommandTable> for CommandHookConfig {
    fn from(table: CommandTable) -> Self {
        let CommandTable { command, env, timeout, response_handling, on_error, inherit } = table;
        Self { command, env, timeout, response_handling, on_error, inherit }
    }
}

impl<'de> Deserialize<'de> for CommandHookConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordsOrTable;

        impl<'de> Visitor<'de> for WordsOrTable {
            type Value = CommandHookConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a program with its arguments, as a list, or a table")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, words: A) -> Result<CommandHookConfig, A::Error> {
                let command = Vec::<String>::deserialize(SeqAccessDeserializer::new(words))?;
                let (response_handling, on_error) = (ignore(), go_on());
                Ok(CommandHookConfig {
                    command,
                    env: Vec::new(),
                    timeout: None,
                    response_handling,
                    on_error,
                    inherit: None,
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CommandHookConfig, A::Error> {
                CommandTable::deserialize(MapAccessDeserializer::new(map)).map(CommandHookConfig::from)
            }
        }

        deserializer.deserialize_any(WordsOrTable)
    }
}

impl JsonSchema for CommandHookConfig {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CommandHookConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let words = generator.subschema_for::<Vec<String>>();
        let table = generator.subschema_for::<CommandTable>();
        json_schema!({"anyOf": [words, table]})
    }
}
