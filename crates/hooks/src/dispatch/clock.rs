//! Where the dispatcher takes its time from.

use std::fmt::Debug;
use std::time::Duration;

use futures_util::future::BoxFuture;

/// The time by which hooks are held to their deadlines.
///
/// The dispatcher has no timer of its own, so that a virtual clock can drive it.
pub trait HookClock: Debug + Send + Sync {
    /// The time since some fixed moment. Never runs backwards.
    ///
    /// Read only when a handler did not answer at once: two readings would cost as much as asking it.
    fn now(&self) -> Duration;

    /// Ends after this long. Asked for only when a handler did not answer at once.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}
