//! Tools that whoever drives the runtime answers.

use std::sync::Arc;

use jackline_model::{ExecutorRoute, SideEffect, ToolKey, ToolSource};
use serde_json::{Map, Value};

use crate::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};

/// A tool without a body: a call to it parks the run until somebody hands the result in, from any
/// process, with `Runtime::complete_call` or `jackline complete`.
///
/// The before-hooks are asked before the call parks, the after-hooks about the result.
///
/// ```
/// use jackline_model::ToolKey;
/// use jackline_tools::{ClientTool, Tool};
/// let ask = ClientTool::new(ToolKey::new("desk", "ask"), "Asks the front desk.");
/// assert_eq!(ask.spec().key.to_string(), "desk/ask");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ClientTool {
    spec: ToolSpec,
}

impl ClientTool {
    /// A tool that takes no arguments and needs no approval.
    pub fn new(key: ToolKey, description: impl Into<Arc<str>>) -> Self {
        let mut spec = ToolSpec::new(key, description);
        spec.source = ToolSource::Client;
        spec.executor = ExecutorRoute::Client;
        // Nothing of ours runs, so there is nothing that a crash could leave half done.
        spec.side_effect = SideEffect::Pure;
        Self { spec }
    }

    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn with_parameters(mut self, parameters: Value) -> Self {
        self.spec.parameters = Arc::new(parameters);
        self
    }

    /// Says when a person must approve the call itself.
    #[must_use]
    pub fn with_approval(mut self, approval: Value) -> Self {
        self.spec.approval = Some(approval);
        self
    }
}

impl Tool for ClientTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        _arguments: Map<String, Value>,
        _context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        // The runtime parks such a call and never runs it; whoever does learns the same.
        Box::pin(std::future::ready(Ok(ToolAnswer::Later)))
    }
}
