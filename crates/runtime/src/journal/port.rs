//! What the runtime asks of a store.
//!
//! Reads are blocking calls on a local store and return quickly. Writes are handed over with
//! [`Store::append`], in order, and awaited with [`Store::flush`] only where durability gates
//! something. A store decides nothing; it refuses writes whose fence is old.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jackline_model::{
    Advice, ApprovalId, BlobId, ConfigHash, Lineage, Message, MessageId, OperationId, Origin, Reason, Status,
    StopRequestId, ToolCallId, ToolKey, Totals, UserId,
};
use jackline_tools::Publishable;

use super::outbox::{ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim, NewDelivery, StoredDelivery};
use crate::machine::{Durability, Ordinal};

/// A boxed future, as async trait methods return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A durable journal with the message rows, approvals and bodies that belong to it.
pub trait Store: Send + Sync {
    /// Creates an operation, owned by the caller. The fence is above 0, which nobody ever has.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] if the id is taken; others as for every call.
    fn create(&self, new: NewOperation) -> Result<Fence, StoreError>;

    /// Takes ownership of an operation whose owner is gone, or renews one's own. Every claim raises
    /// the fence.
    ///
    /// # Errors
    ///
    /// [`StoreError::Owned`] while another live process works on it.
    fn claim(&self, operation: &OperationId) -> Result<Fence, StoreError>;

    /// Gives ownership up. Parked and ended operations are owned by nobody.
    fn release(&self, operation: &OperationId, fence: Fence) -> Result<(), StoreError>;

    /// Hands over a batch. It is written in order, as one transaction, soon: if one part cannot be
    /// written, such as a post to an operation that does not exist, nothing is. An error of an earlier
    /// batch of the operation comes back here or from [`flush`](Self::flush), and a store may
    /// refuse everything more of the operation until it is claimed again.
    fn append(&self, batch: Batch) -> Result<(), StoreError>;

    /// Waits until everything that was appended to the operation is as durable as asked.
    fn flush<'a>(&'a self, operation: &'a OperationId, durability: Durability)
    -> BoxFuture<'a, Result<(), StoreError>>;

    /// Puts something into an operation's inbox, from any process. The item is checked against the
    /// stored state in the same transaction, by the functions of [`posting`](super::posting).
    ///
    /// # Errors
    ///
    /// [`StoreError::Refused`] with the reason when the item does not fit. An operation that has ended
    /// refuses everything, a stop too.
    fn post(&self, operation: &OperationId, item: InboxItem, now: u64) -> Result<InboxId, StoreError>;

    /// What waits in the inbox, oldest first.
    fn inbox(&self, operation: &OperationId) -> Result<Vec<(InboxId, InboxItem)>, StoreError>;

    /// Changes whenever another process may have written: cheap, for polling.
    fn version(&self) -> Result<u64, StoreError>;

    /// Everything needed to go on with an operation.
    fn load(&self, operation: &OperationId) -> Result<Loaded, StoreError>;

    /// The header of one operation.
    fn header(&self, operation: &OperationId) -> Result<Header, StoreError>;

    /// The headers, newest first, at most `limit`.
    fn list(&self, limit: usize) -> Result<Vec<Header>, StoreError>;

    /// All records of an operation, oldest first, as text.
    fn records(&self, operation: &OperationId) -> Result<Vec<String>, StoreError>;

    /// All messages of an operation, folded ones included, oldest first. A summary stands behind the
    /// folded messages of its place.
    fn messages(&self, operation: &OperationId) -> Result<Vec<StoredMessage>, StoreError>;

    /// The open request for a decision, if there is one.
    fn approval(&self, operation: &OperationId) -> Result<Option<Approval>, StoreError>;

    /// The webhooks and commands that the operation was created with, in order.
    fn caller_hooks(&self, operation: &OperationId) -> Result<Vec<String>, StoreError>;

    /// What hooks were asked about an operation, and answered, oldest first.
    fn heard(&self, operation: &OperationId) -> Result<Vec<Heard>, StoreError>;

    /// The deliveries that have not succeeded yet, oldest first, at most `limit`.
    fn outbox(&self, limit: usize) -> Result<Vec<StoredDelivery>, StoreError>;

    /// Takes deliveries that are due and in nobody's hands, oldest first: with that a try of each begins. Whoever
    /// takes one settles it with [`change_delivery`](Self::change_delivery) before `until`; after that, and at once if
    /// its process is gone, somebody else may take it.
    fn claim_deliveries(&self, claim: &DeliveryClaim) -> Result<ClaimedDeliveries, StoreError>;

    /// Changes a delivery.
    fn change_delivery(&self, id: &str, change: DeliveryChange) -> Result<DeliveryChanged, StoreError>;

    /// Whether more deliveries wait than a store should keep: then new ones are not put in.
    fn outbox_is_full(&self) -> Result<bool, StoreError>;

    /// A stored body.
    fn blob(&self, blob: &BlobId) -> Result<Option<Arc<str>>, StoreError>;

    /// The frozen configuration with this hash.
    fn config(&self, hash: &ConfigHash) -> Result<Option<Arc<str>>, StoreError>;

