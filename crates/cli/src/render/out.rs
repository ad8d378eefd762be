//! The two streams.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};

use crate::problem::Problem;

/// Standard output. A reader that has gone away is no error: what is written after that is dropped,
/// and what is being done goes on.
#[derive(Debug, Default)]
pub(crate) struct Out {
    is_closed: bool,
    failure: Option<String>,
}

impl Out {
    /// Writes text as it is and makes it visible at once.
    pub(crate) fn write(&mut self, text: &str) {
        if self.is_closed {
            return;
        }
        let mut stdout = stdout().lock();
        if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            self.is_closed = true;
            if error.kind() != ErrorKind::BrokenPipe {
                self.failure = Some(error.to_string());
            }
        }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: impl Display) {
        self.write(&format!("{text}\n"));
    }

    /// Whether somebody looks at it.
    pub(crate) fn is_terminal() -> bool {
        stdout().is_terminal()
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Ends it.
    ///
    /// # Errors
    ///
    /// When something could not be written, except to a reader that went away.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        match self.failure {
            Some(why) => Err(Problem::failed(format!("standard output cannot be written: {why}"))),
            None => Ok(()),
        }
    }
}

/// Says something on standard error. If nobody can hear it, so be it.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(stderr().lock(), "{text}");
}
