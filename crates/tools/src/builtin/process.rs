//! One process and all that it starts, ended together.
//!
//! Each runs in a process group of its own. The group is killed when the first process ends, at the
//! deadline, when the future is dropped, and when this process is killed: nothing that a tool started
//! outlives its call, unless it leaves the group on purpose.

use std::io;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::clipped::Clipped;
use crate::limits;

/// What a process did.
#[derive(Debug)]
pub(super) struct Finished {
    /// How it ended; `None` if the deadline ended it.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: Clipped,
    pub(super) stderr: Clipped,
}

/// Runs a command to its end or to the deadline. Without input its standard input is empty.
///
/// # Errors
///
/// The system's, if the command cannot be started.
pub(super) async fn run(
    mut command: Command,
    input: Option<Vec<u8>>,
    deadline: Duration,
    output_bytes_max: usize,
) -> io::Result<Finished> {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut child, mut group) = jackline_process::spawn(&mut command)?;
    let (mut stdout, mut stderr) = (Clipped::new(output_bytes_max), Clipped::new(output_bytes_max));
    let status = {
        let (fed, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let talk = pin!(async {
            tokio::join!(feed(fed, input), stdout.fill(out), stderr.fill(err));
        });
        let mut open_talk = Some(talk);
        let ended = timeout(deadline, ended(&mut child, &mut open_talk)).await;
        group.kill();
        if let Some(talk) = open_talk {
            // The pipes end with the group.
            let _ = timeout(limits::DRAIN_DEADLINE, talk).await;
        }
        ended
    };
    let status = match status {
        Ok(status) => Some(status?),
        Err(_) => {
            // Reaps what was just killed.
            let _ = timeout(limits::DRAIN_DEADLINE, child.wait()).await;
            None
        }
    };
    Ok(Finished { status, stdout, stderr })
}

/// The deadline that a tool sets its processes: a little before the runtime drops the call.
pub(super) fn own_deadline(runtime: Duration) -> Duration {
    runtime.saturating_sub(limits::DEADLINE_MARGIN.min(runtime / 10))
}

/// Clears the environment but for what programs need to work at all and what is listed.
pub(super) fn keep_env(command: &mut Command, listed: &[String]) {
    command.env_clear();
    for name in ENV_KEPT.into_iter().chain(listed.iter().map(String::as_str)) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

/// Waits for the first process; what it says is read meanwhile, so that it never waits for a reader.
/// The talk is taken away when it has ended.
async fn ended<F: Future<Output = ()>>(child: &mut Child, talk: &mut Option<Pin<&mut F>>) -> io::Result<ExitStatus> {
    if let Some(open) = talk {
        tokio::select! {
            status = child.wait() => return status,
            () = open.as_mut() => {}
        }
    }
    *talk = None;
    child.wait().await
}

async fn feed(stdin: Option<ChildStdin>, input: Option<Vec<u8>>) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        // A program need not read its input; a broken pipe says so.
        let _ = stdin.write_all(&input).await;
    }
}

/// Without these even simple programs fail, and none is a secret.
const ENV_KEPT: [&str; 3] = ["PATH", "HOME", "LANG"];
