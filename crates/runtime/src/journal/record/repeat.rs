//! The repeat guard: opaque here, its own module says what it holds.

use serde::{Deserialize, Serialize};

use crate::repeat::RepeatGuard;

/// What the guard remembers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RepeatV1 {}

/// A guard that has seen nothing needs no record.
pub(super) fn repeat_to_record(guard: &RepeatGuard) -> Option<RepeatV1> {
    let RepeatGuard = guard;
    None
}

pub(super) fn repeat_from_record(record: Option<RepeatV1>) -> RepeatGuard {
    match record {
        Some(RepeatV1 {}) | None => RepeatGuard,
    }
}
