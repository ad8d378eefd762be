//! The id by which a receiver knows a delivery again.

use std::fmt::{self, Write};

use jackline_model::{HookId, OperationId};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::HookKind;

/// The id of one delivery: the same whenever the same firing is delivered to the same hook again.
///
/// It follows from the place of the firing, so that it survives a crash without being stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct DeliveryId(String);

impl DeliveryId {
    /// The id of a firing at a place, for a hook and, where ids are equal, for the how-manieth of that id.
    pub(crate) fn of(place: &str, operation: &OperationId, hook: &HookId, twin: usize, kind: HookKind) -> Self {
        let twin = twin.to_string();
        let mut digest = Sha256::new();
        for part in [place, operation.as_str(), hook.as_str(), &twin, kind.as_str()] {
            // Lengths keep the parts apart.
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
        let mut text = String::from("dlv_");
        for byte in &digest.finalize()[..DIGEST_BYTES] {
            write!(text, "{byte:02x}").expect("a string takes all that is written");
        }
        Self(text)
    }

    /// Takes an id that was stored.
    pub fn from_stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Half of the digest: 128 bits tell apart more deliveries than there will be.
const DIGEST_BYTES: usize = 16;
