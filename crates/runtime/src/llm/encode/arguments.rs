//! Arguments as they may stand in a history: always one JSON object.

use std::borrow::Cow;

use serde_json::{Value, json};

/// The arguments in a form that every provider takes back.
///
/// What the model wrote is kept where it is an object. A strict gateway refuses the whole request
/// for anything else, again and again, so that is wrapped.
pub(crate) fn replayable_arguments(raw: &str) -> Cow<'_, str> {
    if raw.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(Value::Object(_)) => Cow::Borrowed(raw),
        Ok(Value::Null) => Cow::Borrowed("{}"),
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) | Err(_) => {
            Cow::Owned(json!({ "raw": raw }).to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c001_to_c012_every_replay_is_one_json_object() {
        for (raw, expected) in [
            ("", "{}"),
            (" \n", "{}"),
            ("null", "{}"),
            (r#"{"text": "milk"}"#, r#"{"text": "milk"}"#),
            (r#"{"text":"milk"} I will add this now"#, r#"{"raw":"{\"text\":\"milk\"} I will add this now"}"#),
            ("{\"re\":\"\\x41\nb\"}", r#"{"raw":"{\"re\":\"\\x41\nb\"}"}"#),
            (r#"{"x":NaN}"#, r#"{"raw":"{\"x\":NaN}"}"#),
            ("[]", r#"{"raw":"[]"}"#),
            ("7", r#"{"raw":"7"}"#),
            (r#"{"a":"\ud800"}"#, r#"{"raw":"{\"a\":\"\\ud800\"}"}"#),
        ] {
            assert_eq!(replayable_arguments(raw), expected, "{raw}");
        }
    }
}
