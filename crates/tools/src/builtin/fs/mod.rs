//! The file tools `fs/list`, `fs/read`, `fs/search`, `fs/write` and `fs/edit`, all under one root.

mod edit;
mod list;
mod read;
mod search;
mod write;

use std::path::Path;
use std::sync::Arc;

use jackline_model::SideEffect;
use serde_json::{Map, Value, json};

use super::blocking::{Cancel, blocking};
use super::root::{Root, RootProblem};
use super::{Refusal, builtin_spec};
use crate::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};

/// The file tools for a directory. None of them leaves it, by `..` or by symlink.
///
/// Listing, reading and searching are pure. Writing and editing can be repeated, are atomic, and
/// calls that name the same `path` run one after another.
///
/// # Errors
///
/// [`RootProblem`] if the directory does not exist: create it, or name another.
///
/// ```
/// use jackline_tools::builtin::fs_tools;
///
/// let tools = fs_tools(".").unwrap();
/// assert_eq!(tools.len(), 5);
/// assert!(fs_tools("/no/such/directory").is_err());
/// ```
pub fn fs_tools(root: impl AsRef<Path>) -> Result<Vec<Arc<dyn Tool>>, RootProblem> {
    let root = Root::new(root.as_ref())?;
    let verbs = [Verb::List, Verb::Read, Verb::Search, Verb::Write, Verb::Edit];
    Ok(verbs.map(|verb| Arc::new(FsTool { spec: verb.spec(), verb, root: root.clone() }) as Arc<dyn Tool>).into())
}

struct FsTool {
    spec: ToolSpec,
    verb: Verb,
    root: Root,
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    List,
    Read,
    Search,
    Write,
    Edit,
}

impl Tool for FsTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        let (verb, root) = (self.verb, self.root.clone());
        Box::pin(blocking(move |cancel| verb.perform(&root, arguments, cancel)))
    }
}

impl Verb {
    fn perform(self, root: &Root, arguments: Map<String, Value>, cancel: &Cancel) -> Result<String, Refusal> {
        match self {
            Self::List => list::list(root, super::arguments_of(arguments)?, cancel),
            Self::Read => read::read(root, super::arguments_of(arguments)?, cancel),
            Self::Search => search::search(root, super::arguments_of(arguments)?, cancel),
            Self::Write => write::write(root, super::arguments_of(arguments)?, cancel),
            Self::Edit => edit::edit(root, super::arguments_of(arguments)?, cancel),
        }
    }

    fn spec(self) -> ToolSpec {
        let (key, description, properties, required, side_effect) = match self {
            Self::List => (
                "fs/list",
                "Lists a directory: directories end in `/`, files have their size.",
                json!({"path": path("The directory; the root if absent.")}),
                json!([]),
                SideEffect::Pure,
            ),
            Self::Read => (
                "fs/read",
                "Reads a text file, a page at a time. The answer says where to read on.",
                json!({
                    "path": path("The file."),
                    "offset": whole("The first line, counted from 1."),
                    "limit": whole("The most lines to read."),
                }),
                json!(["path"]),
                SideEffect::Pure,
            ),
            Self::Search => (
                "fs/search",
                "Searches text files line by line with a regular expression. Answers `path:line: text`.",
                json!({
                    "pattern": {"type": "string", "description": "The regular expression."},
                    "path": path("A file or directory to search in; the root if absent."),
                }),
                json!(["pattern"]),
                SideEffect::Pure,
            ),
            Self::Write => (
                "fs/write",
                "Writes a whole file, and its directories where they are missing. Replaces what was there.",
                json!({"path": path("The file."), "text": {"type": "string", "description": "All of the file."}}),
                json!(["path", "text"]),
                SideEffect::Idempotent,
            ),
            Self::Edit => (
                "fs/edit",
                "Replaces a text that occurs exactly once in a file. Give enough lines around it to be unique.",
                json!({
                    "path": path("The file."),
                    "old": {"type": "string", "description": "The text as it stands, white space included."},
                    "new": {"type": "string", "description": "The text that takes its place."},
                }),
                json!(["path", "old", "new"]),
                SideEffect::Idempotent,
            ),
        };
        let parameters = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        let serialize_by = match self {
            Self::Write | Self::Edit => Some("path".into()),
            Self::List | Self::Read | Self::Search => None,
        };
        ToolSpec { serialize_by, ..builtin_spec(key, description, parameters, side_effect) }
    }
}

fn path(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn whole(description: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "description": description})
}

#[cfg(test)]
mod tests;
