//! One message in the form of the API.

use jackline_model::{Content, Message, MessageBody, Part, ToolCall};
use jackline_tools::arguments::replayable;
use serde::Serialize;
use serde_json::value::RawValue;

use super::ids::wire_id;
use super::settings::WireSettings;
use crate::llm::dialect::{EmptyContent, ReasoningReplay};

/// Writes a message. Nothing but the message and the settings decides, so that the result can be
/// kept with the message.
pub(crate) fn wire_message(message: &Message, settings: &WireSettings) -> Box<RawValue> {
    raw(&match &message.body {
        MessageBody::System { content } => WireMessage { content: Some(plain(content)), ..WireMessage::of("system") },
        MessageBody::User { content } => {
            WireMessage { content: Some(user_content(content)), ..WireMessage::of("user") }
        }
        MessageBody::Assistant { content, reasoning, tool_calls } => WireMessage {
            content: assistant_content(content, tool_calls, settings),
            reasoning_content: match settings.reasoning {
                ReasoningReplay::Omit => None,
                ReasoningReplay::Replay => reasoning.as_deref(),
            },
            tool_calls: tool_calls.iter().map(|call| wire_call(call, settings)).collect(),
            ..WireMessage::of("assistant")
        },
        MessageBody::Tool { call_id, content, .. } => WireMessage {
            content: Some(WireContent::Text(or_words(content.to_string(), EMPTY_RESULT))),
            tool_call_id: Some(wire_id(call_id.as_str(), settings.tool_call_ids).into_owned()),
            ..WireMessage::of("tool")
        },
    })
}

/// A line of text in a role, for what is not part of the history.
pub(crate) fn wire_line(role: &'static str, text: &str) -> Box<RawValue> {
    raw(&WireMessage { content: Some(WireContent::Text(text.to_owned())), ..WireMessage::of(role) })
}

/// Serializes once, for keeping.
pub(crate) fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("these types hold text, lists and JSON values only")
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Option<WireContent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall>,
}

impl WireMessage<'_> {
    fn of(role: &'static str) -> Self {
        Self { role, content: None, reasoning_content: None, tool_call_id: None, tool_calls: Vec::new() }
    }
}

#[derive(Serialize)]
struct WireCall {
    id: String,
    r#type: &'static str,
    function: WireFunction,
}

#[derive(Serialize)]
struct WireFunction {
    name: String,
    arguments: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireContent {
    Text(String),
    Parts(Vec<WirePart>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WirePart {
    Text { text: String },
    ImageUrl { image_url: WireUrl },
    VideoUrl { video_url: WireUrl },
    InputAudio { input_audio: WireAudio },
    File { file: WireFile },
}

#[derive(Serialize)]
struct WireUrl {
    url: String,
}

#[derive(Serialize)]
struct WireAudio {
    data: String,
    format: String,
}

#[derive(Serialize)]
struct WireFile {
    filename: String,
    file_data: String,
}

fn wire_call(call: &ToolCall, settings: &WireSettings) -> WireCall {
    WireCall {
        id: wire_id(call.id.as_str(), settings.tool_call_ids).into_owned(),
        r#type: "function",
        function: WireFunction {
            name: (settings.wire_name)(&call.key),
            arguments: replayable(&call.arguments).into_owned(),
        },
    }
}

fn assistant_content(content: &Content, calls: &[ToolCall], settings: &WireSettings) -> Option<WireContent> {
    let words = words_with_notes(content);
    match (words.is_empty(), calls.is_empty(), settings.empty_content) {
        (false, _, _) => Some(WireContent::Text(words)),
        (true, true, _) => Some(WireContent::Text(EMPTY_ANSWER.to_owned())),
        (true, false, EmptyContent::Null) => None,
        (true, false, EmptyContent::EmptyText) => Some(WireContent::Text(String::new())),
    }
}

fn plain(content: &Content) -> WireContent {
    WireContent::Text(words_with_notes(content))
}

fn user_content(content: &Content) -> WireContent {
    match content {
        Content::Text(words) => WireContent::Text(words.to_string()),
        Content::Parts(parts) => WireContent::Parts(parts.iter().map(user_part).collect()),
    }
}

fn user_part(part: &Part) -> WirePart {
    let url_of = |url: &str| WireUrl { url: url.to_owned() };
    match part {
        Part::Text { text } => WirePart::Text { text: text.clone() },
        Part::Image { url } => WirePart::ImageUrl { image_url: url_of(url) },
        Part::Video { url } => WirePart::VideoUrl { video_url: url_of(url) },
        Part::Audio { url } => match audio_of(url) {
            Some(input_audio) => WirePart::InputAudio { input_audio },
            None => WirePart::Text { text: note_of(part) },
        },
        // The API takes files by content only.
        Part::File { url, name } if url.starts_with("data:") => WirePart::File {
            file: WireFile { filename: name.clone().unwrap_or_else(|| "file".to_owned()), file_data: url.clone() },
        },
        Part::File { .. } => WirePart::Text { text: note_of(part) },
    }
}

/// `data:audio/mp3;base64,…` in its two halves.
fn audio_of(url: &str) -> Option<WireAudio> {
    let (kind, data) = url.strip_prefix("data:audio/")?.split_once(";base64,")?;
    let format = kind.split(';').next().unwrap_or(kind).trim_start_matches("x-");
    let format = if format == "mpeg" { "mp3" } else { format };
    Some(WireAudio { data: data.to_owned(), format: format.to_owned() })
}

/// The text, with a note in place of each part that the role cannot send.
fn words_with_notes(content: &Content) -> String {
    match content {
        Content::Text(words) => words.to_string(),
        Content::Parts(parts) => parts.iter().map(note_of).collect(),
    }
}

fn note_of(part: &Part) -> String {
    let note = |kind: &str, url: &str| match url.starts_with("data:") {
        true => format!("[{kind}]"),
        false => format!("[{kind}: {url}]"),
    };
    match part {
        Part::Text { text } => text.clone(),
        Part::Image { url } => note("image", url),
        Part::Audio { url } => note("audio", url),
        Part::Video { url } => note("video", url),
        Part::File { url, name } => note(name.as_deref().unwrap_or("file"), url),
    }
}

fn or_words(text: String, words: &str) -> String {
    if text.is_empty() { words.to_owned() } else { text }
}

/// Some servers refuse a tool message without text.
const EMPTY_RESULT: &str = "(no output)";

/// An assistant message must say or ask something; one that was stopped at once does neither.
const EMPTY_ANSWER: &str = "(no answer)";
