//! Asking a server, and what is heard meanwhile.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use jackline_model::{Message, MessageBody, MessageId};
use jackline_runtime::llm::{
    Delta, DeltaSink, History, HistoryEntry, Model, ModelFault, ModelReply, ModelRequest, OpenAiModel,
    OpenAiModelBuilder, RawCall, ToolMenu,
};

use crate::server::{Answer, Server};

/// The longest that any test waits for something that should come at once.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// What a reader of deltas heard.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) is_deaf: bool,
    pub(crate) text: String,
    pub(crate) reasoning: String,
}

impl DeltaSink for Heard {
    fn wants_deltas(&self) -> bool {
        !self.is_deaf
    }

    fn delta(&mut self, delta: Delta<'_>) {
        assert!(!self.is_deaf, "a delta for nobody");
        match delta {
            Delta::Text(words) => self.text.push_str(words),
            Delta::Reasoning(thoughts) => self.reasoning.push_str(thoughts),
        }
    }
}

pub(crate) fn deaf() -> Heard {
    Heard { is_deaf: true, ..Heard::default() }
}

pub(crate) fn client(server: &Server) -> OpenAiModelBuilder {
    OpenAiModel::builder().base_url(&server.url).api_key(KEY)
}

pub(crate) fn entry(body: MessageBody) -> Arc<HistoryEntry> {
    HistoryEntry::new(Message { id: MessageId::from("m"), body })
}

pub(crate) fn user(text: &str) -> Arc<HistoryEntry> {
    entry(MessageBody::User { content: text.into() })
}

/// One call of the model, with this conversation.
pub(crate) async fn ask_with(
    model: &dyn Model,
    entries: &[Arc<HistoryEntry>],
    heard: &mut Heard,
) -> Result<ModelReply, ModelFault> {
    let history: History = entries.iter().cloned().collect();
    let tools = ToolMenu::default();
    let request = ModelRequest {
        model: "test-model",
        agent: "a",
        history: &history,
        tools: &tools,
        instruction: None,
        output_tokens_max: None,
    };
    tokio::time::timeout(SOON, model.call(request, heard)).await.expect("the client answers soon")
}

/// One call with a plain question.
pub(crate) async fn ask(model: &dyn Model, heard: &mut Heard) -> Result<ModelReply, ModelFault> {
    ask_with(model, &[user("hello")], heard).await
}

/// The outcome of one answer; a `.json` file is asked for without, any other with deltas.
pub(crate) async fn outcome(answer: Answer, is_stream: bool) -> Result<ModelReply, ModelFault> {
    let server = Server::start([answer]).await;
    let model = client(&server).build().unwrap();
    let mut heard = Heard { is_deaf: !is_stream, ..Heard::default() };
    let result = ask(&model, &mut heard).await;
    if let (Ok(reply), true) = (&result, is_stream && !heard.text.is_empty()) {
        assert_eq!(heard.text, reply.content.text(), "the deltas are the text");
    }
    assert_eq!(server.requests().len(), 1, "one call is one request");
    result
}

pub(crate) async fn case(name: &str) -> Result<ModelReply, ModelFault> {
    outcome(Answer::case(name), name.ends_with(".sse")).await
}

pub(crate) async fn reply(name: &str) -> ModelReply {
    case(name).await.unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

pub(crate) async fn fault(name: &str) -> ModelFault {
    case(name).await.expect_err(name)
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> RawCall {
    let id = Some(id).filter(|id| !id.is_empty()).map(str::to_owned);
    RawCall { id, name: name.to_owned(), arguments: arguments.to_owned() }
}

pub(crate) const KEY: &str = "sk-test-1234567890abcdef";
