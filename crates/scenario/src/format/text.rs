//! Texts of a file: one or several, and long ones made of a short one.

use schemars::JsonSchema;
use serde::Deserialize;

/// One text or a list of texts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(from = "OneOrMany")]
#[schemars(with = "OneOrMany")]
pub struct Texts(pub Vec<String>);

/// A text as it is, or repeated until it is long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "PlainOrLong")]
#[schemars(with = "PlainOrLong")]
pub struct Text(pub String);

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a list of texts is needed")]
enum OneOrMany {
    One(Text),
    Many(Vec<Text>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a text or a table with `repeat` and `times` is needed")]
enum PlainOrLong {
    Plain(String),
    Long {
        /// The text.
        repeat: String,
        /// How often.
        times: usize,
    },
}

impl From<OneOrMany> for Texts {
    fn from(given: OneOrMany) -> Self {
        match given {
            OneOrMany::One(text) => Self(vec![text.0]),
            OneOrMany::Many(texts) => Self(texts.into_iter().map(|text| text.0).collect()),
        }
    }
}

impl From<PlainOrLong> for Text {
    fn from(given: PlainOrLong) -> Self {
        match given {
            PlainOrLong::Plain(text) => Self(text),
            PlainOrLong::Long { repeat, times } => Self(repeat.repeat(times.min(BYTES_MAX / repeat.len().max(1)))),
        }
    }
}

/// The longest text that a file can ask for: more than any limit of the runtime.
const BYTES_MAX: usize = 64 * 1024 * 1024;
