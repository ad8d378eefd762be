//! Which batches share a transaction.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use jackline_runtime::journal::Batch;

use super::{Command, Flush, Request};
use crate::limits;

/// Batches of any operations that are committed together, and who waits for that.
#[derive(Default)]
pub(super) struct Group {
    pub(super) batches: Vec<Batch>,
    pub(super) flushes: Vec<Flush>,
}

impl Group {
    /// Collects a group that begins with `first`. While nobody waits it stays open for
    /// [`GROUP_DELAY`](limits::GROUP_DELAY); once somebody does, it takes what is there and closes.
    ///
    /// A request that is done alone ends the group and is given back.
    pub(super) fn fill(&mut self, first: Command, commands: &Receiver<Command>) -> Option<Request> {
        let deadline = Instant::now() + limits::GROUP_DELAY;
        let mut next = Some(first);
        while let Some(command) = next {
            match command {
                Command::Append(batch) => self.batches.push(*batch),
                Command::Flush(flush) => self.flushes.push(flush),
                Command::Alone(request) => return Some(request),
            }
            next = match (self.is_full(), self.flushes.is_empty()) {
                (true, _) => None,
                (false, true) => commands.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok(),
                (false, false) => commands.try_recv().ok(),
            };
        }
        None
    }

    /// Whether somebody wants the group to survive a power cut.
    pub(super) fn is_gate(&self) -> bool {
        self.flushes.iter().any(|flush| flush.full)
    }

    fn is_full(&self) -> bool {
        self.batches.len() >= limits::GROUP_BATCHES_MAX || self.flushes.len() >= limits::GROUP_BATCHES_MAX
    }
}
