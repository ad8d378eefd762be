//! Asking a server, and what is heard meanwhile.

use std::sync::Arc;
use std::time::Duration;

use jackline_model::{Message, MessageBody, MessageId};
use jackline_runtime::llm::{
    Delta, DeltaSink, History, HistoryEntry, Model, ModelFault, ModelReply, ModelRequest, OpenAiModel,
    OpenAiModelBuilder, RawCall, ToolMenu,
};

use crate::server::{Answer, Server};

/// The longest that any test waits for something that should come at once.
pub const SOON: Duration = Duration::from_secs(20);

/// What a reader of deltas heard.
#[derive(Debug, Default)]
pub struct Heard {
    pub is_deaf: bool,
    pub text: String,
    pub reasoning: String,
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

pub fn deaf() -> Heard {
    Heard { is_deaf: true, ..Heard::default() }
}

pub fn client(server: &Server) -> OpenAiModelBuilder {
    OpenAiModel::builder().base_url(&server.url).api_key(KEY)
}

pub fn entry(body: MessageBody) -> Arc<HistoryEntry> {
    HistoryEntry::new(Message { id: MessageId::from("m"), body })
}

pub fn user(text: &str) -> Arc<HistoryEntry> {
    entry(MessageBody::User { content: text.into() })
}

/// One call of the model, with this conversation.
pub async fn ask_with(
    model: &dyn Model,
    entries: &[Arc<HistoryEntry>],
    heard: &mut Heard,
) -> Result<ModelReply, ModelFault> {
    let history: History = entries.iter().cloned().collect();
    let tools = ToolMenu::default();
    let request = ModelRequest {
        model: "test-model",
        history: &history,
        tools: &tools,
        instruction: None,
        output_tokens_max: None,
    };
    tokio::time::timeout(SOON, model.call(request, heard)).await.expect("the client answers soon")
}

/// One call with a plain question.
pub async fn ask(model: &dyn Model, heard: &mut Heard) -> Result<ModelReply, ModelFault> {
    ask_with(model, &[user("hello")], heard).await
}

/// The outcome of one answer; a `.json` file is asked for without, any other with deltas.
pub async fn outcome(answer: Answer, is_stream: bool) -> Result<ModelReply, ModelFault> {
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

pub async fn case(name: &str) -> Result<ModelReply, ModelFault> {
    outcome(Answer::case(name), name.ends_with(".sse")).await
}

pub async fn reply(name: &str) -> ModelReply {
    case(name).await.unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

pub async fn fault(name: &str) -> ModelFault {
    case(name).await.expect_err(name)
}

pub fn call(id: &str, name: &str, arguments: &str) -> RawCall {
    let id = Some(id).filter(|id| !id.is_empty()).map(str::to_owned);
    RawCall { id, name: name.to_owned(), arguments: arguments.to_owned() }
}

pub const KEY: &str = "sk-test-1234567890abcdef";
