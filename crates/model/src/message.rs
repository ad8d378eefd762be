//! Messages, in the one shape that is stored, shown and sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{MessageId, ToolCall, ToolCallId, ToolKey, ToolRunResult};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The agent's instructions.
    System,
    /// A person, or a parent agent.
    User,
    /// The model.
    Assistant,
    /// The result of a call.
    Tool,
}

impl Role {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// Text, or parts where a message holds more than text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain text.
    Text(Arc<str>),
    /// Parts in order.
    Parts(Vec<Part>),
}

impl Content {
    /// The text of the content; the texts of parts joined, other parts left out.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::Parts(parts) => parts.iter().filter_map(Part::as_text).collect(),
        }
    }

    /// True when there is no text and no other part.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Parts(parts) => parts.iter().all(|part| part.as_text().is_some_and(str::is_empty)),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Part {
    /// Text.
    Text {
        /// The text itself.
        text: String,
    },
    /// A picture, by `data:` or `http(s)` URL.
    Image {
        /// Where the bytes are.
        url: String,
    },
    /// A file, by URL.
    File {
        /// Where the bytes are.
        url: String,
        /// The name to show.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// Sound, by URL.
    Audio {
        /// Where the bytes are.
        url: String,
    },
    /// Moving pictures, by URL.
    Video {
        /// Where the bytes are.
        url: String,
    },
}

impl Part {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } | Self::File { .. } | Self::Audio { .. } | Self::Video { .. } => None,
        }
    }
}

/// A message of a conversation, as it is read back from the store and sent to a model.
///
/// A tool message can be read as one of these but never written as one: the store takes the rows
/// of tool results only as `Publishable`, which the gate makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// The row.
    pub id: MessageId,
    /// Who speaks, and what.
    #[serde(flatten)]
    pub body: MessageBody,
}

impl Message {
    /// Who speaks.
    pub fn role(&self) -> Role {
        match &self.body {
            MessageBody::System { .. } => Role::System,
            MessageBody::User { .. } => Role::User,
            MessageBody::Assistant { .. } => Role::Assistant,
            MessageBody::Tool { .. } => Role::Tool,
        }
    }
}

/// What is said, by role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum MessageBody {
    /// The agent's instructions, or the summary of folded messages.
    System {
        /// The text.
        content: Content,
    },
    /// What a person or a parent agent asked.
    User {
        /// The text or parts.
        content: Content,
    },
    /// What the model answered.
    Assistant {
        /// The text or parts; empty when there are only calls.
        content: Content,
        /// What the model thought, where the provider shows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<Arc<str>>,
        /// The calls it asked for, in emission order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ToolCall>,
    },
    /// The published result of one call.
    Tool {
        /// The call that this answers.
        call_id: ToolCallId,
        /// Which tool it was.
        key: ToolKey,
        /// The text that the model sees.
        content: Arc<str>,
        /// Whether the tool said that it succeeded.
        success: bool,
        /// The tool's error, or `hook_denied`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
        /// The tool's own state, or `{"type":"blocked",…}` after a denial.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Value>,
        /// How long the tool ran, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution_time: Option<u64>,
        /// The same by the clock of the device that ran it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device_execution_time: Option<u64>,
        /// What the tool registered. Hooks see it redacted; a model never sees it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work_registration: Option<Value>,
    },
}

impl MessageBody {
    /// The published result that a tool message holds; `None` for the others. Of the result only
    /// `stop` is not kept: it has done its work when the row is written.
    pub fn tool_result(&self) -> Option<ToolRunResult> {
        match self {
            Self::Tool {
                call_id: _,
                key: _,
                content,
                success,
                error,
                state,
                execution_time,
                device_execution_time,
                work_registration,
            } => Some(ToolRunResult {
                content: content.to_string(),
                success: *success,
                error: error.clone(),
                state: state.as_ref().and_then(Value::as_object).cloned(),
                execution_time: *execution_time,
                device_execution_time: *device_execution_time,
                stop: false,
                work_registration: work_registration.clone(),
            }),
            Self::System { .. } | Self::User { .. } | Self::Assistant { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_result_lacks_is_omitted() {
        let body = MessageBody::Tool {
            call_id: "c-1".into(),
            key: ToolKey::new("fs", "read"),
            content: "x".into(),
            success: true,
            error: None,
            state: None,
            execution_time: None,
            device_execution_time: None,
            work_registration: None,
        };
        let written = serde_json::to_value(&body).unwrap();
        let names: Vec<&str> = written.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["callId", "content", "key", "role", "success"]);
        assert_eq!(body.tool_result(), Some(ToolRunResult::ok("x")));
        assert_eq!(serde_json::from_value::<MessageBody>(written).unwrap(), body);
    }
}
