//! Ask an agent, read its answer.
//!
//! `cargo run -p jackline-examples --example minimal`

use jackline_runtime::llm::{ScriptedModel, Turn};
use jackline_runtime::{Agent, Hooks, Report, RunError, Runtime};

#[tokio::main]
async fn main() -> Result<(), RunError> {
    let report = run().await?;
    println!("{}", report.answer.unwrap_or_default());
    Ok(())
}

pub(crate) async fn run() -> Result<Report, RunError> {
    // A model that answers from a script, so that this needs no key and no network. For a real one,
    // put `jackline_runtime::llm::OpenAiModel::builder().from_env().build()` here.
    let model = ScriptedModel::new([Turn::text("A jackline is what a sailor clips a harness to.")]);

    let runtime = Runtime::builder().model(model).build()?;
    let agent = Agent::new("guide", "You explain words in one sentence.");

    // `start` returns at once; `wait` returns when the run has ended or waits for somebody else.
    // A run that failed is a report too: `Err` means that there is no trustworthy end.
    let run = runtime.start(&agent, "What is a jackline?", Hooks::new())?;
    run.wait().await
}
