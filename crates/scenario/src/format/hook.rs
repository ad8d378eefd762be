//! Scripted hooks.

use jackline_hooks::HookKind;
use jackline_model::ToolRunResult;
use schemars::JsonSchema;
use serde::Deserialize;

/// A hook whose answers are scripted.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookScript {
    /// The event, such as `beforeToolCall`.
    #[schemars(with = "String")]
    pub on: HookKind,
    /// Its id; the event's name by default. Equal ids all run.
    pub id: Option<String>,
    /// What it may do; observe by default.
    #[serde(default)]
    pub power: HookPower,
    /// The tools that it is about: a pattern that is found in `identifier/apiName`.
    pub matching: Option<String>,
    /// What a failure of a control means.
    #[serde(default)]
    pub on_error: OnErrorWord,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
    /// It must hear: a webhook whose failure is not put up with. Only for observers.
    #[serde(default)]
    pub critical: bool,
    /// Whether it applies to sub-agents too.
    pub inherit: Option<bool>,
    /// Its answers, one an event; the last one repeats. Without any it answers `ok`.
    #[serde(default)]
    pub answers: Vec<HookAnswer>,
}

/// What a hook may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookPower {
    /// It hears.
    #[default]
    Observe,
    /// It may stand in for a tool.
    Mock,
    /// It may deny.
    Control,
}

/// What a failure of a control means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnErrorWord {
    /// The next one is asked.
    #[default]
    Continue,
    /// The call is denied.
    Block,
}

/// One answer of a hook: a word, or a table with `deny` or `mock`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "AnswerForm")]
#[schemars(with = "AnswerForm")]
pub struct HookAnswer {
    /// What it answers.
    pub word: HookWord,
    /// How long it takes first.
    pub delay_ms: u64,
}

/// What a hook answers.
#[derive(Clone, Debug, PartialEq)]
pub enum HookWord {
    /// It heard, lets the call pass, or allows it.
    Ok,
    /// It denies.
    Deny(Option<String>),
    /// It stands in for the tool.
    Mock(Box<ToolRunResult>, MockThen),
    /// It fails.
    Error,
    /// It panics.
    Panic,
    /// It never answers.
    Hang,
}

/// What a mock does after its mock was accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MockThen {
    /// It returns.
    #[default]
    Ok,
    /// It mocks once more, which must be refused.
    MockAgain,
    /// It fails.
    Error,
    /// It panics.
    Panic,
    /// It never returns.
    Hang,
}

#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "an answer is one of ok, allow, pass, deny, error, panic, hang, or a table with `deny`, `mock` or `answer`"
)]
enum AnswerForm {
    Word(WordForm),
    Table(AnswerKeys),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WordForm {
    Ok,
    Allow,
    Pass,
    Deny,
    Error,
    Panic,
    Hang,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerKeys {
    /// It denies with this reason.
    deny: Option<String>,
    /// It stands in for the tool.
    mock: Option<MockKeys>,
    /// What a mock does next.
    #[serde(default)]
    then: MockThen,
    /// A word, where a delay comes first.
    answer: Option<WordForm>,
    /// How long it takes first.
    #[serde(default)]
    delay_ms: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MockKeys {
    /// The text.
    #[serde(default)]
    content: String,
    /// Whether it stands for a success; true by default.
    success: Option<bool>,
    /// The error that it stands for.
    error: Option<serde_json::Value>,
    /// It asks the run to end.
    #[serde(default)]
    stop: bool,
}

impl TryFrom<AnswerForm> for HookAnswer {
    type Error = &'static str;

    fn try_from(form: AnswerForm) -> Result<Self, Self::Error> {
        let keys = match form {
            AnswerForm::Word(word) => return Ok(Self { word: word.into(), delay_ms: 0 }),
            AnswerForm::Table(keys) => keys,
        };
        let word = match (keys.deny, keys.mock, keys.answer) {
            (Some(reason), None, None) => HookWord::Deny(Some(reason)),
            (None, Some(mock), None) => HookWord::Mock(Box::new(mock.result()), keys.then),
            (None, None, Some(word)) => word.into(),
            (None, None, None) => HookWord::Ok,
            (..) => return Err("an answer has only one of `deny`, `mock` and `answer`"),
        };
        Ok(Self { word, delay_ms: keys.delay_ms })
    }
}

impl From<WordForm> for HookWord {
    fn from(word: WordForm) -> Self {
        match word {
            WordForm::Ok | WordForm::Allow | WordForm::Pass => Self::Ok,
            WordForm::Deny => Self::Deny(None),
            WordForm::Error => Self::Error,
            WordForm::Panic => Self::Panic,
            WordForm::Hang => Self::Hang,
        }
    }
}

impl MockKeys {
    fn result(self) -> ToolRunResult {
        ToolRunResult {
            content: self.content,
            success: self.success.unwrap_or(true),
            error: self.error,
            stop: self.stop,
            ..ToolRunResult::default()
        }
    }
}
