//! The gate: one command, the same here and everywhere, that reads and never writes.
//!
//! The last line counts what passed: a step that runs tests counts each of them, any other step
//! counts as one.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::conformance;

/// Scenario files, from the root of the workspace. The steps that run them wait until the folder is there.
const SCENARIOS: &str = "tests/scenarios";

/// The crates that must build, and build clean, without what their features add.
const LEAN_CRATES: [&str; 3] = ["jackline-runtime", "jackline-tools", "jackline-hooks"];

const WASM: &str = "wasm32-unknown-unknown";

/// Runs every step of the gate until one fails.
pub(crate) fn check(root: &Path) -> ExitCode {
    let mut passed = 0;
    for step in steps(root) {
        println!("== {}", step.name);
        let started = Instant::now();
        let tally = step.run(root);
        passed += tally.passed;
        let verdict = if tally.failed == 0 { "ok" } else { "FAILED" };
        println!("== {}: {verdict} in {}", step.name, seconds(started.elapsed()));
        if tally.failed > 0 {
            println!("\nto repeat it: {}", step.repeat());
            println!("{passed} passed, {} failed", tally.failed);
            return ExitCode::FAILURE;
        }
    }
    println!();
    println!("{passed} passed, 0 failed");
    ExitCode::SUCCESS
}

/// Repairs what a machine can repair. This writes to the sources.
pub(crate) fn fix(root: &Path) -> ExitCode {
    let lints = ["clippy", "--fix", "--allow-dirty", "--allow-staged", "--workspace", "--all-targets"];
    for step in [Step::cargo("clippy --fix", &lints), Step::cargo("format", &["fmt", "--all"])] {
        if step.run(root).failed > 0 {
            println!("\nto repeat it: {}", step.repeat());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

struct Step {
    name: String,
    work: Work,
}

enum Work {
    /// Cargo with these words.
    Cargo(Vec<String>),
    /// Cargo with these words, whose output reports tests.
    CargoTests(Vec<String>),
    /// The list of promises, read by this process.
    Conformance,
}

/// What one step has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Step {
    fn cargo(name: &str, words: &[&str]) -> Step {
        Step { name: name.to_owned(), work: Work::Cargo(owned(words)) }
    }

    fn tests(name: &str, words: &[&str]) -> Step {
        Step { name: name.to_owned(), work: Work::CargoTests(owned(words)) }
    }

    fn run(&self, root: &Path) -> Tally {
        match &self.work {
            Work::Cargo(words) => Tally::of_one(cargo(root, words).status().is_ok_and(|status| status.success())),
            Work::CargoTests(words) => run_tests(cargo(root, words)),
            Work::Conformance => {
                let options = conformance::Options::totals();
                Tally::of_one(conformance::run(root, options) == ExitCode::SUCCESS)
            }
        }
    }

    /// The command that does this step alone.
    fn repeat(&self) -> String {
        match &self.work {
            Work::Cargo(words) | Work::CargoTests(words) => format!("cargo {}", words.join(" ")),
            Work::Conformance => "cargo xtask conformance".to_owned(),
        }
    }
}

impl Tally {
    fn of_one(is_passed: bool) -> Tally {
        if is_passed { Tally { passed: 1, failed: 0 } } else { Tally { passed: 0, failed: 1 } }
    }
}

fn steps(root: &Path) -> Vec<Step> {
    let mut steps = vec![
        Step::cargo("format", &["fmt", "--all", "--check"]),
        Step::cargo("clippy", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        Step::tests("tests", &["test", "--workspace"]),
    ];
    for package in LEAN_CRATES {
        let name = format!("{package} without features");
        steps.push(Step::cargo(&name, &["clippy", "-p", package, "--no-default-features", "--", "-D", "warnings"]));
    }
    if has_target(WASM) {
        let words = ["check", "-p", LEAN_CRATES[0], "--no-default-features", "--target", WASM];
        steps.push(Step::cargo("the pure runtime for wasm32", &words));
    }
    if root.join(SCENARIOS).is_dir() {
        steps.push(Step::cargo("scenarios", &["run", "--quiet", "--", "test", SCENARIOS]));
        steps.push(Step::cargo("coverage", &["run", "--quiet", "--", "test", "--coverage", SCENARIOS]));
    } else {
        println!("== scenarios: none yet, as there is no {SCENARIOS}");
    }
    steps.push(Step { name: "conformance".to_owned(), work: Work::Conformance });
    steps
}

fn cargo(root: &Path, words: &[String]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(words).current_dir(root).stdin(Stdio::null());
    command
}

/// Runs tests, passes their output through and adds up what it reports.
fn run_tests(mut command: Command) -> Tally {
    let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else {
        return Tally::of_one(false);
    };
    let output = child.stdout.take().expect("stdout was piped just above");
    let mut tally = Tally { passed: 0, failed: 0 };
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        println!("{line}");
        if let Some(found) = tally_of(&line) {
            tally = Tally { passed: tally.passed + found.passed, failed: tally.failed + found.failed };
        }
    }
    let is_passed = child.wait().is_ok_and(|status| status.success());
    if !is_passed && tally.failed == 0 {
        // Tests that do not compile, or a runner that died, report no failure of their own.
        tally.failed = 1;
    }
    tally
}

/// What a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …` counts.
fn tally_of(line: &str) -> Option<Tally> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let count = |word: &str| -> Option<usize> {
        let part = counts.split("; ").find_map(|part| part.strip_suffix(word))?;
        part.trim().parse().ok()
    };
    Some(Tally { passed: count(" passed")?, failed: count(" failed")? })
}

fn has_target(target: &str) -> bool {
    let asked = Command::new("rustc").args(["--print", "target-libdir", "--target", target]).output();
    asked.is_ok_and(|answer| Path::new(String::from_utf8_lossy(&answer.stdout).trim()).is_dir())
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_a_test_run_is_counted() {
        let line = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s";
        assert_eq!(tally_of(line), Some(Tally { passed: 3, failed: 0 }));
        let line = "test result: FAILED. 12 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(tally_of(line), Some(Tally { passed: 12, failed: 4 }));
        assert_eq!(tally_of("test a ... ok"), None);
    }

    #[test]
    fn a_failed_step_says_how_to_repeat_it_alone() {
        assert_eq!(Step::cargo("format", &["fmt", "--check"]).repeat(), "cargo fmt --check");
    }
}
