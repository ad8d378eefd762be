//! A tool out of a function.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;

use jackline_model::ToolRunResult;
use jackline_tools::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A tool made of a declaration and an async function of typed arguments.
///
/// The runtime checks a call against the schema of the declaration first. What the schema lets
/// through and the type does not take is answered with the problem in words, so that the model can
/// repair its call. A tool that needs more than a function implements [`Tool`] itself.
///
/// ```
/// use jackline_runtime::drive::FnTool;
/// use jackline_runtime::{Tool, ToolContext, ToolError, ToolKey, ToolRunResult, ToolSpec};
///
/// #[derive(serde::Deserialize)]
/// struct Divide {
///     dividend: i64,
///     divisor: i64,
/// }
///
/// let spec = ToolSpec::new(ToolKey::new("calc", "divide"), "Divides two whole numbers.");
/// let divide = FnTool::new(spec, |numbers: Divide, _context: ToolContext| async move {
///     // The model reads this and tries again; `Err` would say that the tool itself is broken.
///     let quotient = numbers.dividend.checked_div(numbers.divisor);
///     let answer = quotient.map_or_else(
///         || ToolRunResult::failed("The divisor must not be 0."),
///         |quotient| ToolRunResult::ok(quotient.to_string()),
///     );
///     Ok::<_, ToolError>(answer)
/// });
/// assert_eq!(divide.spec().key.to_string(), "calc/divide");
/// ```
pub struct FnTool<A, F> {
    spec: ToolSpec,
    run: F,
    arguments: PhantomData<fn() -> A>,
}

impl<A, F, Fut, R> FnTool<A, F>
where
    A: DeserializeOwned + Send,
    F: Fn(A, ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    R: Into<ToolAnswer>,
{
    /// A tool that is declared so and does this.
    pub fn new(spec: ToolSpec, run: F) -> Self {
        Self { spec, run, arguments: PhantomData }
    }
}

impl<A, F, Fut, R> Tool for FnTool<A, F>
where
    A: DeserializeOwned + Send,
    F: Fn(A, ToolContext) -> Fut + Send + Sync,
    Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    R: Into<ToolAnswer>,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        let arguments = match serde_json::from_value(Value::Object(arguments)) {
            Ok(arguments) => arguments,
            Err(problem) => {
                let answer = ToolRunResult::failed(format!("The arguments do not fit: {problem}."));
                return Box::pin(std::future::ready(Ok(answer.into())));
            }
        };
        let answer = (self.run)(arguments, copy_of(context));
        Box::pin(async move { answer.await.map(Into::into) })
    }
}

impl<A, F> fmt::Debug for FnTool<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FnTool").field(&self.spec.key).finish()
    }
}

fn copy_of(context: &ToolContext) -> ToolContext {
    ToolContext {
        operation: context.operation.clone(),
        step: context.step,
        call_id: context.call_id.clone(),
        idempotency_key: context.idempotency_key.clone(),
        attempt: context.attempt,
        deadline: context.deadline,
    }
}
