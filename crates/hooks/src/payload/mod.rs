//! What a receiver outside the process is sent. Nothing is sent here.

mod build;
mod directory;
mod emails;
#[cfg(test)]
mod tests;

pub use build::{Draft, Purpose, build_payload};
pub use directory::{NoDirectory, UserDirectory};
pub(crate) use emails::Emails;
