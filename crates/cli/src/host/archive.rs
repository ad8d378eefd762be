//! The archive of a run, over its store.

use std::sync::Arc;

use jackline_model::{BlobId, MessageBody, OperationId};
use jackline_runtime::journal::Store;
use jackline_tools::BoxFuture;
use jackline_tools::builtin::ArchiveReader;

/// Gives an operation what its own results refer to.
pub(super) struct StoreArchive(pub(super) Arc<dyn Store>);

impl ArchiveReader for StoreArchive {
    fn read<'a>(
        &'a self,
        operation: &'a OperationId,
        blob: &'a BlobId,
    ) -> BoxFuture<'a, Result<Option<Arc<str>>, String>> {
        Box::pin(std::future::ready(self.find(operation, blob)))
    }
}

impl StoreArchive {
    fn find(&self, operation: &OperationId, blob: &BlobId) -> Result<Option<Arc<str>>, String> {
        let messages = self.0.messages(operation).map_err(|error| error.to_string())?;
        let refers = messages.iter().any(|stored| match &stored.message.body {
            MessageBody::Tool { content, .. } => content.contains(blob.as_str()),
            MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Assistant { .. } => false,
        });
        if blob.as_str().is_empty() || !refers {
            return Ok(None);
        }
        self.0.blob(blob).map_err(|error| error.to_string())
    }
}