    /// Removes the webhooks and commands of an operation that has ended for good: nobody needs them again.
    fn forget_hooks(&self, operation: &OperationId) -> Result<(), StoreError>;
}

/// The number that proves ownership; every write checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(pub u64);

/// The number of an item in an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxId(pub u64);

/// A new operation.
#[derive(Clone, Debug, PartialEq)]
pub struct NewOperation {
    /// Its id.
    pub id: OperationId,
    /// The agent's name.
    pub agent: Arc<str>,
    /// The configuration that it runs with, for ever.
    pub config: Arc<str>,
    /// The hash of that text.
    pub config_hash: ConfigHash,
    /// Whose child it is.
    pub lineage: Lineage,
    /// The call of the parent that it answers.
    pub parent_call: Option<Ordinal>,
    /// Where it comes from.
    pub origin: Origin,
    /// Whom it runs as.
    pub user: UserId,
    /// The ids of its controls and mocks: a resume must bring them again.
    pub required_hooks: Vec<String>,
    /// Its webhooks and commands, each in its stored form: a resume in any process finds them. They hold
    /// no value of a variable, but what a hook spells out in a header or a URL.
    pub caller_hooks: Vec<String>,
    /// The first messages: the agent's instructions and the prompt.
    pub messages: Vec<PlacedMessage>,
    /// When it was created, in milliseconds since the epoch.
    pub created_at: u64,
}

/// A message and its place in the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedMessage {
    /// The place. Places of tool rows are reserved when the model has asked for the calls.
    pub place: u32,
    /// The message. Never a tool message: those are [`Row::Tool`].
    pub message: Message,
}

/// One transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The operation.
    pub operation: OperationId,
    /// Proof of ownership.
    pub fence: Fence,
    /// The records, encoded, on one line.
    pub record: String,
    /// The record holds a boundary: a resume reads from here.
    pub boundary: bool,
    /// Messages to add.
    pub rows: Vec<Row>,
    /// A compression.
    pub fold: Option<Fold>,
    /// A request for a decision to open.
    pub approval: Option<Approval>,
    /// The open request is settled.
    pub approval_closed: bool,
    /// Inbox items that the records have used up. Their bodies are overwritten, not just unlinked.
    pub consumed: Vec<InboxId>,
    /// Items for the inboxes of other operations: a child's end wakes its parent in the transaction
    /// that ends it. They are not checked: whether the receiver has ended is not the sender's concern.
    pub posts: Vec<(OperationId, InboxItem)>,
    /// Webhook deliveries that are to be tried until they succeed.
    pub outbox: Vec<NewDelivery>,
    /// What hooks answered.
    pub heard: Vec<Heard>,
    /// What `list` shows from now on.
    pub summary: Option<Summary>,
}

impl Batch {
    /// A batch with these records and nothing else.
    pub fn new(operation: OperationId, fence: Fence, record: impl Into<String>) -> Self {
        Self {
            operation,
            fence,
            record: record.into(),
            boundary: false,
            rows: Vec::new(),
            fold: None,
            approval: None,
            approval_closed: false,
            consumed: Vec::new(),
            posts: Vec::new(),
            outbox: Vec::new(),
            heard: Vec::new(),
            summary: None,
        }
    }
}

/// What the hooks of one firing were asked and answered, for whoever asks later who decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The call that it was about.
    pub call: Option<ToolCallId>,
    /// The receipts, as JSON on one line; without the words of hooks or tools.
    pub text: String,
}

/// A message row.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// What a person, a model or the runtime said.
    Message(PlacedMessage),
    /// The result of a call. The first write of a call wins; a second is ignored.
    Tool {
        /// The reserved place.
        place: u32,
        /// The row.
        id: MessageId,
        /// The call.
        call: ToolCallId,
        /// The tool.
        key: ToolKey,
        /// The result, which only the gate makes.
        published: Box<Publishable>,
    },
}

/// A compression: the summary takes the place of the first folded message.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The summary; its place is that of the first folded message.
    pub summary: PlacedMessage,
    /// The places that are folded into it.
    pub folded: Vec<u32>,
}

/// What `list` shows of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Where it stands.
    pub status: Status,
    /// How it ended.
    pub reason: Option<Reason>,
    /// Steps done.
    pub steps: u32,
    /// What was used.
    pub totals: Totals,
    /// When this was true.
    pub updated_at: u64,
}

/// An operation, as `list` and `show` give it.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of `NewOperation` and `Summary`")]
pub struct Header {
    pub id: OperationId,
    pub agent: Arc<str>,
    pub config_hash: ConfigHash,
    pub lineage: Lineage,
    pub parent_call: Option<Ordinal>,
    pub origin: Origin,
    pub user: UserId,
    pub required_hooks: Vec<String>,
    pub created_at: u64,
    pub summary: Summary,
}

/// A message with its place and whether it is still part of what a model sees.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredMessage {
    /// The place.
    pub place: u32,
    /// The message.
    pub message: Message,
    /// Folded into a summary.
    pub folded: bool,
}

