//! The driver: performs what the machine asks for.
mod agent;
mod clock;
mod conversation;
mod facts;
mod setup;
mod spawn;
mod stream;
mod turn;
mod unit;
