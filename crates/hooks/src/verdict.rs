//! What a hook that has a say can answer, and the proof that the whole chain was asked.

use jackline_model::{HookId, RawOutput};

use crate::HookKind;

/// What is to become of a call.
#[derive(Debug, PartialEq)]
pub enum BeforeVerdict {
    /// Run the tool.
    Proceed,
    /// Do not run it; this is its output. After-controls judge it like any other.
    Mock(RawOutput),
    /// Do not run it. The reason goes to the model; absent or empty, the gate words it.
    Deny {
        /// The hook's words, kept verbatim.
        reason: Option<String>,
    },
}

/// What is to become of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterVerdict {
    /// Publish it.
    Keep,
    /// Publish the reason in its place.
    Deny {
        /// The hook's words, kept verbatim.
        reason: Option<String>,
    },
}

/// The verdict of a whole chain: proof that every control that applies was asked.
///
/// Only the chain of this crate makes one, so whoever holds a ruling knows that no policy was
/// skipped. The gate of `jackline-tools` takes nothing else.
///
/// ```compile_fail
/// use jackline_hooks::{BeforeVerdict, Ruling};
/// let forged = Ruling { verdict: BeforeVerdict::Proceed, by: None };
/// ```
#[derive(Debug, PartialEq)]
#[must_use = "a ruling that nobody applies lets a call hang"]
pub struct Ruling<V> {
    verdict: V,
    by: Option<RuledBy>,
}

impl<V> Ruling<V> {
    #[cfg(feature = "dispatch")]
    pub(crate) fn new(verdict: V, by: Option<RuledBy>) -> Self {
        Self { verdict, by }
    }

    /// What was decided.
    pub fn verdict(&self) -> &V {
        &self.verdict
    }

    /// Which hook decided, when one did.
    pub fn by(&self) -> Option<&RuledBy> {
        self.by.as_ref()
    }

    /// Takes the ruling apart, to apply it.
    pub fn into_parts(self) -> (V, Option<RuledBy>) {
        (self.verdict, self.by)
    }
}

/// The hook behind a mock or a denial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuledBy {
    /// Its id.
    pub hook: HookId,
    /// The event it answered.
    pub event: HookKind,
    /// Whether a policy said so or a failing hook with `onError: block` did.
    pub cause: RulingCause,
}

/// Why a chain ended as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulingCause {
    /// A hook answered.
    Policy,
    /// A hook failed, and failures of this hook block.
    Failure,
}

/// The reason given when a control fails and failures block.
pub const CONTROL_ERROR_REASON: &str = "hook_control_error";

/// The classification of a denied result.
pub const DENIED_ERROR: &str = "hook_denied";
