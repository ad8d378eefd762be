//! The store: one SQLite file that several processes may share.
//!
//! [`SqliteStore`] implements the store port of the runtime. One thread per open store owns the
//! connection that writes; it groups the batches of all operations into transactions and commits
//! when somebody waits. Reads use a second connection and see every batch that was appended before.
//!
//! Absent on purpose: no decisions about runs, no retention, no vacuuming, no encryption. The tables
//! for outgoing deliveries and for hooks that callers register are not created yet: nothing writes
//! them, and the version in the file makes adding them a small step.

mod error;
mod limits;
mod owner;
mod read;
mod rows;
mod schema;
mod store;
mod stored;
mod writer;

pub use store::{OpenOptions, SqliteStore};
