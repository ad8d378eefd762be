//! A run as a person follows it: one gutter with the step, one line per thing that happens.

use std::collections::BTreeMap;

use jackline_hooks::HookKind;
use jackline_model::{ExitCode, Fault, OperationId, ToolCallId, Totals};
use jackline_runtime::drive::{Decided, HookReceipt, PendingCallView, Report, StreamEvent, Told};

use super::card::{counted, one_line, seconds, thousands};
use super::out::Out;
use super::style::Paint;
use crate::problem::Problem;

/// Draws events.
#[derive(Debug)]
pub(crate) struct Timeline {
    out: Out,
    paint: Paint,
    agents: BTreeMap<OperationId, Agent>,
    arguments: BTreeMap<(OperationId, ToolCallId), String>,
    /// Whose text stands on an unfinished line.
    open: Option<OperationId>,
    /// Line ends that are written once more text follows.
    held: usize,
    hooks: BTreeMap<HookKind, u32>,
    /// The newest fault that has its line.
    fault: Option<Fault>,
}

#[derive(Debug)]
struct Agent {
    name: String,
    depth: usize,
}

impl Timeline {
    pub(super) fn new(paint: Paint) -> Self {
        Self {
            out: Out::default(),
            paint,
            agents: BTreeMap::new(),
            arguments: BTreeMap::new(),
            open: None,
            held: 0,
            hooks: BTreeMap::new(),
            fault: None,
        }
    }

    /// Draws one event.
    pub(crate) fn event(&mut self, event: &StreamEvent) {
        let paint = self.paint;
        match &event.what {
            Told::OperationStart { agent, parent, resumed } => self.started(event, agent, parent.as_ref(), *resumed),
            Told::Text { delta } => self.text(event, delta),
            Told::ModelRetry { attempt, delay_ms, error } => {
                let wait = seconds(*delay_ms);
                let line = format!("the model failed ({}); try {attempt} in {wait}", one_line(error, LINE_CHARS));
                self.line(event, &paint.warn(&line));
            }
            Told::ModelError { error } => {
                let line = format!("✗ the model failed: {}", one_line(&error.to_string(), LINE_CHARS));
                self.line(event, &paint.bad(&line));
                self.fault = Some(error.clone());
            }
            Told::ToolStart { call, tool, arguments, .. } => {
                let shown = one_line(arguments, ARGUMENT_CHARS);
                self.line(event, &format!("▸ {} {}", paint.name(&tool.to_string()), paint.dim(&shown)));
                self.arguments.insert((event.operation.clone(), call.clone()), shown);
            }
            Told::ToolEnd { call, tool, decision, result, duration_ms } => {
                let arguments = self.arguments.remove(&(event.operation.clone(), call.clone())).unwrap_or_default();
                let (mark, words) = self.decision(decision, result.success, *duration_ms);
                let tool = paint.name(&tool.to_string());
                let shown = if arguments.is_empty() { String::new() } else { one_line(&arguments, 48) + " " };
                self.line(event, &format!("{mark} {tool} {}{words}", paint.dim(&shown)));
                self.line(event, &paint.dim(&format!("  {}", one_line(&result.content, LINE_CHARS))));
            }
            Told::ToolParked { tool, child, .. } => {
                let waits = if child.is_some() { "works on it" } else { "answers later" };
                self.line(event, &format!("… {} {waits}", paint.name(&tool.to_string())));
            }
            Told::ApprovalRequired { calls, question, .. } => self.asks(event, calls, question.as_deref()),
            Told::ApprovalDecided { action, reason, .. } => {
                let said = reason.as_ref().map(|reason| format!(": {}", one_line(reason, LINE_CHARS)));
                let line = format!("! a person decided: {action}{}", said.unwrap_or_default());
                self.line(event, &paint.warn(&line));
            }
            Told::CompactionStart { messages, tokens } => {
                let tokens = thousands(*tokens);
                self.line(event, &format!("≡ the history is long ({messages} messages, {tokens} tokens): folding it"));
            }
            Told::CompactionEnd { error: Some(error), .. } => {
                let line = format!("✗ not folded: {}", one_line(error, LINE_CHARS));
                self.line(event, &paint.bad(&line));
            }
            Told::CompactionEnd { messages_before, messages_after, error: None } => {
                self.line(event, &format!("≡ folded {messages_before} messages, {messages_after} are left"));
            }
            Told::Hook { hook, asked } => self.hook(event, *hook, asked),
            Told::OperationEnd { reason, .. } if self.depth(&event.operation) > 0 => {
                self.line(event, &paint.dim(&format!("ends: {reason}")));
            }
            Told::Gap { missed } => {
                self.note(
                    &paint.warn(&format!("({missed} events were too fast to show; `jackline ops show` has all)")),
                );
            }
            Told::StepStart
            | Told::StepEnd { .. }
            | Told::ModelStart { .. }
            | Told::ModelEnd { .. }
            | Told::Reasoning { .. }
            | Told::Parked { .. }
            | Told::OperationEnd { .. } => {}
        }
    }

