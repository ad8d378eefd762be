//! How long QStash waits before it delivers.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A span of time as QStash reads it: seconds, or numbers with units such as `1h30m`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay(Written);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Written {
    Seconds(u64),
    Span(String),
}

impl Delay {
    /// A span of whole seconds.
    pub fn seconds(seconds: u64) -> Self {
        Self(Written::Seconds(seconds))
    }

    /// Reads a number of seconds or a span with units. Nothing for any other value, nor for numbers of ten digits.
    /// How long it may be is up to the plan at QStash.
    ///
    /// ```
    /// use jackline_hooks::Delay;
    /// assert_eq!(Delay::from_json(&30.into()).unwrap().to_string(), "30s");
    /// assert_eq!(Delay::from_json(&"1h30m".into()).unwrap().to_string(), "1h30m");
    /// assert_eq!(Delay::from_json(&"soon".into()), None);
    /// assert_eq!(Delay::from_json(&"1000000000s".into()), None);
    /// ```
    pub fn from_json(value: &Value) -> Option<Self> {
        if let Some(seconds) = value.as_u64() {
            return (seconds <= SECONDS_MAX).then(|| Self::seconds(seconds));
        }
        let text = value.as_str().filter(|text| is_span(text))?;
        Some(Self(Written::Span(text.to_owned())))
    }
}

fn is_span(text: &str) -> bool {
    let mut digits = 0;
    for char in text.chars() {
        match char {
            '0'..='9' if digits < DIGITS_MAX => digits += 1,
            's' | 'm' | 'h' | 'd' if digits > 0 => digits = 0,
            _ => return false,
        }
    }
    !text.is_empty() && digits == 0
}

/// Thirty years, which no plan allows: more is a mistake.
const SECONDS_MAX: u64 = 999_999_999;

/// Of one number in a span; as much as [`SECONDS_MAX`] has.
const DIGITS_MAX: usize = 9;

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Written::Seconds(seconds) => write!(f, "{seconds}s"),
            Written::Span(span) => f.write_str(span),
        }
    }
}

impl Serialize for Delay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Written::Seconds(seconds) => serializer.serialize_u64(*seconds),
            Written::Span(span) => serializer.serialize_str(span),
        }
    }
}
