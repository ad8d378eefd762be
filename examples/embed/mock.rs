//! A hook that stands in for a tool: the run goes through every step, and nothing happens outside.
//!
//! `cargo run -p jackline-examples --example mock`

use jackline_runtime::llm::{ScriptedModel, Turn};
use jackline_runtime::{
    Agent, FnTool, Hooks, Report, RunError, Runtime, ToolContext, ToolError, ToolKey, ToolRunResult, ToolSpec,
};
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), RunError> {
    let report = run().await?;
    println!("{}", report.answer.unwrap_or_default());
    Ok(())
}

pub(crate) async fn run() -> Result<Report, RunError> {
    let model = ScriptedModel::new([
        Turn::call("mail____send", r#"{"to": "crew@example.org"}"#),
        Turn::text("The mail is out."),
    ]);
    let spec = ToolSpec::new(ToolKey::new("mail", "send"), "Sends a mail.");
    let send = FnTool::new(spec, |_arguments: Value, _context: ToolContext| async {
        // With the mock in place nobody comes here.
        Err::<ToolRunResult, _>(ToolError::new("there is no mail server"))
    });
    let runtime = Runtime::builder().model(model).tool(send).build()?;

    // The pattern is searched for in the tool's name, `mail/send`. The first mock that answers
    // wins; a handler that returns without mocking lets the call pass.
    let hooks = Hooks::new()
        .mock_before_tool_call("no-real-mail", |call| async move {
            let to = call.context.args.get("to").and_then(Value::as_str).unwrap_or_default().to_owned();
            call.mock(ToolRunResult::ok(format!("sent to {to}")));
        })
        .matching("^mail/");

    let agent = Agent::new("bosun", "You keep the crew informed.");
    runtime.start(&agent, "Tell the crew that we sail at noon.", hooks)?.wait().await
}
