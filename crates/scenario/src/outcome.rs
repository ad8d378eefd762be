//! Running a scenario and saying what came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackline_model::{Message, OperationId};
use jackline_runtime::drive::StreamEvent;
use jackline_runtime::journal::Store as _;

use crate::check::check;
use crate::format::Scenario;
use crate::run::{OPERATIONS_MAX, Outside, Seen, World, live_through};

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
    /// The journal of each operation: its records, as the store has them.
    pub journals: BTreeMap<OperationId, Vec<String>>,
    /// The messages of each operation, in order.
    pub messages: BTreeMap<OperationId, Vec<Message>>,
    /// What the runtime told while it ran, receipts of hooks among it.
    pub told: Vec<Arc<StreamEvent>>,
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
    run_in(scenario, None).await
}

/// Runs a scenario with its hooks outside the process: the same answers, by real programs or requests. `None` if
/// nobody outside could answer so.
pub async fn run_outside(scenario: &Scenario, outside: &Outside) -> Option<Outcome> {
    if !outside.can_answer(&scenario.script.hooks) {
        return None;
    }
    Some(run_in(scenario, Some(outside.clone())).await)
}

async fn run_in(scenario: &Scenario, outside: Option<Outside>) -> Outcome {
    let started = Instant::now();
    let world = World::new(scenario.script.clone().into(), outside);
    let (problems, seen) = match directory(scenario) {
        Ok(directory) => {
            let files = directory.as_ref().map(tempfile::TempDir::path);
            let end = live_through(&world, files).await;
            (check(&world, &end, files), std::mem::take(&mut world.story().seen))
        }
        Err(error) => (vec![format!("`files`: {error}")], Seen::default()),
    };
    let operations: Vec<OperationId> =
        world.store.list(OPERATIONS_MAX).unwrap_or_default().into_iter().map(|header| header.id).collect();
    let journal = |id: &OperationId| (id.clone(), world.store.records(id).unwrap_or_default());
    let messages = |id: &OperationId| {
        let stored = world.store.messages(id).unwrap_or_default();
        (id.clone(), stored.into_iter().map(|stored| stored.message).collect())
    };
    Outcome {
        journals: operations.iter().map(journal).collect(),
        messages: operations.iter().map(messages).collect(),
        told: std::mem::take(&mut world.story().stream),
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
