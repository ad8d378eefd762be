//! Runs what nobody waits for, on Tokio.

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;

use crate::Spawn;

/// Runs what nobody waits for, on a Tokio runtime. The runtime drops what is unfinished when it shuts down.
#[derive(Clone, Debug)]
pub struct TokioSpawn(Handle);

impl TokioSpawn {
    /// The runtime that is behind the handle.
    pub fn new(handle: Handle) -> Self {
        Self(handle)
    }
}

impl Spawn for TokioSpawn {
    fn spawn(&self, work: BoxFuture<'static, ()>) {
        // Nobody waits: the work logs its own failures.
        drop(self.0.spawn(work));
    }
}
