//! `archive/read`: the rest of a long result.

use std::fmt;
use std::sync::Arc;

use jackline_model::{BlobId, OperationId, SideEffect, ToolRunResult};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::blocking::Cancel;
use super::page::page;
use super::{Refusal, answer, arguments_of, builtin_spec};
use crate::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec, limits};

/// Reads the archive; whoever keeps it implements this.
///
/// Only published text is in an archive, so what it gives needs no further ruling.
pub trait ArchiveReader: Send + Sync {
    /// The text stored under a hash, if the operation may see it. `None` says no more than that:
    /// absent and not allowed look the same.
    ///
    /// # Errors
    ///
    /// What broke, in words; the same read may be tried again.
    fn read<'a>(
        &'a self,
        operation: &'a OperationId,
        blob: &'a BlobId,
    ) -> BoxFuture<'a, Result<Option<Arc<str>>, String>>;
}

/// The tool with which a model reads on where a result was cut.
pub fn archive_tool(reader: Arc<dyn ArchiveReader>) -> Arc<dyn Tool> {
    let parameters = json!({
        "type": "object",
        "properties": {
            "blob": {"type": "string", "description": "The name that stands where the result was cut."},
            "offset": {"type": "integer", "minimum": 1, "description": "The first line, counted from 1."},
            "limit": {"type": "integer", "minimum": 1, "description": "The most lines to read."},
            "from_byte": {
                "type": "integer",
                "minimum": 0,
                "description": "Begin at this byte, for lines longer than a page; lines are counted from there.",
            },
        },
        "required": ["blob"],
        "additionalProperties": false,
    });
    let description = "Reads on in a long result, a page at a time.";
    let spec = builtin_spec("archive/read", description, parameters, SideEffect::Pure);
    Arc::new(ArchiveTool { spec, reader })
}

struct ArchiveTool {
    spec: ToolSpec,
    reader: Arc<dyn ArchiveReader>,
}

#[derive(Deserialize)]
struct ArchiveArguments {
    blob: String,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    from_byte: Option<usize>,
}

impl Tool for ArchiveTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async move {
            let arguments: ArchiveArguments = match arguments_of(arguments) {
                Ok(arguments) => arguments,
                Err(Refusal(text)) => return Ok(ToolRunResult::failed(text).into()),
            };
            let blob = BlobId::new(arguments.blob.trim());
            let stored = self.reader.read(&context.operation, &blob).await.map_err(ToolError::retryable)?;
            answer(match stored {
                Some(text) => shown(&text, &arguments),
                None => Err(Refusal(format!("The archive of this run holds no `{blob}`."))),
            })
        })
    }
}

impl fmt::Debug for ArchiveTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveTool").finish_non_exhaustive()
    }
}

fn shown(text: &str, arguments: &ArchiveArguments) -> Result<String, Refusal> {
    let offset = arguments.offset.unwrap_or(1);
    let limit = arguments.limit.unwrap_or(limits::PAGE_LINES_MAX);
    let start = text.ceil_char_boundary(arguments.from_byte.unwrap_or(0));
    let mut rest = &text.as_bytes()[start..];
    Ok(page(&mut rest, offset, limit, &Cancel::default())?.into_text(offset))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use jackline_model::{BlobId, OperationId};
    use serde_json::{Value, json};

    use super::{ArchiveReader, archive_tool};
    use crate::{BoxFuture, ToolAnswer, ToolContext, ToolError, limits};

    /// Holds one text, for one operation.
    struct One(Arc<str>);

    impl ArchiveReader for One {
        fn read<'a>(
            &'a self,
            operation: &'a OperationId,
            blob: &'a BlobId,
        ) -> BoxFuture<'a, Result<Option<Arc<str>>, String>> {
            Box::pin(async move {
                match (operation.as_str(), blob.as_str()) {
                    ("op", "b1") => Ok(Some(self.0.clone())),
                    ("op", "broken") => Err("the disk is gone".to_owned()),
                    (_, _) => Ok(None),
                }
            })
        }
    }

    async fn read(text: &str, operation: &str, arguments: Value) -> Result<String, ToolError> {
        let context = ToolContext {
            operation: operation.into(),
            step: 1,
            call_id: "call_1".into(),
            idempotency_key: "key".to_owned(),
            attempt: 1,
            deadline: Duration::from_secs(60),
        };
        let tool = archive_tool(Arc::new(One(text.into())));
        match tool.run(arguments.as_object().cloned().unwrap(), &context).await? {
            ToolAnswer::Now(result) => Ok(result.content),
            ToolAnswer::Later => panic!("the archive answers at once"),
        }
    }

    #[tokio::test]
    async fn a_result_is_read_on_by_lines() {
        let shown = read("a\nb\nc\nd", "op", json!({"blob": "b1", "offset": 2, "limit": 2})).await.unwrap();
        assert_eq!(shown, "b\nc\n[Lines 2 to 3 are shown. Read on with offset 4.]");
    }

    #[tokio::test]
    async fn a_result_of_one_giant_line_is_read_on_by_bytes() {
        let giant = format!("{}end", "é".repeat(limits::PAGE_BYTES_MAX));
        let shown = read(&giant, "op", json!({"blob": "b1", "from_byte": giant.len() - 4})).await.unwrap();
        assert_eq!(shown, "end");
        let shown = read(&giant, "op", json!({"blob": "b1", "from_byte": giant.len() + 9})).await.unwrap();
        assert_eq!(shown, "");
    }

    #[tokio::test]
    async fn what_another_operation_stored_does_not_exist() {
        let shown = read("secret", "other", json!({"blob": "b1"})).await.unwrap();
        assert_eq!(shown, "The archive of this run holds no `b1`.");
    }

    #[tokio::test]
    async fn a_store_that_breaks_may_be_asked_again() {
        let error = read("", "op", json!({"blob": "broken"})).await.unwrap_err();
        assert_eq!(error, ToolError::retryable("the disk is gone"));
    }
}
