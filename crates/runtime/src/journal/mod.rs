//! The journal: what is written down, in which form, and what a store must do.

mod memory;
mod outbox;
mod port;
pub mod posting;
mod record;
#[cfg(any(test, feature = "testing"))]
pub mod suite;

pub use memory::MemoryStore;
pub use outbox::{
    ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim, NewDelivery, OUTBOX_DEAD_MAX,
    OUTBOX_TRY_LEFT_OPEN, OUTBOX_WAITING_MAX, StoredDelivery,
};
pub use port::{
    Approval, ApprovalQuestion, Batch, BoxFuture, Fence, Fold, Header, Heard, InboxId, InboxItem, Loaded, NewOperation,
    PendingCall, PlacedMessage, PostedDecision, PostedVerdict, Row, Store, StoreError, StoredMessage, Summary,
};
pub use record::{RecordError, VERSION as RECORD_VERSION, decode, encode};
