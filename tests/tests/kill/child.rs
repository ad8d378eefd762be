//! The process that is killed, and what it leaves behind.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jackline_model::{OperationId, Status};
use jackline_runtime::drive::{Probe, Runtime};
use jackline_runtime::journal::{ApprovalQuestion, PostedDecision, PostedVerdict};
use jackline_runtime::machine::{Effect, EffectId, Machine, table::RowId};
use jackline_runtime::tokens::ByteBound;
use jackline_store_sqlite::SqliteStore;

use crate::{job, stop};

pub(crate) const PLACE: &str = "JACKLINE_KILL_TEST_PLACE";
pub(crate) const KILL_AT: &str = "JACKLINE_KILL_TEST_BOUNDARY";

/// Set: the job is the one that is stopped.
pub(crate) const STOPS: &str = "JACKLINE_KILL_TEST_STOPS";

/// A line of the log outside the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A firing or another effect is performed.
    Effect(String, String),
    /// A tool body ran.
    Ran(String),
    /// A hook body ran.
    Hook(String),
    /// A receiver was told, with this delivery id.
    Told(String, String),
}

/// What was logged so far.
pub(crate) fn lines(place: &Path) -> Vec<Line> {
    let text = std::fs::read_to_string(place.join("log")).unwrap_or_default();
    let parse = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (kind, first, rest) = (words.next()?, words.next()?, words.next().unwrap_or_default());
        Some(match kind {
            "effect" => Line::Effect(first.to_owned(), rest.to_owned()),
            "ran" => Line::Ran(format!("{first} {rest}")),
            "hook" => Line::Hook(first.to_owned()),
            "told" => Line::Told(first.to_owned(), rest.to_owned()),
            other => panic!("unknown line {other}"),
        })
    };
    text.lines().filter_map(parse).collect()
}

/// Appends lines to the log; each is one write.
#[derive(Clone, Debug)]
pub(crate) struct Log(PathBuf);

impl Log {
    pub(crate) fn at(place: &Path) -> Self {
        Self(place.join("log"))
    }

    pub(crate) fn add(&self, line: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

pub(crate) struct Killer {
    pub(crate) log: Log,
    pub(crate) performed: AtomicUsize,
    pub(crate) kill_at: Option<usize>,
}

impl Probe for Killer {
    fn transition(&self, _row: RowId, _machine: &Machine) {}

    fn effect(&self, operation: &OperationId, id: EffectId, _effect: &Effect) {
        let performed = self.performed.fetch_add(1, Ordering::SeqCst) + 1;
        if Some(performed) == self.kill_at {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
        self.log.add(&format!("effect {operation} {id}"));
    }
}

/// Runs the job to its end, from wherever the store says that it stands. Does nothing unless the
/// test that kills it has started it.
#[test]
fn process() {
    let Some(place) = std::env::var_os(PLACE).map(PathBuf::from) else { return };
    let kill_at = std::env::var(KILL_AT).ok().map(|text| text.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match std::env::var_os(STOPS) {
        None => runtime.block_on(work(&place, kill_at)),
        Some(_) => runtime.block_on(stop::work(&place, kill_at)),
    }
}

async fn work(place: &Path, kill_at: Option<usize>) {
    let log = Log::at(place);
    let store = SqliteStore::open(place.join("jackline.db"), &jackline_store_sqlite::OpenOptions::default()).unwrap();
    let killer = Killer { log: log.clone(), performed: AtomicUsize::new(0), kill_at };
    let runtime = Runtime::builder()
        .store(Arc::new(store))
        .model(job::Script)
        .tools(job::tools(&log))
        .token_counter(|_| Arc::new(ByteBound))
        .probe(Arc::new(killer))
        .build()
        .unwrap();
    let roots = runtime.store().list(100).unwrap();
    let root = roots.iter().find(|header| header.lineage.parent_operation_id.is_none());
    let run = match root {
        None => runtime.start(&job::agent(), "Do the job.", job::hooks(&log)).unwrap(),
        Some(header) if header.summary.status.is_terminal() => return,
        Some(header) => runtime.resume(&header.id, job::hooks(&log)).unwrap(),
    };
    loop {
        let report = run.wait().await.unwrap();
        if report.status == Status::Done {
            return;
        }
        assert_eq!(report.status, Status::WaitingForHuman, "{report:?}");
        approve_all(&runtime, run.id());
    }
}

fn approve_all(runtime: &Runtime, root: &OperationId) {
    for (header, approval) in runtime.approvals(root).unwrap() {
        let ApprovalQuestion::Calls(calls) = approval.question else { continue };
        let decisions: Vec<PostedDecision> = calls
            .into_iter()
            .filter(|call| !call.decided)
            .map(|call| PostedDecision { call: Some(call.call), verdict: PostedVerdict::Approve })
            .collect();
        if !decisions.is_empty() {
            runtime.decide(&header.id, decisions).unwrap();
        }
    }
}
