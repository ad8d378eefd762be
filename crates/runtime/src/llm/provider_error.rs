//! An error object of a provider, in any of the shapes that servers use.

use serde_json::Value;

use super::limits::ERROR_NESTING_MAX;

/// What a provider said about a failure; all of it is optional, none of it is trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// The HTTP status, or a number in the same range inside the error.
    pub(crate) status: Option<u16>,
    /// The codes and types found, innermost last, in lower case.
    pub(crate) codes: Vec<String>,
    /// The message, with that of the provider behind a gateway added.
    pub(crate) message: String,
}

impl ProviderError {
    /// Reads the body of an HTTP answer that is not a success.
    pub(crate) fn from_body(status: u16, body: &str) -> Self {
        let mut error = Self { status: Some(status), ..Self::default() };
        match serde_json::from_str::<Value>(body.trim_start_matches('\u{feff}')) {
            Ok(value) => error.collect(&value, 0),
            Err(_) => error.add_message(&plain_text(body)),
        }
        error
    }

    /// Reads an error that came inside of an answer with a good status.
    pub(crate) fn from_value(value: &Value) -> Self {
        let mut error = Self::default();
        error.collect(value, 0);
        error
    }

    fn collect(&mut self, value: &Value, depth: usize) {
        if depth > ERROR_NESTING_MAX {
            return;
        }
        match value {
            Value::String(text) => self.collect_text(text, depth),
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, depth + 1)),
            Value::Object(fields) => {
                for key in CODE_KEYS {
                    self.add_code(fields.get(key));
                }
                for key in MESSAGE_KEYS.iter().chain(&NESTED_KEYS) {
                    fields.get(*key).into_iter().for_each(|inner| self.collect(inner, depth + 1));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Gateways put the error of the provider behind them into a string.
    fn collect_text(&mut self, text: &str, depth: usize) {
        match serde_json::from_str::<Value>(text) {
            Ok(inner @ Value::Object(_)) => self.collect(&inner, depth + 1),
            Ok(_) | Err(_) => self.add_message(text),
        }
    }

    fn add_code(&mut self, code: Option<&Value>) {
        let text = match code {
            Some(Value::String(text)) => text.trim().to_ascii_lowercase(),
            Some(Value::Number(number)) => number.to_string(),
            // A structured code says nothing that the table knows.
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => return,
        };
        match text.parse::<u16>() {
            Ok(status @ 400..=599) => self.status = self.status.or(Some(status)),
            Ok(_) => {}
            Err(_) => self.codes.push(text),
        }
    }

    fn add_message(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() || self.message.contains(text) {
            return;
        }
        if !self.message.is_empty() {
            self.message.push_str(": ");
        }
        self.message.push_str(text);
    }
}

/// An HTML page or other text as one line, without tags.
fn plain_text(body: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let mut is_tag = false;
    for letter in body.chars() {
        match letter {
            '<' => is_tag = true,
            '>' if is_tag => {
                is_tag = false;
                text.push(' ');
            }
            _ if is_tag => {}
            _ => text.push(letter),
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const CODE_KEYS: [&str; 5] = ["code", "type", "status", "error_code", "reason"];
const MESSAGE_KEYS: [&str; 5] = ["message", "msg", "detail", "error_description", "title"];
const NESTED_KEYS: [&str; 8] = ["error", "errors", "innererror", "inner_error", "body", "details", "metadata", "raw"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_body_keeps_its_message() {
        for (body, message) in [
            (r#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#, "slow down"),
            (r#"{"error":"slow down"}"#, "slow down"),
            (r#"{"detail":"slow down"}"#, "slow down"),
            (r#"{"detail":[{"loc":["body"],"msg":"slow down","type":"x"}]}"#, "slow down"),
            (r#"{"object":"error","message":"slow down","code":42901}"#, "slow down"),
            (r#"[{"error":{"message":"slow down","status":"RESOURCE_EXHAUSTED"}}]"#, "slow down"),
            ("<html><head><title>429</title></head>\n<body>slow  down</body></html>", "429 slow down"),
            ("slow down", "slow down"),
            ("", ""),
        ] {
            assert_eq!(ProviderError::from_body(429, body).message, message, "{body}");
        }
    }

    #[test]
    fn error_in_a_string_of_a_gateway_is_found() {
        let body = r#"{"error":{"message":"Provider returned error","code":400,
            "metadata":{"raw":"{\"error\":{\"message\":\"too big\",\"code\":\"context_length_exceeded\"}}"}}}"#;
        let error = ProviderError::from_body(400, body);
        assert_eq!(error.message, "Provider returned error: too big");
        assert_eq!(error.codes, ["context_length_exceeded"]);
    }

    #[test]
    fn number_in_the_error_is_its_status_when_http_gave_none() {
        let inner = serde_json::json!({"message": "upstream overloaded", "code": 502});
        assert_eq!(ProviderError::from_value(&inner).status, Some(502));
        let text = serde_json::json!({"message": "x", "code": "429"});
        assert_eq!(ProviderError::from_value(&text).status, Some(429));
        assert_eq!(ProviderError::from_body(400, r#"{"error":{"code":502}}"#).status, Some(400));
    }

    #[test]
    fn endless_nesting_ends() {
        let body = format!("{}\"deep\"{}", r#"{"error":"#.repeat(60), "}".repeat(60));
        assert_eq!(ProviderError::from_body(500, &body).message, "");
    }
}
