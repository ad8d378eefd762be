//! The arguments of a call: from the text that a model wrote to an object that a tool can take.
//!
//! The text itself is never altered: hooks and people see what the model wrote. What may go back to
//! a provider is [`replayable`]; what the repeat guard and the idempotency key see is [`canonical`].
//! Whether an object fits the tool is decided by [`ArgumentSchema`](crate::ArgumentSchema).

use std::borrow::Cow;

use jackline_model::OperationId;
use serde_json::{Map, Value, json};

use crate::limits;
use crate::text::{prefix, sha256_hex};

/// The arguments of a call as an object, and what had to be mended to get it.
#[derive(Clone, Debug, PartialEq)]
pub struct Arguments {
    /// The object.
    pub object: Map<String, Value>,
    /// What was mended; `None` if the text was an object as it stood.
    pub repair: Option<Repair>,
}

/// What was mended in the text of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// There was no text, or `null`.
    Absent,
    /// The object was the content of a JSON string.
    Unwrapped,
    /// Text followed the object and was left out.
    TextAfter,
}

/// Why arguments cannot be used. The text tells a model how to repair them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentProblem {
    /// Not JSON.
    #[error(
        "The arguments are not valid JSON: {0}. Send one JSON object; inside strings write \" as \\\", a backslash as \
         \\\\ and a line break as \\n. NaN and Infinity do not exist in JSON."
    )]
    Broken(String),
    /// JSON, but not an object.
    #[error("The arguments are {0}, but an object is needed. Send one JSON object such as {{\"name\": \"value\"}}.")]
    NotAnObject(&'static str),
    /// More than one JSON value.
    #[error("The arguments are more than one JSON value. Send exactly one object for each call.")]
    Several,
    /// More text than is looked at.
    #[error("The arguments are {bytes} bytes long; at most {bytes_max} are accepted. Send less, in several calls.")]
    TooLong {
        /// How long they are.
        bytes: usize,
        /// How long they may be.
        bytes_max: usize,
    },
    /// An object, but not what the tool's schema asks for.
    #[error("The arguments do not fit the tool. {}", mismatch_text(.problems, *.more))]
    Mismatch {
        /// What is wrong where.
        problems: Vec<String>,
        /// Whether there is more than is listed.
        more: bool,
    },
}

/// Reads the text of arguments, tolerantly where there is no doubt what is meant.
///
/// No text and `null` are the empty object; an object inside a JSON string is taken out, once; prose
/// after an object is left out. Nothing is guessed beyond that: a repaired call may do harm.
///
/// # Errors
///
/// [`ArgumentProblem`]: answer the call with its text and do not run the tool. It is never
/// [`Mismatch`](ArgumentProblem::Mismatch), which only the schema can find.
///
/// ```
/// use jackline_tools::arguments::{self, Repair};
///
/// let arguments = arguments::parse(r#"{"text":"milk"} I will add this now"#).unwrap();
/// assert_eq!(arguments.object["text"], "milk");
/// assert_eq!(arguments.repair, Some(Repair::TextAfter));
///
/// let problem = arguments::parse(r#"{"x":NaN}"#).unwrap_err();
/// assert!(problem.to_string().contains("not valid JSON"));
/// ```
pub fn parse(raw: &str) -> Result<Arguments, ArgumentProblem> {
    if raw.len() > limits::ARGUMENT_BYTES_MAX {
        return Err(ArgumentProblem::TooLong { bytes: raw.len(), bytes_max: limits::ARGUMENT_BYTES_MAX });
    }
    if raw.trim().is_empty() {
        return Ok(Arguments { object: Map::new(), repair: Some(Repair::Absent) });
    }
    let (value, after) = first_value(raw)?;
    match value {
        Value::Object(object) if after.is_empty() => Ok(Arguments { object, repair: None }),
        Value::Object(_) if after.starts_with(['{', '[']) => Err(ArgumentProblem::Several),
        Value::Object(object) => Ok(Arguments { object, repair: Some(Repair::TextAfter) }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) if !after.is_empty() => {
            Err(ArgumentProblem::Broken("text follows the first value".to_owned()))
        }
        Value::Null => Ok(Arguments { object: Map::new(), repair: Some(Repair::Absent) }),
        Value::String(inner) => match serde_json::from_str::<Map<String, Value>>(&inner) {
            Ok(object) => Ok(Arguments { object, repair: Some(Repair::Unwrapped) }),
            Err(_) => Err(ArgumentProblem::NotAnObject("a string")),
        },
        Value::Array(_) => Err(ArgumentProblem::NotAnObject("a list")),
        Value::Number(_) => Err(ArgumentProblem::NotAnObject("a number")),
        Value::Bool(_) => Err(ArgumentProblem::NotAnObject("a boolean")),
    }
}

