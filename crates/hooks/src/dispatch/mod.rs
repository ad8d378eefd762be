//! Runs hooks: who is registered, who is asked, and what their answers come to.
//!
//! There is no queue here and no retry, and no timer but the one that is handed in.

mod ask;
mod chain;
mod clock;
mod dispatcher;
mod handle;
mod receipt;
mod rounds;
#[cfg(test)]
mod tests;

pub use clock::HookClock;
pub use dispatcher::HookDispatcher;
pub use handle::HookHandle;
pub use receipt::{AnswerClass, Delivery, Receipt};
pub use rounds::Rounds;
