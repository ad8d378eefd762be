//! Tools that are programs, declared in the agent file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackline_model::{SideEffect, ToolKey, ToolRunResult, ToolSource};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::process::Command;

use super::process::{Finished, keep_env, own_deadline, run};
use super::root::{Root, RootProblem};
use super::shell::ending;
use crate::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec, limits};

/// A tool that is a program, as the agent file declares it.
///
/// The program gets the arguments as one JSON object on its standard input. What it prints is the
/// result; a JSON object with `content` and `success` is taken as a whole result. An exit code other
/// than 0 means that the tool broke, and the end of its error output says why. It sees `PATH`,
/// `HOME`, `LANG`, the variables listed in `env`, and [`IDEMPOTENCY_KEY_ENV`](Self::IDEMPOTENCY_KEY_ENV)
/// and [`CALL_ID_ENV`](Self::CALL_ID_ENV).
///
/// ```
/// use jackline_tools::builtin::{CommandTool, CommandToolSpec};
///
/// let mut spec: CommandToolSpec = serde_json::from_str(
///     r#"{"name": "text/count", "description": "Counts bytes.", "command": ["wc", "-c"], "side_effect": "pure"}"#,
/// )
/// .unwrap();
/// assert!(CommandTool::new(spec.clone(), ".").is_ok());
///
/// spec.command.clear();
/// assert!(CommandTool::new(spec, ".").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandToolSpec {
    /// The name, as `identifier/apiName`.
    pub name: String,
    /// What it does, in words for the model.
    pub description: String,
    /// The program and its first arguments. No shell reads them.
    pub command: Vec<String>,
    /// The JSON Schema of its arguments; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// How long one run may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// What a second run would do; unknown if absent.
    #[serde(default)]
    pub side_effect: SideEffect,
    /// When a person must approve; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Value>,
    /// All calls run one after another.
    #[serde(default)]
    pub ordered: bool,
    /// Calls that name the same resource in this argument run one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serialize_by: Option<String>,
    /// Variables of the environment that the program may see, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
}

impl CommandToolSpec {
    /// Holds the key under which a service can recognise a second run of the same call.
    pub const IDEMPOTENCY_KEY_ENV: &str = "JACKLINE_IDEMPOTENCY_KEY";

    /// Holds the provider's id of the call.
    pub const CALL_ID_ENV: &str = "JACKLINE_CALL_ID";
}

/// Why a declaration makes no tool.
#[derive(Debug, thiserror::Error)]
pub enum CommandToolProblem {
    /// The name has not two halves.
    #[error("`{0}` is no name of a tool: write `identifier/apiName`")]
    Name(String),
    /// There is no program.
    #[error("the command of `{0}` is empty: name a program")]
    Command(String),
    /// The directory cannot be used.
    #[error(transparent)]
    Root(#[from] RootProblem),
}

/// A program as a tool; see [`CommandToolSpec`].
pub struct CommandTool {
    spec: ToolSpec,
    program: String,
    first_arguments: Vec<String>,
    env: Vec<String>,
    root: Root,
}

impl CommandTool {
    /// Makes the tool. The program starts in the directory.
    ///
    /// # Errors
    ///
    /// [`CommandToolProblem`]: mend the declaration as it says.
    pub fn new(declared: CommandToolSpec, root: impl AsRef<Path>) -> Result<Self, CommandToolProblem> {
        let key = ToolKey::parse(&declared.name);
        if key.identifier.is_empty() || key.api_name.is_empty() {
            return Err(CommandToolProblem::Name(declared.name));
        }
        let mut words = declared.command.into_iter();
        let program = match words.next() {
            Some(program) if !program.is_empty() => program,
            Some(_) | None => return Err(CommandToolProblem::Command(declared.name)),
        };
        let mut spec = ToolSpec {
            side_effect: declared.side_effect,
            source: ToolSource::Command,
            approval: declared.approval,
            ordered: declared.ordered,
            serialize_by: declared.serialize_by.map(Arc::from),
            deadline: declared.deadline_ms.map_or(limits::TOOL_DEADLINE, Duration::from_millis),
            ..ToolSpec::new(key, declared.description)
        };
        if let Some(parameters) = declared.parameters {
            spec.parameters = parameters.into();
        }
        let root = Root::new(root.as_ref())?;
        Ok(Self { spec, program, first_arguments: words.collect(), env: declared.env, root })
    }

    fn command(&self, context: &ToolContext) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.first_arguments).current_dir(self.root.path());
        keep_env(&mut command, &self.env);
        command.env(CommandToolSpec::IDEMPOTENCY_KEY_ENV, &context.idempotency_key);
        command.env(CommandToolSpec::CALL_ID_ENV, context.call_id.as_str());
        command
    }
}

impl Tool for CommandTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        let deadline = own_deadline(context.deadline).min(self.spec.deadline);
        let input = Value::Object(arguments).to_string().into_bytes();
        Box::pin(async move {
            let finished = run(self.command(context), Some(input), deadline, limits::ARCHIVE_BYTES_MAX)
                .await
                .map_err(|error| ToolError::new(format!("`{}` did not start: {error}.", self.program)))?;
            told(&finished, deadline)
        })
    }
}

impl fmt::Debug for CommandTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandTool")
            .field("key", &self.spec.key)
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

fn told(finished: &Finished, deadline: Duration) -> Result<ToolAnswer, ToolError> {
    let ending = match finished.status {
        Some(status) if status.success() => return Ok(result(finished).into()),
        Some(status) => ending(status),
        None => format!("it took longer than {} ms", deadline.as_millis()),
    };
    let said = finished.stderr.ending(limits::ERROR_TAIL_BYTES_MAX);
    let gap = if said.is_empty() { "" } else { ": " };
    Err(ToolError::new(format!("The tool failed ({ending}){gap}{said}")))
}

/// A whole result if the program printed one, else its text.
fn result(finished: &Finished) -> ToolRunResult {
    let text = finished.stdout.text();
    if !finished.stdout.is_whole() || !text.trim_start().starts_with('{') {
        return ToolRunResult::ok(text);
    }
    serde_json::from_str(&text).unwrap_or_else(|_| ToolRunResult::ok(text))
}

#[cfg(test)]
mod tests;
