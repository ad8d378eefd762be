//! The examples for embedders do what they say.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jackline_model::{Reason, Status};
use serde_json::Value;

/// The examples, as they stand in their folder. Their `main` prints what `run` gives.
macro_rules! examples {
    ($($name:ident $path:literal)+) => {$(
        #[path = $path]
        #[expect(dead_code, clippy::print_stdout, reason = "`main` is for `cargo run --example`")]
        mod $name;
    )+};
}

examples! {
    minimal "../../examples/embed/minimal.rs"
    own_tool "../../examples/embed/own_tool.rs"
    cost "../../examples/embed/cost.rs"
    mock "../../examples/embed/mock.rs"
    deny "../../examples/embed/deny.rs"
    stream "../../examples/embed/stream.rs"
    approval "../../examples/embed/approval.rs"
    sub_agent "../../examples/embed/sub_agent.rs"
    resume "../../examples/embed/resume.rs"
}

#[tokio::test]
async fn an_agent_is_asked_and_answers() {
    let report = minimal::run().await.unwrap();
    assert_eq!((report.status, report.reason), (Status::Done, Some(Reason::Done)));
    assert_eq!(report.answer.as_deref(), Some("A jackline is what a sailor clips a harness to."));
}

#[tokio::test]
async fn the_model_reads_what_is_wrong_with_its_calls() {
    let read = own_tool::run().await.unwrap();
    assert_eq!(read.len(), 4, "{read:?}");
    assert!(read[0].contains("divisor"), "{read:?}");
    assert_eq!(read[1..], ["Division by zero. Send a `divisor` other than 0.", "42", "It is 42."]);
}

#[tokio::test]
async fn hooks_hear_what_a_run_costs() {
    assert_eq!(cost::run().await.unwrap(), ["step 0: $0.02", "step 2: $0.03", "done: $0.05 in 3 steps"]);
}

#[tokio::test]
async fn a_mock_stands_in_for_a_tool_that_would_fail() {
    let report = mock::run().await.unwrap();
    assert_eq!((report.reason, report.totals.tool_calls), (Some(Reason::Done), 1));
    assert_eq!(report.answer.as_deref(), Some("The mail is out."));
}

#[tokio::test]
async fn denials_before_and_after_give_the_model_their_reasons() {
    let expected = ["disk/format: Formatting is not allowed.", "vault/read: The result held a password."];
    assert_eq!(deny::run().await.unwrap(), expected);
}

#[tokio::test]
async fn a_run_tells_events_in_order_as_json_lines() {
    let mut lines = Vec::new();
    stream::run(|line| lines.push(line)).await.unwrap();
    let events: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let schema = jsonschema::validator_for(&jackline_runtime::drive::events_schema()).unwrap();
    for event in &events {
        let problems: Vec<String> = schema.iter_errors(event).map(|problem| problem.to_string()).collect();
        assert!(problems.is_empty(), "{event}: {problems:?}");
    }
    let types: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    let spine: Vec<&str> = types.iter().copied().filter(|name| !matches!(*name, "hook" | "text")).collect();
    let expected = "operation_start step_start model_start model_end step_end step_start tool_start tool_end step_end \
                    step_start model_start model_end step_end step_start step_end operation_end";
    assert_eq!(spine.join(" "), expected);
}

#[tokio::test]
async fn code_approves_one_call_and_rejects_another() {
    let (report, paid) = approval::run().await.unwrap();
    assert_eq!(report.answer.as_deref(), Some("The small one is paid."));
    assert_eq!(paid[0], "paid $20");
    assert!(paid[1].contains("At most $100."), "{paid:?}");
}

#[tokio::test]
async fn an_agent_calls_another() {
    let (report, called) = sub_agent::run().await.unwrap();
    assert_eq!(called, ["navigator"]);
    assert_eq!((report.answer.as_deref(), report.status), (Some("We are off Cape Horn."), Status::Done));
}

#[tokio::test]
async fn a_run_that_one_process_began_is_ended_by_another() {
    let place = tempfile::tempdir().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "first_life", "--nocapture", "--test-threads=1"])
        .env(PLACE, place.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    let report = resume::run(&store(place.path())).await.unwrap();
    assert_eq!((report.status, report.answer.as_deref()), (Status::Done, Some("The anchor is up. We sail.")));
}

/// The first of the two processes. Does nothing unless the test above has started it.
#[tokio::test]
async fn first_life() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let report = resume::run(&store(Path::new(&place))).await.unwrap();
    assert_eq!(report.status, Status::WaitingForHuman);
}

fn store(place: &Path) -> PathBuf {
    place.join("voyage.db")
}

const PLACE: &str = "JACKLINE_EMBED_TEST_PLACE";
