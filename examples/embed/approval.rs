//! A call that waits for a decision, and code that decides.
//!
//! `cargo run -p jackline-examples --example approval`

use jackline_runtime::journal::{ApprovalQuestion, PendingCall, PostedDecision};
use jackline_runtime::llm::{ReplyBuilder, ScriptedModel, Turn};
use jackline_runtime::{
    Agent, FnTool, Hooks, MessageBody, Report, RunError, Runtime, Status, ToolContext, ToolError, ToolKey,
    ToolRunResult, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), RunError> {
    let (report, paid) = run().await?;
    println!("{}\n{}", paid.join("\n"), report.answer.unwrap_or_default());
    Ok(())
}

#[derive(Deserialize)]
struct Pay {
    dollars: u32,
}

/// Gives the end of the run and what the model has read about the two payments.
pub(crate) async fn run() -> Result<(Report, Vec<String>), RunError> {
    let both = ReplyBuilder::default().call(None, "bank____pay", r#"{"dollars": 20}"#).call(
        None,
        "bank____pay",
        r#"{"dollars": 90000}"#,
    );
    let model = ScriptedModel::new([Turn::Reply(both.build()), Turn::text("The small one is paid.")]);

    let mut spec = ToolSpec::new(ToolKey::new("bank", "pay"), "Pays a bill.");
    // This is what makes the run ask. With `Agent::with_approval` an agent says who answers.
    spec.approval = Some(json!("required"));
    let pay = FnTool::new(spec, |bill: Pay, _context: ToolContext| async move {
        Ok::<_, ToolError>(ToolRunResult::ok(format!("paid ${}", bill.dollars)))
    });

    let runtime = Runtime::builder().model(model).tool(pay).build()?;
    let run = runtime.start(&Agent::new("clerk", "You pay bills."), "Pay both.", Hooks::new())?;

    // A run that waits for a person rests: no task, no timer. With a store on disk the process may
    // end here, and any other may decide and resume: see `resume`.
    let mut report = run.wait().await?;
    while report.status == Status::WaitingForHuman {
        for (asks, approval) in runtime.approvals(run.id())? {
            let ApprovalQuestion::Calls(calls) = approval.question else { continue };
            // All decisions of one post are checked before any counts. A second decision about a
            // call is refused with an error, and nothing changes.
            runtime.decide(&asks.id, calls.iter().filter(|call| !call.decided).map(decide).collect())?;
        }
        report = run.wait().await?;
    }

    let mut paid = Vec::new();
    for stored in runtime.store().messages(run.id())? {
        if let MessageBody::Tool { content, .. } = stored.message.body {
            paid.push(content.to_string());
        }
    }
    Ok((report, paid))
}

fn decide(call: &PendingCall) -> PostedDecision {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    match arguments["dollars"].as_u64() {
        Some(dollars) if dollars <= 100 => PostedDecision::approve(call.call.clone()),
        // `reject` would end the run.
        Some(_) | None => PostedDecision::reject_and_continue(call.call.clone(), "At most $100."),
    }
}
