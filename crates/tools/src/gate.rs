//! The gate: the one place where a call is cleared and where output becomes publishable.
//!
//! Three types keep the law. A [`Clearance`] is needed to run a tool, and only [`clear`] makes one.
//! A `RawOutput` can neither be stored nor shown. A [`Publishable`] can, and only [`publish`] and
//! [`receipt`] make one: the first wants the ruling of the after-hooks, the second has no tool's
//! text to show.

use std::fmt::Write as _;
use std::sync::Arc;

use jackline_hooks::{AfterVerdict, BeforeVerdict, DENIED_ERROR, HookKind, RuledBy, Ruling};
use jackline_model::{BlobId, RawOutput, ToolCall, ToolRunResult};
use serde_json::{Map, Value, json};

use crate::limits;
use crate::text::{self, prefix};

/// The right to run one call, once.
///
/// ```compile_fail
/// fn forge(call: jackline_model::ToolCall) -> jackline_tools::Clearance {
///     jackline_tools::Clearance { call }
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a cleared call that nobody runs hangs"]
pub struct Clearance {
    call: ToolCall,
}

impl Clearance {
    /// The call that may run.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }
}

/// What the before-hooks made of a call.
#[derive(Debug, PartialEq)]
pub enum Gated {
    /// Run it.
    Run(Clearance),
    /// A mock stands in for the run; it must be judged.
    Judge(RawOutput),
    /// Denied; this is the result.
    Publish(Publishable),
}

/// Applies the ruling of the before-hooks to a call.
pub fn clear(call: ToolCall, ruling: Ruling<BeforeVerdict>) -> (Gated, Option<RuledBy>) {
    let (verdict, by) = ruling.into_parts();
    (gated(call, verdict), by)
}

/// Applies the ruling of the after-hooks to an output. A denial replaces all of it.
///
/// Text longer than `bytes_max` is published as a window with a note; the whole goes along for the
/// archive, under the hash of its bytes. A state or an error too large for a row is cut or only named.
pub fn publish(raw: RawOutput, ruling: Ruling<AfterVerdict>, bytes_max: usize) -> (Publishable, Option<RuledBy>) {
    let (verdict, by) = ruling.into_parts();
    (judged(raw, verdict, bytes_max), by)
}

/// Makes the result row of a call whose tool did not speak: refused, timed out, aborted, in doubt.
pub fn receipt(receipt: &Receipt) -> Publishable {
    let (class, reason) = receipt.class_and_text();
    let result = ToolRunResult {
        content: reason.clone(),
        error: Some(Value::from(class)),
        state: receipt.is_blocked().then(|| blocked_state(&reason, None)),
        execution_time: Some(0),
        stop: false,
        ..ToolRunResult::default()
    };
    Publishable { result, denial: None, archived: None }
}

/// What the archive, the history, the stream and the model may see of a call.
///
/// ```compile_fail
/// let forged = jackline_tools::Publishable { result: Default::default(), denial: None, archived: None };
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Publishable {
    result: ToolRunResult,
    denial: Option<Denial>,
    archived: Option<Archived>,
}

impl Publishable {
    /// The result, as everybody may see it.
    pub fn result(&self) -> &ToolRunResult {
        &self.result
    }

    /// How hooks denied the call, if they did.
    pub fn denial(&self) -> Option<Denial> {
        self.denial
    }

    /// The whole text, when the result holds only a window of it.
    pub fn archived(&self) -> Option<&Archived> {
        self.archived.as_ref()
    }
}

/// When a call was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// Before the tool ran.
    Before,
    /// After it ran; its effects stand, its text is gone.
    After,
}

/// The whole text of a long result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archived {
    /// The hash it is stored under.
    pub blob: BlobId,
    /// The text.
    pub text: Arc<str>,
}

