//! How the writer rests while a group is open: nobody wakes it for a batch that nobody waits for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Says whether the open group should be closed before its time.
#[derive(Debug, Default)]
pub(super) struct Hurry {
    reasons: Mutex<Reasons>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Reasons {
    /// Requests under way that somebody waits for.
    waited_for: usize,
    /// There is as much as a group holds, or there will be no more.
    is_enough: bool,
}

impl Hurry {
    /// A request that somebody waits for is about to be sent.
    pub(super) fn announce(&self) {
        self.lock().waited_for += 1;
    }

    /// It was sent.
    pub(super) fn sent(&self) {
        self.changed.notify_one();
    }

    /// It was taken.
    pub(super) fn taken(&self) {
        let mut reasons = self.lock();
        reasons.waited_for = reasons.waited_for.saturating_sub(1);
    }

    /// There is as much as a group holds, or there will be no more.
    pub(super) fn enough(&self) {
        self.lock().is_enough = true;
        self.changed.notify_one();
    }

    /// Rests until there is a reason to go on, or until the deadline.
    pub(super) fn rest_until(&self, deadline: Instant) {
        let mut reasons = self.lock();
        while reasons.waited_for == 0 && !reasons.is_enough {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            reasons = self.changed.wait_timeout(reasons, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        reasons.is_enough = false;
    }

    fn lock(&self) -> MutexGuard<'_, Reasons> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
