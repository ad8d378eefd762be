//! The wire shapes of an answer, read so that no deviation loses the rest of it.
//!
//! Containers are [`Many`], which takes a list, a single object, null or nonsense. Leaves are JSON
//! values, read by [`text`] and [`count`]. A stream chunk and a whole body have the same shape.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A chunk of a stream, or a whole body.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Chunk {
    pub(crate) choices: Many<Choice>,
    pub(crate) usage: Value,
    pub(crate) error: Value,
    pub(crate) object: Value,
    pub(crate) r#type: Value,
    pub(crate) message: Value,
}

impl Chunk {
    /// Reads one; `None` if the text is no JSON object at all.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        // A key that stands twice stops the typed reader but not the untyped one, where the last wins.
        serde_json::from_slice::<Many<Self>>(text)
            .or_else(|_| serde_json::from_slice::<Value>(text).and_then(serde_json::from_value::<Many<Self>>))
            .ok()?
            .into_first()
    }
}

/// One of the answers; only the first is ever asked for.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Choice {
    pub(crate) index: Value,
    pub(crate) delta: Many<Delta>,
    pub(crate) message: Many<Delta>,
    pub(crate) finish_reason: Value,
    pub(crate) usage: Value,
    pub(crate) error: Value,
}

/// What an answer adds.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct Delta {
    pub(crate) content: Value,
    pub(crate) reasoning_content: Value,
    pub(crate) reasoning: Value,
    pub(crate) refusal: Value,
    pub(crate) images: Value,
    pub(crate) tool_calls: Many<CallDelta>,
    pub(crate) function_call: Many<FunctionDelta>,
}

/// A call, or a piece of one.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct CallDelta {
    pub(crate) index: Value,
    pub(crate) id: Value,
    pub(crate) function: Many<FunctionDelta>,
}

/// The name and the arguments of a call, or pieces of them.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(crate) struct FunctionDelta {
    pub(crate) name: Value,
    pub(crate) arguments: Value,
}

/// Objects where a list, one object or none is expected. What is no object is left out.
#[derive(Debug)]
pub(crate) struct Many<T>(Vec<T>);

impl<T> Many<T> {
    pub(crate) fn into_first(self) -> Option<T> {
        self.0.into_iter().next()
    }
}

impl<T> Default for Many<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> IntoIterator for Many<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ManyVisitor(std::marker::PhantomData))
    }
}

struct ManyVisitor<T>(std::marker::PhantomData<T>);

/// Accepts a scalar and makes nothing of it.
macro_rules! ignore_scalars {
    ($($method:ident: $kind:ty),+) => {$(
        fn $method<E>(self, _: $kind) -> Result<Self::Value, E> {
            Ok(Many::default())
        }
    )+};
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ManyVisitor<T> {
    type Value = Many<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    ignore_scalars!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Many::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Many(mut some)) = items.next_element()? {
            all.append(&mut some);
        }
        Ok(Many(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|one| Many(vec![one]))
    }
}

/// Text that is not empty.
pub(crate) fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

/// A count in any form of number, also as text. Negative and broken ones are unknown.
pub(crate) fn count(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.clone(),
        Value::String(text) => text.trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    // The cast saturates; the guard keeps out what is negative or not a number.
    number.as_u64().or_else(|| number.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64))
}

/// Whether the text is one complete JSON value.
pub(crate) fn is_complete_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_come_in_any_form() {
        for (value, expected) in [
            (json!(5_000_000_000_u64), Some(5_000_000_000)),
            (json!(26.0), Some(26)),
            (json!("26"), Some(26)),
            (json!(-1), None),
            (json!(null), None),
            (json!({}), None),
        ] {
            assert_eq!(count(&value), expected, "{value}");
        }
    }

    #[test]
    fn nonsense_in_one_place_keeps_the_rest() {
        let chunk = Chunk::parse(
            br#"{"choices":[null,7,{"index":"0","delta":{"content":"hi","tool_calls":"none","role":{}}}],"usage":[]}"#,
        )
        .unwrap();
        let delta = chunk.choices.into_first().unwrap().delta.into_first().unwrap();
        assert_eq!(text(&delta.content), Some("hi"));
    }

    #[test]
    fn a_key_that_stands_twice_is_read() {
        assert_eq!(Chunk::parse(br#"{"usage":1,"usage":2}"#).unwrap().usage, json!(2));
    }

    #[test]
    fn what_is_no_object_is_no_chunk() {
        for text in ["", "ping", "7", "{", "[]"] {
            assert!(Chunk::parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
