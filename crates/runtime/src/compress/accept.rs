//! Whether a summary may take the place of what it stands for.

use jackline_model::{Fault, FaultAttribution};
use serde_json::{Value, json};

use super::threshold::ThresholdSettings;

/// A history with the summary in it, before anything is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal<'a> {
    /// What the model wrote.
    pub summary: &'a str,
    /// Tokens of the history as it is, tools included.
    pub tokens_before: u64,
    /// Tokens of the history as it would be, tools included.
    pub tokens_after: u64,
}

/// Why a summary is not taken. The history stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The model wrote nothing.
    #[error("the summary is empty")]
    EmptySummary,
    /// Nothing would be gained.
    #[error("the history would not shrink: {before} tokens before, {after} after")]
    NotSmaller {
        /// Tokens as it is.
        before: u64,
        /// Tokens as it would be.
        after: u64,
    },
    /// The next call would ask for a summary again.
    #[error("the history would still be too long: {after} tokens, and more than {threshold} are too many")]
    StillTooLong {
        /// Tokens as it would be, with the margin for drift.
        after: u64,
        /// The threshold with a summary.
        threshold: u64,
    },
}

/// Checks a proposal.
///
/// # Errors
///
/// [`Rejection`]: the fold has failed. [`CompressionGuard`](super::CompressionGuard) says how the run
/// goes on.
pub fn accept(proposal: &Proposal<'_>, settings: &ThresholdSettings) -> Result<(), Rejection> {
    let Proposal { summary, tokens_before: before, tokens_after: after } = *proposal;
    if summary.trim().is_empty() {
        return Err(Rejection::EmptySummary);
    }
    if after >= before {
        return Err(Rejection::NotSmaller { before, after });
    }
    if settings.exceeds(after, true) {
        return Err(Rejection::StillTooLong { after: settings.adjusted(after), threshold: settings.threshold(true) });
    }
    Ok(())
}

/// The fault that ends a run whose history cannot be made to fit.
pub fn overflow_fault(tokens: u64, settings: &ThresholdSettings, has_summary: bool) -> Fault {
    let threshold = settings.threshold(has_summary);
    Fault {
        code: "context_overflow".to_owned(),
        message: format!("the conversation has about {tokens} tokens, {threshold} fit, and it cannot be made shorter"),
        attribution: FaultAttribution::User,
        detail: Some(sizes(tokens, settings, has_summary)),
    }
}

/// The sizes that a fault about a long history names.
pub fn sizes(tokens: u64, settings: &ThresholdSettings, has_summary: bool) -> Value {
    json!({"tokens": tokens, "threshold": settings.threshold(has_summary), "window": settings.window})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(summary: &str, before: u64, after: u64) -> Result<(), Rejection> {
        let proposal = Proposal { summary, tokens_before: before, tokens_after: after };
        accept(&proposal, &ThresholdSettings { window: Some(1_000), ..ThresholdSettings::default() })
    }

    #[test]
    fn cmp_31_empty_summary_is_rejected() {
        assert_eq!(check("", 900, 100), Err(Rejection::EmptySummary));
        assert_eq!(check(" \n\t", 900, 100), Err(Rejection::EmptySummary));
    }

    #[test]
    fn smaller_and_short_enough_is_accepted() {
        assert_eq!(check("done so far: a", 900, 100), Ok(()));
    }

    #[test]
    fn equal_size_is_no_gain() {
        assert_eq!(check("s", 100, 100), Err(Rejection::NotSmaller { before: 100, after: 100 }));
    }

    #[test]
    fn c079_history_that_stays_too_long_is_rejected_with_its_sizes() {
        let error = check("s", 1_300, 1_210).unwrap_err();
        assert_eq!(error, Rejection::StillTooLong { after: 1_513, threshold: 650 });
        let fault = overflow_fault(1_210, &ThresholdSettings { window: Some(1_000), ..Default::default() }, true);
        assert!(fault.message.contains("1210") && fault.message.contains("650"), "{}", fault.message);
    }
}
