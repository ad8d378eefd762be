//! The carriers: what really sends a request or runs a program.
//!
//! Each delivery is one attempt with its own deadline. There is no retry here and no queue: QStash and the outbox
//! have those. Errors and logs hold no reply, no header value and no URL.

#[cfg(feature = "http")]
mod body;
#[cfg(feature = "http")]
mod clients;
#[cfg(feature = "command")]
mod command;
#[cfg(feature = "http")]
mod guard;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod prepare;
#[cfg(feature = "http")]
mod qstash;
#[cfg(feature = "http")]
mod sign;
mod spawn;
#[cfg(test)]
#[cfg(feature = "http")]
#[cfg(feature = "command")]
mod tests;

#[cfg(feature = "command")]
pub use command::ProcessCarrier;
#[cfg(feature = "http")]
pub use guard::{NameResolver, SystemResolver};
#[cfg(feature = "http")]
pub use http::{HttpCarrier, HttpSettings};
pub use spawn::TokioSpawn;
