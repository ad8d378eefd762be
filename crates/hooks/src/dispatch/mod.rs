//! Runs hooks: who is registered, who is asked, and what their answers come to.
//!
//! There is no queue here and no retry, no socket and no process, and no timer but the one that is handed in.

mod ask;
mod carriers;
mod chain;
mod clock;
mod delivery_id;
mod dispatcher;
mod error;
mod handle;
mod mode;
mod notice;
mod observe;
mod ports;
mod question;
mod receipt;
mod rounds;
#[cfg(test)]
pub(crate) mod tests;

pub use carriers::{Carriers, CommandCarrier, CommandRequest, Spawn, WebhookCarrier, WebhookRequest};
pub use clock::HookClock;
pub use delivery_id::DeliveryId;
pub use dispatcher::HookDispatcher;
pub use error::{CriticalHookDeliveryError, DispatchError};
pub use handle::HookHandle;
pub use mode::DispatchMode;
pub use notice::OutboxItem;
pub use ports::{EndlessOutbox, HookPorts, OutboxRoom};
pub use receipt::{AnswerClass, CarrierKind, Delivery, Receipt};
pub use rounds::Rounds;
