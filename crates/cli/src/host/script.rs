//! A model that answers from a file: no key, no network, the same answers each time.
//!
//! ```yaml
//! turns:
//!   - text: Let me look.
//!     calls:
//!       - {tool: fs/read, with: {path: notes.txt}}
//!     usage: {input: 900, output: 40}
//!   - error: {code: server_overloaded, message: try again, kind: retryable}
//!   - text: All is well.
//! summaries:
//!   - The notes were read.
//! ```

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jackline_model::ToolKey;
use jackline_model::{Fault, FaultAttribution, MessageBody, ModelUsage};
use jackline_runtime::agent::Prices;
use jackline_runtime::llm::{
    BoxFuture, Delta, DeltaSink, Model, ModelFault, ModelFaultKind, ModelReply, ModelRequest, ReplyBuilder,
};
use jackline_tools::WireNames;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::summaries::asks_for_summary;

/// A script: what the model says, turn by turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Script {
    /// The answers, in order.
    pub(crate) turns: Vec<Turn>,
    /// The summaries, in order, for when the history is folded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) summaries: Vec<String>,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Turn {
    /// What it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// What it thinks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning: Option<String>,
    /// The tools it asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<Call>,
    /// The tokens it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Tokens>,
    /// How long it takes, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<u64>,
    /// It fails instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Failure>,
}

/// A call in a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// The tool, as `identifier/apiName`.
    pub(crate) tool: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) with: Map<String, Value>,
}

/// Tokens of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tokens {
    /// Of the request.
    input: u64,
    /// Of the answer.
    output: u64,
}

/// A failure of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    /// A code in snake case.
    code: String,
    /// What it says.
    message: String,
    /// Whether trying again helps.
    #[serde(default)]
    kind: FailureKind,
}

/// What a failure means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureKind {
    /// Trying again does not help.
    #[default]
    Permanent,
    /// The next turn is what the next try gets.
    Retryable,
    /// The history is too long.
    ContextOverflow,
}

/// Gives the turns of a script.
///
/// Which turn is next is read off the conversation, whose last call names the turn that asked for
/// it; a summary names the last that it stands for. So a run that another process resumes goes on where it was, and runs that are under way at
/// once do not mix. Only failures and summaries must be counted.
pub(super) struct FileScript {
    script: Script,
    prices: Option<Prices>,
    counted: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    /// Failures given since a turn, by the turn's number.
    failures: BTreeMap<usize, usize>,
    /// Summaries given.
    summaries: usize,
    /// The number of the newest turn given.
    newest: usize,
}

impl FileScript {
    pub(super) fn new(script: Script, prices: Option<Prices>) -> Self {
        Self { script, prices, counted: Mutex::default() }
    }

    fn next(&self, request: &ModelRequest<'_>) -> (usize, Option<Turn>) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if asks_for_summary(request) {
            counted.summaries += 1;
            let number = counted.summaries;
            let newest = counted.newest;
            let marked = |text: &String| match text.as_str() {
                "" => String::new(),
                text => format!("{text}\n{MARK}{newest}]"),
            };
            let text = self.script.summaries.get(number - 1).map(marked);
            return (number, text.map(|text| Turn { text: Some(text), ..Turn::default() }));
        }
        let given = turns_given(request);
        let failures = counted.failures.entry(given).or_default();
        let next = given + *failures;
        let turn = self.script.turns.get(next).cloned();
        if turn.as_ref().is_some_and(|turn| turn.error.is_some()) {
            *failures += 1;
        }
        counted.newest = next + 1;
        (next + 1, turn)
    }

    fn reply(&self, number: usize, turn: Turn) -> ModelReply {
        let mut builder = ReplyBuilder::default().text(turn.text.unwrap_or_default());
        if let Some(thoughts) = turn.reasoning {
            builder = builder.reasoning(thoughts);
        }
        for (index, call) in turn.calls.into_iter().enumerate() {
            let id = format!("call_{number}_{}", index + 1);
            builder = builder.call(Some(&id), wire_name(&call.tool), Value::Object(call.with).to_string());
        }
        if let Some(Tokens { input, output }) = turn.usage {
            let cost = self.prices.as_ref().map(|prices| prices.cost(input, output)).unwrap_or_default();
            let total_tokens = input.saturating_add(output);
            builder = builder.usage(ModelUsage { input_tokens: input, output_tokens: output, total_tokens, cost });
        }
        builder.build()
    }
}

