//! How many tokens a text has.
//!
//! The byte bound is always there and never too low. Exact counts need the tables of the feature
//! `tokens`, which are read when the first text is counted and not before.

use jackline_model::{Content, Message, MessageBody, Part, ToolCall};
use serde_json::json;

use crate::llm::OfferedTool;

/// Counts the tokens of texts.
pub trait TokenCounter: Send + Sync {
    /// The tokens of a text. Names of special tokens are ordinary text.
    fn count_text(&self, text: &str) -> u64;

    /// Whether the counts are a tokeniser's, not a bound: only those can say that a text is too long.
    fn is_exact(&self) -> bool {
        false
    }
}

/// One token a byte: no tokeniser that works on bytes makes more.
///
/// ```
/// use jackline_runtime::tokens::{ByteBound, TokenCounter};
/// assert_eq!(ByteBound.count_text("héllo"), 6);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteBound;

impl TokenCounter for ByteBound {
    fn count_text(&self, text: &str) -> u64 {
        text.len() as u64
    }
}

/// The tokens of one message: what is said, the calls and their ids, and what the role costs.
///
/// Facts that are stored beside a message but not sent, such as a tool's state, are not counted.
/// With [`ByteBound`] this is an upper bound.
pub fn count_message(counter: &dyn TokenCounter, message: &Message) -> u64 {
    let said = match &message.body {
        MessageBody::System { content } | MessageBody::User { content } => count_content(counter, content),
        MessageBody::Assistant { content, reasoning, tool_calls } => {
            let thought = reasoning.as_deref().map_or(0, |text| counter.count_text(text));
            let calls: u64 = tool_calls.iter().map(|call| count_call(counter, call)).sum();
            count_content(counter, content) + thought + calls
        }
        MessageBody::Tool { call_id, content, .. } => {
            counter.count_text(call_id.as_str()) + counter.count_text(content)
        }
    };
    said + MESSAGE_OVERHEAD_TOKENS
}

/// The tokens of the tools that a request offers: those of their JSON.
pub fn count_tools(counter: &dyn TokenCounter, tools: &[OfferedTool]) -> u64 {
    tools.iter().map(|tool| count_tool(counter, tool)).sum()
}

fn count_tool(counter: &dyn TokenCounter, tool: &OfferedTool) -> u64 {
    let definition = json!({
        "type": "function",
        "function": {"name": tool.wire_name, "description": tool.description, "parameters": tool.parameters},
    });
    counter.count_text(&definition.to_string())
}

fn count_call(counter: &dyn TokenCounter, call: &ToolCall) -> u64 {
    // On the wire the two halves of the name are joined by four underscores.
    let name = format!("{}____{}", call.key.identifier, call.key.api_name);
    counter.count_text(call.id.as_str())
        + counter.count_text(&name)
        + counter.count_text(&call.arguments)
        + CALL_OVERHEAD_TOKENS
}

fn count_content(counter: &dyn TokenCounter, content: &Content) -> u64 {
    match content {
        Content::Text(text) => counter.count_text(text),
        Content::Parts(parts) => parts.iter().map(|part| count_part(counter, part)).sum(),
    }
}

fn count_part(counter: &dyn TokenCounter, part: &Part) -> u64 {
    match part {
        Part::Text { text } => counter.count_text(text),
        Part::Image { .. } | Part::File { .. } | Part::Audio { .. } | Part::Video { .. } => MEDIA_TOKENS,
    }
}

/// What chat templates add to a message: a start, a role, a separator, an end.
const MESSAGE_OVERHEAD_TOKENS: u64 = 4;
/// The braces, quotes and words around a call.
const CALL_OVERHEAD_TOKENS: u64 = 8;
/// A picture at a common size. The bytes of its URL say nothing about what it costs.
const MEDIA_TOKENS: u64 = 1_200;

#[cfg(feature = "tokens")]
pub use exact::TiktokenCounter;

#[cfg(feature = "tokens")]
mod exact;

#[cfg(test)]
mod tests;
