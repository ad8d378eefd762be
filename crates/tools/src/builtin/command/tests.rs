use std::fs;
use std::time::Duration;

use jackline_model::{SideEffect, ToolKey, ToolRunResult, ToolSource};
use serde_json::{Value, json};

use super::{CommandTool, CommandToolProblem, CommandToolSpec};
use crate::builtin::testing::{Fifo, LONG, all_writers_gone, context, run};
use crate::{Tool, ToolError};

fn declared(command: &[&str]) -> CommandToolSpec {
    let spec = json!({"name": "test/run", "description": "A test.", "command": command});
    serde_json::from_value(spec).unwrap()
}

async fn run_sh(script: &str, arguments: Value) -> Result<ToolRunResult, ToolError> {
    let root = tempfile::tempdir().unwrap();
    run(&CommandTool::new(declared(&["sh", "-c", script]), root.path()).unwrap(), arguments).await
}

#[test]
fn a_declaration_says_all_there_is_to_say() {
    let spec: CommandToolSpec = serde_json::from_value(json!({
        "name": "notes/add",
        "description": "Adds a note.",
        "command": ["notes", "add"],
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
        "deadline_ms": 5000,
        "side_effect": "idempotent",
        "approval": "required",
        "ordered": true,
        "serialize_by": "text",
        "env": ["NOTES_TOKEN"],
    }))
    .unwrap();
    let tool = CommandTool::new(spec, ".").unwrap();
    let spec = tool.spec();
    assert_eq!(spec.key, ToolKey::new("notes", "add"));
    assert_eq!((spec.source, spec.side_effect), (ToolSource::Command, SideEffect::Idempotent));
    assert_eq!((spec.deadline, spec.ordered), (Duration::from_secs(5), true));
    assert_eq!((spec.approval.clone(), spec.serialize_by.as_deref()), (Some(json!("required")), Some("text")));
    assert_eq!(spec.parameters["properties"]["text"]["type"], "string");
}

#[test]
fn a_declaration_that_cannot_work_is_refused() {
    assert!(matches!(CommandTool::new(declared(&[]), "."), Err(CommandToolProblem::Command(_))));
    assert!(matches!(CommandTool::new(declared(&["sh"]), "/no/such/place"), Err(CommandToolProblem::Root(_))));
    for name in ["run", "/run", "test/"] {
        let spec = CommandToolSpec { name: name.to_owned(), ..declared(&["sh"]) };
        assert!(matches!(CommandTool::new(spec, "."), Err(CommandToolProblem::Name(_))), "{name}");
    }
    let typo = json!({"name": "a/b", "description": "", "command": ["x"], "deadlineMs": 1});
    assert!(serde_json::from_value::<CommandToolSpec>(typo).is_err());
}

#[tokio::test]
async fn arguments_go_in_and_text_comes_out() {
    let result = run_sh("cat", json!({"text": "milk"})).await.unwrap();
    assert_eq!(result, ToolRunResult::ok(r#"{"text":"milk"}"#));
}

#[tokio::test]
async fn a_program_may_leave_its_input_unread() {
    let result = run_sh("echo done", json!({"text": "x".repeat(500_000)})).await.unwrap();
    assert_eq!(result.content, "done\n");
}

#[tokio::test]
async fn a_whole_result_is_taken_as_one() {
    let printed = r#"{"content": "no such note", "success": false, "error": "missing", "stop": true}"#;
    let result = run_sh(&format!("echo '{printed}'"), json!({})).await.unwrap();
    let expected = ToolRunResult { error: Some(json!("missing")), stop: true, ..ToolRunResult::failed("no such note") };
    assert_eq!(result, expected);

    let other = r#"{"content": "only"}"#;
    assert_eq!(run_sh(&format!("printf '%s' '{other}'"), json!({})).await.unwrap(), ToolRunResult::ok(other));
}

#[tokio::test]
async fn an_exit_code_means_that_the_tool_broke() {
    let error = run_sh("echo out; echo 'no token' >&2; exit 4", json!({})).await.unwrap_err();
    assert_eq!(error, ToolError::new("The tool failed (exit code 4): no token"));
    let error = run_sh("yes error | head -c 100000 >&2; echo last >&2; exit 1", json!({})).await.unwrap_err();
    assert!(error.message.ends_with("last") && error.message.len() < 5000);
}

#[tokio::test]
async fn a_program_that_is_not_there_breaks_the_tool() {
    let tool = CommandTool::new(declared(&["jackline-no-such-program"]), ".").unwrap();
    let error = run(&tool, json!({})).await.unwrap_err();
    assert!(error.message.contains("`jackline-no-such-program` did not start"), "{error}");
}

#[tokio::test]
async fn the_call_is_named_in_the_environment_and_the_rest_is_kept_out() {
    let script = "echo $JACKLINE_IDEMPOTENCY_KEY $JACKLINE_CALL_ID ${CARGO_PKG_NAME-none}";
    assert_eq!(run_sh(script, json!({})).await.unwrap().content, "key-1 call_7 none\n");
}

#[tokio::test]
async fn a_program_beside_the_agent_file_is_found() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("tool.sh"), "echo here").unwrap();
    let tool = CommandTool::new(declared(&["sh", "./tool.sh"]), root.path()).unwrap();
    assert_eq!(run(&tool, json!({})).await.unwrap().content, "here\n");
}

#[tokio::test]
async fn c155_the_deadline_ends_the_whole_group() {
    let root = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(root.path());
    let script = "exec 3>fifo; echo ready >&3; sleep 1000 & sleep 1000";
    let spec = CommandToolSpec { deadline_ms: Some(1000), ..declared(&["sh", "-c", script]) };
    let tool = CommandTool::new(spec, root.path()).unwrap();

    let (result, file) = tokio::join!(run(&tool, json!({})), fifo.first_writer());

    assert_eq!(result, Err(ToolError::new("The tool failed (it took longer than 1000 ms)")));
    all_writers_gone(file).await;
}

#[tokio::test]
async fn dropping_the_call_ends_the_whole_group() {
    let root = tempfile::tempdir().unwrap();
    let fifo = Fifo::new(root.path());
    let script = "exec 3>fifo; echo ready >&3; sleep 1000 & sleep 1000";
    let tool = CommandTool::new(declared(&["sh", "-c", script]), root.path()).unwrap();
    let context = context(LONG);
    let file = tokio::select! {
        result = tool.run(serde_json::Map::new(), &context) => panic!("{result:?}"),
        file = fifo.first_writer() => file,
    };
    all_writers_gone(file).await;
}
