//! The on-disk form of what happened: one JSON text per batch, in a type of its own.
//!
//! Nothing of the machine is serialized here. Each fact of an [`Input`] or a [`Boundary`] is copied
//! into a record type and back, by matches without a wildcard, so that a new variant of the machine
//! is a compile error here before it is a mystery on somebody's disk.
//!
//! What old and new programs make of each other's records:
//!
//! - A newer program reads older records: fields that are absent have their defaults.
//! - An older program refuses a newer version by its number ([`RecordError::TooNew`]). Whoever adds
//!   a word or a field that old programs would misread raises [`VERSION`].
//! - A field that nobody knows is damage, not a guess.

mod boundary;
mod calls;
mod codes;
mod firing;
mod input;
mod instruction;
mod repeat;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use self::boundary::BoundaryV1;
use self::input::WhatV1;
use super::port::StoreError;
use crate::machine::{Boundary, Input};

/// The version that [`encode`] writes.
pub const VERSION: u32 = 1;

/// Writes a batch: inputs in order, each with the boundary that it closed, if it closed a step.
///
/// ```
/// use jackline_runtime::journal::{decode, encode};
/// use jackline_runtime::machine::{Input, What};
///
/// let batch = [(Input { at: 1_700_000_000_000, what: What::BeginRequested }, None)];
/// let text = encode(&batch);
/// assert_eq!(text, r#"{"v":1,"t":1700000000000,"r":[{"w":"begin"}]}"#);
/// assert_eq!(decode(&text).unwrap(), batch);
///
/// let newer = decode(r#"{"v":2,"anything":"else"}"#).unwrap_err();
/// assert_eq!(newer.to_string(), "the record has version 2; this program reads up to 1");
/// ```
pub fn encode(batch: &[(Input, Option<Boundary>)]) -> String {
    let base = batch.first().map_or(0, |(input, _)| input.at);
    let records = batch.iter().map(|(input, boundary)| RecordV1::of(base, input, boundary.as_ref())).collect();
    serde_json::to_string(&RecordsV1 { v: VERSION, t: base, r: records })
        .expect("records are structs, lists and strings; none of them can fail to become JSON")
}

/// Reads a batch back.
///
/// # Errors
///
/// - [`RecordError::TooNew`]: a newer program wrote it. Use that program, or a newer one.
/// - [`RecordError::Damaged`]: the text is no record. Restore the store from a backup.
pub fn decode(text: &str) -> Result<Vec<(Input, Option<Boundary>)>, RecordError> {
    let records: RecordsV1 = match serde_json::from_str(text) {
        Ok(records) => records,
        Err(error) => return Err(refusal(text, &error)),
    };
    if records.v != VERSION {
        return Err(RecordError::TooNew { found: records.v, known: VERSION });
    }
    Ok(records.r.into_iter().map(|record| record.into_parts(records.t)).collect())
}

/// A record that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A newer program wrote it.
    #[error("the record has version {found}; this program reads up to {known}")]
    TooNew {
        /// Its version.
        found: u32,
        /// The newest known.
        known: u32,
    },
    /// The text makes no sense.
    #[error("the record is damaged: {what}")]
    Damaged {
        /// What is wrong, and where.
        what: String,
    },
}

impl From<RecordError> for StoreError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::TooNew { found, known } => Self::TooNew { what: "a record of the journal", found, known },
            RecordError::Damaged { what } => Self::Damaged(format!("a record of the journal: {what}")),
        }
    }
}

/// Another version explains a failure better than its symptoms do.
fn refusal(text: &str, error: &serde_json::Error) -> RecordError {
    match serde_json::from_str::<Head>(text) {
        Ok(Head { v }) if v != VERSION => RecordError::TooNew { found: v, known: VERSION },
        Ok(_) | Err(_) => RecordError::Damaged { what: error.to_string() },
    }
}

#[derive(Deserialize)]
struct Head {
    v: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordsV1 {
    v: u32,
    /// The time of the first record; the others count from it.
    t: u64,
    r: Vec<RecordV1>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordV1 {
    /// Milliseconds after the first record of the batch.
    #[serde(default, skip_serializing_if = "is_zero")]
    d: i64,
    w: WhatV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b: Option<Box<BoundaryV1>>,
}

impl RecordV1 {
    fn of(base: u64, input: &Input, boundary: Option<&Boundary>) -> Self {
        let b = boundary.map(|boundary| Box::new(BoundaryV1::of(boundary, input.at)));
        Self { d: since(base, input.at), w: WhatV1::of(&input.what), b }
    }

    fn into_parts(self, base: u64) -> (Input, Option<Boundary>) {
        let at = after(base, self.d);
        (Input { at, what: self.w.into_what() }, self.b.map(|boundary| boundary.into_boundary(at)))
    }
}

/// A time as the distance from another. Wraps, so that any two times make a round trip.
fn since(base: u64, time: u64) -> i64 {
    time.wrapping_sub(base).cast_signed()
}

/// The reverse of [`since`].
fn after(base: u64, distance: i64) -> u64 {
    base.wrapping_add(distance.cast_unsigned())
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_zero(value: &i64) -> bool {
    *value == 0
}
