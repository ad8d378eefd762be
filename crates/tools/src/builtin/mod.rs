//! Tools that ship with Jackline: files, a shell, programs named in the agent file, the archive,
//! addresses.
//!
//! Each does its work inside the future that it returns: dropping that stops the work and ends the
//! processes. There is no sandbox here. A root keeps the file tools inside it, and nothing keeps a
//! shell there; that is what approval is for.

mod archive;
mod blocking;
mod clipped;
mod command;
mod fs;
mod http;
mod page;
mod process;
mod root;
mod shell;
#[cfg(test)]
mod testing;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use jackline_model::{SideEffect, ToolKey, ToolRunResult, ToolSource};

use crate::{ToolAnswer, ToolError, ToolSpec};

pub use archive::{ArchiveReader, archive_tool};
pub use command::{CommandTool, CommandToolProblem, CommandToolSpec};
pub use fs::fs_tools;
pub use http::{HttpProblem, http_tool};
pub use root::RootProblem;
pub use shell::{Shell, shell_tool};

/// Why a tool did not do what it was asked, in words for the model: an answer, not a breakdown.
#[derive(Debug, PartialEq, Eq)]
struct Refusal(String);

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<serde_json::Error> for Refusal {
    fn from(error: serde_json::Error) -> Self {
        Self(format!("The arguments do not fit: {error}."))
    }
}

/// Takes the arguments of a tool from the object that its schema has let through.
fn arguments_of<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, Refusal> {
    Ok(serde_json::from_value(Value::Object(arguments))?)
}

fn answer(outcome: Result<String, Refusal>) -> Result<ToolAnswer, ToolError> {
    Ok(match outcome {
        Ok(text) => ToolRunResult::ok(text).into(),
        Err(Refusal(text)) => ToolRunResult::failed(text).into(),
    })
}

fn builtin_spec(key: &str, description: &str, parameters: Value, side_effect: SideEffect) -> ToolSpec {
    ToolSpec {
        parameters: parameters.into(),
        side_effect,
        source: ToolSource::Builtin,
        ..ToolSpec::new(ToolKey::parse(key), description)
    }
}
