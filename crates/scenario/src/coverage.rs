//! What a set of scenarios covers: the rows of the table, and the answers of the hooks.

use std::fmt;
use std::path::Path;

use jackline_hooks::HookKind;
use jackline_runtime::machine::table::ROWS;

use crate::run::{Answered, Seen};
use crate::summary::{Summary, run_paths};

/// The rows and answers that scenarios cover.
#[derive(Clone, Debug)]
pub struct Matrix {
    seen: Seen,
    /// What came of the scenarios.
    pub summary: Summary,
}

impl Matrix {
    /// The matrix of scenarios that were run.
    pub fn of(summary: Summary) -> Self {
        let mut seen = Seen::default();
        for outcome in &summary.outcomes {
            seen.merge(&outcome.seen);
        }
        Self { seen, summary }
    }

    /// What is not covered, a line each.
    pub fn missing(&self) -> Vec<String> {
        let rows = (0..).zip(ROWS).filter(|(id, _)| !self.seen.rows.contains_key(id)).map(|(_, row)| row_name(row));
        let answers = wanted().filter(|wanted| !self.seen.answers.contains(wanted));
        rows.chain(answers.map(|(kind, answer)| format!("{kind}: {}", answer.as_str()))).collect()
    }

    /// Whether every row was taken, every listed answer seen, and every scenario passed.
    pub fn is_complete(&self) -> bool {
        self.missing().is_empty() && self.summary.is_passed()
    }

    /// The part that is covered, in percent, rounded down.
    pub fn percent(&self) -> usize {
        let all = ROWS.len() + wanted().count();
        (all - self.missing().len()) * 100 / all
    }
}

impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>7}  transition", "taken")?;
        for (id, row) in (0..).zip(ROWS) {
            let times = self.seen.rows.get(&id).copied().unwrap_or_default();
            writeln!(f, "{times:>7}  {}", row_name(row))?;
        }
        write!(f, "\n{:<26}", "hook")?;
        for answer in Answered::ALL {
            write!(f, "{:<width$}", answer.as_str(), width = answer.as_str().len() + 2)?;
        }
        writeln!(f)?;
        for kind in HookKind::ALL {
            write!(f, "{:<26}", kind.as_str())?;
            for answer in Answered::ALL {
                let mark = match (answer.fits(kind), self.seen.answers.contains(&(kind, answer))) {
                    (true, true) => "x",
                    (true, false) => "MISSING",
                    (false, _) => "-",
                };
                write!(f, "{mark:<width$}", width = answer.as_str().len() + 2)?;
            }
            writeln!(f)?;
        }
        writeln!(f)?;
        for missing in self.missing() {
            writeln!(f, "not covered: {missing}")?;
        }
        write!(f, "{}\n{} % covered", self.summary, self.percent())
    }
}

/// Runs the scenarios of files and folders and says what they cover.
pub async fn coverage<P: AsRef<Path>>(paths: &[P]) -> Matrix {
    Matrix::of(run_paths(paths).await)
}

fn wanted() -> impl Iterator<Item = (HookKind, Answered)> {
    let of_kind =
        |kind| Answered::ALL.into_iter().filter(move |answer| answer.fits(kind)).map(move |answer| (kind, answer));
    HookKind::ALL.into_iter().flat_map(of_kind)
}

fn row_name(row: &jackline_runtime::machine::table::Row) -> String {
    match row.from {
        Some(from) => format!("{from:?} + {:?}", row.input),
        None => format!("any state + {:?}", row.input),
    }
}
