//! Programs as hooks, as they are written down. Nothing is run here.

mod config;

pub use config::CommandConfig;
