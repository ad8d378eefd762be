//! What a model call costs, in runs of 10, 100 and 400 rounds.

use std::future::Future;

use tokio::runtime::Runtime;

use crate::Failed;
use crate::bare::Request;
use crate::job::{ANSWER, Job, LARGE, SMALL};
use crate::measure::{Tries, cpu, micros_each};
use crate::ours::Extent;
use crate::server::Server;
use crate::table::{Goals, Measure, line, section};
use crate::{bare, growing, ours};

/// CPU per model call, in microseconds.
#[derive(Default)]
struct Costs {
    growing: Tries,
    lean: Tries,
    bare: Tries,
    ours: Tries,
}

impl Costs {
    fn ratio(&self) -> f64 {
        self.ours.against(&self.bare, |ours, bare| ours / bare).median()
    }

    fn own_part(&self) -> f64 {
        self.ours.against(&self.growing, |ours, growing| ours - growing).median()
    }
}

/// Measures all jobs and checks the goals.
///
/// All runners share one thread: there, figures are the same from run to run within a few percent.
/// With two, what waking the other costs is added to all of them, and varies by half.
pub(crate) fn bench(server: &Server, goals: &mut Goals) -> Result<(), Failed> {
    section("CPU per model call, us: median of the tries (least); ratios are medians over turns");
    let runtime = one_thread()?;
    for is_read in [false, true] {
        let costs = bench_small(&runtime, server, is_read)?;
        let who = if is_read { "somebody reads deltas" } else { "nobody reads deltas" };
        let growth = costs[2].own_part() / costs[0].own_part();
        goals.check(&format!("ours / bare, 100 rounds, {who}"), Measure::Times, costs[1].ratio(), 1.0);
        goals.check(&format!("ours / bare, 400 rounds, {who}"), Measure::Times, costs[2].ratio(), 0.8);
        goals.check(&format!("growth of our own part from 10 to 400 rounds, {who}"), Measure::Times, growth, 1.2);
    }
    for (calls, result_bytes) in [(4, SMALL), (1, LARGE)] {
        for (rounds, tries) in [(10, 21), (100, 9), (400, 3)] {
            let job = Job { calls, result_bytes, ..Job::of(rounds) };
            show(&job, &runtime.block_on(measure(server, &job, tries))?);
        }
    }
    section("The same on two threads, without goals");
    let runtime = two_threads()?;
    for is_read in [false, true] {
        bench_small(&runtime, server, is_read)?;
    }
    Ok(())
}

/// One call a round and small results.
fn bench_small(runtime: &Runtime, server: &Server, is_read: bool) -> Result<Vec<Costs>, Failed> {
    let mut all = Vec::new();
    for (rounds, tries) in [(10, 60), (100, 21), (400, 9)] {
        let job = Job { is_read, ..Job::of(rounds) };
        let costs = runtime.block_on(measure(server, &job, tries))?;
        show(&job, &costs);
        all.push(costs);
    }
    Ok(all)
}

fn show(job: &Job, costs: &Costs) {
    let Costs { growing, lean, bare, ours } = costs;
    let Job { rounds, calls, result_bytes, is_read, .. } = job;
    let one = |tries: &Tries| format!("{:7.1} ({:6.1})", tries.median(), tries.least());
    line(&format!(
        "  {rounds:>3} rounds x {calls} calls, {:>3.1} kB, {:<9} growing {}  lean {}  bare {}  ours {}  ours/bare {:.2}",
        *result_bytes as f64 / 1e3,
        if *is_read { "streamed" } else { "whole" },
        one(growing),
        one(lean),
        one(bare),
        one(ours),
        costs.ratio(),
    ));
}

