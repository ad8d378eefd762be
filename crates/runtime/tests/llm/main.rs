//! The model clients, tried over a socket with the inputs of the case log.

mod client;
mod compat;
mod errors;
mod scripted;
mod server;
mod stream;
mod support;