    /// A line outside the gutter.
    pub(crate) fn note(&mut self, text: &str) {
        self.close_line();
        self.out.line(text);
    }

    /// Text before what a person types.
    pub(super) fn prompt(&mut self, text: &str) {
        self.close_line();
        self.out.write(&self.paint.warn(text));
    }

    /// The hooks that fired since this was last asked.
    pub(crate) fn take_hooks(&mut self) -> BTreeMap<HookKind, u32> {
        std::mem::take(&mut self.hooks)
    }

    /// How the lines are painted.
    pub(crate) fn paint(&self) -> Paint {
        self.paint
    }

    pub(super) fn end(&mut self, totals: &str, report: &Report) {
        self.close_line();
        if let Some(fault) = report.fault.as_ref().filter(|fault| self.fault.as_ref() != Some(fault)) {
            self.out.line(self.paint.bad(&format!("✗ {}", one_line(&fault.to_string(), LINE_CHARS))));
        }
        let painted = match report.exit_code() {
            ExitCode::Done => self.paint.good(totals),
            ExitCode::Failed | ExitCode::Usage => self.paint.bad(totals),
            ExitCode::Waiting | ExitCode::Interrupted | ExitCode::Limit => self.paint.warn(totals),
        };
        self.out.line(painted);
    }

    pub(super) fn finish(mut self) -> Result<(), Problem> {
        self.close_line();
        self.out.finish()
    }

    fn started(&mut self, event: &StreamEvent, agent: &str, parent: Option<&OperationId>, resumed: bool) {
        let is_known = self.agents.contains_key(&event.operation);
        let depth = parent.map_or(0, |parent| self.depth(parent) + 1);
        self.agents.insert(event.operation.clone(), Agent { name: agent.to_owned(), depth });
        if is_known {
            return;
        }
        let goes_on = if resumed { " goes on" } else { "" };
        let line = format!("{}{goes_on}  {}", self.paint.bold(agent), self.paint.dim(event.operation.as_str()));
        self.close_line();
        self.out.line(format!("{}{line}", INDENT.repeat(depth)));
    }

    fn text(&mut self, event: &StreamEvent, delta: &str) {
        if self.open.as_ref() != Some(&event.operation) {
            let start = delta.trim_start();
            if start.is_empty() {
                return;
            }
            self.close_line();
            let gutter = self.gutter(event);
            self.out.write(&gutter);
            self.open = Some(event.operation.clone());
            return self.text(event, start);
        }
        let gutter = self.gutter(event);
        let delta = super::plain(delta);
        let text = delta.trim_end_matches('\n');
        if !text.is_empty() {
            let line_ends = "\n".repeat(std::mem::take(&mut self.held));
            self.out.write(&(line_ends + text).replace('\n', &format!("\n{gutter}")));
        }
        self.held += delta.len() - text.len();
    }

