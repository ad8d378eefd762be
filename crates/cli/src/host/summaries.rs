//! Requests for summaries, told apart from those of the run itself.

use std::sync::Arc;

use jackline_model::MessageBody;
use jackline_runtime::compress::summary_prompt;
use jackline_runtime::llm::{BoxFuture, DeltaSink, Model, ModelFault, ModelReply, ModelRequest};

/// Whether a request asks for a summary.
pub(super) fn asks_for_summary(request: &ModelRequest<'_>) -> bool {
    let Some(first) = request.history.entries().first() else { return false };
    match &first.message().body {
        MessageBody::System { content } => content.text() == summary_prompt([], []).instructions,
        MessageBody::User { .. } | MessageBody::Assistant { .. } | MessageBody::Tool { .. } => false,
    }
}

/// A model whose summaries another writes.
pub(super) struct WithSummarizer {
    pub(super) model: Arc<dyn Model>,
    pub(super) summarizer: String,
}

impl Model for WithSummarizer {
    fn call<'a>(
        &'a self,
        request: ModelRequest<'a>,
        sink: &'a mut dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelFault>> {
        let model = if asks_for_summary(&request) { &self.summarizer } else { request.model };
        self.model.call(ModelRequest { model, ..request }, sink)
    }
}