/// Lets the four take turns.
async fn measure(server: &Server, job: &Job, tries: usize) -> Result<Costs, Failed> {
    let base_url = server.base_url(job);
    let url = format!("{base_url}/chat/completions");
    let place = tempfile::tempdir()?;
    let http = reqwest::Client::new();
    let bare_client = bare::client(http.clone(), &base_url);
    let runtime = ours::runtime(&base_url, job, Some(&place.path().join("bench.db")))?;
    let reader = job.is_read.then(|| ours::read(&runtime));
    let mut costs = Costs::default();
    for round in 0..=tries {
        // The first round opens connections and is not counted.
        let mut unused = Tries::default();
        let mut book = |tries: &mut Tries, cost| if round == 0 { unused.push(cost) } else { tries.push(cost) };
        book(&mut costs.growing, counted(job, growing::run(&http, &url, job)).await?);
        book(&mut costs.lean, counted(job, bare::run(&bare_client, job, Request::Borrowed)).await?);
        book(&mut costs.bare, counted(job, bare::run(&bare_client, job, Request::Cloned)).await?);
        book(&mut costs.ours, counted(job, ours::run(&runtime, Extent::Everything)).await?);
    }
    if let Some(reader) = reader {
        reader.abort();
    }
    Ok(costs)
}

/// What hooks and journal cost of ours, in runs of 100 rounds.
pub(crate) fn bench_parts(server: &Server) -> Result<(), Failed> {
    section("Ours in parts, us of CPU per model call, 100 rounds: median of the tries");
    let runtime = one_thread()?;
    let job = Job::of(100);
    let base_url = server.base_url(&job);
    let place = tempfile::tempdir()?;
    let _context = runtime.enter();
    let on_disk = ours::runtime(&base_url, &job, Some(&place.path().join("bench.db")))?;
    let in_memory = ours::runtime(&base_url, &job, None)?;
    let parts = [
        ("all of it", &on_disk, Extent::Everything),
        ("without hooks", &on_disk, Extent::NoHooks),
        ("journal in memory", &in_memory, Extent::Everything),
        ("neither", &in_memory, Extent::NoHooks),
    ];
    let mut tries = [const { Tries::new() }; 4];
    for _ in 0..PARTS_TRIES {
        for ((_, ours, extent), tries) in parts.iter().zip(&mut tries) {
            tries.push(runtime.block_on(counted(&job, ours::run(ours, *extent)))?);
        }
    }
    for ((what, ..), tries) in parts.iter().zip(&tries) {
        line(&format!("  {what:<20} {:7.1}", tries.median()));
    }
    Ok(())
}

async fn counted(job: &Job, run: impl Future<Output = Result<String, Failed>>) -> Result<f64, Failed> {
    let before = cpu();
    let answer = run.await?;
    let used = cpu() - before;
    if answer != ANSWER {
        return Err(format!("a run ended with the answer {answer:?}").into());
    }
    Ok(micros_each(used, job.model_calls()))
}

fn one_thread() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn two_threads() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

/// Does one job over and over, alone: for a profiler. It reads no clock, which some profilers cannot bear.
pub(crate) fn child(who: &str, rounds: &str) -> Result<(), Failed> {
    let server = Server::spawn()?;
    let job = Job::of(rounds.parse()?);
    let base_url = server.base_url(&job);
    let place = tempfile::tempdir()?;
    one_thread()?.block_on(async {
        let http = reqwest::Client::new();
        let ours = ours::runtime(&base_url, &job, Some(&place.path().join("bench.db")))?;
        for _ in 0..PROFILED {
            match who {
                "growing" => growing::run(&http, &format!("{base_url}/chat/completions"), &job).await?,
                "bare" => bare::run(&bare::client(http.clone(), &base_url), &job, Request::Cloned).await?,
                _ => ours::run(&ours, Extent::Everything).await?,
            };
        }
        Ok(())
    })
}

/// The argument that makes this program do one job, as in `--profile ours 100`.
pub(crate) const CHILD: &str = "--profile";
const PROFILED: usize = 20;
const PARTS_TRIES: usize = 21;
