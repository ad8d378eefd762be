//! The one thread that writes, and the handle that everybody else has of it.
//!
//! Requests are taken in order. Nobody who waits can hang on a writer that is gone: a waiter's
//! channel closes with the thread, whatever ended it.

mod batch;
mod group;
mod hurry;
mod ledger;
mod operations;
mod outbox;
mod post;
mod thread;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use jackline_model::OperationId;
use jackline_runtime::journal::{
    Batch, ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim, Fence, InboxId, InboxItem, NewOperation,
    StoreError,
};
use rusqlite::Connection;

use crate::error::{Doing, writer_gone};
use crate::limits;

use hurry::Hurry;
pub(crate) use ledger::Ledger;

/// Where an answer goes. Dropping it tells the waiter that there will be none.
type Reply<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// What the thread is asked.
enum Command {
    /// Write this with others.
    Append(Box<Batch>),
    /// Say when all that came before is written.
    Flush(Flush),
    /// Do this alone, after all that came before.
    Alone(Request),
}

/// A wish to know that everything before it is written.
struct Flush {
    /// Whose errors to report; nobody's for a reader who only wants to see what was appended.
    operation: Option<OperationId>,
    /// Survive a power cut, too.
    full: bool,
    reply: Reply<()>,
}

/// What is done in a transaction of its own.
enum Request {
    Create { new: Box<NewOperation>, reply: Reply<Fence> },
    Claim { operation: OperationId, reply: Reply<Fence> },
    Release { operation: OperationId, fence: Fence, reply: Reply<()> },
    ForgetHooks { operation: OperationId, reply: Reply<()> },
    Post { operation: OperationId, item: InboxItem, now: u64, reply: Reply<InboxId> },
    ClaimDeliveries { claim: DeliveryClaim, reply: Reply<ClaimedDeliveries> },
    ChangeDelivery { id: String, change: DeliveryChange, reply: Reply<DeliveryChanged> },
}

