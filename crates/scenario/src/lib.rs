//! Scenarios: one file each that says what a person asks, what models, tools, people and hooks
//! answer, what goes wrong, and what must come of it.
//!
//! The runtime in the middle is the real one. Time is virtual, ids are counted, everything is in
//! memory: a scenario takes milliseconds and is the same every time. There is no network here and
//! no real model.

mod check;
mod coverage;
pub mod format;
mod outcome;
mod run;
mod summary;

pub use coverage::{Matrix, coverage};
pub use format::{Scenario, ScenarioError, schema};
pub use outcome::{Outcome, run, run_outside};
pub use run::{Outside, OutsideAnswer};
pub use summary::{Summary, Unreadable, run_paths};
