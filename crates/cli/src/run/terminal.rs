//! Lines that a person types.

use std::io::{BufRead, IsTerminal, stdin};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::render::Out;

/// Reads lines in a thread of its own: a read from a terminal cannot be given up.
#[derive(Debug, Default)]
pub(crate) struct Terminal {
    lines: Option<UnboundedReceiver<String>>,
}

impl Terminal {
    /// Whether somebody sits there.
    pub(crate) fn is_there() -> bool {
        stdin().is_terminal() && Out::is_terminal()
    }

    /// The next line; `None` when there are no more.
    pub(crate) async fn line(&mut self) -> Option<String> {
        self.lines.get_or_insert_with(read_lines).recv().await
    }
}

fn read_lines() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        for line in stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
