//! Ctrl-C, once and twice.

use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::problem::Problem;

/// Hears the signals that ask a program to end. The second ends the process at once, whatever it is
/// waiting for: a task of its own listens.
#[derive(Debug)]
pub(crate) struct Signals {
    first: Arc<Notify>,
    listener: JoinHandle<()>,
}

impl Signals {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// When the system does not let us.
    pub(crate) fn new() -> Result<Self, Problem> {
        let listen = |kind| signal(kind).map_err(|error| Problem::failed(format!("cannot hear signals: {error}")));
        let (interrupt, terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        let first = Arc::new(Notify::new());
        let listener = tokio::spawn(listen_to(interrupt, terminate, Arc::clone(&first)));
        Ok(Self { first, listener })
    }

    /// Waits for the first one.
    pub(crate) async fn first(&self) {
        self.first.notified().await;
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

async fn listen_to(mut interrupt: Signal, mut terminate: Signal, first: Arc<Notify>) {
    next(&mut interrupt, &mut terminate).await;
    first.notify_one();
    next(&mut interrupt, &mut terminate).await;
    crate::render::say("ended at once; what was under way is in doubt");
    std::process::exit(AT_ONCE);
}

async fn next(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// What shells report for a program that Ctrl-C ended.
const AT_ONCE: i32 = 130;
