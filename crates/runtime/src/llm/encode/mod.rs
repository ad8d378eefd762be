//! From messages to the body of a request: pure, each message written once.

mod ids;
mod message;
mod request;
mod schema;
mod settings;

pub(crate) use request::{Encoder, RequestBody};
pub use settings::{WireName, WireSettings};
