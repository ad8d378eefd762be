//! Programs that are started, and end with whoever started them.
//!
//! A program runs in a process group of its own. The group is killed when its [`Group`] is dropped, and when this
//! process is gone, however it went: after SIGKILL, too. What leaves the group on purpose is left alone.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let mut command = tokio::process::Command::new("sh");
//! command.args(["-c", "sleep 600 & wait"]);
//! let (child, group) = jackline_process::spawn(&mut command)?;
//! drop(group);
//! // Both are gone: the shell and what it started.
//! assert!(!child.wait_with_output().await?.status.success());
//! # Ok(())
//! # }
//! ```

mod guard;

use std::io;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use guard::Guard;

/// Starts a command as the first of a process group.
///
/// The first call also starts a guard, a shell that waits for the end of this process.
///
/// # Errors
///
/// The system's, if the command cannot be started. Without a guard it is started all the same: then only SIGKILL leaves
/// something behind.
pub fn spawn(command: &mut Command) -> io::Result<(Child, Group)> {
    let guard = Guard::of_this_process();
    let child = command.process_group(0).kill_on_drop(true).spawn()?;
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let (Some(guard), Some(id)) = (guard, id) {
        guard.watch(id);
    }
    Ok((child, Group(id)))
}

/// A process group that does not outlive this value.
#[derive(Debug)]
pub struct Group(Option<Pid>);

impl Group {
    /// Kills all that is left of the group. Once only: when it is gone its number may be another's.
    pub fn kill(&mut self) {
        if let Some(id) = self.0.take() {
            // It fails if nothing is left, which is as well.
            let _gone = kill_process_group(id, Signal::KILL);
            if let Some(guard) = Guard::of_this_process() {
                guard.forget(id);
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
