//! The loop that people write by hand with async-openai: a list of messages, sent whole each time.
//!
//! As in that crate's examples the request is handed over by value, so the list is cloned. There is a
//! leaner form that borrows it, for whoever knows the crate well; its cost is shown, too.

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls, ChatCompletionRequestAssistantMessage,
    ChatCompletionRequestMessage, ChatCompletionRequestSystemMessage, ChatCompletionRequestToolMessage,
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, ChatCompletionTool, ChatCompletionTools,
    CreateChatCompletionRequest, CreateChatCompletionResponse, CreateChatCompletionStreamResponse, FunctionCall,
    FunctionObject,
};
use futures_util::StreamExt;

use crate::Failed;
use crate::growing::Terms;
use crate::job::{INSTRUCTIONS, Job, MODEL, PROMPT, TOOL_DESCRIPTION, TOOL_WIRE_NAME, parameters};

/// A client for one server.
pub(crate) fn client(http: reqwest::Client, base_url: &str) -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new().with_api_base(base_url).with_api_key("sk-bench");
    Client::build(http, config)
}

/// How a request is handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// By value, as the examples do.
    Cloned,
    /// By reference, through the interface for one's own types.
    Borrowed,
}

/// Does a job once, and gives the answer.
pub(crate) async fn run(client: &Client<OpenAIConfig>, job: &Job, how: Request) -> Result<String, Failed> {
    let mut request = opening(job.is_read);
    loop {
        let (text, calls) = if job.is_read {
            ask_streamed(client, &request, how).await?
        } else {
            ask_whole(client, &request, how).await?
        };
        if calls.is_empty() {
            return Ok(text);
        }
        let mut results = Vec::with_capacity(calls.len());
        for call in &calls {
            let terms: Terms = serde_json::from_str(&call.function.arguments)?;
            results.push(ChatCompletionRequestMessage::Tool(ChatCompletionRequestToolMessage {
                content: job.add(terms.a, terms.b).into(),
                tool_call_id: call.id.clone(),
            }));
        }
        request.messages.push(ChatCompletionRequestMessage::Assistant(ChatCompletionRequestAssistantMessage {
            tool_calls: Some(calls.into_iter().map(ChatCompletionMessageToolCalls::Function).collect()),
            ..ChatCompletionRequestAssistantMessage::default()
        }));
        request.messages.append(&mut results);
    }
}

type Turn = (String, Vec<ChatCompletionMessageToolCall>);

fn opening(is_streamed: bool) -> CreateChatCompletionRequest {
    let function = FunctionObject {
        name: TOOL_WIRE_NAME.to_owned(),
        description: Some(TOOL_DESCRIPTION.to_owned()),
        parameters: Some(parameters()),
        strict: None,
    };
    CreateChatCompletionRequest {
        model: MODEL.to_owned(),
        messages: vec![
            ChatCompletionRequestSystemMessage::from(INSTRUCTIONS).into(),
            ChatCompletionRequestUserMessage::from(PROMPT).into(),
        ],
        tools: Some(vec![ChatCompletionTools::Function(ChatCompletionTool { function })]),
        stream: is_streamed.then_some(true),
        stream_options: is_streamed
            .then_some(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None }),
        ..CreateChatCompletionRequest::default()
    }
}

async fn ask_whole(
    client: &Client<OpenAIConfig>,
    request: &CreateChatCompletionRequest,
    how: Request,
) -> Result<Turn, Failed> {
    let response: CreateChatCompletionResponse = match how {
        Request::Cloned => client.chat().create(request.clone()).await?,
        Request::Borrowed => client.chat().create_byot(request).await?,
    };
    let message = response.choices.into_iter().next().ok_or("no choice")?.message;
    let mut calls = Vec::new();
    for call in message.tool_calls.into_iter().flatten() {
        match call {
            ChatCompletionMessageToolCalls::Function(call) => calls.push(call),
            ChatCompletionMessageToolCalls::Custom(_) => return Err("a custom call".into()),
        }
    }
    Ok((message.content.unwrap_or_default(), calls))
}

async fn ask_streamed(
    client: &Client<OpenAIConfig>,
    request: &CreateChatCompletionRequest,
    how: Request,
) -> Result<Turn, Failed> {
    let mut stream = match how {
        Request::Cloned => client.chat().create_stream(request.clone()).await?,
        Request::Borrowed => client.chat().create_stream_byot::<_, CreateChatCompletionStreamResponse>(request).await?,
    };
    let (mut text, mut calls) = (String::new(), Vec::new());
    while let Some(chunk) = stream.next().await {
        for choice in chunk?.choices {
            if let Some(piece) = choice.delta.content {
                std::hint::black_box(&piece);
                text.push_str(&piece);
            }
            for piece in choice.delta.tool_calls.into_iter().flatten() {
                let index = piece.index as usize;
                if calls.len() <= index {
                    calls.resize_with(index + 1, ChatCompletionMessageToolCall::default);
                }
                let call = &mut calls[index];
                call.id.push_str(&piece.id.unwrap_or_default());
                let function = piece.function.map(|function| (function.name, function.arguments));
                let (name, arguments) = function.unwrap_or_default();
                let FunctionCall { name: all_name, arguments: all_arguments } = &mut call.function;
                all_name.push_str(&name.unwrap_or_default());
                all_arguments.push_str(&arguments.unwrap_or_default());
            }
        }
    }
    Ok((text, calls))
}