/// Why a call has a result although its tool did not speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// No tool has this name.
    UnknownTool {
        /// The name.
        name: String,
        /// Those that exist.
        available: Vec<String>,
    },
    /// The arguments cannot be used.
    BadArguments {
        /// What is wrong and how to repair it.
        problem: String,
    },
    /// The answer of the model was cut off inside the call.
    CutOff,
    /// The tool took too long.
    TimedOut {
        /// The limit in milliseconds.
        after_ms: u64,
    },
    /// The run was stopped.
    Aborted,
    /// The process died while the call was open, and a second run might do harm.
    InDoubt,
    /// A person said no.
    Rejected {
        /// In these words.
        reason: Option<String>,
    },
    /// The agent may not use the tool.
    NotAllowed {
        /// The tool.
        name: String,
    },
    /// A person would have to approve and none is there.
    NobodyToApprove {
        /// The tool.
        name: String,
    },
    /// The request expired before anybody answered.
    Expired,
    /// A limit stands against it.
    Limit {
        /// Which.
        which: String,
    },
    /// A sub-agent could not be started.
    ChildNotStarted {
        /// Why.
        problem: String,
    },
}

impl Receipt {
    fn class_and_text(&self) -> (&'static str, String) {
        match self {
            Self::UnknownTool { name, available } => ("unknown_tool", unknown_tool_text(name, available)),
            Self::BadArguments { problem } => ("bad_arguments", format!("The tool did not run. {problem}")),
            Self::CutOff => (
                "cut_off",
                "The tool did not run: the answer was cut off inside its arguments. Send the call again, shorter."
                    .to_owned(),
            ),
            Self::TimedOut { after_ms } => {
                ("timeout", format!("The tool was stopped: it took longer than {after_ms} ms."))
            }
            Self::Aborted => ("aborted", "The call was aborted by the user.".to_owned()),
            Self::InDoubt => (
                "in_doubt",
                "The outcome is unknown: the process died while the tool ran. It was not run again. Check what it did."
                    .to_owned(),
            ),
            Self::Rejected { reason } => ("rejected", rejected_text(reason.as_deref())),
            Self::NotAllowed { name } => ("tool_not_allowed", format!("The agent may not use `{name}`.")),
            Self::NobodyToApprove { name } => (
                "human_intervention_unavailable",
                format!("`{name}` needs the approval of a person, and this run has nobody to ask."),
            ),
            Self::Expired => ("expired", "Nobody approved the call in time; it did not run.".to_owned()),
            Self::Limit { which } => ("limit", format!("The tool did not run: {which}.")),
            Self::ChildNotStarted { problem } => {
                ("call_agent_failed", format!("The agent could not be started: {problem}"))
            }
        }
    }

    fn is_blocked(&self) -> bool {
        match self {
            Self::NotAllowed { .. } | Self::NobodyToApprove { .. } | Self::Rejected { .. } => true,
            Self::UnknownTool { .. }
            | Self::BadArguments { .. }
            | Self::CutOff
            | Self::TimedOut { .. }
            | Self::Aborted
            | Self::InDoubt
            | Self::Expired
            | Self::Limit { .. }
            | Self::ChildNotStarted { .. } => false,
        }
    }
}

fn unknown_tool_text(name: &str, available: &[String]) -> String {
    let mut text = format!("There is no tool `{name}`.");
    if !available.is_empty() {
        let _ = write!(text, " Available: {}.", available.join(", "));
    }
    text
}

fn rejected_text(reason: Option<&str>) -> String {
    match reason {
        Some(reason) if !reason.is_empty() => format!("The user rejected the call: {reason}"),
        Some(_) | None => "The user rejected the call.".to_owned(),
    }
}

/// What [`clear`] does once the ruling is taken apart. For the call machine and its tests only: a
/// verdict alone proves nothing.
pub(crate) fn gated(call: ToolCall, verdict: BeforeVerdict) -> Gated {
    match verdict {
        BeforeVerdict::Proceed => Gated::Run(Clearance { call }),
        BeforeVerdict::Mock(raw) => Gated::Judge(raw),
        BeforeVerdict::Deny { reason } => Gated::Publish(denied_before(worded(reason, HookKind::BeforeToolCall))),
    }
}

