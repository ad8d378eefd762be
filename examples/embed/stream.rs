//! Everything that a run tells while it runs, as JSON lines: the same that `jackline run --json` prints.
//!
//! `cargo run -p jackline-examples --example stream`

use jackline_runtime::llm::{ScriptedModel, Turn};
use jackline_runtime::{
    Agent, FnTool, Hooks, RunError, Runtime, Told, ToolContext, ToolError, ToolKey, ToolRunResult, ToolSpec,
};
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), RunError> {
    run(|line| println!("{line}")).await
}

pub(crate) async fn run(mut print: impl FnMut(String)) -> Result<(), RunError> {
    let model = ScriptedModel::new([Turn::call("log____read", "{}"), Turn::text("All is well.")]);
    let spec = ToolSpec::new(ToolKey::new("log", "read"), "Reads the ship's log.");
    let read = FnTool::new(spec, |_arguments: Value, _context: ToolContext| async {
        Ok::<_, ToolError>(ToolRunResult::ok("calm sea"))
    });
    let runtime = Runtime::builder().model(model).tool(read).build()?;

    // Subscribe first: a reader hears what happens from then on. One that is too slow misses events
    // and reads a `gap` in their place; it never slows the run.
    let mut events = runtime.events();
    let run = runtime.start(&Agent::new("mate", "You report."), "How is it going?", Hooks::new())?;
    while let Some(event) = events.next().await {
        print(event.to_json());
        // Sub-agents tell their ends too, so look whose it is.
        let is_ours = event.operation == *run.id();
        if is_ours && matches!(event.what, Told::OperationEnd { .. } | Told::Parked { .. }) {
            break;
        }
    }
    // The journal can fail after the last event: only `wait` has the last word.
    run.wait().await.map(drop)
}
