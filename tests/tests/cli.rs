//! The command line as a person and a shell meet it: processes, pipes, signals, exit codes.
//!
//! Nothing here sleeps. A test waits for a line that a process prints, or for its end.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cli {
    pub(crate) mod bad_input;
    pub(crate) mod decisions;
    pub(crate) mod home;
    pub(crate) mod hook_secrets;
    pub(crate) mod hook_trials;
    pub(crate) mod hooks;
    pub(crate) mod killed;
    pub(crate) mod machine;
    pub(crate) mod orphans;
    pub(crate) mod outbox;
    pub(crate) mod pipes;
    pub(crate) mod policy_page;
    pub(crate) mod signals;
    pub(crate) mod stops;
    pub(crate) mod tour;
}
