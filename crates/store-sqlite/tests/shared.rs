//! Several handles and several processes on one file.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Place, batch, id, new_operation, said, write};
use jackline_model::Advice;
use jackline_runtime::journal::{InboxItem, Row, Store, StoreError};
use jackline_runtime::machine::Durability;
use jackline_store_sqlite::{OpenOptions, SqliteStore};

#[test]
fn an_operation_has_one_worker_however_often_it_is_delivered() {
    let place = Place::new();
    let working = place.open();
    let others = [place.open(), place.open(), place.open()];
    let fence = working.create(new_operation("op")).unwrap();
    for other in &others {
        let error = other.claim(&id("op")).unwrap_err();
        let owner = format!("process {}", std::process::id());
        assert_eq!(error, StoreError::Owned { operation: id("op"), owner });
        assert_eq!(error.advice(), Advice::Retry { after: Duration::from_secs(5) });
    }
    working.release(&id("op"), fence).unwrap();
    let winners: Vec<_> = others.iter().filter_map(|other| other.claim(&id("op")).ok()).collect();
    assert_eq!(winners.len(), 1);
}

#[test]
fn a_closed_store_leaves_its_operations_and_no_files() {
    let place = Place::new();
    let first = place.open();
    let fence = first.create(new_operation("op")).unwrap();
    first.append(batch("op", fence, "queued")).unwrap();
    drop(first);
    let names: Vec<_> = place
        .directory
        .path()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["jackline.db"]);

    let second = place.open();
    second.claim(&id("op")).unwrap();
    assert_eq!(second.records(&id("op")).unwrap(), ["queued"]);
}

#[tokio::test]
async fn whoever_lost_an_operation_writes_nothing_more() {
    let place = Place::new();
    let slow = place.open();
    let other = slow.create(new_operation("other")).unwrap();
    let fence = slow.create(new_operation("op")).unwrap();
    // As if the file system had lost the lock of a store that lives.
    for entry in place.directory.path().read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains(".owner-") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let quick = place.open();
    let taken = quick.claim(&id("op")).unwrap();
    write(&quick, batch("op", taken, "mine")).await.unwrap();

    slow.append(batch("op", fence, "stale")).unwrap();
    let lost = StoreError::LostOwnership(id("op"));
    assert_eq!(slow.flush(&id("op"), Durability::Gate).await, Err(lost.clone()));
    assert_eq!(slow.append(batch("op", fence, "stale too")), Err(lost.clone()));
    assert_eq!(slow.release(&id("op"), fence), Err(lost));
    assert_eq!(write(&slow, batch("other", other, "r")).await, Err(StoreError::LostOwnership(id("other"))));
    assert_eq!(quick.records(&id("op")).unwrap(), ["mine"]);
}

#[tokio::test]
async fn eight_operations_wait_for_one_writer_and_all_succeed() {
    let place = Place::new();
    let store = Arc::new(place.open());
    let fences: Vec<_> =
        (0..8).map(|n| (format!("op{n}"), store.create(new_operation(&format!("op{n}"))).unwrap())).collect();
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE; UPDATE meta SET value = value").unwrap();

    let tasks: Vec<_> = fences
        .into_iter()
        .map(|(name, fence)| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { write(&*store, batch(&name, fence, "r")).await })
        })
        .collect();
    // Each task runs until it waits for its commit.
    tokio::task::yield_now().await;
    assert!(tasks.iter().all(|task| !task.is_finished()));
    raw.execute_batch("COMMIT").unwrap();

    for task in tasks {
        task.await.unwrap().unwrap();
    }
    for n in 0..8 {
        assert_eq!(store.records(&id(&format!("op{n}"))).unwrap(), ["r"]);
    }
}

#[tokio::test]
async fn a_lock_that_is_held_for_too_long_is_an_error_to_retry() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let raw = place.raw();
    raw.execute_batch("BEGIN IMMEDIATE; UPDATE meta SET value = value").unwrap();
    let started = Instant::now();
    let error = write(&store, batch("op", fence, "r")).await.unwrap_err();
    assert!(started.elapsed() >= Duration::from_secs(4), "it did not wait");
    assert!(matches!(error, StoreError::Busy(_)), "{error}");
    assert_eq!(error.advice(), Advice::Retry { after: Duration::from_secs(1) });
    raw.execute_batch("COMMIT").unwrap();

    let fence = store.claim(&id("op")).unwrap();
    assert_eq!(store.load(&id("op")).unwrap().records, Vec::<String>::new());
    write(&store, batch("op", fence, "r")).await.unwrap();
}

