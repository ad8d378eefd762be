//! A thousand operations at once, with a model that takes its time. Each runner has a process of
//! its own, so that its memory is its own.

use std::process::Command;
use std::time::Duration;

use crate::job::Job;
use crate::measure::{cpu, memory_peak, micros_each};
use crate::ours::Extent;
use crate::server::{Server, base_url};
use crate::table::{Goals, Measure, line, section};
use crate::{Failed, bare, ours};

/// Starts this program once for each runner, in turns, and compares.
pub(crate) fn bench(server: &Server, goals: &mut Goals) -> Result<(), Failed> {
    section("1,000 operations of 10 rounds at once, 20 ms of latency");
    let mut bare = Used::default();
    let mut ours = Used::default();
    for _ in 0..TRIES {
        bare.add(run(server, BARE)?);
        ours.add(run(server, OURS)?);
    }
    for (who, used) in [("bare", &bare), ("ours", &ours)] {
        line(&format!("  {who}: {:.1} us of CPU per model call, {:.1} MB", used.micros, used.megabytes));
    }
    goals.check("CPU, ours / bare", Measure::Times, ours.micros / bare.micros, 1.2);
    goals.check("peak memory, ours / bare", Measure::Times, ours.megabytes / bare.megabytes, 1.3);
    Ok(())
}

/// The main function of a child.
pub(crate) fn child(who: &str, address: &str) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let job = Job { latency: Duration::from_millis(20), ..Job::of(10) };
    let url = base_url(address, &job);
    let place = tempfile::tempdir()?;
    let before = cpu();
    if who == BARE {
        let client = bare::client(reqwest::Client::new(), &url);
        runtime.block_on(all(|| {
            let client = client.clone();
            async move { bare::run(&client, &job, bare::Request::Cloned).await }
        }))?;
    } else {
        let ours = ours::runtime(&url, &job, Some(&place.path().join("bench.db")))?;
        runtime.block_on(all(|| {
            let ours = ours.clone();
            async move { ours::run(&ours, Extent::Everything).await }
        }))?;
    }
    let used = micros_each(cpu() - before, OPERATIONS * job.model_calls());
    line(&format!("{used} {}", memory_peak()));
    Ok(())
}

async fn all<F>(start: impl Fn() -> F) -> Result<(), Failed>
where
    F: Future<Output = Result<String, Failed>> + Send + 'static,
{
    let mut runs = tokio::task::JoinSet::new();
    for _ in 0..OPERATIONS {
        runs.spawn(start());
    }
    while let Some(ended) = runs.join_next().await {
        ended??;
    }
    Ok(())
}

fn run(server: &Server, who: &str) -> Result<(f64, f64), Failed> {
    let output = Command::new(std::env::current_exe()?).args([CHILD, who, server.address()]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    match (output.status.success(), numbers.next(), numbers.next()) {
        (true, Some(Ok(micros)), Some(Ok(bytes))) => Ok((micros, bytes / 1e6)),
        _ => Err(format!("the crowd of {who} failed: {text}").into()),
    }
}

/// The least of the tries.
struct Used {
    micros: f64,
    megabytes: f64,
}

impl Default for Used {
    fn default() -> Self {
        Self { micros: f64::INFINITY, megabytes: f64::INFINITY }
    }
}

impl Used {
    fn add(&mut self, (micros, megabytes): (f64, f64)) {
        self.micros = self.micros.min(micros);
        self.megabytes = self.megabytes.min(megabytes);
    }
}

/// The argument that makes this program one of the runners.
pub(crate) const CHILD: &str = "--crowd";
const BARE: &str = "bare";
const OURS: &str = "ours";
const OPERATIONS: usize = 1_000;
const TRIES: usize = 3;