    fn decision(&self, decision: &Decided, success: bool, duration_ms: u64) -> (String, String) {
        let paint = self.paint;
        let time = seconds(duration_ms);
        match decision {
            Decided::Ran if success => (paint.good("✓"), format!("ran in {time}")),
            Decided::Ran => (paint.bad("✗"), format!("ran in {time} and did not succeed")),
            Decided::Threw => (paint.bad("✗"), format!("broke after {time}")),
            Decided::Mocked { hook } => {
                (paint.warn("◌"), format!("answered by the hook `{hook}`; the tool did not run"))
            }
            Decided::Denied { hook, after: false, .. } => (paint.bad("✗"), format!("denied by the hook `{hook}`")),
            Decided::Denied { hook, after: true, .. } => {
                (paint.bad("✗"), format!("result denied by the hook `{hook}`"))
            }
            Decided::Answered if success => (paint.good("✓"), "was answered".to_owned()),
            Decided::Answered => (paint.bad("✗"), "was answered: it did not succeed".to_owned()),
            Decided::Refused => (paint.bad("✗"), "did not run".to_owned()),
            Decided::Aborted => (paint.warn("✗"), "was aborted".to_owned()),
        }
    }

    fn asks(&mut self, event: &StreamEvent, calls: &[PendingCallView], question: Option<&str>) {
        let paint = self.paint;
        for call in calls {
            let tool = paint.name(&call.tool.to_string());
            let shown = one_line(&call.arguments, ARGUMENT_CHARS);
            self.line(event, &format!("{} {tool} {}", paint.warn("? wants to run"), paint.dim(&shown)));
            self.arguments.insert((event.operation.clone(), call.call.clone()), shown);
        }
        if let Some(question) = question {
            self.line(event, &format!("{} {}", paint.warn("? asks"), one_line(question, LINE_CHARS)));
        }
    }

    fn hook(&mut self, event: &StreamEvent, hook: HookKind, asked: &[HookReceipt]) {
        *self.hooks.entry(hook).or_default() += 1;
        for receipt in asked {
            let time = seconds(receipt.micros / 1_000);
            let line = match &receipt.fault {
                Some(fault) => format!("{hook}: {} `{}` failed ({fault}) in {time}", receipt.carrier, receipt.id),
                None => format!("{hook}: hook `{}` answered {} in {time}", receipt.id, receipt.answer),
            };
            let blocks = receipt.decided_by.as_deref() == Some("failure");
            let line = if blocks { line + ", and its failures block" } else { line };
            self.line(event, &self.paint.dim(&line));
        }
    }

    fn line(&mut self, event: &StreamEvent, text: &str) {
        self.close_line();
        let gutter = self.gutter(event);
        self.out.line(format!("{gutter}{text}"));
    }

    fn close_line(&mut self) {
        self.held = 0;
        if self.open.take().is_some() {
            self.out.write("\n");
        }
    }

    fn depth(&self, operation: &OperationId) -> usize {
        self.agents.get(operation).map_or(0, |agent| agent.depth)
    }

    fn gutter(&self, event: &StreamEvent) -> String {
        let step = event.step;
        match self.agents.get(&event.operation) {
            Some(agent) if agent.depth > 0 => {
                let indent = INDENT.repeat(agent.depth);
                self.paint.dim(&format!("{indent}{} {step:>2} │ ", agent.name))
            }
            Some(_) | None => self.paint.dim(&format!("{step:>4} │ ")),
        }
    }
}

/// How a run stands, what it took and what it cost.
pub(crate) fn totals_line(report: &Report, elapsed_ms: u64) -> String {
    let stands = report.reason.map_or(report.status.as_str(), jackline_model::Reason::as_str);
    let mut parts = vec![format!("{stands} after {}", counted(u64::from(report.steps), "step"))];
    parts.extend(used(&report.totals));
    parts.push(seconds(elapsed_ms));
    parts.join(" · ")
}

/// What a run used. Model calls are counted by the usage that their provider reports; where it
/// reports none there is nothing to show.
pub(crate) fn used(totals: &Totals) -> Vec<String> {
    let mut parts = Vec::new();
    if totals.llm_calls > 0 {
        parts.push(counted(totals.llm_calls, "model call"));
    }
    parts.push(counted(totals.tool_calls, "tool call"));
    if totals.llm_calls > 0 {
        parts.push(format!("{} tokens", thousands(totals.total_tokens)));
    }
    if totals.cost.0 > 0 {
        parts.push(format!("${:.4}", totals.cost.dollars()));
    }
    parts
}

/// What fits beside the gutter of a usual terminal.
const LINE_CHARS: usize = 110;

/// Arguments beside the tool's name.
const ARGUMENT_CHARS: usize = 90;

/// Goes before everything that a sub-agent does.
const INDENT: &str = "     ";
