//! Secrets of a client, and how they are kept out of every text.

use std::fmt;

use serde_json::Value;

use crate::llm::ModelFault;

/// What must never be shown: the key, and the values of additional headers.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    forms: Vec<String>,
}

impl Secrets {
    /// Adds one. Texts of one to three characters are no secrets, and masking them would mangle words.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.chars().count() < SECRET_CHARS_MIN {
            return;
        }
        self.forms.push(secret.to_owned());
        // In the raw text of a JSON body a slash may be escaped.
        if secret.contains('/') {
            self.forms.push(secret.replace('/', "\\/"));
        }
        // Codes of errors are compared in lower case, and kept so.
        self.forms.push(secret.to_ascii_lowercase());
        self.forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    }

    /// The text without any of them.
    pub(crate) fn mask(&self, text: &str) -> String {
        let masked = self.forms.iter().fold(text.to_owned(), |text, form| text.replace(form, MASK));
        self.mask_end(masked)
    }

    /// A text that was cut for its length may end in the middle of a secret.
    fn mask_end(&self, mut text: String) -> String {
        let end = text.trim_end_matches('…').len();
        let cut = |form: &String| {
            let starts = form.char_indices().map(|(at, _)| &form[..at]).filter(|start| start.len() >= SECRET_CHARS_MIN);
            starts.filter(|start| text[..end].ends_with(start)).map(str::len).max()
        };
        if let Some(length) = self.forms.iter().filter_map(cut).max() {
            text.replace_range(end - length..end, MASK);
        }
        text
    }

    /// The fault without any of them: servers quote keys back.
    pub(crate) fn mask_fault(&self, mut fault: ModelFault) -> ModelFault {
        fault.fault.message = self.mask(&fault.fault.message);
        fault.partial = self.mask(&fault.partial);
        fault.fault.detail = fault.fault.detail.map(|detail| self.mask_value(detail));
        fault
    }

    fn mask_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.mask(&text)),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.mask_value(item)).collect()),
            Value::Object(fields) => {
                let masked = fields.into_iter().map(|(key, value)| (self.mask(&key), self.mask_value(value)));
                Value::Object(masked.collect())
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

const MASK: &str = "[secret]";
const SECRET_CHARS_MIN: usize = 4;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::llm::fault::FaultClass;

    #[test]
    fn c133_secrets_are_masked_everywhere_in_a_fault() {
        let mut secrets = Secrets::default();
        secrets.add("sk-a/b");
        secrets.add("sk-a/b-long");
        let mut fault = FaultClass::Unauthorized.fault("key sk-a/b-long or sk-a\\/b is wrong");
        fault.partial = "sk-a/b".to_owned();
        fault.fault.detail = Some(json!({"sk-a/b": ["sk-a/b", 1]}));
        let text = format!("{:?}", secrets.mask_fault(fault));
        assert!(!text.contains("sk-a"), "{text}");
        assert!(text.contains("key [secret] or [secret] is wrong"));
        assert!(!format!("{secrets:?}").contains("sk-a"));
    }

    #[test]
    fn c133_secret_that_was_cut_or_lowered_is_masked_too() {
        let mut secrets = Secrets::default();
        secrets.add("sk-SECRET-0123456789");
        assert_eq!(secrets.mask("wrong key sk-SECRET-01234…"), "wrong key [secret]…");
        assert_eq!(secrets.mask("wrong key sk-SECRET"), "wrong key [secret]");
        assert_eq!(secrets.mask("bad_sk-secret-0123456789"), "bad_[secret]");
        assert_eq!(secrets.mask("a risk"), "a risk");
    }

    #[test]
    fn short_texts_are_not_masked() {
        let mut secrets = Secrets::default();
        secrets.add("");
        secrets.add("no");
        assert_eq!(secrets.mask("nothing"), "nothing");
    }
}
