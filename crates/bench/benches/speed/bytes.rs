//! How large the store of a long run is, beside its messages.

use jackline_model::OperationId;
use jackline_runtime::journal::Store;
use jackline_store_sqlite::{OpenOptions, SqliteStore};

use crate::job::Job;
use crate::ours::Extent;
use crate::server::Server;
use crate::table::{Goals, Measure, line, section};
use crate::{Failed, ours};

/// Runs 400 rounds and looks at the file.
pub(crate) fn bench(server: &Server, goals: &mut Goals) -> Result<(), Failed> {
    section("Bytes of the store after 400 rounds");
    let job = Job::of(400);
    let place = tempfile::tempdir()?;
    let path = place.path().join("bench.db");
    let runtime = ours::runtime(&server.base_url(&job), &job, Some(&path))?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(ours::run(&runtime, Extent::Everything))?;
    drop(runtime);

    let store = SqliteStore::open(&path, &OpenOptions::default())?;
    let operation: OperationId = store.list(1)?.into_iter().next().ok_or("no operation")?.id;
    let mut messages = 0;
    for stored in store.messages(&operation)? {
        messages += serde_json::to_string(&stored.message)?.len();
    }
    let records: usize = store.records(&operation)?.iter().map(String::len).sum();
    drop(store);
    let file = std::fs::metadata(&path)?.len();
    line(&format!("  {messages} bytes of messages, {records} of records, {file} of file"));
    goals.check("store / messages", Measure::Times, file as f64 / messages as f64, 3.0);
    Ok(())
}
