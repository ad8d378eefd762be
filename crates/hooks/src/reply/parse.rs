//! The reply of a control, byte for byte.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::FaultCode;

/// What a control outside the process answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlReply {
    /// Go on; later controls are still asked.
    Allow,
    /// Do not.
    Deny {
        /// The receiver's words, verbatim. Absent or empty, the gate words it.
        reason: Option<String>,
    },
    /// It has heard and says nothing; later controls are still asked, whatever `onError` says.
    Notification,
}

/// Reads the reply to a control: its status and its body.
///
/// A status outside 2xx is an error whatever the body says; 204 has no body.
///
/// ```
/// use jackline_hooks::{ControlReply, FaultCode, parse_reply};
/// assert_eq!(parse_reply(200, br#"{"decision":"allow"}"#), Ok(ControlReply::Allow));
/// assert_eq!(parse_reply(200, b"ok"), Ok(ControlReply::Notification));
/// assert_eq!(parse_reply(200, br#"{"decision":"Allow"}"#), Err(FaultCode::InvalidResponse));
/// assert_eq!(parse_reply(500, br#"{"decision":"allow"}"#), Err(FaultCode::HttpError));
/// ```
///
/// # Errors
///
/// - [`FaultCode::HttpError`]: the status is outside 2xx.
/// - [`FaultCode::ResponseTooLarge`], [`FaultCode::InvalidResponse`]: see [`parse_reply_body`].
pub fn parse_reply(status: u16, body: &[u8]) -> Result<ControlReply, FaultCode> {
    match status {
        204 => Ok(ControlReply::Notification),
        200..=299 => parse_reply_body(body),
        _ => Err(FaultCode::HttpError),
    }
}

/// Reads the body of a reply that counts.
///
/// What is no JSON object with a `decision` of its own is a notification. All fields but `decision`
/// and the `reason` of a denial are ignored, whatever they hold and however deep they nest. Of equal
/// keys the last counts, as in other readers of JSON. A leading byte order mark is skipped. Halves of
/// surrogate pairs in a reason become U+FFFD.
///
/// # Errors
///
/// - [`FaultCode::ResponseTooLarge`]: more than [`REPLY_BYTES_MAX`], white space included.
/// - [`FaultCode::InvalidResponse`]: no UTF-8, a decision that does not exist, or a reason that is no text.
pub fn parse_reply_body(body: &[u8]) -> Result<ControlReply, FaultCode> {
    let Some(members) = read(body)? else {
        return Ok(ControlReply::Notification);
    };
    match members.decision {
        None => Ok(ControlReply::Notification),
        Some(decision) => decide(decision, members.reason),
    }
}

/// The largest reply that is read: enough for any reason that a model should be shown.
pub const REPLY_BYTES_MAX: usize = 65_536;

/// The members of a reply that can count. Nothing if it is no JSON object.
pub(super) fn read(body: &[u8]) -> Result<Option<Members<'_>>, FaultCode> {
    if body.len() > REPLY_BYTES_MAX {
        return Err(FaultCode::ResponseTooLarge);
    }
    let text = std::str::from_utf8(body).map_err(|_| FaultCode::InvalidResponse)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Skipping a value needs no stack, so this holds at any depth. It refuses what no JSON reader takes,
    // which the reading of single members below would let pass.
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Ok(None);
    }
    Ok(serde_json::from_str(text).ok())
}

pub(super) fn decide(decision: &RawValue, reason: Option<&RawValue>) -> Result<ControlReply, FaultCode> {
    match text(decision).as_deref() {
        Some("allow") => Ok(ControlReply::Allow),
        Some("deny") => match reason.map(text) {
            None => Ok(ControlReply::Deny { reason: None }),
            Some(Some(reason)) => Ok(ControlReply::Deny { reason: Some(reason) }),
            Some(None) => Err(FaultCode::InvalidResponse),
        },
        Some(_) | None => Err(FaultCode::InvalidResponse),
    }
}

/// A JSON text as a string; nothing for a value of any other type.
fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str::<Bytes>(value.get()).ok().map(|bytes| bytes.to_text())
}

/// The members of a reply that can count, unread.
#[derive(Default)]
pub(super) struct Members<'a> {
    pub(super) decision: Option<&'a RawValue>,
    pub(super) reason: Option<&'a RawValue>,
    pub(super) mock: Option<&'a RawValue>,
}

impl<'a> Members<'a> {
    /// Keeps a member that can count. Of equal keys the last one stays.
    fn take(&mut self, key: &[u8], value: &'a RawValue) {
        match key {
            b"decision" => self.decision = Some(value),
            b"reason" => self.reason = Some(value),
            b"mock" => self.mock = Some(value),
            _ => {}
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Members::default();
                while let Some(key) = map.next_key::<Bytes>()? {
                    let value: &'de RawValue = map.next_value()?;
                    members.take(&key.0, value);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// A JSON string as bytes: UTF-8, but for halves of surrogate pairs, which JSON may hold and a `str` may not.
struct Bytes(Vec<u8>);

impl Bytes {
    fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.0.len());
        let mut rest = self.0.as_slice();
        while !rest.is_empty() {
            match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    break;
                }
                Err(error) => {
                    let (valid, bad) = rest.split_at(error.valid_up_to());
                    text.push_str(std::str::from_utf8(valid).unwrap_or_default());
                    text.push('\u{fffd}');
                    // The half of a pair takes three bytes, all of which are invalid.
                    rest = bad.get(SURROGATE_BYTES..).unwrap_or_default();
                }
            }
        }
        text
    }
}

/// What the half of a surrogate pair takes.
const SURROGATE_BYTES: usize = 3;

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Read)
    }
}
