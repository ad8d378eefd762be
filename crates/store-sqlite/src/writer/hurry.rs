//! How the writer rests while a group is open: nobody wakes it for a batch that nobody waits for.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Says that a group should be closed now.
#[derive(Debug, Default)]
pub(super) struct Hurry {
    is_asked: Mutex<bool>,
    asked: Condvar,
}

impl Hurry {
    /// Asks for the open group to be closed. Asked while none is open, it closes the next one early.
    pub(super) fn ask(&self) {
        *self.is_asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.asked.notify_one();
    }

    /// Rests until somebody asks, or until the deadline.
    pub(super) fn rest_until(&self, deadline: Instant) {
        let mut is_asked = self.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_asked {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            is_asked = self.asked.wait_timeout(is_asked, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *is_asked = false;
    }
}
