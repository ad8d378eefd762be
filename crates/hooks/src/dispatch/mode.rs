//! Which carriers take part.

use crate::Environment;

/// Whether events are delivered where the run is, or by way of a queue.
///
/// | Hook has | `Local` | `Queue` |
/// |---|---|---|
/// | a handler | the handler | nothing |
/// | a webhook | the webhook | the webhook |
/// | both | the handler only | the webhook only |
/// | a command | the command | the command |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DispatchMode {
    /// Handlers are called in this process.
    #[default]
    Local,
    /// Another process may run the next step, so handlers are not called.
    Queue,
}

impl DispatchMode {
    /// Reads `AGENT_RUNTIME_MODE`: `queue`, and anything else is local.
    pub fn from_environment(environment: &dyn Environment) -> Self {
        match environment.get("AGENT_RUNTIME_MODE").as_deref() {
            Some("queue") => Self::Queue,
            Some(_) | None => Self::Local,
        }
    }
}
