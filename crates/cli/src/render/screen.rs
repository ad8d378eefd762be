//! Who reads what a run tells: a person, a program, or somebody who wants the answer only.

use std::time::{SystemTime, UNIX_EPOCH};

use jackline_runtime::drive::{EVENTS_VERSION, Report, StreamEvent};
use serde_json::{Value, json};

use super::out::Out;
use super::timeline::{Timeline, totals_line};
use super::{Paint, plain};
use crate::problem::Problem;

/// Where events go.
#[derive(Debug)]
pub(crate) enum Screen {
    /// A timeline for people.
    Human(Box<Timeline>),
    /// JSON Lines.
    Json(Out),
    /// Nothing but the answer.
    Quiet(Out),
    /// Nothing but what somebody else takes for the answer.
    Silent(Out),
}

impl Screen {
    /// A screen for people.
    pub(crate) fn human(paint: Paint) -> Self {
        Self::Human(Box::new(Timeline::new(paint)))
    }

    /// Whether people follow along.
    pub(crate) fn is_human(&self) -> bool {
        matches!(self, Self::Human(_))
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, event: &StreamEvent) {
        match self {
            Self::Human(timeline) => timeline.event(event),
            Self::Json(out) => match serde_json::to_string(event) {
                Ok(line) => out.line(line),
                Err(error) => super::say(format!("error: an event cannot be written: {error}")),
            },
            Self::Quiet(_) | Self::Silent(_) => {}
        }
    }

    /// Says something to people.
    pub(crate) fn note(&mut self, text: &str) {
        match self {
            Self::Human(timeline) => timeline.note(text),
            Self::Json(_) | Self::Quiet(_) | Self::Silent(_) => {}
        }
    }

    /// Asks people for a line.
    pub(crate) fn prompt(&mut self, text: &str) {
        match self {
            Self::Human(timeline) => timeline.prompt(text),
            Self::Json(_) | Self::Quiet(_) | Self::Silent(_) => {}
        }
    }

    /// A screen that shows another answer than the model's.
    pub(crate) fn without_report(self) -> Self {
        match self {
            Self::Quiet(out) => Self::Silent(out),
            other @ (Self::Human(_) | Self::Json(_) | Self::Silent(_)) => other,
        }
    }

    /// Shows that answer.
    pub(crate) fn answer(&mut self, text: &str) {
        match self {
            Self::Human(timeline) => timeline.note(text),
            Self::Silent(out) | Self::Quiet(out) | Self::Json(out) => out.line(text),
        }
    }

    /// Says something to programs that is about no single operation.
    pub(crate) fn json(&mut self, kind: &str, fields: &Value) {
        match self {
            Self::Json(out) => out.line(line("", 0, kind, fields)),
            Self::Human(_) | Self::Quiet(_) | Self::Silent(_) => {}
        }
    }

    /// Shows how a run stands: its last word.
    pub(crate) fn report(&mut self, report: &Report, elapsed_ms: u64) {
        match self {
            Self::Human(timeline) => timeline.end(&totals_line(report, elapsed_ms), report),
            Self::Json(out) => out.line(report_json(report)),
            Self::Quiet(out) => {
                if let Some(answer) = report.answer.as_ref().filter(|_| report.reason.is_some()) {
                    out.line(plain(answer.trim_end()));
                }
            }
            Self::Silent(_) => {}
        }
    }

    /// Ends it.
    ///
    /// # Errors
    ///
    /// As [`Out::finish`].
    pub(crate) fn finish(self) -> Result<(), Problem> {
        match self {
            Self::Human(timeline) => timeline.finish(),
            Self::Json(out) | Self::Quiet(out) | Self::Silent(out) => out.finish(),
        }
    }
}

/// The report as the last line of `--json` has it.
fn report_json(report: &Report) -> Value {
    let mut fields = report.to_json();
    fields["exitCode"] = json!(report.exit_code() as u8);
    line(report.operation.as_str(), report.steps, "report", &fields)
}

/// A line in the form of an event.
fn line(operation: &str, step: u32, kind: &str, fields: &Value) -> Value {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let mut line = json!({"v": EVENTS_VERSION, "at": at, "operation": operation, "step": step, "type": kind});
    if let (Some(line), Some(fields)) = (line.as_object_mut(), fields.as_object()) {
        line.extend(fields.clone());
    }
    line
}
