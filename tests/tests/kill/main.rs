//! A real process, ended with SIGKILL at every effect, resumed, and compared with the run that was
//! not killed.
//!
//! The run has parallel tools of every side effect, an approval, a compression and a sub-agent; another is stopped, and
//! a hook that must hear of it does not at first. The bodies of tools and hooks leave a line in a file outside the
//! process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod child;
mod job;
mod stop;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use jackline_model::{Message, MessageBody, OperationId, Status};
use jackline_runtime::drive::check_operation;
use jackline_runtime::journal::{Store, decode};
use jackline_runtime::machine::What;
use jackline_store_sqlite::{OpenOptions, SqliteStore};

use crate::child::{Line, lines};

#[test]
fn killed_at_every_effect_a_run_ends_as_if_it_had_not_been() {
    let whole = tempfile::tempdir().unwrap();
    assert!(run(whole.path(), None).success(), "the uncrashed run");
    let expected = messages(whole.path());
    let effects = lines(whole.path()).iter().filter(|line| matches!(line, Line::Effect(..))).count();
    assert!(effects >= 60, "the run has {effects} effects");
    let folded = |message: &Message| shape(message).starts_with("system Summary of the conversation");
    assert!(expected.values().flatten().any(folded), "the run compresses its history");
    assert_eq!(expected.len(), 2, "the run has a sub-agent");
    for boundary in 1..=effects {
        killed_at(boundary, &expected);
    }
}

fn killed_at(boundary: usize, expected: &BTreeMap<OperationId, Vec<Message>>) {
    let place = tempfile::tempdir().unwrap();
    let died = run(place.path(), Some(boundary));
    assert!(was_killed(died), "boundary {boundary}: {died}");
    let before = lines(place.path()).len();
    let answered = answered_firings(place.path());
    let resumed = run(place.path(), None);
    assert!(resumed.success(), "boundary {boundary}: the resumed run\n{}", output(place.path()));
    let log = lines(place.path());
    for line in &log[before..] {
        if let Line::Effect(operation, id) = line {
            let repeated = answered.contains(&(operation.clone(), id.clone()));
            assert!(!repeated, "boundary {boundary}: {id} of {operation} has an answer in the journal");
        }
    }
    no_body_ran_twice(boundary, &log);
    every_invariant_holds(boundary, place.path());
    compare(boundary, expected, &messages(place.path()));
}

#[test]
fn l18_killed_at_every_effect_a_stop_is_told_until_it_is_heard() {
    let whole = tempfile::tempdir().unwrap();
    assert!(run_stopped(whole.path(), None).success(), "{}", output(whole.path()));
    let effects = lines(whole.path()).iter().filter(|line| matches!(line, Line::Effect(..))).count();
    assert!(effects >= 14, "the run has {effects} effects");
    for boundary in 1..=effects {
        let place = tempfile::tempdir().unwrap();
        let died = run_stopped(place.path(), Some(boundary));
        assert!(was_killed(died), "boundary {boundary}: {died}");
        let answered = answered_firings(place.path());
        let before = lines(place.path()).len();
        assert!(run_stopped(place.path(), None).success(), "boundary {boundary}\n{}", output(place.path()));
        let log = lines(place.path());
        for line in &log[before..] {
            if let Line::Effect(operation, id) = line {
                assert!(!answered.contains(&(operation.clone(), id.clone())), "boundary {boundary}: {id}");
            }
        }
        // Once in vain and once heard; the process may have died between the two, or before it wrote down the first.
        let told = |url: &str| -> Vec<&String> {
            let told =
                log.iter().filter_map(|line| if let Line::Told(told, id) = line { Some((told, id)) } else { None });
            told.filter(|(told, _)| *told == url).map(|(_, id)| id).collect()
        };
        for (url, bounds) in [(stop::STOP, 2..=3), (stop::END, 1..=2)] {
            let ids = told(url);
            assert!(bounds.contains(&ids.len()), "boundary {boundary}: {url} was told {ids:?}");
            assert!(ids.iter().all(|id| *id == ids[0]), "boundary {boundary}: {url} was told {ids:?}");
        }
        assert!(!log.iter().any(|line| matches!(line, Line::Ran(_))), "boundary {boundary}: a call ran");
        every_invariant_holds(boundary, place.path());
        let store = open(place.path()).unwrap();
        let [header] = store.list(9).unwrap().try_into().unwrap();
        assert_eq!(header.summary.status, Status::Interrupted, "boundary {boundary}");
    }
}

