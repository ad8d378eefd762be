//! What the tests of several tools share.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jackline_model::ToolRunResult;
use serde_json::Value;

use crate::{Tool, ToolAnswer, ToolContext, ToolError};

/// Long enough for any test that is to end by itself.
pub(super) const LONG: Duration = Duration::from_secs(600);

pub(super) fn context(deadline: Duration) -> ToolContext {
    ToolContext {
        operation: "op".into(),
        step: 3,
        call_id: "call_7".into(),
        idempotency_key: "key-1".to_owned(),
        attempt: 1,
        deadline,
    }
}

pub(super) async fn run(tool: &dyn Tool, arguments: Value) -> Result<ToolRunResult, ToolError> {
    run_within(LONG, tool, arguments).await
}

/// Runs a tool as the runtime does: arguments that the schema refuses never reach it.
pub(super) async fn run_within(
    deadline: Duration,
    tool: &dyn Tool,
    arguments: Value,
) -> Result<ToolRunResult, ToolError> {
    let schema = crate::ArgumentSchema::compile(&tool.spec().parameters).unwrap();
    let arguments = schema.check(arguments.as_object().cloned().unwrap()).unwrap();
    match tool.run(arguments, &context(deadline)).await? {
        ToolAnswer::Now(result) => Ok(result),
        ToolAnswer::Later => panic!("a builtin tool answers at once"),
    }
}

/// A named pipe. Its end is seen when no process holds it open for writing any more.
pub(super) struct Fifo {
    pub(super) path: PathBuf,
}

impl Fifo {
    pub(super) fn new(directory: &Path) -> Self {
        let path = directory.join("fifo");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        Self { path }
    }

    /// Waits until a process writes a line into the pipe, and gives back the reading end.
    pub(super) async fn first_writer(&self) -> File {
        let path = self.path.clone();
        let open = move || {
            let mut file = File::open(path).unwrap();
            let mut line = [0; 6];
            file.read_exact(&mut line).unwrap();
            assert_eq!(&line, b"ready\n");
            file
        };
        tokio::task::spawn_blocking(open).await.unwrap()
    }
}

/// Waits until every process that held the writing end is gone.
pub(super) async fn all_writers_gone(mut file: File) {
    let read = move || file.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(tokio::task::spawn_blocking(read).await.unwrap(), 0);
}
