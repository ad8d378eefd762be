//! An agent that calls another.
//!
//! `cargo run -p jackline-examples --example sub_agent`

use std::sync::{Arc, Mutex, PoisonError};

use jackline_runtime::llm::{ScriptedModel, Turn};
use jackline_runtime::{Agent, Hooks, Report, RunError, Runtime};

#[tokio::main]
async fn main() -> Result<(), RunError> {
    let (report, started) = run().await?;
    println!("{} (asked: {})", report.answer.unwrap_or_default(), started.join(", "));
    Ok(())
}

/// Gives the end of the run and the names of the agents that were called.
pub(crate) async fn run() -> Result<(Report, Vec<String>), RunError> {
    // An agent with agents below it has the tool `agent/callAgent`.
    let captain = ScriptedModel::new([
        Turn::call("agent____callAgent", r#"{"agentId": "navigator", "instruction": "Where are we?"}"#),
        Turn::text("We are off Cape Horn."),
    ]);
    let navigator = ScriptedModel::new([Turn::text("55 degrees south, 67 degrees west.")]);
    let runtime = Runtime::builder().model(captain).model_of("navigator", Arc::new(navigator)).build()?;

    // A child runs as an operation of its own, with its own history. It may narrow what its parent
    // may do, never widen it, and the parent's controls and mocks guard it too. What it spends
    // counts for the parent.
    let agent = Agent::new("captain", "You command.").with_agent(Agent::new("navigator", "You know the position."));

    let called = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&called);
    let hooks = Hooks::new().before_call_agent("who", move |call| {
        heard.lock().unwrap_or_else(PoisonError::into_inner).push(call.agent_id.to_string());
        async {}
    });

    // The parent parks while the child works; `wait` waits for both.
    let report = runtime.start(&agent, "Report our position.", hooks)?.wait().await?;
    let called = std::mem::take(&mut *called.lock().unwrap_or_else(PoisonError::into_inner));
    Ok((report, called))
}