/// The handle. Dropping it writes what is queued and ends the thread.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Taken only by `drop`.
    queue: Option<SyncSender<Command>>,
    thread: Option<JoinHandle<()>>,
    ledger: Arc<Ledger>,
    hurry: Arc<Hurry>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the system gives no thread.
    pub(crate) fn spawn(connection: Connection, database: PathBuf, owner: String) -> Result<Self, StoreError> {
        let (queue, commands) = sync_channel(limits::QUEUE_MAX);
        let ledger = Arc::new(Ledger::default());
        let hurry = Arc::new(Hurry::default());
        let writer = thread::WriterThread::new(connection, database, owner, Arc::clone(&ledger), Arc::clone(&hurry));
        let thread = std::thread::Builder::new()
            .name("jackline-store".to_owned())
            .spawn(move || writer.run(&commands))
            .doing("start its writer")?;
        Ok(Self { queue: Some(queue), thread: Some(thread), ledger, hurry })
    }

    /// What is known of the operations that this store works on.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Hands over a batch. Blocks while the queue is full, which is while the disk is behind by
    /// [`QUEUE_MAX`](limits::QUEUE_MAX) batches: one group of them is a few milliseconds.
    pub(crate) fn append(&self, batch: Batch) -> Result<(), StoreError> {
        let is_group_full = self.ledger.queue(&batch)? >= limits::GROUP_BATCHES_MAX;
        self.send(Command::Append(Box::new(batch)))?;
        if is_group_full {
            self.hurry.enough();
        }
        Ok(())
    }

    /// Waits for all that was appended.
    pub(crate) async fn flush(&self, operation: &OperationId, full: bool) -> Result<(), StoreError> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let reply = Box::new(move |outcome| drop(sender.send(outcome)));
        self.send_now(Command::Flush(Flush { operation: Some(operation.clone()), full, reply }))?;
        receiver.await.unwrap_or_else(|_| Err(writer_gone()))
    }

    /// Lets a reader see what was appended; it waits for a commit if there is anything. Errors are
    /// for those who appended.
    pub(crate) fn settle(&self, operation: Option<&OperationId>) {
        if self.ledger.has_queued(operation) {
            let flush = |reply| Command::Flush(Flush { operation: None, full: false, reply });
            let _ = self.ask(flush);
        }
    }

    pub(crate) fn create(&self, new: NewOperation) -> Result<Fence, StoreError> {
        self.ask(|reply| Command::Alone(Request::Create { new: Box::new(new), reply }))
    }

    pub(crate) fn claim(&self, operation: &OperationId) -> Result<Fence, StoreError> {
        self.ask(|reply| Command::Alone(Request::Claim { operation: operation.clone(), reply }))
    }

    pub(crate) fn release(&self, operation: &OperationId, fence: Fence) -> Result<(), StoreError> {
        self.ask(|reply| Command::Alone(Request::Release { operation: operation.clone(), fence, reply }))
    }

    pub(crate) fn forget_hooks(&self, operation: &OperationId) -> Result<(), StoreError> {
        self.ask(|reply| Command::Alone(Request::ForgetHooks { operation: operation.clone(), reply }))
    }

    pub(crate) fn post(&self, operation: &OperationId, item: InboxItem, now: u64) -> Result<InboxId, StoreError> {
        self.ask(|reply| Command::Alone(Request::Post { operation: operation.clone(), item, now, reply }))
    }

    pub(crate) fn claim_deliveries(&self, claim: &DeliveryClaim) -> Result<ClaimedDeliveries, StoreError> {
        self.ask(|reply| Command::Alone(Request::ClaimDeliveries { claim: *claim, reply }))
    }

    pub(crate) fn change_delivery(&self, id: &str, change: DeliveryChange) -> Result<DeliveryChanged, StoreError> {
        self.ask(|reply| Command::Alone(Request::ChangeDelivery { id: id.to_owned(), change, reply }))
    }

    fn ask<T: Send + 'static>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, StoreError> {
        let (sender, receiver) = sync_channel(1);
        let reply = Box::new(move |outcome| drop(sender.send(outcome)));
        self.send_now(command(reply))?;
        receiver.recv().unwrap_or_else(|_| Err(writer_gone()))
    }

    /// Sends what somebody waits for.
    fn send_now(&self, command: Command) -> Result<(), StoreError> {
        self.hurry.announce();
        self.send(command)?;
        self.hurry.sent();
        Ok(())
    }

    fn send(&self, command: Command) -> Result<(), StoreError> {
        match &self.queue {
            Some(queue) => queue.send(command).map_err(|_| writer_gone()),
            None => Err(writer_gone()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        self.hurry.enough();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported to everybody who waited.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;

    /// A writer whose thread takes one command and dies.
    fn dying() -> Writer {
        let (queue, commands): (_, Receiver<Command>) = sync_channel(limits::QUEUE_MAX);
        let thread = std::thread::spawn(move || drop(commands.recv()));
        Writer { queue: Some(queue), thread: Some(thread), ledger: Arc::default(), hurry: Arc::default() }
    }

    #[tokio::test]
    async fn whoever_waits_for_a_thread_that_dies_gets_an_error() {
        assert_eq!(dying().flush(&"op".into(), true).await, Err(writer_gone()));
        assert_eq!(dying().claim(&"op".into()), Err(writer_gone()));
        assert_eq!(dying().post(&"op".into(), InboxItem::Stop(None), 0), Err(writer_gone()));
    }

    #[test]
    fn a_reader_of_a_dead_writer_reads_on() {
        let writer = dying();
        writer.ledger.hold("op".into(), Fence(1));
        writer.ledger.queue(&group::tests::batch()).unwrap();
        writer.settle(Some(&"op".into()));
        assert!(writer.ledger.has_queued(Some(&"op".into())) && writer.ledger.has_queued(None));
        assert!(!writer.ledger.has_queued(Some(&"other".into())));
    }

    #[tokio::test]
    async fn a_request_after_the_death_is_refused_at_once() {
        let mut writer = dying();
        writer.flush(&"op".into(), false).await.unwrap_err();
        writer.thread.take().unwrap().join().unwrap();
        assert_eq!(writer.flush(&"op".into(), false).await, Err(writer_gone()));
        assert_eq!(writer.release(&"op".into(), Fence(1)), Err(writer_gone()));
    }
}
