//! What must have happened.

use std::collections::BTreeMap;
use std::fmt;

use jackline_hooks::HookKind;
use jackline_model::{Reason, Role, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::text::Texts;

/// What must have happened. Only what is given is checked, except that nothing scripted may be left.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// How the run ended.
    #[schemars(with = "Option<String>")]
    pub reason: Option<Reason>,
    /// Where it stands.
    #[schemars(with = "Option<String>")]
    pub status: Option<Status>,
    /// The exit code of the command line.
    pub exit: Option<u8>,
    /// Whether it can be gone on with.
    pub resumable: Option<bool>,
    /// The last answer.
    pub answer: Option<String>,
    /// Steps that count.
    pub steps: Option<u32>,
    /// All hooks that fired, in order: `beforeStep`, `child/beforeStep`, or a table with fields.
    pub hooks: Option<Vec<HookLine>>,
    /// Hooks that fired, among others, in this order, with these fields.
    #[serde(default)]
    pub events: Vec<HookLine>,
    /// How often hooks of a type fired.
    #[serde(default)]
    pub hook_counts: BTreeMap<String, usize>,
    /// What hooks answered, by id, in order.
    #[serde(default)]
    pub answered: BTreeMap<String, Vec<String>>,
    /// The messages that the model would see next, all of them.
    pub messages: Option<Vec<ExpectedMessage>>,
    /// How often the bodies of tools ran.
    #[serde(default)]
    pub tool_runs: BTreeMap<String, u64>,
    /// The order in which bodies of tools began and ended, as `begin call_1` and `end call_1`.
    pub tool_order: Option<Vec<String>>,
    /// What was used.
    pub usage: Option<ExpectedUsage>,
    /// Texts that stand in no message, record, event and archive.
    #[serde(default)]
    pub nowhere: Texts,
    /// Texts that stand somewhere in the store.
    #[serde(default)]
    pub stored: Texts,
    /// The code of the fault that ended the run.
    pub fault: Option<String>,
    /// A part of its message.
    pub fault_message: Option<String>,
    /// A part of the error that left the run without an end.
    pub error: Option<String>,
    /// The time on the virtual clock from the start to the last transition.
    pub elapsed_ms: Option<u64>,
    /// How often the process was started; once by default.
    pub lives: Option<usize>,
    /// The types of the stream's events, among others, in this order, with these fields.
    #[serde(default)]
    pub stream: Vec<Value>,
    /// Files of the real tools at the end.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Sub-agents.
    #[serde(default)]
    pub operations: Vec<ExpectedOperation>,
}

/// A sub-agent, in the order of their start.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedOperation {
    /// Its agent.
    pub agent: String,
    /// Where it stands.
    #[schemars(with = "Option<String>")]
    pub status: Option<Status>,
    /// How it ended.
    #[schemars(with = "Option<String>")]
    pub reason: Option<Reason>,
    /// Its messages.
    pub messages: Option<Vec<ExpectedMessage>>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectedMessage {
    /// Who speaks.
    pub role: RoleName,
    /// The whole text.
    pub text: Option<String>,
    /// Parts of it.
    #[serde(default)]
    pub contains: Texts,
    /// The ids of the calls that it asks for.
    pub calls: Option<Vec<String>>,
    /// The call that it answers.
    pub call: Option<String>,
    /// Whether that call did what was asked.
    pub success: Option<bool>,
    /// The error of that call.
    pub error: Option<Value>,
    /// Fields of the state of its row.
    pub state: Option<Value>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the four roles")]
pub enum RoleName {
    System,
    User,
    Assistant,
    Tool,
}

impl RoleName {
    /// The role.
    pub fn role(self) -> Role {
        match self {
            Self::System => Role::System,
            Self::User => Role::User,
            Self::Assistant => Role::Assistant,
            Self::Tool => Role::Tool,
        }
    }
}

/// What was used, the finished sub-agents included.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "named like the totals")]
pub struct ExpectedUsage {
    pub llm_calls: Option<u64>,
    pub tool_calls: Option<u64>,
    pub input: Option<u64>,
    pub output: Option<u64>,
    pub total: Option<u64>,
    /// In dollars.
    pub cost: Option<f64>,
}

/// A hook that fired: its type, the sub-agent if it is one's, and fields that the event has.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "LineForm")]
#[schemars(with = "LineForm")]
pub struct HookLine {
    /// The sub-agent.
    pub agent: Option<String>,
    /// The type.
    pub kind: HookKind,
    /// Fields of the event.
    pub fields: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "the type of a hook, or a table with the type and fields is needed")]
enum LineForm {
    Bare(String),
    WithFields(BTreeMap<String, Value>),
}

impl TryFrom<LineForm> for HookLine {
    type Error = String;

    fn try_from(form: LineForm) -> Result<Self, String> {
        let (name, fields) = match form {
            LineForm::Bare(name) => (name, None),
            LineForm::WithFields(table) => {
                let mut entries = table.into_iter();
                match (entries.next(), entries.next()) {
                    (Some((name, fields)), None) => (name, Some(fields)),
                    (_, _) => return Err("a hook with fields is a table with one key, its type".to_owned()),
                }
            }
        };
        let (agent, kind) = match name.split_once('/') {
            Some((agent, kind)) => (Some(agent.to_owned()), kind),
            None => (None, name.as_str()),
        };
        let kind = kind.parse().map_err(|error: jackline_hooks::UnknownHookKind| error.to_string())?;
        Ok(Self { agent, kind, fields })
    }
}

impl fmt::Display for HookLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.agent {
            Some(agent) => write!(f, "{agent}/{}", self.kind),
            None => write!(f, "{}", self.kind),
        }
    }
}
