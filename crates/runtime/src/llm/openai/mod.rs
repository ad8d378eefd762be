//! The client for the chat completions API.

mod builder;
mod carrier;
mod model;
mod reading;
mod secrets;

pub use builder::{OpenAiConfigError, OpenAiModelBuilder, StreamMode};
pub use model::OpenAiModel;
