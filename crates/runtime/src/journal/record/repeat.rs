//! The repeat guard: its own module says what it holds.

use serde::{Deserialize, Serialize};

use crate::repeat::{RepeatGuard, RepeatParts};

/// What the guard remembers.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct RepeatV1(RepeatParts);

/// A guard that has seen nothing needs no record.
pub(super) fn repeat_to_record(guard: &RepeatGuard) -> Option<RepeatV1> {
    (*guard != RepeatGuard::default()).then(|| RepeatV1(guard.to_parts()))
}

pub(super) fn repeat_from_record(record: Option<RepeatV1>) -> RepeatGuard {
    record.map_or_else(RepeatGuard::default, |RepeatV1(parts)| RepeatGuard::from_parts(parts))
}
