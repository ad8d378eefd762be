//! Hooks that forbid a call before it runs, or withhold its result afterwards.
//!
//! `cargo run -p jackline-examples --example deny`

use jackline_runtime::llm::{ReplyBuilder, ScriptedModel, Turn};
use jackline_runtime::{
    Agent, Decision, FnTool, Hooks, MessageBody, OnError, RunError, Runtime, Tool, ToolContext, ToolError, ToolKey,
    ToolRunResult, ToolSpec,
};
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), RunError> {
    for line in run().await? {
        println!("{line}");
    }
    Ok(())
}

/// Gives the results of the two calls, as the model has read them.
pub(crate) async fn run() -> Result<Vec<String>, RunError> {
    let both = ReplyBuilder::default().call(None, "disk____format", "{}").call(None, "vault____read", "{}");
    let model = ScriptedModel::new([Turn::Reply(both.build()), Turn::text("I could do neither.")]);
    let runtime = Runtime::builder()
        .model(model)
        .tool(tool("disk", "format", "formatted"))
        .tool(tool("vault", "read", "the password is 1234"))
        .build()?;

    let hooks = Hooks::new()
        // Before: the tool does not run. The model reads the reason.
        .control_before_tool_call("nothing-destructive", |_call| async { Decision::deny("Formatting is not allowed.") })
        .matching("^disk/format$")
        // After: the tool has run, but its text goes nowhere: not to the model, not to the store,
        // not into events. Only its times and its wish to end the run remain.
        .control_after_tool_call("no-passwords", |result| async move {
            if result.result.content.contains("password") {
                return Decision::deny("The result held a password.");
            }
            Decision::Allow
        })
        // A control that fails lets the call go on, unless it says otherwise.
        .on_error(OnError::Block);

    let agent = Agent::new("clerk", "You do as you are told.");
    let run = runtime.start(&agent, "Format the disk and read the vault.", hooks)?;
    run.wait().await?;
    let mut results = Vec::new();
    for stored in runtime.store().messages(run.id())? {
        if let MessageBody::Tool { key, content, .. } = stored.message.body {
            results.push(format!("{key}: {content}"));
        }
    }
    Ok(results)
}

fn tool(identifier: &str, api_name: &str, says: &'static str) -> impl Tool {
    let spec = ToolSpec::new(ToolKey::new(identifier, api_name), "Does what its name says.");
    FnTool::new(spec, move |_arguments: Value, _context: ToolContext| async move {
        Ok::<_, ToolError>(ToolRunResult::ok(says))
    })
}