/// Equal, but for calls that may have run and must not run again: they say so.
fn compare(
    boundary: usize,
    expected: &BTreeMap<OperationId, Vec<Message>>,
    found: &BTreeMap<OperationId, Vec<Message>>,
) {
    // The root has another id in each run; its children are named after it.
    let by_length = |runs: &BTreeMap<OperationId, Vec<Message>>| {
        let mut conversations: Vec<Vec<String>> =
            runs.values().map(|messages| messages.iter().map(shape).collect()).collect();
        conversations.sort_by_key(Vec::len);
        conversations
    };
    let (expected, found) = (by_length(expected), by_length(found));
    assert_eq!(expected.len(), found.len(), "boundary {boundary}: operations");
    for (expected, found) in expected.iter().flatten().zip(found.iter().flatten()) {
        let in_doubt = found.starts_with("tool work/note") && found.contains("The outcome is unknown");
        assert!(expected == found || in_doubt, "boundary {boundary}:\n  {expected}\n  {found}");
    }
    let (expected, found): (usize, usize) = (expected.iter().map(Vec::len).sum(), found.iter().map(Vec::len).sum());
    assert_eq!(expected, found, "boundary {boundary}: messages");
}

fn shape(message: &Message) -> String {
    match &message.body {
        MessageBody::System { content } => format!("system {}", content.text()),
        MessageBody::User { content } => format!("user {}", content.text()),
        MessageBody::Assistant { content, tool_calls, .. } => {
            let calls: Vec<String> =
                tool_calls.iter().map(|call| format!("{}({}) {}", call.key, call.arguments, call.id)).collect();
            format!("assistant {} {calls:?}", content.text())
        }
        MessageBody::Tool { call_id, key, content, .. } => format!("tool {key} {call_id} {content}"),
    }
}

fn no_body_ran_twice(boundary: usize, log: &[Line]) {
    let mut ran: BTreeMap<&str, usize> = BTreeMap::new();
    for line in log {
        if let Line::Ran(key) = line {
            *ran.entry(key).or_default() += 1;
        }
    }
    let twice: Vec<_> = ran.iter().filter(|(key, count)| key.starts_with("work/note") && **count > 1).collect();
    assert!(twice.is_empty(), "boundary {boundary}: ran twice: {twice:?}");
}

/// The journal, lived again, keeps the laws, and the rows are what happened in it.
fn every_invariant_holds(boundary: usize, place: &Path) {
    let store = open(place).unwrap();
    for header in store.list(100).unwrap() {
        let checked = check_operation(&store, &header.id);
        assert!(checked.is_ok(), "boundary {boundary}: {}: {checked:?}", header.id);
    }
}

/// The firings that have an answer in the journal.
fn answered_firings(place: &Path) -> BTreeSet<(String, String)> {
    let Ok(store) = open(place) else { return BTreeSet::new() };
    let mut answered = BTreeSet::new();
    for header in store.list(100).unwrap() {
        for record in store.records(&header.id).unwrap() {
            for (input, _) in decode(&record).unwrap() {
                if let What::HookAnswered(id) | What::NoticeDelivered(id) = input.what {
                    answered.insert((header.id.to_string(), id.to_string()));
                }
            }
        }
    }
    answered
}

fn messages(place: &Path) -> BTreeMap<OperationId, Vec<Message>> {
    let store = open(place).unwrap();
    let headers = store.list(100).unwrap();
    let stored = |header: jackline_runtime::journal::Header| {
        let messages = store.messages(&header.id).unwrap().into_iter().map(|stored| stored.message).collect();
        (header.id, messages)
    };
    headers.into_iter().map(stored).collect()
}

fn open(place: &Path) -> Result<SqliteStore, jackline_runtime::journal::StoreError> {
    SqliteStore::open(place.join("jackline.db"), &OpenOptions { create: false, ..OpenOptions::default() })
}

fn run(place: &Path, kill_at: Option<usize>) -> ExitStatus {
    run_with(place, kill_at, &[])
}

/// Runs the job that is stopped.
fn run_stopped(place: &Path, kill_at: Option<usize>) -> ExitStatus {
    run_with(place, kill_at, &[(child::STOPS, "1")])
}

fn run_with(place: &Path, kill_at: Option<usize>, variables: &[(&str, &str)]) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.envs(variables.iter().copied());
    command
        .args(["--exact", "child::process", "--nocapture", "--test-threads=1"])
        .env(child::PLACE, place)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(place.join("stdout")).unwrap())
        .stderr(std::fs::File::create(place.join("stderr")).unwrap());
    if let Some(boundary) = kill_at {
        command.env(child::KILL_AT, boundary.to_string());
    }
    command.status().unwrap()
}

/// What the last process printed.
fn output(place: &Path) -> String {
    ["stdout", "stderr"].map(|name| std::fs::read_to_string(place.join(name)).unwrap_or_default()).concat()
}

fn was_killed(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.signal() == Some(9)
}