impl Model for FileScript {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        Box::pin(async move {
            let is_summary = asks_for_summary(&request);
            let (number, turn) = self.next(&request);
            let Some(turn) = turn else { return Err(exhausted(if is_summary { "summary" } else { "turn" }, number)) };
            if let Some(delay_ms) = turn.delay_ms {
                tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            }
            if let Some(failure) = turn.error {
                return Err(failure.into());
            }
            if !is_summary && turn.text.as_ref().is_none_or(|text| text.trim().is_empty()) && turn.calls.is_empty() {
                return Err(empty(number));
            }
            if sink.wants_deltas() {
                send(turn.reasoning.as_deref(), |piece| sink.delta(Delta::Reasoning(piece)));
                send(turn.text.as_deref(), |piece| sink.delta(Delta::Text(piece)));
            }
            Ok(self.reply(number, turn))
        })
    }
}

impl From<Failure> for ModelFault {
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind {
            FailureKind::Permanent => ModelFaultKind::Permanent,
            FailureKind::Retryable => ModelFaultKind::Retryable,
            FailureKind::ContextOverflow => ModelFaultKind::ContextOverflow,
        };
        let attribution = FaultAttribution::Provider;
        let fault = Fault { code: failure.code, message: failure.message, attribution, detail: None };
        Self { kind, fault, retry_after: None, partial: String::new() }
    }
}

/// How many turns of the script the conversation holds the answers of.
fn turns_given(request: &ModelRequest<'_>) -> usize {
    let mut spoken = 0;
    for entry in request.history.entries().iter().rev() {
        let turn = match &entry.message().body {
            MessageBody::Assistant { tool_calls, .. } => {
                let turn = tool_calls.first().and_then(|call| turn_of(call.id.as_str()));
                spoken += usize::from(turn.is_none());
                turn
            }
            MessageBody::System { content } => turn_before_summary(&content.text()),
            MessageBody::User { .. } | MessageBody::Tool { .. } => None,
        };
        if let Some(turn) = turn {
            return turn + spoken;
        }
    }
    spoken
}

/// A summary says which turns it stands for.
fn turn_before_summary(text: &str) -> Option<usize> {
    let (_, rest) = text.rsplit_once(MARK)?;
    rest.strip_suffix(']')?.parse().ok()
}

fn turn_of(call: &str) -> Option<usize> {
    call.strip_prefix("call_")?.split('_').next()?.parse().ok()
}

fn wire_name(tool: &str) -> String {
    let key = ToolKey::parse(tool);
    let names = WireNames::new([key.clone()]);
    names.name(&key).unwrap_or(tool).to_owned()
}

/// Word by word, as a model would.
fn send(text: Option<&str>, mut piece: impl FnMut(&str)) {
    text.unwrap_or_default().split_inclusive(' ').for_each(&mut piece);
}

/// No text and no call is no answer.
fn empty(number: usize) -> ModelFault {
    let failure = Failure {
        code: "empty_answer".to_owned(),
        message: format!("the model's answer is empty (turn {number} of the script)"),
        kind: FailureKind::Permanent,
    };
    failure.into()
}

fn exhausted(what: &str, number: usize) -> ModelFault {
    let failure = Failure {
        code: "script_exhausted".to_owned(),
        message: format!("the script has no {what} {number}"),
        kind: FailureKind::Permanent,
    };
    failure.into()
}

/// Stands at the end of a scripted summary.
const MARK: &str = "[script: after turn ";

#[cfg(test)]
mod tests {
    use jackline_model::{Content, Message, MessageId, ToolCall};
    use jackline_runtime::llm::{History, HistoryEntry};

    use super::*;

    fn given(bodies: Vec<MessageBody>) -> usize {
        let entry = |body| HistoryEntry::new(Message { id: MessageId::from("m"), body });
        let history: History = bodies.into_iter().map(entry).collect();
        let tools = jackline_runtime::llm::ToolMenu::default();
        turns_given(&ModelRequest {
            model: "script",
            agent: "a",
            history: &history,
            tools: &tools,
            instruction: None,
            output_tokens_max: None,
        })
    }

    fn says(calls: &[&str]) -> MessageBody {
        let call = |id: &&str| ToolCall { id: (*id).into(), key: ToolKey::new("a", "b"), arguments: "{}".into() };
        MessageBody::Assistant {
            content: Content::from(""),
            reasoning: None,
            tool_calls: calls.iter().map(call).collect(),
        }
    }

    #[test]
    fn the_next_turn_is_read_off_the_conversation() {
        let user = MessageBody::User { content: Content::from("go") };
        let summary = MessageBody::System { content: Content::from("Summary:\nmuch\n[script: after turn 4]") };
        assert_eq!(given(vec![user.clone()]), 0);
        assert_eq!(given(vec![user.clone(), says(&["call_3_1", "call_3_2"])]), 3);
        assert_eq!(given(vec![user.clone(), says(&["call_3_1"]), says(&[])]), 4);
        assert_eq!(given(vec![summary.clone(), user.clone()]), 4);
        assert_eq!(given(vec![summary, user, says(&["call_5_1"])]), 5);
    }
}
