//! What a model call costs, in runs of 10, 100 and 400 rounds.

use std::future::Future;

use crate::Failed;
use crate::job::{ANSWER, Job, LARGE, SMALL};
use crate::measure::{Tries, cpu, micros_each};
use crate::server::Server;
use crate::table::{Goals, Measure, line, section};
use crate::{bare, growing, ours};

/// CPU per model call, in microseconds.
struct Costs {
    growing: Tries,
    bare: Tries,
    ours: Tries,
}

impl Costs {
    fn own_part(&self) -> f64 {
        self.ours.least() - self.growing.least()
    }
}

/// Measures all jobs and checks the goals.
pub(crate) fn bench(server: &Server, goals: &mut Goals) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    section("CPU per model call, us: least of the tries (median)");
    for is_read in [false, true] {
        let who = if is_read { "somebody reads deltas" } else { "nobody reads deltas" };
        let small = |rounds| Job { is_read, ..Job::of(rounds) };
        let mut own = Vec::new();
        for (rounds, tries) in [(10, 30), (100, 7), (400, 5)] {
            let job = small(rounds);
            let costs = runtime.block_on(measure(server, &job, tries))?;
            show(&job, &costs);
            own.push(costs.own_part());
            let ratio = costs.ours.least() / costs.bare.least();
            match rounds {
                100 => goals.check(&format!("ours / bare, 100 rounds, {who}"), Measure::Times, ratio, 1.0),
                400 => goals.check(&format!("ours / bare, 400 rounds, {who}"), Measure::Times, ratio, 0.8),
                _ => {}
            }
        }
        let growth = own.last().copied().unwrap_or(f64::NAN) / own.first().copied().unwrap_or(f64::NAN);
        goals.check(&format!("growth of our own part from 10 to 400 rounds, {who}"), Measure::Times, growth, 1.2);
    }
    for (calls, result_bytes, sizes) in
        [(4, SMALL, &[(10, 15), (100, 5), (400, 3)][..]), (1, LARGE, &[(10, 15), (100, 5), (400, 2)][..])]
    {
        for (rounds, tries) in sizes {
            let job = Job { calls, result_bytes, ..Job::of(*rounds) };
            show(&job, &runtime.block_on(measure(server, &job, *tries))?);
        }
    }
    Ok(())
}

fn show(job: &Job, costs: &Costs) {
    let Costs { growing, bare, ours } = costs;
    let Job { rounds, calls, result_bytes, is_read, .. } = job;
    let one = |tries: &Tries| format!("{:7.1} ({:7.1})", tries.least(), tries.median());
    line(&format!(
        "  {rounds:>3} rounds x {calls} calls, {:>3.1} kB, {:<9} growing {}  bare {}  ours {}  ours/bare {:.2}",
        *result_bytes as f64 / 1e3,
        if *is_read { "streamed" } else { "whole" },
        one(growing),
        one(bare),
        one(ours),
        ours.least() / bare.least(),
    ));
}

/// Lets the three take turns.
async fn measure(server: &Server, job: &Job, tries: usize) -> Result<Costs, Failed> {
    let base_url = server.base_url(job);
    let url = format!("{base_url}/chat/completions");
    let place = tempfile::tempdir()?;
    let http = reqwest::Client::new();
    let bare_client = bare::client(http.clone(), &base_url);
    let runtime = ours::runtime(&base_url, job, &place.path().join("bench.db"))?;
    let reader = job.is_read.then(|| ours::read(&runtime));
    let mut costs = Costs { growing: Tries::default(), bare: Tries::default(), ours: Tries::default() };
    for round in 0..=tries {
        // The first round opens connections and is not counted.
        let mut unused = Tries::default();
        let mut book = |tries: &mut Tries, cost| if round == 0 { unused.push(cost) } else { tries.push(cost) };
        book(&mut costs.growing, counted(job, growing::run(&http, &url, job)).await?);
        book(&mut costs.bare, counted(job, bare::run(&bare_client, job)).await?);
        book(&mut costs.ours, counted(job, ours::run(&runtime)).await?);
    }
    if let Some(reader) = reader {
        reader.abort();
    }
    Ok(costs)
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

/// As many as the machine that the goals were set on has cores.
const WORKERS: usize = 2;

/// Does one job over and over, alone: for a profiler.
pub(crate) fn child(who: &str, rounds: &str) -> Result<(), Failed> {
    let server = Server::spawn()?;
    let job = Job::of(rounds.parse()?);
    let base_url = server.base_url(&job);
    let place = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    runtime.block_on(async {
        let http = reqwest::Client::new();
        let ours = ours::runtime(&base_url, &job, &place.path().join("bench.db"))?;
        let before = cpu();
        for _ in 0..PROFILED {
            match who {
                "growing" => growing::run(&http, &format!("{base_url}/chat/completions"), &job).await?,
                "bare" => bare::run(&bare::client(http.clone(), &base_url), &job).await?,
                _ => ours::run(&ours).await?,
            };
        }
        line(&format!("{who}: {:.1} us per model call", micros_each(cpu() - before, PROFILED * job.model_calls())));
        Ok(())
    })
}

/// The argument that makes this program do one job, as in `--profile ours 100`.
pub(crate) const CHILD: &str = "--profile";
const PROFILED: usize = 20;
