//! The guard: what outlives this process, for a moment, and ends what it left.
//!
//! Nothing can be done in a process that is killed. So a shell holds the other end of a pipe: it is told of each
//! group, and when the pipe ends, which is when this process has, it kills the groups that are still there.

use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::Pid;

/// The line to the guard of this process.
pub(crate) struct Guard(Mutex<ChildStdin>);

impl Guard {
    /// The only guard, started when it is first asked for; `None` if there is no shell.
    pub(crate) fn of_this_process() -> Option<&'static Self> {
        static GUARD: OnceLock<Option<Guard>> = OnceLock::new();
        GUARD.get_or_init(Self::start).as_ref()
    }

    fn start() -> Option<Self> {
        let mut shell = Command::new("/bin/sh");
        // A group of its own: what ends the programs in the foreground of a terminal must not end their guard.
        shell.args(["-c", SCRIPT]).env_clear().current_dir("/").process_group(0);
        let started = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let line = started.and_then(|mut shell| {
            let line = shell.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
            rustix::io::ioctl_fionbio(&line, true)?;
            Ok(line)
        });
        match line {
            Ok(line) => Some(Self(Mutex::new(line))),
            Err(error) => {
                tracing::warn!(%error, "nothing ends the programs that are left if this process is killed");
                None
            }
        }
    }

    /// From now on the group ends with this process.
    pub(crate) fn watch(&self, group: Pid) {
        self.say('+', group);
    }

    /// The group is gone; its number may soon be another's.
    pub(crate) fn forget(&self, group: Pid) {
        self.say('-', group);
    }

    fn say(&self, what: char, group: Pid) {
        let line = format!("{what} {}\n", group.as_raw_nonzero());
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // So short a line is written whole or not at all. It is not if somebody has ended or stopped the guard.
        if let Err(error) = pipe.write_all(line.as_bytes()) {
            tracing::debug!(%error, "the guard does not listen");
        }
    }
}

const SCRIPT: &str = r#"
trap '' HUP INT TERM
all=' '
while read -r what group; do
    case $what in
    +) all="$all$group " ;;
    -) case $all in
        *" $group "*) all="${all%% $group *} ${all#* $group }" ;;
        esac ;;
    esac
done
for group in $all; do
    kill -s KILL -- "-$group"
done
"#;

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that lasts as long as nobody ends it.
    fn lasting() -> std::process::Child {
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn().unwrap()
    }

    #[test]
    fn at_the_end_the_groups_that_are_watched_are_killed_and_no_others() {
        let mut programs: Vec<_> = (0..4).map(|_| lasting()).collect();
        let mut guard = Command::new("/bin/sh").args(["-c", SCRIPT]).stdin(Stdio::piped()).spawn().unwrap();
        let mut line = guard.stdin.take().unwrap();
        for (what, which) in [('+', 0), ('+', 1), ('+', 2), ('-', 1), ('-', 3), ('+', 3), ('-', 0), ('+', 0), ('-', 3)]
        {
            writeln!(line, "{what} {}", programs[which].id()).unwrap();
        }
        drop(line);
        assert!(guard.wait().unwrap().success());
        for (which, is_watched) in [(0, true), (1, false), (2, true), (3, false)] {
            if is_watched {
                assert!(!programs[which].wait().unwrap().success(), "{which}");
            } else {
                assert!(programs[which].try_wait().unwrap().is_none(), "{which}");
                programs[which].kill().unwrap();
                programs[which].wait().unwrap();
            }
        }
    }
}
