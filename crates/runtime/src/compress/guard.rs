//! What a failed fold means for the run.

/// Counts failures, so that a run neither ends at the first one nor pays for useless summaries for
/// ever.
///
/// Constant in size: it is part of each step boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompressionGuard {
    /// Folds that failed in a row.
    pub failures_in_row: u8,
    /// The first step that may try again.
    pub retry_from_step: u32,
}

/// How a run goes on after a failed fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardVerdict {
    /// With the history as it is. The provider may still take it.
    ContinueUncompressed,
    /// Not at all: it ends as `context_overflow`.
    EndOverflow,
}

impl CompressionGuard {
    /// Whether a fold may be tried in this step. After a failure there is a pause.
    pub fn may_try(&self, step: u32) -> bool {
        self.failures_in_row == 0 || step >= self.retry_from_step
    }

    /// Notes a fold that was accepted.
    pub fn note_success(&mut self) {
        *self = Self::default();
    }

    /// Notes a fold that failed or was rejected.
    pub fn note_failure(&mut self, step: u32) {
        self.failures_in_row = self.failures_in_row.saturating_add(1);
        self.retry_from_step = step.saturating_add(COOL_DOWN_STEPS);
    }

    /// How the run goes on.
    pub fn verdict(&self) -> GuardVerdict {
        if self.failures_in_row >= FAILURES_IN_ROW_MAX {
            return GuardVerdict::EndOverflow;
        }
        GuardVerdict::ContinueUncompressed
    }
}

/// The second failure ends the run: each is a paid call, and a third would tell nothing new.
const FAILURES_IN_ROW_MAX: u8 = 2;

/// Steps between a failure and the next try, the failed one included. The model call that follows
/// and its tools are two; with two more the history has become another one, and the second try is
/// not the first one again.
const COOL_DOWN_STEPS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c079_second_failure_in_a_row_ends_the_run() {
        let mut guard = CompressionGuard::default();
        guard.note_failure(4);
        assert_eq!(guard.verdict(), GuardVerdict::ContinueUncompressed);
        guard.note_failure(9);
        assert_eq!(guard.verdict(), GuardVerdict::EndOverflow);
    }

    #[test]
    fn success_in_between_forgives() {
        let mut guard = CompressionGuard::default();
        guard.note_failure(4);
        guard.note_success();
        assert!(guard.may_try(5));
        guard.note_failure(8);
        assert_eq!(guard.verdict(), GuardVerdict::ContinueUncompressed);
    }

    #[test]
    fn failure_is_followed_by_a_pause() {
        let mut guard = CompressionGuard::default();
        assert!(guard.may_try(1));
        guard.note_failure(4);
        assert_eq!([4, 7, 8, 9].map(|step| guard.may_try(step)), [false, false, false, true]);
    }
}
