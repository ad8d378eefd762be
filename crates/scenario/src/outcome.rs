//! Running a scenario and saying what came of it.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::check::check;
use crate::format::Scenario;
use crate::run::{Seen, World, live_through};

/// What came of a scenario.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The file.
    pub path: String,
    /// What the scenario shows.
    pub about: String,
    /// What is not as expected, each with the key of the file that it is about. Empty: it passed.
    pub problems: Vec<String>,
    /// How much real time it took.
    pub took: Duration,
    pub(crate) seen: Seen,
}

impl Outcome {
    /// Whether everything was as expected.
    pub fn is_passed(&self) -> bool {
        self.problems.is_empty()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_passed() {
            return writeln!(f, "ok      {} ({:.1} ms)", self.path, self.took.as_secs_f64() * 1e3);
        }
        writeln!(f, "FAILED  {}: {}", self.path, self.about)?;
        for problem in &self.problems {
            let indented = problem.replace('\n', "\n    ");
            writeln!(f, "  - {}", indented.trim_end())?;
        }
        Ok(())
    }
}

/// Runs a scenario: milliseconds, in virtual time, with everything in memory.
///
/// ```
/// # async fn example() {
/// use jackline_scenario::{Scenario, run};
/// let text = "about: It answers.\ninput: hi\nturns:\n- reply: {text: hello}\nexpect: {reason: done}\n";
/// let scenario = Scenario::parse(text, "hi.yaml").unwrap();
/// assert!(run(&scenario).await.is_passed());
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example());
/// ```
pub async fn run(scenario: &Scenario) -> Outcome {
    let started = Instant::now();
    let world = World::new(scenario.script.clone().into());
    let (problems, seen) = match directory(scenario) {
        Ok(directory) => {
            let files = directory.as_ref().map(tempfile::TempDir::path);
            let end = live_through(&world, files).await;
            (check(&world, &end, files), std::mem::take(&mut world.story().seen))
        }
        Err(error) => (vec![format!("`files`: {error}")], Seen::default()),
    };
    Outcome {
        path: scenario.path.clone(),
        about: scenario.script.about.clone(),
        problems,
        took: started.elapsed(),
        seen,
    }
}

/// A fresh directory with the files of the scenario, if it has real tools.
fn directory(scenario: &Scenario) -> std::io::Result<Option<tempfile::TempDir>> {
    if scenario.script.real_tools.is_empty() {
        return Ok(None);
    }
    let directory = tempfile::tempdir()?;
    for (name, content) in &scenario.script.files {
        write(&directory.path().join(name), content)?;
    }
    Ok(Some(directory))
}

fn write(path: &Path, content: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, content)
}
