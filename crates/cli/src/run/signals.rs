//! Ctrl-C, once and twice.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::problem::Problem;

/// Hears the signals that ask a program to end.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    heard: u32,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, Problem> {
        let listen = |kind| signal(kind).map_err(|error| Problem::failed(format!("cannot hear signals: {error}")));
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())?, heard: 0 })
    }

    /// Waits for the next one. The second ends the process at once.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        self.heard += 1;
        if self.heard > 1 {
            crate::render::say("stopped at once; what was under way is in doubt");
            std::process::exit(AT_ONCE);
        }
    }
}

/// What shells report for a program that Ctrl-C ended.
const AT_ONCE: i32 = 130;
