//! The process that must not tell.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackline_model::{OperationId, Reason, Status, ToolCallId};
use jackline_runtime::drive::{Agent, Events, Run, Runtime, install_quiet_panic_hook};
use jackline_runtime::journal::InboxItem;
use jackline_store_sqlite::{OpenOptions, SqliteStore};

use crate::job::{self, Case, Job};
use crate::search::secret;

pub(crate) const PLACE: &str = "JACKLINE_PRIVACY_TEST_PLACE";
pub(crate) const JOB: &str = "JACKLINE_PRIVACY_TEST_JOB";

/// Runs a job to its end, from wherever the store says that it stands. Does nothing unless another
/// test has started it.
#[test]
fn process() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let job = Job::from_text(&std::env::var(JOB).unwrap());
    if !job.loud {
        install_quiet_panic_hook();
    }
    tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::TRACE).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work(&place, job));
}

async fn work(place: &Path, job: Job) {
    let secret = secret(place);
    let store = SqliteStore::open(place.join("jackline.db"), &OpenOptions::default()).unwrap();
    let runtime = Runtime::builder()
        .store(Arc::new(store))
        .model(job::Script)
        .tool(job::Vault::new(job, &secret))
        .build()
        .unwrap();
    let mut events = runtime.events();
    let known = runtime.store().list(1).unwrap().pop();
    let hooks = job::hooks(job, &secret);
    let run = match known {
        None => runtime.start(&Agent::new("clerk", "You read."), "What is in the vault?", hooks).unwrap(),
        Some(header) => runtime.resume(&header.id, hooks).unwrap(),
    };
    let mut report = run.wait().await.unwrap();
    if report.status == Status::WaitingForAsyncTool {
        if job.case == Case::TooLate {
            runtime.store().post(run.id(), InboxItem::Stop(None), 0).unwrap();
        }
        hand_in(&runtime, run.id(), &secret);
        report = run.wait().await.unwrap();
    }
    let expected = if job.case == Case::TooLate { Reason::Interrupted } else { Reason::Done };
    assert_eq!(report.reason, Some(expected), "{report:?}");
    tell(&runtime, &run, &mut events);
}

fn hand_in(runtime: &Runtime, operation: &OperationId, secret: &str) {
    runtime.complete_call(operation, &ToolCallId::from("call_1"), &job::everywhere(secret)).unwrap();
}

/// Everything that anybody can ask for.
fn tell(runtime: &Runtime, run: &Run, events: &mut Events) {
    while let Some(event) = events.try_next() {
        println!("{}\n{event:?}", event.to_json());
    }
    let store = runtime.store();
    println!("{:?}", store.header(run.id()).unwrap());
    println!("{:?}", store.messages(run.id()).unwrap());
    println!("{:?}", store.records(run.id()).unwrap());
    println!("{:?}", store.load(run.id()).unwrap());
    println!("{runtime:?} {run:?}");
    // Nothing is closed: the files are left as a crash would leave them.
    std::process::exit(0);
}
