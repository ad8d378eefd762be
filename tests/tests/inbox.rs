//! What comes from outside while a run is busy is taken once it fits.

use std::sync::Arc;

use jackline_hooks::Hooks;
use jackline_model::{OperationId, Reason, Status, ToolCallId, ToolKey, ToolRunResult};
use jackline_runtime::drive::{Agent, FnTool, Report, Runtime, Told};
use jackline_runtime::journal::InboxItem;
use jackline_runtime::llm::{ReplyBuilder, ScriptedModel, Turn};
use jackline_tools::{Tool, ToolAnswer, ToolContext, ToolError, ToolSpec};
use serde_json::Value;
use tokio::sync::Notify;

#[tokio::test]
async fn an_answer_that_is_handed_in_while_other_calls_run_is_taken() {
    let both = ReplyBuilder::default().call(Some("late"), "work____later", "{}").call(None, "work____slow", "{}");
    let release = Arc::new(Notify::new());
    let runtime = Runtime::builder()
        .model(ScriptedModel::new([Turn::Reply(both.build()), Turn::text("done")]))
        .tool(later())
        .tool(slow(&release))
        .build()
        .unwrap();
    let mut events = runtime.events();
    let run = runtime.start(&Agent::new("root", "You wait."), "Go.", Hooks::new()).unwrap();
    while let Some(event) = events.next().await {
        if matches!(event.what, Told::ToolParked { .. }) {
            break;
        }
    }
    hand_in(&runtime, run.id());
    everybody_has_looked().await;
    release.notify_one();
    assert_done(&run.wait().await.unwrap());
}

#[tokio::test]
async fn an_answer_behind_a_stop_is_dropped_and_does_not_stay() {
    let runtime = Runtime::builder()
        .model(ScriptedModel::new([Turn::Reply(
            ReplyBuilder::default().call(Some("late"), "work____later", "{}").build(),
        )]))
        .tool(later())
        .build()
        .unwrap();
    let run = runtime.start(&Agent::new("root", "You wait."), "Go.", Hooks::new()).unwrap();
    assert_eq!(run.wait().await.unwrap().status, Status::WaitingForAsyncTool);
    // Both lie there before the run looks.
    runtime.store().post(run.id(), InboxItem::Stop(None), 0).unwrap();
    hand_in(&runtime, run.id());
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Interrupted));
    assert_eq!(runtime.store().inbox(run.id()).unwrap(), []);
}

fn assert_done(report: &Report) {
    assert_eq!((report.status, report.answer.as_deref()), (Status::Done, Some("done")));
}

fn hand_in(runtime: &Runtime, operation: &OperationId) {
    let handed_in = runtime.complete_call(operation, &ToolCallId::from("late"), &ToolRunResult::ok("here it is"));
    assert_eq!(handed_in.map_err(|error| error.to_string()), Ok(()));
}

/// Lets all tasks of this thread run until they wait.
async fn everybody_has_looked() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

fn later() -> impl Tool {
    FnTool::new(spec("later"), |_arguments: Value, _context: ToolContext| async {
        Ok::<_, ToolError>(ToolAnswer::Later)
    })
}

fn slow(release: &Arc<Notify>) -> impl Tool + use<> {
    let release = Arc::clone(release);
    FnTool::new(spec("slow"), move |_arguments: Value, _context: ToolContext| {
        let release = Arc::clone(&release);
        async move {
            release.notified().await;
            Ok::<_, ToolError>(ToolRunResult::ok("slow"))
        }
    })
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(ToolKey::new("work", name), "Works.")
}
