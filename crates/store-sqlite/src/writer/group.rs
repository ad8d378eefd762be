//! Which batches share a transaction.

use std::sync::mpsc::Receiver;
use std::time::Instant;

use jackline_runtime::journal::Batch;

use super::hurry::Hurry;
use super::{Command, Flush, Request};
use crate::limits;

/// Batches of any operations that are committed together, and who waits for that.
#[derive(Default)]
pub(super) struct Group {
    pub(super) batches: Vec<Batch>,
    pub(super) flushes: Vec<Flush>,
}

impl Group {
    /// Collects a group that begins with `first`. While nobody is in a hurry it stays open for
    /// [`GROUP_DELAY`](limits::GROUP_DELAY); then it takes what is there and closes.
    ///
    /// A request that is done alone ends the group and is given back.
    pub(super) fn fill(&mut self, first: Command, commands: &Receiver<Command>, hurry: &Hurry) -> Option<Request> {
        let mut next = Some(first);
        let mut has_rested = false;
        while let Some(command) = next {
            match command {
                Command::Append(batch) => self.batches.push(*batch),
                Command::Flush(flush) => {
                    hurry.taken();
                    self.flushes.push(flush);
                }
                Command::Alone(request) => {
                    hurry.taken();
                    return Some(request);
                }
            }
            if self.is_full() {
                return None;
            }
            next = commands.try_recv().ok();
            if next.is_none() && self.flushes.is_empty() && !has_rested {
                has_rested = true;
                hurry.rest_until(Instant::now() + limits::GROUP_DELAY);
                next = commands.try_recv().ok();
            }
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

#[cfg(test)]
pub(super) mod tests {
    use std::sync::mpsc::sync_channel;

    use jackline_runtime::journal::Fence;

    use super::*;

    fn append() -> Command {
        Command::Append(Box::new(batch()))
    }

    pub(in crate::writer) fn batch() -> Batch {
        Batch::new("op".into(), Fence(1), "")
    }

    fn flush(full: bool) -> Command {
        Command::Flush(Flush { operation: None, full, reply: Box::new(drop) })
    }

    #[test]
    fn a_group_takes_what_is_queued_and_no_more_than_its_bound() {
        let (queue, commands) = sync_channel(200);
        (0..99).for_each(|_| queue.send(append()).unwrap());
        let mut group = Group::default();
        assert!(group.fill(append(), &commands, &Hurry::default()).is_none());
        assert_eq!(group.batches.len(), limits::GROUP_BATCHES_MAX);
        assert!(!group.is_gate());
    }

    #[test]
    fn a_waiter_closes_the_group_behind_what_is_queued() {
        let (queue, commands) = sync_channel(200);
        [append(), flush(true), append()].into_iter().for_each(|command| queue.send(command).unwrap());
        let mut group = Group::default();
        assert!(group.fill(flush(false), &commands, &Hurry::default()).is_none());
        assert_eq!((group.batches.len(), group.flushes.len(), group.is_gate()), (2, 2, true));
    }

    #[test]
    fn a_request_of_its_own_comes_after_the_group() {
        let (queue, commands) = sync_channel(200);
        let claim = Request::Claim { operation: "op".into(), reply: Box::new(drop) };
        queue.send(Command::Alone(claim)).unwrap();
        queue.send(append()).unwrap();
        let mut group = Group::default();
        assert!(matches!(group.fill(append(), &commands, &Hurry::default()), Some(Request::Claim { .. })));
        assert_eq!(group.batches.len(), 1);
    }
}
