//! Hooks that watch what a run costs.
//!
//! `cargo run -p jackline-examples --example cost`

use std::sync::{Arc, Mutex, PoisonError};

use jackline_runtime::llm::{ReplyBuilder, ScriptedModel, Turn};
use jackline_runtime::{
    Agent, FnTool, Hooks, ModelUsage, NanoDollars, RunError, Runtime, ToolContext, ToolError, ToolKey, ToolRunResult,
    ToolSpec,
};
use serde_json::Value;

#[tokio::main]
async fn main() -> Result<(), RunError> {
    for line in run().await? {
        println!("{line}");
    }
    Ok(())
}

pub(crate) async fn run() -> Result<Vec<String>, RunError> {
    let runtime = Runtime::builder().model(model()).tool(clock()).build()?;
    let mut agent = Agent::new("clerk", "You tell the time.");
    // A limit stops the run before the first call that would go beyond it.
    agent.cost_max = Some(NanoDollars::from_dollars(0.50));

    // An observer hears and has no say: whatever it does, the run goes on.
    let ledger = Arc::new(Mutex::new(Vec::new()));
    let (steps, end) = (Arc::clone(&ledger), Arc::clone(&ledger));
    let hooks = Hooks::new()
        .after_step("cost-per-step", move |step| {
            if let Some(cost) = step.step_cost {
                write(&steps, format!("step {}: {cost}", step.step_index));
            }
            async {}
        })
        .on_complete("cost-in-all", move |run| {
            let end = Arc::clone(&end);
            async move {
                let total = run.end.cost.unwrap_or_default();
                write(&end, format!("{}: {total} in {} steps", run.end.reason, run.end.steps));
            }
        });

    runtime.start(&agent, "What time is it?", hooks)?.wait().await?;
    Ok(std::mem::take(&mut *ledger.lock().unwrap_or_else(PoisonError::into_inner)))
}

fn write(ledger: &Mutex<Vec<String>>, line: String) {
    ledger.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}

/// Two answers with their price.
fn model() -> ScriptedModel {
    let used = |dollars| ModelUsage {
        input_tokens: 200,
        output_tokens: 20,
        total_tokens: 220,
        cost: NanoDollars::from_dollars(dollars),
    };
    let asks = ReplyBuilder::default().call(None, "clock____now", "{}").usage(used(0.02));
    let answers = ReplyBuilder::default().text("It is noon.").usage(used(0.03));
    ScriptedModel::new([Turn::Reply(asks.build()), Turn::Reply(answers.build())])
}

fn clock() -> impl jackline_runtime::Tool {
    let spec = ToolSpec::new(ToolKey::new("clock", "now"), "Tells the time.");
    FnTool::new(spec, |_arguments: Value, _context: ToolContext| async {
        Ok::<_, ToolError>(ToolRunResult::ok("12:00"))
    })
}