/// The text of arguments in a form that any provider takes back: always one JSON object, without
/// lone surrogates.
///
/// An object is unchanged, byte for byte. Where [`parse`] mends, this is the mended object. All else
/// becomes `{"_raw": …}` with the beginning of the text, so that the model still sees its mistake.
///
/// ```
/// use jackline_tools::arguments::replayable;
/// assert_eq!(replayable(r#"{"a": 1}"#), r#"{"a": 1}"#);
/// assert_eq!(replayable(""), "{}");
/// assert_eq!(replayable("{oops"), r#"{"_raw":"{oops"}"#);
/// ```
pub fn replayable(raw: &str) -> Cow<'_, str> {
    match parse(raw) {
        Ok(Arguments { repair: None, .. }) => Cow::Borrowed(raw),
        Ok(Arguments { object, repair: Some(_) }) => Cow::Owned(Value::Object(object).to_string()),
        Err(_) => Cow::Owned(quoted(raw)),
    }
}

/// The arguments with the keys of all objects in order, so that equal arguments are equal texts.
/// No text and `null` are the empty object, as for [`parse`]; what is not JSON is the trimmed text.
///
/// ```
/// use jackline_tools::arguments::canonical;
/// assert_eq!(canonical(r#"{"b": [2, 1], "a": 1}"#), r#"{"a":1,"b":[2,1]}"#);
/// assert_eq!(canonical(" "), "{}");
/// assert_eq!(canonical(" {oops "), "{oops");
/// ```
pub fn canonical(raw: &str) -> String {
    let trimmed = raw.trim();
    if trimmed.is_empty() {
        return "{}".to_owned();
    }
    if trimmed.len() > limits::ARGUMENT_BYTES_MAX {
        return trimmed.to_owned();
    }
    match serde_json::from_str::<Value>(trimmed) {
        Ok(Value::Null) => "{}".to_owned(),
        Ok(value) => canonical_json(value),
        Err(_) => trimmed.to_owned(),
    }
}

/// A value as JSON without blanks, the keys of all objects in order: equal values are equal texts.
pub fn canonical_json(value: Value) -> String {
    sorted(value).to_string()
}

/// A short stand-in for arguments: the SHA-256 of their canonical text, in hex.
pub fn digest(raw: &str) -> String {
    sha256_hex(&[canonical(raw).as_bytes()])
}

/// The key under which a service can recognise a second run of the same call: the same for every run
/// at this place of this operation with these arguments, in any process, whatever the attempt.
///
/// `place` is the effect's, such as `s3.c1`; `canonical` comes from [`canonical`].
pub fn idempotency_key(operation: &OperationId, place: &str, canonical: &str) -> String {
    // The lengths keep two different triples from being one text.
    let lengths = format!("{}:{}:", operation.as_str().len(), place.len());
    sha256_hex(&[lengths.as_bytes(), operation.as_str().as_bytes(), place.as_bytes(), canonical.as_bytes()])
}

/// The first JSON value in a text, and what follows it, trimmed.
fn first_value(raw: &str) -> Result<(Value, &str), ArgumentProblem> {
    let mut values = serde_json::Deserializer::from_str(raw).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok((value, raw[values.byte_offset()..].trim())),
        Some(Err(error)) if error.is_eof() => Err(ArgumentProblem::Broken(format!("they break off ({error})"))),
        Some(Err(error)) => Err(ArgumentProblem::Broken(error.to_string())),
        None => Err(ArgumentProblem::Broken("there is no value".to_owned())),
    }
}

fn quoted(raw: &str) -> String {
    let shown = prefix(raw, limits::REPLAYED_RAW_BYTES_MAX);
    if shown.len() == raw.len() { json!({"_raw": raw}) } else { json!({"_bytes": raw.len(), "_raw": shown}) }
        .to_string()
}

/// The depth is bounded by the parser's.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|(left, _), (right, _)| left.cmp(right));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn mismatch_text(problems: &[String], more: bool) -> String {
    let ending = if more { "; and more" } else { "" };
    format!("{}{ending}. Repair this and send the call again.", problems.join("; "))
}

#[cfg(test)]
mod tests;
