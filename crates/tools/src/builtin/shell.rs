//! `shell/run`.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use jackline_model::{SideEffect, ToolRunResult};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::process::Command;

use super::process::{Finished, keep_env, own_deadline, run};
use super::root::{Root, RootProblem};
use super::{Refusal, arguments_of, builtin_spec};
use crate::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec, limits};

/// Runs commands with `sh -c`.
///
/// A command starts in the root but is not kept there: it may do all that the process may do. So a
/// person must approve each, unless the agent's policy says otherwise. Of the environment it sees
/// `PATH`, `HOME`, `LANG` and what is listed.
#[derive(Debug)]
pub struct Shell {
    spec: ToolSpec,
    root: Root,
    env: Vec<String>,
}

/// A [`Shell`] that sees nothing of the environment but `PATH`, `HOME` and `LANG`.
///
/// # Errors
///
/// [`RootProblem`] if the directory does not exist: create it, or name another.
pub fn shell_tool(root: impl AsRef<Path>) -> Result<Arc<dyn Tool>, RootProblem> {
    Ok(Arc::new(Shell::new(root)?))
}

impl Shell {
    /// A shell that starts in a directory.
    ///
    /// # Errors
    ///
    /// [`RootProblem`] if the directory does not exist: create it, or name another.
    pub fn new(root: impl AsRef<Path>) -> Result<Self, RootProblem> {
        let parameters = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command, for `sh -c`."},
                "timeout_ms": {"type": "integer", "minimum": 1, "description": "How long it may take."},
            },
            "required": ["command"],
            "additionalProperties": false,
        });
        let description = "Runs a shell command and answers its exit code, output and error output. \
                           What it starts ends with it.";
        let mut spec = builtin_spec("shell/run", description, parameters, SideEffect::Effect);
        spec.approval = Some(json!("required"));
        Ok(Self { spec, root: Root::new(root.as_ref())?, env: Vec::new() })
    }

    /// Lets commands see these variables too.
    #[must_use]
    pub fn with_env(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.env.extend(names.into_iter().map(Into::into));
        self
    }

    async fn run_command(&self, arguments: ShellArguments, deadline: Duration) -> Result<ToolAnswer, ToolError> {
        let asked = arguments.timeout_ms.map_or(Duration::MAX, Duration::from_millis);
        let deadline = own_deadline(deadline).min(asked);
        let mut command = Command::new("sh");
        command.arg("-c").arg(&arguments.command).current_dir(self.root.path());
        keep_env(&mut command, &self.env);
        let finished = run(command, None, deadline, limits::SHELL_OUTPUT_BYTES_MAX)
            .await
            .map_err(|error| ToolError::new(format!("The shell did not start: {error}.")))?;
        Ok(told(&finished, deadline).into())
    }
}

impl Tool for Shell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async move {
            match arguments_of::<ShellArguments>(arguments) {
                Ok(arguments) => self.run_command(arguments, context.deadline).await,
                Err(Refusal(text)) => Ok(ToolRunResult::failed(text).into()),
            }
        })
    }
}

#[derive(Deserialize)]
struct ShellArguments {
    command: String,
    timeout_ms: Option<u64>,
}

/// The ending comes first: a long output may be cut before its end.
fn told(finished: &Finished, deadline: Duration) -> ToolRunResult {
    let ending = match finished.status {
        Some(status) => ending(status),
        None => format!("stopped: it took longer than {} ms", deadline.as_millis()),
    };
    let mut content = format!("[{ending}]\n{}", finished.stdout.text());
    let stderr = finished.stderr.text();
    if !stderr.is_empty() {
        let gap = if content.ends_with('\n') { "" } else { "\n" };
        content.push_str(gap);
        content.push_str("[error output]\n");
        content.push_str(&stderr);
    }
    let code = finished.status.and_then(|status| status.code());
    ToolRunResult {
        content,
        success: code == Some(0),
        state: code.map(|code| Map::from_iter([("exitCode".to_owned(), json!(code))])),
        ..ToolRunResult::default()
    }
}

/// How a process ended, in words.
pub(super) fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

#[cfg(test)]
mod tests;
