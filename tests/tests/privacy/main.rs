//! After a denial the original text is nowhere: in no byte of the database, its log, the archive,
//! what was printed and logged, or a temporary file.
//!
//! Each test runs real processes, all of whose files lie in one directory, and searches every byte
//! of it. The processes print every event, every observed hook, every request to the model and
//! every line of the log.

#![expect(clippy::unwrap_used, reason = "what fails in a helper of these tests fails the test")]
#![expect(clippy::print_stdout, reason = "the processes print all that they can, to be searched")]

mod child;
mod job;
mod search;

use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use jackline_model::MessageBody;
use jackline_runtime::drive::check_operation;
use jackline_runtime::journal::Store;
use jackline_store_sqlite::{OpenOptions, SqliteStore};
use tempfile::TempDir;

use crate::job::{Case, Job};
use crate::search::{files_with, secret};

#[test]
fn the_search_finds_a_text_that_was_allowed() {
    let place = ended(&Job { allow: true, ..Job::new(Case::Result) });
    let found = files_with(place.path(), &secret(place.path()));
    let has = |name: &str| found.iter().any(|file| file.starts_with(name));
    assert!(has("jackline.db") && has("stdout"), "{found:?}");
}

#[test]
fn a_denied_result_is_nowhere() {
    denied_and_nowhere(&ended(&Job::new(Case::Result)), job::REASON);
}

#[test]
fn a_denied_result_longer_than_its_window_is_nowhere() {
    denied_and_nowhere(&ended(&Job::new(Case::LongResult)), job::REASON);
}

#[test]
fn a_denied_mock_is_nowhere() {
    denied_and_nowhere(&ended(&Job::new(Case::Mock)), job::REASON);
}

#[test]
fn a_denied_error_text_is_nowhere() {
    denied_and_nowhere(&ended(&Job::new(Case::Error)), job::REASON);
}

#[test]
fn a_denied_answer_that_was_handed_in_is_nowhere() {
    denied_and_nowhere(&ended(&Job::new(Case::Later)), job::REASON);
}

#[test]
fn an_answer_that_comes_after_the_stop_is_never_judged_and_nowhere() {
    denied_and_nowhere(&ended(&Job::new(Case::TooLate)), "The call was aborted");
}

#[test]
fn the_text_of_panics_in_tools_and_controls_is_nowhere() {
    denied_and_nowhere(&ended(&Job::new(Case::ToolPanics)), job::REASON);
    denied_and_nowhere(&ended(&Job::new(Case::ControlPanics)), "hook_control_error");
}

#[test]
fn without_the_quiet_hook_the_text_of_a_panic_is_printed() {
    let place = ended(&Job { loud: true, ..Job::new(Case::ControlPanics) });
    assert_eq!(files_with(place.path(), &secret(place.path())), ["stderr"]);
}

#[test]
fn a_result_whose_process_was_killed_while_it_was_judged_is_nowhere() {
    for case in [Case::Result, Case::LongResult, Case::Mock, Case::Error] {
        let place = killed(&Job::new(case));
        nowhere(&place);
        resumed(&place, &Job::new(case));
        denied_and_nowhere(&place, job::REASON);
    }
}

#[test]
fn a_result_that_may_not_be_produced_again_is_in_doubt_and_nowhere() {
    let job = Job { effect: true, ..Job::new(Case::Result) };
    let place = killed(&job);
    nowhere(&place);
    resumed(&place, &job);
    denied_and_nowhere(&place, "The outcome is unknown");
}

/// Until it is judged, an answer lies in the inbox: the one place where raw output is ever stored.
#[test]
fn an_answer_whose_process_was_killed_while_it_was_judged_is_nowhere_once_it_is_denied() {
    let place = killed(&Job::new(Case::Later));
    let waiting = files_with(place.path(), &secret(place.path()));
    assert!(!waiting.is_empty() && waiting.iter().all(|file| file.starts_with("jackline.db")), "{waiting:?}");
    resumed(&place, &Job::new(Case::Later));
    denied_and_nowhere(&place, job::REASON);
}

/// Runs a job to its end.
fn ended(job: &Job) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    resumed(&place, job);
    place
}

/// Runs a job whose after-control kills the process.
fn killed(job: &Job) -> TempDir {
    use std::os::unix::process::ExitStatusExt;
    let place = tempfile::tempdir().unwrap();
    let status = run(place.path(), &Job { kill: true, ..*job });
    assert_eq!(status.signal(), Some(9), "{job:?}: {status}\n{}", output(place.path()));
    place
}

/// Goes on with a job, to its end.
fn resumed(place: &TempDir, job: &Job) {
    let status = run(place.path(), job);
    assert!(status.success(), "{job:?}: {status}\n{}", output(place.path()));
}

/// Searches before and after the store was opened and closed once more, which empties its log.
fn denied_and_nowhere(place: &TempDir, reason: &str) {
    nowhere(place);
    let results = results(place);
    assert!(results.len() == 1 && results[0].starts_with(reason), "{results:?}");
    nowhere(place);
}

fn nowhere(place: &TempDir) {
    assert_eq!(files_with(place.path(), &secret(place.path())), [""; 0], "the text was found");
}

/// What the model has read of the calls.
fn results(place: &TempDir) -> Vec<String> {
    let options = OpenOptions { create: false, ..OpenOptions::default() };
    let store = SqliteStore::open(place.path().join("jackline.db"), &options).unwrap();
    let operation = store.list(10).unwrap().remove(0).id;
    check_operation(&store, &operation).unwrap();
    let result = |body| match body {
        MessageBody::Tool { content, .. } => Some(content.to_string()),
        MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Assistant { .. } => None,
    };
    store.messages(&operation).unwrap().into_iter().filter_map(|stored| result(stored.message.body)).collect()
}

/// Runs one process on a job. It prints into the directory, works in it, and has its temporary
/// files there.
fn run(place: &Path, job: &Job) -> ExitStatus {
    std::fs::create_dir_all(place.join("tmp")).unwrap();
    let printed = |name: &str| std::fs::OpenOptions::new().create(true).append(true).open(place.join(name)).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::process", "--nocapture", "--test-threads=1"])
        .env(child::PLACE, place)
        .env(child::JOB, job.to_text())
        .env("TMPDIR", place.join("tmp"))
        .current_dir(place)
        .stdin(Stdio::null())
        .stdout(printed("stdout"))
        .stderr(printed("stderr"))
        .status()
        .unwrap()
}

fn output(place: &Path) -> String {
    ["stdout", "stderr"].map(|name| std::fs::read_to_string(place.join(name)).unwrap_or_default()).concat()
}