#[tokio::test]
async fn a_gate_syncs_what_was_committed_without_it() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let syncs = || place.raw().query_row("SELECT value FROM meta", [], |row| row.get::<_, i64>(0)).unwrap();
    write(&store, batch("op", fence, "r")).await.unwrap();
    assert_eq!(syncs(), 0);
    store.flush(&id("op"), Durability::Gate).await.unwrap();
    assert_eq!(syncs(), 1);
    store.flush(&id("op"), Durability::Gate).await.unwrap();
    assert_eq!(syncs(), 1, "all was synced already");
    store.append(batch("op", fence, "r")).unwrap();
    store.flush(&id("op"), Durability::Gate).await.unwrap();
    assert_eq!(syncs(), 1, "the batch itself was synced");
}

#[test]
fn two_stores_may_create_one_file_at_once() {
    let place = Place::new();
    let path = place.path();
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let path = path.clone();
            std::thread::spawn(move || {
                let store = SqliteStore::open(path, &OpenOptions::default()).unwrap();
                store.create(new_operation(&format!("op{n}"))).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(place.open().list(9).unwrap().len(), 4);
}

#[test]
fn nothing_that_was_acknowledged_is_lost_by_a_kill() {
    let place = Place::new();
    for round in 0..6 {
        let mut child = start_child(&place.path());
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        for line in lines {
            let line = line.unwrap();
            if let Some((_, number)) = line.split_once("acknowledged ") {
                acknowledged = number.parse::<usize>().unwrap();
            }
            // Not at a boundary: the child goes on while the kill is on its way.
            if acknowledged >= 20 + 7 * round {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();

        let store = place.open();
        let name = format!("op{round}");
        let records = store.records(&id(&name)).unwrap();
        assert!(records.len() >= acknowledged, "{} of {acknowledged}", records.len());
        let expected: Vec<_> = (1..=records.len()).map(|n| format!("r{n}")).collect();
        assert_eq!(records, expected);
        assert_eq!(store.messages(&id(&name)).unwrap().len(), 2 + records.len());
        let fence = store.claim(&id(&name)).unwrap();
        store.append(batch(&name, fence, "goes on")).unwrap();
        assert_eq!(store.load(&id(&name)).unwrap().records.last().unwrap(), "goes on");
        assert_eq!(lock_files(&place), 1, "the lock of the dead is gone");
    }
}

#[test]
fn a_living_process_is_not_robbed_and_can_be_told_things() {
    let place = Place::new();
    let mut child = start_child(&place.path());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_working = |line: &String| line.contains("acknowledged 5");
    lines.by_ref().map(Result::unwrap).find(is_working).unwrap();

    let store = place.open();
    let error = store.claim(&id("op0")).unwrap_err();
    assert_eq!(error, StoreError::Owned { operation: id("op0"), owner: format!("process {}", child.id()) });
    store.post(&id("op0"), InboxItem::Stop(None), 0).unwrap();
    // It stops by itself.
    let left: Vec<_> = lines.map(Result::unwrap).filter(|line| line.contains("stopped")).collect();
    assert_eq!(left.len(), 1);
    assert!(child.wait().unwrap().success());
    store.claim(&id("op0")).unwrap();
}

fn lock_files(place: &Place) -> usize {
    let entries = place.directory.path().read_dir().unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains(".owner-")).count()
}

/// Runs [`child`] in a process of its own.
fn start_child(path: &std::path::Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Commits and says so until it is killed or told to stop. Does nothing as an ordinary test.
#[tokio::test]
async fn child() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store = SqliteStore::open(PathBuf::from(path), &OpenOptions::default()).unwrap();
    let name = format!("op{}", store.list(100).unwrap().len());
    let fence = store.create(new_operation(&name)).unwrap();
    for number in 1..100_000_u32 {
        let mut next = batch(&name, fence, &format!("r{number}"));
        next.rows = vec![Row::Message(said(1 + number, "m", &"x".repeat(500)))];
        store.append(next).unwrap();
        let durability = match number % 3 {
            0 => Durability::Gate,
            1 => Durability::Committed,
            _ => Durability::Behind,
        };
        store.flush(&id(&name), durability).await.unwrap();
        if durability != Durability::Behind {
            println!("\nacknowledged {number}");
        }
        if !store.inbox(&id(&name)).unwrap().is_empty() {
            println!("\nstopped");
            return;
        }
    }
}

const CHILD: &str = "JACKLINE_STORE_TEST_CHILD";
