//! Running all scenarios of some files and folders.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};

use crate::format::{Scenario, ScenarioError};
use crate::outcome::{Outcome, run};

/// What came of several scenarios.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The outcomes, in the order of the paths.
    pub outcomes: Vec<Outcome>,
    /// Files that could not be read: nothing was run then.
    pub unreadable: Vec<Unreadable>,
    /// How much real time it took.
    pub took: Duration,
}

/// A file or folder that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not there, or may not be read.
    #[error("{path}: {why}")]
    Io {
        /// The path.
        path: String,
        /// Why.
        why: String,
    },
    /// It is wrong.
    #[error(transparent)]
    Wrong(#[from] ScenarioError),
    /// A folder without scenarios.
    #[error("{0}: there is no scenario (.yaml, .yml or .json) in it")]
    Empty(String),
}

impl Summary {
    /// Whether all files could be read and all scenarios passed.
    pub fn is_passed(&self) -> bool {
        self.unreadable.is_empty() && self.outcomes.iter().all(Outcome::is_passed)
    }

    /// How many scenarios failed.
    pub fn failed(&self) -> usize {
        self.outcomes.iter().filter(|outcome| !outcome.is_passed()).count()
    }
}

impl fmt::Display for Summary {
    /// The failures and a last line that counts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for unreadable in &self.unreadable {
            writeln!(f, "{unreadable}")?;
        }
        for outcome in self.outcomes.iter().filter(|outcome| !outcome.is_passed()) {
            write!(f, "{outcome}")?;
        }
        let (failed, seconds) = (self.failed(), self.took.as_secs_f64());
        write!(f, "{} passed, {failed} failed in {seconds:.2} s", self.outcomes.len() - failed)
    }
}

/// Runs the scenarios of files and folders, folders with all that is below them, in the order of
/// their names.
pub async fn run_paths<P: AsRef<Path>>(paths: &[P]) -> Summary {
    let started = Instant::now();
    let mut summary = Summary::default();
    let mut scenarios = Vec::new();
    for path in paths {
        match read(path.as_ref()) {
            Ok(found) => scenarios.extend(found),
            Err(mut problems) => summary.unreadable.append(&mut problems),
        }
    }
    if summary.unreadable.is_empty() {
        let at_once = std::thread::available_parallelism().map_or(1, usize::from);
        // Each runs in a thread of its own.
        summary.outcomes = stream::iter(&scenarios).map(run).buffered(at_once).collect().await;
    }
    summary.took = started.elapsed();
    summary
}

fn read(path: &Path) -> Result<Vec<Scenario>, Vec<Unreadable>> {
    let files = files_below(path).map_err(|error| vec![unreadable(path, &error)])?;
    if files.is_empty() {
        return Err(vec![Unreadable::Empty(path.display().to_string())]);
    }
    let (mut scenarios, mut problems) = (Vec::new(), Vec::new());
    for file in files {
        match std::fs::read(&file) {
            Ok(bytes) => match Scenario::parse_bytes(&bytes, &file.display().to_string()) {
                Ok(scenario) => scenarios.push(scenario),
                Err(error) => problems.push(error.into()),
            },
            Err(error) => problems.push(unreadable(&file, &error)),
        }
    }
    if problems.is_empty() { Ok(scenarios) } else { Err(problems) }
}

fn files_below(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    if !std::fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries = std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        let is_scenario =
            entry.extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|one| ending == *one));
        if entry.is_dir() {
            files.extend(files_below(&entry)?);
        } else if is_scenario {
            files.push(entry);
        }
    }
    Ok(files)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Unreadable {
    Unreadable::Io { path: path.display().to_string(), why: error.to_string() }
}
