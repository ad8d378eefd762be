//! A model that answers from a script: for the offline default, for scenarios and for tests.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackline_model::{Content, Fault, FaultAttribution, Message, ModelUsage};

use super::port::{
    BoxFuture, Delta, DeltaSink, FinishReason, Model, ModelFault, ModelFaultKind, ModelReply, ModelRequest, RawCall,
};

/// One answer of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// An answer.
    Reply(ModelReply),
    /// A failure.
    Fault(ModelFault),
    /// Never an answer: the request stays open until its future is dropped.
    Hang,
}

impl Turn {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Reply(ReplyBuilder::default().text(text).build())
    }

    /// An answer that asks for one call; the id is left to whoever runs it.
    pub fn call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::Reply(ReplyBuilder::default().call(None, name, arguments).build())
    }
}

/// Builds a reply piece by piece.
///
/// ```
/// use jackline_runtime::llm::{FinishReason, ReplyBuilder};
/// let reply = ReplyBuilder::default().text("Let me look.").call(Some("c1"), "fs____read", "{}").build();
/// assert_eq!(reply.finish, FinishReason::ToolCalls);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReplyBuilder {
    text: String,
    reasoning: Option<String>,
    calls: Vec<RawCall>,
    usage: Option<ModelUsage>,
    finish: Option<FinishReason>,
}

impl ReplyBuilder {
    /// The text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// What the model thought.
    pub fn reasoning(mut self, thoughts: impl Into<String>) -> Self {
        self.reasoning = Some(thoughts.into());
        self
    }

    /// One more call.
    pub fn call(mut self, id: Option<&str>, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let id = id.map(str::to_owned);
        self.calls.push(RawCall { id, name: name.into(), arguments: arguments.into() });
        self
    }

    /// What the answer used.
    pub fn usage(mut self, usage: ModelUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Why the model stopped; by itself "asks for tools" if there are calls, else "done".
    pub fn finish(mut self, finish: FinishReason) -> Self {
        self.finish = Some(finish);
        self
    }

    /// The reply.
    pub fn build(self) -> ModelReply {
        let usual = if self.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        ModelReply {
            content: Content::from(self.text),
            reasoning: self.reasoning.map(Into::into),
            refusal: None,
            calls: self.calls,
            finish: self.finish.unwrap_or(usual),
            finish_raw: None,
            usage: self.usage,
            salvaged_from_reasoning: false,
        }
    }
}

/// A request as a script received it, for expectations.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// The model's name.
    pub model: String,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The names on the wire of the tools that were offered.
    pub tools: Vec<String>,
    /// The line added to this request only.
    pub instruction: Option<String>,
}

/// A model that gives the turns of a script in order.
///
/// Past its end every call fails for good with the code `script_exhausted`: a script that is too
/// short is a mistake, not an answer.
#[derive(Default)]
pub struct ScriptedModel {
    state: Mutex<ScriptState>,
}

#[derive(Default)]
struct ScriptState {
    turns: VecDeque<Turn>,
    requests: Vec<RecordedRequest>,
}

impl ScriptedModel {
    /// A model that gives these turns.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        let turns = turns.into_iter().collect();
        Self { state: Mutex::new(ScriptState { turns, requests: Vec::new() }) }
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.lock().requests.clone()
    }

    /// How many turns nobody asked for yet.
    pub fn turns_left(&self) -> usize {
        self.lock().turns.len()
    }

    fn next_turn(&self, request: &ModelRequest<'_>) -> Turn {
        let mut state = self.lock();
        state.requests.push(RecordedRequest {
            model: request.model.to_owned(),
            messages: request.history.entries().iter().map(|entry| entry.message().clone()).collect(),
            tools: request.tools.tools().iter().map(|tool| tool.wire_name.to_string()).collect(),
            instruction: request.instruction.map(str::to_owned),
        });
        let asked = state.requests.len();
        state.turns.pop_front().unwrap_or_else(|| Turn::Fault(exhausted(asked)))
    }

    fn lock(&self) -> MutexGuard<'_, ScriptState> {
        // Nothing between taking and giving back the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for ScriptedModel {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        Box::pin(async move {
            match self.next_turn(&request) {
                Turn::Reply(reply) => {
                    send_deltas(reply.reasoning.as_deref().unwrap_or_default(), &reply.content.text(), sink);
                    Ok(reply)
                }
                Turn::Fault(fault) => {
                    send_deltas("", &fault.partial, sink);
                    Err(fault)
                }
                Turn::Hang => std::future::pending().await,
            }
        })
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("ScriptedModel")
            .field("turns_left", &state.turns.len())
            .field("requests", &state.requests.len())
            .finish()
    }
}

fn send_deltas(thoughts: &str, text: &str, sink: &mut dyn DeltaSink) {
    for (piece, delta) in [(thoughts, Delta::Reasoning(thoughts)), (text, Delta::Text(text))] {
        if sink.wants_deltas() && !piece.is_empty() {
            sink.delta(delta);
        }
    }
}

fn exhausted(asked: usize) -> ModelFault {
    let message = format!("request {asked} is past the end of the script");
    let fault =
        Fault { code: "script_exhausted".to_owned(), message, attribution: FaultAttribution::User, detail: None };
    ModelFault { kind: ModelFaultKind::Permanent, fault, retry_after: None, partial: String::new() }
}
