//! Asking a model. A model is an embedder's code: when it panics, the call has failed.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use jackline_model::{Fault, FaultAttribution};

use crate::llm::{DeltaSink, Model, ModelFault, ModelFaultKind, ModelReply, ModelRequest};

/// Asks once.
pub(crate) async fn ask(
    model: &dyn Model,
    request: ModelRequest<'_>,
    sink: &mut dyn DeltaSink,
) -> Result<ModelReply, ModelFault> {
    // In a block of its own: a model may panic before it returns its future.
    let answer = async { model.call(request, sink).await };
    match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(answer) => answer,
        Err(_) => Err(panicked()),
    }
}

fn panicked() -> ModelFault {
    let fault = Fault {
        code: "model_panicked".to_owned(),
        message: "the client of the model panicked".to_owned(),
        attribution: FaultAttribution::Harness,
        detail: None,
    };
    ModelFault { kind: ModelFaultKind::Permanent, fault, retry_after: None, partial: String::new() }
}