/// What a resume reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The header.
    pub header: Header,
    /// The frozen configuration.
    pub config: Arc<str>,
    /// The records from the last one with a boundary on, or all of them.
    pub records: Vec<String>,
    /// The messages that a model sees, oldest first.
    pub messages: Vec<StoredMessage>,
    /// The next free place: behind all rows and behind those that are reserved for calls.
    pub next_place: u32,
    /// The open request for a decision.
    pub approval: Option<Approval>,
}

/// A request for a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// Its id.
    pub id: ApprovalId,
    /// What is asked.
    pub question: ApprovalQuestion,
    /// When it was asked.
    pub asked_at: u64,
    /// When it expires.
    pub expires_at: Option<u64>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum ApprovalQuestion {
    /// May these calls run?
    Calls(Vec<PendingCall>),
    /// A question to answer in words.
    Prompt(String),
    /// A choice.
    Select {
        /// The question.
        prompt: String,
        /// What can be chosen.
        options: Vec<String>,
    },
}

/// A call that waits for a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingCall {
    /// Its place in the turn.
    pub ordinal: Ordinal,
    /// The provider's id.
    pub call: ToolCallId,
    /// The tool.
    pub key: ToolKey,
    /// The arguments as the model wrote them.
    pub arguments: Arc<str>,
    /// The decision, once there is one; a second is refused.
    pub decided: bool,
}

/// Something for an operation from outside its owner.
#[derive(Clone, Debug, PartialEq)]
pub enum InboxItem {
    /// Decisions about the calls of the open request, or the answer to its question.
    Decided(Vec<PostedDecision>),
    /// The result of a parked call. Kept privately until it is judged, then overwritten.
    Answer {
        /// The call.
        call: ToolCallId,
        /// The result, as JSON of a `ToolRunResult`.
        result: String,
    },
    /// A sub-agent ended.
    ChildEnded {
        /// The sub-agent's operation.
        child: OperationId,
        /// The call that it answers.
        call: Ordinal,
    },
    /// Somebody stops the run, perhaps under a name.
    Stop(Option<StopRequestId>),
}

/// A decision as it is posted.
#[derive(Clone, Debug, PartialEq)]
pub struct PostedDecision {
    /// The call; `None` answers a question.
    pub call: Option<ToolCallId>,
    /// The decision.
    pub verdict: PostedVerdict,
}

impl PostedDecision {
    /// Lets a call run.
    pub fn approve(call: ToolCallId) -> Self {
        Self { call: Some(call), verdict: PostedVerdict::Approve }
    }

    /// Forbids a call and ends the run.
    pub fn reject(call: ToolCallId, reason: impl Into<String>) -> Self {
        Self { call: Some(call), verdict: PostedVerdict::Reject { reason: Some(reason.into()) } }
    }

    /// Forbids a call; the model reads the reason and goes on.
    pub fn reject_and_continue(call: ToolCallId, reason: impl Into<String>) -> Self {
        Self { call: Some(call), verdict: PostedVerdict::RejectAndContinue { reason: Some(reason.into()) } }
    }

    /// Answers the open question.
    pub fn answer(text: impl Into<String>) -> Self {
        Self { call: None, verdict: PostedVerdict::Answer { text: text.into() } }
    }
}

/// What a person can post.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named like the machine's verdicts")]
pub enum PostedVerdict {
    Approve,
    Reject { reason: Option<String> },
    RejectAndContinue { reason: Option<String> },
    Answer { text: String },
}

/// A store that could not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No such operation.
    #[error("there is no operation `{0}`")]
    NoSuchOperation(OperationId),
    /// The id is taken.
    #[error("the operation `{0}` exists already")]
    Exists(OperationId),
    /// Another live process works on it.
    #[error("operation `{operation}` is being run by another process ({owner})")]
    Owned {
        /// The operation.
        operation: OperationId,
        /// The owner, in words.
        owner: String,
    },
    /// Another process took over; nothing was written.
    #[error("operation `{0}` was taken over by another process; this one has stopped working on it")]
    LostOwnership(OperationId),
    /// The item does not fit the stored state.
    #[error("{0}")]
    Refused(String),
    /// Another process holds the store for longer than we wait.
    #[error("the store is busy: {0}")]
    Busy(String),
    /// The disk, or what stands in for it.
    #[error("the store cannot {doing}: {why}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        why: String,
    },
    /// A newer program wrote it.
    #[error("{what} was written in format {found}; this program reads up to {known}. Use a newer program")]
    TooNew {
        /// What.
        what: &'static str,
        /// Its version.
        found: u32,
        /// The newest known.
        known: u32,
    },
    /// The content makes no sense.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

impl StoreError {
    /// What a caller can do.
    pub fn advice(&self) -> Advice {
        match self {
            Self::Busy(_) => Advice::Retry { after: Duration::from_secs(1) },
            Self::Owned { .. } => Advice::Retry { after: Duration::from_secs(5) },
            Self::NoSuchOperation(_) | Self::Exists(_) | Self::Refused(_) | Self::Io { .. } | Self::TooNew { .. } => {
                Advice::Fix
            }
            Self::LostOwnership(_) | Self::Damaged(_) => Advice::GiveUp,
        }
    }
}
