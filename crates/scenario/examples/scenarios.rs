//! Runs scenario files and folders from a program, and says what they cover.
//!
//! `cargo run -p jackline-scenario --example scenarios -- tests/scenarios`

use std::process::ExitCode;

use jackline_scenario::{Matrix, run_paths};

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "this is a command")]
async fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let matrix = Matrix::of(run_paths(&paths).await);
    for outcome in &matrix.summary.outcomes {
        print!("{outcome}");
    }
    for missing in matrix.missing() {
        println!("not covered: {missing}");
    }
    println!("{} of {} failed", matrix.summary.failed(), matrix.summary.outcomes.len());
    for unreadable in &matrix.summary.unreadable {
        println!("{unreadable}");
    }
    if matrix.summary.is_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