/// What [`publish`] does once the ruling is taken apart. For the call machine and its tests only.
pub(crate) fn judged(raw: RawOutput, verdict: AfterVerdict, bytes_max: usize) -> Publishable {
    let result = raw.into_result();
    match verdict {
        AfterVerdict::Keep => kept(result, bytes_max),
        AfterVerdict::Deny { reason } => denied_after(result, worded(reason, HookKind::AfterToolCall)),
    }
}

fn worded(reason: Option<String>, kind: HookKind) -> String {
    reason.filter(|reason| !reason.is_empty()).unwrap_or_else(|| format!("Blocked by {kind} hook."))
}

fn denied_before(reason: String) -> Publishable {
    let state = blocked_state(&reason, None);
    let result = ToolRunResult {
        content: reason,
        error: Some(Value::from(DENIED_ERROR)),
        state: Some(state),
        execution_time: Some(0),
        ..ToolRunResult::default()
    };
    Publishable { result, denial: Some(Denial::Before), archived: None }
}

/// Of the original only its times and its wish to stop remain.
fn denied_after(original: ToolRunResult, reason: String) -> Publishable {
    let state = blocked_state(&reason, Some("afterToolCall"));
    let result = ToolRunResult {
        content: reason,
        success: false,
        error: Some(Value::from(DENIED_ERROR)),
        state: Some(state),
        execution_time: original.execution_time,
        device_execution_time: original.device_execution_time,
        stop: original.stop,
        work_registration: None,
    };
    Publishable { result, denial: Some(Denial::After), archived: None }
}

fn blocked_state(reason: &str, phase: Option<&str>) -> Map<String, Value> {
    let mut state = Map::new();
    if let Some(phase) = phase {
        state.insert("phase".to_owned(), json!(phase));
    }
    state.insert("reason".to_owned(), json!(reason));
    state.insert("type".to_owned(), json!("blocked"));
    state
}

fn kept(mut result: ToolRunResult, bytes_max: usize) -> Publishable {
    result.state = result.state.map(bounded_state);
    result.error = result.error.map(bounded_error);
    if result.content.len() <= bytes_max {
        return Publishable { result, denial: None, archived: None };
    }
    let whole = std::mem::take(&mut result.content);
    let text: Arc<str> = Arc::from(prefix(&whole, limits::ARCHIVE_BYTES_MAX));
    let blob = BlobId::new(text::sha256_hex(&[text.as_bytes()]));
    let window = prefix(&text, bytes_max);
    result.content = format!("{window}\n{}", window_note(window, &text, whole.len(), &blob));
    Publishable { result, denial: None, archived: Some(Archived { blob, text }) }
}

/// State has no window and no archive: what is too large to go into a row is only named.
fn bounded_state(state: Map<String, Value>) -> Map<String, Value> {
    let bytes = json!(state).to_string().len();
    if bytes <= limits::RESULT_EXTRA_BYTES_MAX {
        return state;
    }
    Map::from_iter([("omitted".to_owned(), json!(format!("{bytes} bytes")))])
}

fn bounded_error(error: Value) -> Value {
    let text = error.to_string();
    if text.len() <= limits::RESULT_EXTRA_BYTES_MAX {
        return error;
    }
    let shown = prefix(&text, limits::RESULT_EXTRA_BYTES_MAX);
    Value::from(format!("{shown} [{} of {} bytes shown]", shown.len(), text.len()))
}

/// Says how much is shown and how to read on. The last line of a window may be a part of a line, so
/// reading goes on in it.
fn window_note(window: &str, archived: &str, original_bytes: usize, blob: &BlobId) -> String {
    let shown_bytes = window.len();
    let line = window.split('\n').count();
    let cut = if archived.len() < original_bytes {
        format!(" Only the first {} bytes were kept.", archived.len())
    } else {
        String::new()
    };
    format!(
        "[{shown_bytes} of {original_bytes} bytes shown, up to line {line}. The rest is archived as `{blob}`: read on \
         with archive/read, offset {line}.{cut}]"
    )
}

#[cfg(test)]
mod tests;
