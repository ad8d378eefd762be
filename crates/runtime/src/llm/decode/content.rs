//! The content of an answer: text, or a list of parts.

use jackline_model::{Content, Part};
use serde_json::Value;

use super::chunk::text;

/// The words and the media of an answer, as far as they have arrived.
#[derive(Debug, Default)]
pub(crate) struct ContentAssembler {
    parts: Vec<Part>,
    /// What a part of kind `thinking` said; belongs to the reasoning.
    pub(crate) thinking: String,
}

impl ContentAssembler {
    /// Takes `content` in any form and returns its text, which is new.
    pub(crate) fn handle(&mut self, content: &Value) -> String {
        match content {
            Value::String(words) => {
                self.push_text(words);
                words.clone()
            }
            Value::Array(parts) => parts.iter().map(|part| self.handle(part)).collect(),
            Value::Object(_) => self.handle_part(content),
            Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
        }
    }

    /// All text so far.
    pub(crate) fn text(&self) -> String {
        self.parts.iter().filter_map(words_of).collect()
    }

    /// Whether there is neither a word nor anything else.
    pub(crate) fn is_blank(&self) -> bool {
        self.parts.iter().all(|part| words_of(part).is_some_and(|words| words.trim().is_empty()))
    }

    /// The content; plain text where there is nothing but text.
    pub(crate) fn into_content(mut self) -> Content {
        if self.parts.iter().any(|part| words_of(part).is_none()) {
            return Content::Parts(self.parts);
        }
        match (self.parts.pop(), self.parts.is_empty()) {
            (Some(Part::Text { text }), true) => text.into(),
            (Some(_) | None, _) => "".into(),
        }
    }

    fn handle_part(&mut self, part: &Value) -> String {
        if let Some(thought) = part.get("thinking") {
            self.thinking.push_str(&joined_text(thought));
            return String::new();
        }
        if let Some(url) = url_of(part, "image_url").or_else(|| url_of(part, "image")) {
            self.parts.push(Part::Image { url });
            return String::new();
        }
        let words = part.get("text").map(joined_text).unwrap_or_default();
        self.push_text(&words);
        words
    }

    fn push_text(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Text { text }) => text.push_str(words),
            Some(Part::Image { .. } | Part::File { .. } | Part::Audio { .. } | Part::Video { .. }) | None => {
                self.parts.push(Part::Text { text: words.to_owned() });
            }
        }
    }
}

/// Text, or the texts of a list of parts.
pub(crate) fn joined_text(value: &Value) -> String {
    match value {
        Value::String(words) => words.clone(),
        Value::Array(parts) => parts.iter().map(joined_text).collect(),
        Value::Object(part) => part.get("text").and_then(text).unwrap_or_default().to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn url_of(part: &Value, key: &str) -> Option<String> {
    let value = part.get(key)?;
    text(value).or_else(|| text(&value["url"])).map(str::to_owned)
}

fn words_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        Part::Image { .. } | Part::File { .. } | Part::Audio { .. } | Part::Video { .. } => None,
    }
}
