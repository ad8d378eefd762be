//! The arguments of a call, in the forms that decisions need.

use std::fmt;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The arguments as they were read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arguments<'a> {
    /// A JSON object.
    Parsed(&'a Map<String, Value>),
    /// Not JSON, or not an object. No rule can be trusted to see what the call would do.
    Malformed,
}

/// Reads the arguments as the model wrote them; blank text means none.
///
/// `None` when the text is not one JSON object.
///
/// ```
/// use jackline_runtime::permission::parse_arguments;
/// assert_eq!(parse_arguments(" ").map(|arguments| arguments.len()), Some(0));
/// assert_eq!(parse_arguments("{\"path\":"), None);
/// ```
pub fn parse_arguments(text: &str) -> Option<Map<String, Value>> {
    if text.trim().is_empty() {
        return Some(Map::new());
    }
    serde_json::from_str(text).ok()
}

/// The SHA-256 of arguments, the same however keys are ordered and blanks are set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArgumentDigest([u8; 32]);

impl ArgumentDigest {
    /// The digest of a call's arguments. Text that is not JSON counts as it stands, without the
    /// blanks around it.
    pub fn of_text(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::of_value(&Value::Object(Map::new()));
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Self::of_value(&value),
            Err(_) => Self(Sha256::digest(text.trim().as_bytes()).into()),
        }
    }

    /// The digest of a value.
    pub fn of_value(value: &Value) -> Self {
        Self(Sha256::digest(canonical_json(value).as_bytes()).into())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ArgumentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ArgumentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for ArgumentDigest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ArgumentDigest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        from_hex(&text).map(Self).ok_or_else(|| serde::de::Error::custom("a digest is 64 hexadecimal digits"))
    }
}

/// JSON without blanks, keys sorted at every level: equal values give equal text.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{value}");
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => write_object(map, out),
    }
}

fn write_object(map: &Map<String, Value>, out: &mut String) {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_unstable();
    out.push('{');
    for (index, key) in keys.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let _ = write!(out, "{}:", Value::String(key.clone()));
        write_canonical(&map[key], out);
    }
    out.push('}');
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perm_40_digest_ignores_key_order_and_blanks_at_every_level() {
        let one = ArgumentDigest::of_text(r#"{"a":1,"b":{"x":[1,2],"y":null}}"#);
        assert_eq!(one, ArgumentDigest::of_text(r#" { "b": {"y": null, "x": [1, 2]}, "a": 1 } "#));
        assert_ne!(one, ArgumentDigest::of_text(r#"{"a":1,"b":{"x":[2,1],"y":null}}"#));
        assert_ne!(one, ArgumentDigest::of_text(r#"{"a":"1","b":{"x":[1,2],"y":null}}"#));
    }

    #[test]
    fn perm_40_digest_works_for_empty_and_malformed_arguments() {
        assert_eq!(ArgumentDigest::of_text(""), ArgumentDigest::of_text("{}"));
        assert_eq!(ArgumentDigest::of_text(" {oops "), ArgumentDigest::of_text("{oops"));
        assert_ne!(ArgumentDigest::of_text("{oops"), ArgumentDigest::of_text("{}"));
    }

    #[test]
    fn a_digest_survives_serialisation() {
        let digest = ArgumentDigest::of_text("{}");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<ArgumentDigest>(&text).unwrap(), digest);
        assert!(serde_json::from_str::<ArgumentDigest>("\"12\"").is_err());
    }
}
