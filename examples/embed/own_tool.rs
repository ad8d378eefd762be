//! A tool of your own: typed arguments, and errors that the model can read and mend.
//!
//! `cargo run -p jackline-examples --example own_tool`

use std::sync::Arc;

use jackline_runtime::llm::{ScriptedModel, Turn};
use jackline_runtime::{
    Agent, FnTool, Hooks, Message, MessageBody, RunError, Runtime, SideEffect, ToolContext, ToolError, ToolKey,
    ToolRunResult, ToolSpec,
};
use serde::Deserialize;
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), RunError> {
    for line in run().await? {
        println!("{line}");
    }
    Ok(())
}

#[derive(Deserialize)]
struct Divide {
    dividend: i64,
    divisor: i64,
}

async fn divide(numbers: Divide, _context: ToolContext) -> Result<ToolRunResult, ToolError> {
    // Three ways to end: it worked; it did not, and the model can do something about that (`Ok`
    // with `failed`); the tool itself broke (`Err`, which also fires the hook `onToolCallError`).
    if numbers.divisor == 0 {
        return Ok(ToolRunResult::failed("Division by zero. Send a `divisor` other than 0."));
    }
    match numbers.dividend.checked_div(numbers.divisor) {
        Some(quotient) => Ok(ToolRunResult::ok(quotient.to_string())),
        None => Err(ToolError::new("the quotient does not fit into 64 bits")),
    }
}

/// What the model reads of the tool, and what the runtime must know to run it.
fn divide_spec() -> ToolSpec {
    let mut spec = ToolSpec::new(ToolKey::new("calc", "divide"), "Divides one whole number by another.");
    spec.parameters = Arc::new(json!({
        "type": "object",
        "properties": {"dividend": {"type": "integer"}, "divisor": {"type": "integer"}},
        "required": ["dividend", "divisor"],
    }));
    // Nothing outside changes, so it may run again after a crash. The default is the careful one:
    // a call that was under way when its process died is reported as "outcome unknown".
    spec.side_effect = SideEffect::Pure;
    spec
}

/// Gives the results of the three calls, as the model has read them, and its answer.
pub(crate) async fn run() -> Result<Vec<String>, RunError> {
    // On the wire the tool `calc/divide` is called `calc____divide`.
    let model = ScriptedModel::new([
        // Does not fit the schema: the tool is not run, and the model reads what is missing.
        Turn::call("calc____divide", r#"{"dividend": 84}"#),
        // Fits, but the tool cannot do it.
        Turn::call("calc____divide", r#"{"dividend": 84, "divisor": 0}"#),
        Turn::call("calc____divide", r#"{"dividend": 84, "divisor": 2}"#),
        Turn::text("It is 42."),
    ]);
    let runtime = Runtime::builder().model(model).tool(FnTool::new(divide_spec(), divide)).build()?;
    let agent = Agent::new("clerk", "You calculate with your tools.");
    let run = runtime.start(&agent, "What is 84 by 2?", Hooks::new())?;
    let report = run.wait().await?;

    let messages = runtime.store().messages(run.id())?;
    let results = messages.iter().filter_map(|stored| result_text(&stored.message));
    Ok(results.chain(report.answer).collect())
}

fn result_text(message: &Message) -> Option<String> {
    match &message.body {
        MessageBody::Tool { content, .. } => Some(content.to_string()),
        MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Assistant { .. } => None,
    }
}
