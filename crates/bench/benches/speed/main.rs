//! `cargo bench`: what a run costs, beside the goals and beside loops without a runtime.
//!
//! CPU is compared, not time: it is the process's own, the server is another process, and the
//! runners take turns. Goals are ratios within one run of this program. `cargo bench -- steps` and
//! the like run one section.

mod bare;
mod bytes;
mod crowd;
mod dispatch;
mod growing;
mod job;
mod measure;
mod notify;
mod ours;
mod server;
mod start;
mod steps;
mod table;

use std::process::ExitCode;

use server::Server;
use table::Goals;

/// Anything that ends the bench: it has no way to go on and nobody to ask.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        [server::CHILD] => server::serve(),
        [crowd::CHILD, who, address] => crowd::child(who, address),
        [start::CHILD, address] => start::child(address),
        [steps::CHILD, who, rounds] => steps::child(who, rounds),
        _ => all(&words),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            table::line(&format!("the bench failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn all(words: &[&str]) -> Result<(), Failed> {
    let chosen: Vec<&str> = words.iter().copied().filter(|word| SECTIONS.contains(word)).collect();
    let runs = |section: &str| chosen.is_empty() || chosen.contains(&section);
    let server = Server::spawn()?;
    let mut goals = Goals::default();
    if runs("hooks") {
        dispatch::bench(&mut goals)?;
    }
    if runs("notify") {
        notify::bench(&server, &mut goals)?;
    }
    if runs("steps") {
        steps::bench(&server, &mut goals)?;
    }
    if runs("parts") {
        steps::bench_parts(&server)?;
    }
    if runs("bytes") {
        bytes::bench(&server, &mut goals)?;
    }
    if runs("start") {
        start::bench(&mut goals)?;
    }
    if runs("crowd") {
        crowd::bench(&server, &mut goals)?;
    }
    goals.summary();
    Ok(())
}

/// What can be named on the command line.
const SECTIONS: [&str; 7] = ["hooks", "notify", "steps", "parts", "bytes", "start", "crowd"];
