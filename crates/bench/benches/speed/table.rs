//! The figures, each beside its goal.

use std::io::Write;

/// Prints one line. A bench whose reader is gone has nobody to tell.
pub(crate) fn line(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}");
    let _ = stdout.flush();
}

/// Prints the head of a section.
pub(crate) fn section(title: &str) {
    line("");
    line(title);
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measure {
    /// A part of something else.
    Times,
    /// Nanoseconds.
    Nanos,
    /// Milliseconds.
    Millis,
}

impl Measure {
    fn show(self, value: f64) -> String {
        match self {
            Self::Times => format!("{value:.2}x"),
            Self::Nanos => format!("{value:.1} ns"),
            Self::Millis => format!("{value:.1} ms"),
        }
    }
}

/// Figures with goals, kept so that they can be shown once more together.
#[derive(Debug, Default)]
pub(crate) struct Goals(Vec<String>);

impl Goals {
    /// Prints a figure and whether it is within its goal.
    pub(crate) fn check(&mut self, what: &str, measure: Measure, value: f64, goal: f64) {
        let missed = match value <= goal {
            true => "met".to_owned(),
            false => format!("missed by {}", measure.show(value - goal)),
        };
        let row = format!("  {what:<68} {:>10}  goal <= {:<9} {missed}", measure.show(value), measure.show(goal));
        line(&row);
        self.0.push(row);
    }

    /// Prints them all.
    pub(crate) fn summary(&self) {
        section("All goals");
        self.0.iter().for_each(|row| line(row));
    }
}
