//! `jackline hooks check`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jackline_hooks::{
    AfterVerdict, BeforeToolCallEvent, BeforeVerdict, Carriers, Delivery, DispatchMode, HookClock, HookDispatcher,
    HookKind, HookPorts, Hooks, ProcessEnvironment, Receipt, Rounds, Sample, UserDirectory,
};
use jackline_model::{ExitCode, RawOutput};
use serde_json::json;

use super::list::{Row, Section, say_if_none, sections};
use super::trial::{Faults, block_on_trial};
use crate::args::HooksOfArgs;
use crate::host;
use crate::problem::Problem;
use crate::render::Out;

/// Sends every hook an event of its type, one after the other.
pub(super) fn check(args: &HooksOfArgs) -> Result<ExitCode, Problem> {
    let agent = host::read_or_builtin(args.agent.as_deref())?;
    let sample = Sample::new(OPERATION, agent.name.as_str(), "local");
    let sections = sections(&agent)?;
    // What nobody waits for in a run is waited for here.
    let faults = Faults::default();
    let carriers = faults.of(Carriers { spawn: None, ..host::carriers()? });
    let mut out = Out::default();
    let mut worst = ExitCode::Done;
    let directory: Arc<dyn UserDirectory> = Arc::new(host::users(&agent)?);
    block_on_trial(async {
        for (agent, row) in asked(&sections) {
            let (receipt, meaning) = ask(row, &sample, &carriers, &directory).await?;
            if receipt.as_ref().is_none_or(|receipt| receipt.answer.is_failure()) {
                worst = ExitCode::Failed;
            }
            let why = receipt.as_ref().and_then(|receipt| faults.why(receipt));
            print(&mut out, args.json, (agent, row), receipt.as_ref(), &meaning, why.as_deref());
        }
        Ok(())
    })?;
    if !args.json {
        say_if_none(&sections, &mut out);
    }
    out.finish()?;
    Ok(worst)
}

/// The hooks of all agents, each with an agent that has it: one that several have is asked once.
fn asked(sections: &[Section]) -> Vec<(&str, &Row)> {
    let mut found: Vec<(&str, &Row)> = Vec::new();
    for (agent, row) in sections.iter().flat_map(|section| section.rows.iter().map(|row| (section.agent(), row))) {
        if !found.iter().any(|(_, known)| (&known.id, &known.stored) == (&row.id, &row.stored)) {
            found.push((agent, row));
        }
    }
    found
}

fn print(
    out: &mut Out,
    is_json: bool,
    (agent, row): (&str, &Row),
    receipt: Option<&Receipt>,
    meaning: &str,
    why: Option<&str>,
) {
    let answer = receipt.map_or("nothing", |receipt| receipt.answer.as_str());
    let fault = receipt.and_then(|receipt| receipt.fault).map(|fault| fault.as_str());
    let latency = receipt.map_or(0, |receipt| receipt.latency.as_millis());
    if is_json {
        let line = json!({
            "agent": agent, "id": row.id, "type": row.kind, "carrier": row.carrier, "answer": answer, "fault": fault, "why": why,
            "meaning": meaning, "millis": u64::try_from(latency).unwrap_or(u64::MAX),
        });
        out.line(line.to_string());
        return;
    }
    let fault = fault.map(|fault| format!(" ({fault})")).unwrap_or_default();
    out.line(format!("{}  {}  {answer}{fault} in {latency} ms: {meaning}", row.id, row.kind));
    if let Some(why) = why {
        out.line(format!("  {why}"));
    }
}

/// Asks one hook alone. What it answered, and what that would have meant in a run.
async fn ask(
    row: &Row,
    sample: &Sample,
    carriers: &Carriers,
    directory: &Arc<dyn UserDirectory>,
) -> Result<(Option<Receipt>, String), Problem> {
    let ports = HookPorts {
        carriers: carriers.clone(),
        mode: DispatchMode::Local,
        directory: Arc::clone(directory),
        environment: row.stored.is_none().then(|| Arc::new(ProcessEnvironment) as _),
        ..HookPorts::new(Arc::new(Wall(Instant::now())))
    };
    let dispatcher = HookDispatcher::with_ports(ports);
    if let Some(stored) = &row.stored {
        // Whatever its matcher says, it is the made-up call that it is asked about.
        let mut stored = stored.clone();
        if let Some(fields) = stored.as_object_mut() {
            fields.remove("matcher");
        }
        let hooks = Hooks::new().stored([&stored]).map_err(|error| Problem::usage(error.to_string()))?;
        dispatcher.register(&OPERATION.into(), hooks).map_err(|error| Problem::usage(error.to_string()))?;
    }
    let handle = dispatcher.handle(&Rounds::of(OPERATION));
    let (delivery, meaning) = match (row.kind, row.power) {
        (HookKind::BeforeToolCall, "decides") => {
            let event = || BeforeToolCallEvent { context: sample.call() };
            let (ruling, delivery) = handle.dispatch_before_tool_call(event).await;
            let meaning = match ruling.verdict() {
                BeforeVerdict::Proceed => "the call would run".to_owned(),
                BeforeVerdict::Mock(_) => "its mock would stand in for the tool".to_owned(),
                BeforeVerdict::Deny { reason } => refused("the call", reason.as_deref()),
            };
            (delivery, meaning)
        }
        (HookKind::AfterToolCall, "decides") => {
            let raw = RawOutput::new(sample.result());
            let (ruling, delivery) = handle.evaluate_after_tool_call(&raw, false, || sample.call()).await;
            let meaning = match ruling.verdict() {
                AfterVerdict::Keep => "the result would be published".to_owned(),
                AfterVerdict::Deny { reason } => refused("the result", reason.as_deref()),
            };
            (delivery, meaning)
        }
        (kind, _) => {
            let delivery: Delivery = handle.dispatch(kind, || sample.event(kind)).await;
            let failed = delivery.receipts.iter().any(|receipt| receipt.answer.is_failure());
            (delivery, if failed { "it would not have heard" } else { "it heard" }.to_owned())
        }
    };
    let receipt = delivery.receipts.into_iter().next();
    Ok((receipt, meaning))
}

/// Words for a denial.
pub(super) fn refused(what: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{what} would be denied: {reason}"),
        None => format!("{what} would be denied"),
    }
}

/// The wall clock.
#[derive(Debug)]
pub(super) struct Wall(pub(super) Instant);

impl HookClock for Wall {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(duration).boxed()
    }
}

const OPERATION: &str = "op_hooks_check";
