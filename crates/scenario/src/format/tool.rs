//! Scripted tools.

use jackline_model::{ExecutorRoute, SideEffect, ToolRunResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::text::Text;

/// A tool whose answers are scripted.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolScript {
    /// What a second run would do: pure, idempotent or effect (the default).
    #[serde(default)]
    #[schemars(with = "SideEffectName")]
    pub side_effect: SideEffect,
    /// When a person must approve: `required`, `always`, a list of rules.
    pub approval: Option<Value>,
    /// The JSON Schema of the arguments; any object by default.
    pub parameters: Option<Value>,
    /// Calls of this tool run one after another.
    #[serde(default)]
    pub ordered: bool,
    /// Calls that agree in this argument run one after another.
    pub serialize_by: Option<String>,
    /// How long one call may take.
    pub deadline_ms: Option<u64>,
    /// How often a call that asks for it is tried in all.
    pub attempts: Option<u32>,
    /// Longest text that is published whole.
    pub result_bytes_max: Option<usize>,
    /// What a run costs, in dollars.
    #[serde(default)]
    pub price: f64,
    /// Who runs it: server (the default) or client.
    #[serde(default)]
    #[schemars(with = "ExecutorName")]
    pub executor: ExecutorRoute,
    /// The answers, one a run, in the order of the runs.
    #[serde(default)]
    pub answers: Vec<ToolAnswerScript>,
}

/// The answer of one run. At most one of `content`, `throw`, `hang`, `panic` and `later` is given.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "AnswerKeys")]
#[schemars(with = "AnswerKeys")]
pub struct ToolAnswerScript {
    /// What the run does.
    pub what: ToolWhat,
    /// The arguments that it must be given, exactly.
    pub given: Option<Map<String, Value>>,
    /// How long it takes.
    pub delay_ms: u64,
    /// How often in a row.
    pub times: u32,
}

/// What a run does.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolWhat {
    /// It gives a result.
    Result(Box<ToolRunResult>),
    /// It breaks.
    Throw {
        /// In these words.
        message: String,
        /// Another try may work.
        retry: bool,
    },
    /// It never ends.
    Hang,
    /// It panics.
    Panic,
    /// The result comes later.
    Later,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "keys of a file; `ToolWhat` is what they mean")]
struct AnswerKeys {
    /// The text.
    content: Option<Text>,
    /// Whether it did what was asked; true by default.
    success: Option<bool>,
    /// The tool's error, in any form.
    error: Option<Value>,
    /// State that the tool keeps with the row.
    state: Option<Map<String, Value>>,
    /// The tool asks the run to end.
    #[serde(default)]
    stop: bool,
    /// It breaks, in these words.
    throw: Option<String>,
    /// A broken run may be tried again.
    #[serde(default)]
    retry: bool,
    /// It never ends.
    #[serde(default)]
    hang: bool,
    /// It panics.
    #[serde(default)]
    panic: bool,
    /// The result comes later.
    #[serde(default)]
    later: bool,
    /// The arguments that it must be given, exactly.
    given: Option<Map<String, Value>>,
    /// How long it takes.
    #[serde(default)]
    delay_ms: u64,
    /// How often in a row; once by default.
    #[serde(default = "once")]
    times: u32,
}

impl TryFrom<AnswerKeys> for ToolAnswerScript {
    type Error = &'static str;

    fn try_from(keys: AnswerKeys) -> Result<Self, Self::Error> {
        let ways = [keys.content.is_some(), keys.throw.is_some(), keys.hang, keys.panic, keys.later];
        if ways.into_iter().filter(|given| *given).count() > 1 {
            return Err("an answer has only one of `content`, `throw`, `hang`, `panic` and `later`");
        }
        let what = if keys.hang {
            ToolWhat::Hang
        } else if keys.panic {
            ToolWhat::Panic
        } else if keys.later {
            ToolWhat::Later
        } else if let Some(message) = keys.throw {
            ToolWhat::Throw { message, retry: keys.retry }
        } else {
            ToolWhat::Result(Box::new(ToolRunResult {
                content: keys.content.unwrap_or_default().0,
                success: keys.success.unwrap_or(true),
                error: keys.error,
                state: keys.state,
                stop: keys.stop,
                ..ToolRunResult::default()
            }))
        };
        Ok(Self { what, given: keys.given, delay_ms: keys.delay_ms, times: keys.times })
    }
}

/// The words of side effects, for the schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the model crate's type in the schema")]
enum SideEffectName {
    Pure,
    Idempotent,
    Effect,
}

/// The words of executors, for the schema.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "stands for the model crate's type in the schema")]
enum ExecutorName {
    Server,
    Client,
}

fn once() -> u32 {
    1
}
