use std::time::Duration;

use serde_json::{Value, json};

use super::Shell;
use crate::builtin::testing::{Fifo, LONG, all_writers_gone, context, run, run_within};
use crate::{Tool, limits};
use jackline_model::{SideEffect, ToolRunResult};

fn shell() -> (tempfile::TempDir, Shell) {
    let root = tempfile::tempdir().unwrap();
    let shell = Shell::new(root.path()).unwrap();
    (root, shell)
}

async fn sh(command: &str) -> ToolRunResult {
    let (_root, shell) = shell();
    run(&shell, json!({"command": command})).await.unwrap()
}

#[test]
fn a_shell_must_be_approved_and_is_never_run_again_by_itself() {
    let (_root, shell) = shell();
    assert_eq!(shell.spec().approval, Some(json!("required")));
    assert_eq!(shell.spec().side_effect, SideEffect::Effect);
}

#[tokio::test]
async fn output_and_exit_code_are_told() {
    let result = sh("echo out; echo err >&2; exit 3").await;
    assert_eq!(result.content, "[exit code 3]\nout\n[error output]\nerr\n");
    assert!(!result.success);
    assert_eq!(result.state.unwrap()["exitCode"], 3);

    let result = sh("printf fine").await;
    assert_eq!((result.content.as_str(), result.success), ("[exit code 0]\nfine", true));
}

#[tokio::test]
async fn a_command_starts_in_the_root_without_input() {
    let (root, shell) = shell();
    let result = run(&shell, json!({"command": "pwd; cat"})).await.unwrap();
    let real = root.path().canonicalize().unwrap();
    assert_eq!(result.content, format!("[exit code 0]\n{}\n", real.display()));
}

#[tokio::test]
async fn the_environment_is_kept_out_unless_it_is_listed() {
    // Cargo sets these for every test.
    let (_root, shell) = shell();
    let command = json!({"command": "echo \"$CARGO_PKG_NAME:$CARGO_PKG_VERSION:${PATH:+path}\""});
    assert_eq!(run(&shell, command.clone()).await.unwrap().content, "[exit code 0]\n::path\n");
    let listed = shell.with_env(["CARGO_PKG_NAME", "NOT_SET_ANYWHERE"]);
    assert_eq!(run(&listed, command).await.unwrap().content, "[exit code 0]\njackline-tools::path\n");
}

#[tokio::test]
async fn c151_output_that_is_no_text_is_told_with_marks() {
    let result = sh(r"printf '\377\376\000\303(\033[2Jhello\n'").await;
    assert_eq!(result.content, "[exit code 0]\n\u{fffd}\u{fffd}\0\u{fffd}(\u{1b}[2Jhello\n");
}

#[tokio::test]
async fn of_long_output_beginning_and_end_are_kept() {
    let result = sh("echo first; yes | head -c 3000000; echo last").await;
    assert!(result.content.starts_with("[exit code 0]\nfirst\ny\n"));
    assert!(result.content.ends_with("y\nlast\n"));
    assert!(result.content.contains(" of 3000011 bytes left out]"));
    assert!(result.content.len() < limits::SHELL_OUTPUT_BYTES_MAX + 200);
}

#[tokio::test]
async fn a_command_killed_by_a_signal_says_so() {
    let result = sh("kill -9 $$").await;
    assert_eq!(result.content, "[killed by signal 9]\n");
    assert_eq!((result.success, result.state), (false, None));
}

#[tokio::test]
async fn the_deadline_ends_the_whole_group_and_keeps_what_was_said() {
    let (root, shell) = shell();
    let fifo = Fifo::new(root.path());
    let command =
        json!({"command": "exec 3>fifo; echo ready >&3; echo begun; sleep 1000 & sleep 1000", "timeout_ms": 1000});

    let (result, file) = tokio::join!(run(&shell, command), fifo.first_writer());

    let result = result.unwrap();
    assert_eq!(result.content, "[stopped: it took longer than 1000 ms]\nbegun\n");
    assert!(!result.success);
    all_writers_gone(file).await;
}

#[tokio::test]
async fn the_runtimes_deadline_binds_too() {
    let (_root, shell) = shell();
    let command = json!({"command": "exec sleep 1000", "timeout_ms": 1_000_000});
    let result = run_within(Duration::from_millis(100), &shell, command).await.unwrap();
    assert_eq!(result.content, "[stopped: it took longer than 90 ms]\n");
}

#[tokio::test]
async fn dropping_the_call_ends_the_whole_group() {
    let (root, shell) = shell();
    let fifo = Fifo::new(root.path());
    let Value::Object(arguments) = json!({"command": "exec 3>fifo; echo ready >&3; sleep 1000 & sleep 1000"}) else {
        panic!("an object");
    };
    let context = context(LONG);
    let file = tokio::select! {
        result = shell.run(arguments, &context) => panic!("{result:?}"),
        file = fifo.first_writer() => file,
    };
    all_writers_gone(file).await;
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_ends_with_it() {
    let (root, shell) = shell();
    let fifo = Fifo::new(root.path());
    let command = json!({"command": "exec 3>fifo; echo ready >&3; sleep 1000 & echo done"});

    let (result, file) = tokio::join!(run(&shell, command), fifo.first_writer());

    assert_eq!(result.unwrap().content, "[exit code 0]\ndone\n");
    all_writers_gone(file).await;
}
