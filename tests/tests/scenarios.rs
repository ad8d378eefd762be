//! Every scenario passes, quickly, and together they take every row and see every answer.

use std::path::Path;
use std::time::Duration;

use jackline_scenario::{Matrix, run_paths};

#[tokio::test]
async fn all_scenarios_pass_and_cover_the_machine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let matrix = Matrix::of(run_paths(&[folder]).await);
    assert!(matrix.is_complete(), "{matrix}");
    assert!(matrix.summary.outcomes.len() >= SCENARIOS_MIN, "{}", matrix.summary.outcomes.len());
    assert!(matrix.summary.took < TIME_MAX, "{:?}", matrix.summary.took);
}

/// What the suite has been promised to hold.
const SCENARIOS_MIN: usize = 60;

/// A suite that takes longer is not run after every change.
const TIME_MAX: Duration = Duration::from_secs(10);
