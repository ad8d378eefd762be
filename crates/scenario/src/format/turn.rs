//! What the model says, and what it must have been asked.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::expect::RoleName;
use super::text::{Text, Texts};

/// One answer of the model. Exactly one of `reply`, `fault` and `hang` is given.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "TurnKeys")]
#[schemars(with = "TurnKeys")]
pub struct Turn {
    /// What the request must look like.
    pub expect: RequestExpectation,
    /// What the model does.
    pub what: TurnWhat,
    /// How long it takes.
    pub delay_ms: u64,
    /// How often in a row.
    pub times: u32,
}

/// What the model does.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnWhat {
    /// It answers.
    Reply(Box<Reply>),
    /// It fails.
    Fault(Fault),
    /// It never answers.
    Hang,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TurnKeys {
    /// What the request must look like.
    #[serde(default)]
    expect: RequestExpectation,
    /// The answer.
    reply: Option<Reply>,
    /// The failure.
    fault: Option<Fault>,
    /// It never answers.
    #[serde(default)]
    hang: bool,
    /// How long it takes.
    #[serde(default)]
    delay_ms: u64,
    /// How often in a row; once by default.
    #[serde(default = "once")]
    times: u32,
}

impl TryFrom<TurnKeys> for Turn {
    type Error = &'static str;

    fn try_from(keys: TurnKeys) -> Result<Self, Self::Error> {
        let what = match (keys.reply, keys.fault, keys.hang) {
            (Some(reply), None, false) => TurnWhat::Reply(Box::new(reply)),
            (None, Some(fault), false) => TurnWhat::Fault(fault),
            (None, None, true) => TurnWhat::Hang,
            (None, None, false) => return Err("a turn needs one of `reply`, `fault` and `hang: true`"),
            (..) => return Err("a turn has only one of `reply`, `fault` and `hang: true`"),
        };
        Ok(Self { expect: keys.expect, what, delay_ms: keys.delay_ms, times: keys.times })
    }
}

/// What a request must look like. Only what is given is checked.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestExpectation {
    /// Texts that the messages contain.
    #[serde(default)]
    pub contains: Texts,
    /// Texts that they do not contain.
    #[serde(default)]
    pub lacks: Texts,
    /// The names of the tools that are offered, as `identifier/apiName`; exactly these.
    pub tools: Option<Vec<String>>,
    /// The role of the last message.
    pub last: Option<RoleName>,
    /// How many messages there are.
    pub messages: Option<usize>,
    /// Whether it asks for a summary of the history.
    pub summary: Option<bool>,
    /// A part of the line that goes with this request only.
    pub instruction: Option<String>,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The text.
    #[serde(default)]
    pub text: Text,
    /// Addresses of pictures behind the text.
    #[serde(default)]
    pub images: Vec<String>,
    /// What it thinks.
    pub reasoning: Option<String>,
    /// The calls it asks for.
    #[serde(default)]
    pub calls: Vec<CallScript>,
    /// Why it stopped; by default `tool_calls` with calls and `stop` without.
    pub finish: Option<Finish>,
    /// What it used; nothing is reported by default.
    pub usage: Option<UsageScript>,
}

/// A call. Exactly one of `tool` and `name` is given.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallScript {
    /// The tool, as `identifier/apiName`.
    pub tool: Option<String>,
    /// The name as it stands on the wire.
    pub name: Option<String>,
    /// The provider's id; `call_1`, `call_2` and so on by default. Empty: the provider gives none.
    pub id: Option<String>,
    /// An object, or the text that the model wrote.
    #[serde(default = "no_arguments")]
    pub arguments: Value,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of the provider")]
pub enum Finish {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
    Abort,
}

/// What a call of the model used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageScript {
    /// Tokens of the request.
    #[serde(default)]
    pub input: u64,
    /// Tokens of the answer.
    #[serde(default)]
    pub output: u64,
    /// The provider's total; the sum by default.
    pub total: Option<u64>,
    /// Dollars.
    #[serde(default)]
    pub cost: f64,
}

/// A failure of the model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What it means for the loop.
    pub kind: FaultKind,
    /// The words of the provider.
    #[serde(default = "fault_message")]
    pub message: String,
    /// The code; `model_failed` by default.
    pub code: Option<String>,
    /// How long the provider asks to wait.
    pub retry_after_ms: Option<u64>,
    /// Text that arrived before.
    #[serde(default)]
    pub partial: String,
}

/// What a failure means for the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The same request may work.
    Retryable,
    /// The request does not fit the window.
    Overflow,
    /// Nothing helps.
    Permanent,
}

fn once() -> u32 {
    1
}

fn no_arguments() -> Value {
    Value::Object(serde_json::Map::new())
}

fn fault_message() -> String {
    "the model failed".to_owned()
}
