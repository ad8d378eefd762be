//! A run that one process begins and another ends.
//!
//! Run it twice. The first process asks for approval and ends; the second approves and goes on:
//!
//! ```text
//! cargo run -p jackline-examples --example resume -- voyage.db
//! cargo run -p jackline-examples --example resume -- voyage.db
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackline_runtime::journal::{ApprovalQuestion, PostedDecision, Store};
use jackline_runtime::llm::{ScriptedModel, Turn};
use jackline_runtime::{
    Agent, Decision, FnTool, Hooks, OperationId, Report, RunError, Runtime, ToolContext, ToolError, ToolKey,
    ToolRunResult, ToolSpec,
};
use jackline_store_sqlite::{OpenOptions, SqliteStore};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), RunError> {
    let path = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("voyage.db"), PathBuf::from);
    let report = run(&path).await?;
    println!("{}: {}", report.operation, report.status);
    println!("{}", report.answer.unwrap_or_default());
    Ok(())
}

pub(crate) async fn run(path: &Path) -> Result<Report, RunError> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(path, &OpenOptions::default())?);
    // Everything that a run needs to go on is in the store: its messages, its agent, where it
    // stands. Operations that were ended by a killed process are resumed in the same way.
    match store.list(100)?.into_iter().find(|header| !header.summary.status.is_terminal()) {
        None => begin(store).await,
        Some(header) => {
            // The model has been asked once already, in the other process.
            let runtime = runtime(store, [Turn::text("The anchor is up. We sail.")])?;
            approve_all(&runtime, &header.id)?;
            // Functions are not stored: the tools and the hooks are given again. A control or a mock
            // that is missing now refuses the resume, so that no policy is lost on the way.
            let forgotten = runtime.resume(&header.id, Hooks::new());
            assert!(matches!(forgotten, Err(RunError::MissingHooks(_))));
            runtime.resume(&header.id, hooks())?.wait().await
        }
    }
}

async fn begin(store: Arc<dyn Store>) -> Result<Report, RunError> {
    let runtime = runtime(store, [Turn::call("anchor____weigh", "{}")])?;
    let agent = Agent::new("captain", "You command.");
    runtime.start(&agent, "Set sail.", hooks())?.wait().await
}

fn runtime<const N: usize>(store: Arc<dyn Store>, script: [Turn; N]) -> Result<Runtime, RunError> {
    let mut spec = ToolSpec::new(ToolKey::new("anchor", "weigh"), "Weighs the anchor.");
    spec.approval = Some(json!("required"));
    let weigh = FnTool::new(spec, |_arguments: Value, _context: ToolContext| async {
        Ok::<_, ToolError>(ToolRunResult::ok("the anchor is up"))
    });
    Runtime::builder().store(store).model(ScriptedModel::new(script)).tool(weigh).build()
}

fn hooks() -> Hooks {
    Hooks::new().control_before_tool_call("watch", |_call| async { Decision::Allow }).into()
}

fn approve_all(runtime: &Runtime, operation: &OperationId) -> Result<(), RunError> {
    for (asks, approval) in runtime.approvals(operation)? {
        let ApprovalQuestion::Calls(calls) = approval.question else { continue };
        runtime.decide(&asks.id, calls.into_iter().map(|call| PostedDecision::approve(call.call)).collect())?;
    }
    Ok(())
}
