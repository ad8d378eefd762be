//! `jackline hooks fire`.

use std::sync::Arc;
use std::time::Instant;

use jackline_hooks::{
    AfterToolCallEvent, AfterVerdict, BeforeToolCallEvent, BeforeVerdict, Carriers, Delivery, Event, HookDispatcher,
    HookHandle, HookKind, HookPorts, OnToolCallErrorEvent, ProcessEnvironment, Receipt, Rounds, RuledBy, RulingCause,
    Sample, ToolCallContext,
};
use jackline_model::{ExitCode, RawOutput, ToolKey, ToolRunResult};
use jackline_tools::gate::publish;
use serde_json::{Map, Value, json};

use super::check::{Wall, refused};
use super::overlay::overlaid;
use super::trial::{Faults, block_on_trial};
use crate::args::FireArgs;
use crate::host;
use crate::problem::Problem;
use crate::render::Out;
use crate::render::say;
use crate::run::input_text;
use crate::text::{closest, read_text};

/// Fires one event at the hooks of an agent, as a run would: in order, until one decides.
pub(super) fn fire(args: &FireArgs) -> Result<ExitCode, Problem> {
    let kind = kind(&args.kind)?;
    let data = data(args)?;
    let agent = host::read_or_builtin(args.agent.as_deref())?;
    let word = |name: &str, otherwise: &str| data.get(name).and_then(Value::as_str).unwrap_or(otherwise).to_owned();
    let operation = word("operationId", OPERATION);
    let sample = Sample::new(operation.as_str(), word("agentId", &agent.name), word("userId", "local"));
    examine(kind, &sample, &data)?;
    let faults = Faults::default();
    let ports = HookPorts {
        // What nobody waits for in a run is waited for here.
        carriers: overlaid(faults.of(Carriers { spawn: None, ..host::carriers()? }), kind, &data),
        environment: Some(Arc::new(ProcessEnvironment)),
        directory: Arc::new(host::users(&agent)?),
        ..HookPorts::new(Arc::new(Wall(Instant::now())))
    };
    let dispatcher = HookDispatcher::with_ports(ports);
    let usage = |error: jackline_hooks::RegistrationError| Problem::usage(error.to_string());
    dispatcher.register(&operation.as_str().into(), host::hooks_of(&agent)?).map_err(usage)?;
    let handle = dispatcher.handle(&Rounds::of(operation.as_str()));
    let fired = block_on_trial(Fired::of(kind, &sample, &data, &handle))?;
    fired.print(kind, &agent.name, args.json, &faults)
}

/// What came of a firing.
#[derive(Default)]
struct Fired {
    receipts: Vec<Receipt>,
    /// What was decided, in a word and in a sentence, and by which hook; only about calls and results.
    verdict: Option<(&'static str, String, Option<RuledBy>)>,
}

impl Fired {
    async fn of(
        kind: HookKind,
        sample: &Sample,
        data: &Map<String, Value>,
        hooks: &HookHandle,
    ) -> Result<Self, Problem> {
        let context = || context(sample, data);
        let event = match kind {
            HookKind::BeforeToolCall => {
                let (ruling, delivery) =
                    hooks.dispatch_before_tool_call(|| BeforeToolCallEvent { context: context() }).await;
                let (word, meaning) = match ruling.verdict() {
                    BeforeVerdict::Proceed => ("proceed", "the call would run".to_owned()),
                    BeforeVerdict::Mock(_) => ("mock", "a mock would stand in for the tool".to_owned()),
                    BeforeVerdict::Deny { reason } => ("deny", refused("the call", reason.as_deref())),
                };
                let verdict = Some((word, meaning, ruling.by().cloned()));
                return Ok(Self { receipts: receipts(delivery)?, verdict });
            }
            HookKind::AfterToolCall => return Self::of_result(sample, data, hooks).await,
            HookKind::OnToolCallError => {
                let error = data.get("error").and_then(Value::as_str).unwrap_or("made-up failure").to_owned();
                OnToolCallErrorEvent { context: context(), error }.into()
            }
            HookKind::BeforeStep
            | HookKind::AfterStep
            | HookKind::OnComplete
            | HookKind::OnError
            | HookKind::BeforeHumanIntervention
            | HookKind::AfterHumanIntervention
            | HookKind::OnStopByHumanIntervention
            | HookKind::BeforeCompact
            | HookKind::AfterCompact
            | HookKind::OnCompactError
            | HookKind::BeforeCallAgent
            | HookKind::AfterCallAgent
            | HookKind::OnCallAgentError => sample.event(kind),
        };
        Ok(Self { receipts: receipts(hooks.dispatch(kind, || event).await)?, verdict: None })
    }

    /// A result is judged, and then what would be published of it is told.
    async fn of_result(sample: &Sample, data: &Map<String, Value>, hooks: &HookHandle) -> Result<Self, Problem> {
        let result = match data.get("result") {
            Some(given) => serde_json::from_value::<ToolRunResult>(given.clone())
                .map_err(|error| Problem::usage(format!("`result` of the data is no result of a tool: {error}")))?,
            None => sample.result(),
        };
        let mocked = data.get("mocked").and_then(Value::as_bool).unwrap_or_default();
        let raw = RawOutput::new(result);
        let (ruling, delivery) = hooks.evaluate_after_tool_call(&raw, mocked, || context(sample, data)).await;
        let (word, meaning) = match ruling.verdict() {
            AfterVerdict::Keep => ("keep", "the result would be published".to_owned()),
            AfterVerdict::Deny { reason } => ("deny", refused("the result", reason.as_deref())),
        };
        let (published, by) = publish(raw, ruling, RESULT_BYTES_MAX);
        let told = AfterToolCallEvent { context: context(sample, data), mocked, result: published.result().clone() };
        let mut all = receipts(delivery)?;
        all.extend(receipts(hooks.dispatch(HookKind::AfterToolCall, || Event::from(told)).await)?);
        Ok(Self { receipts: all, verdict: Some((word, meaning, by)) })
    }

    fn print(&self, kind: HookKind, agent: &str, is_json: bool, faults: &Faults) -> Result<ExitCode, Problem> {
        let mut out = Out::default();
        for receipt in &self.receipts {
            let why = faults.why(receipt);
            if is_json {
                out.line(receipt_json(receipt, why.as_deref()).to_string());
                continue;
            }
            out.line(receipt_text(receipt));
            if let Some(why) = why {
                out.line(format!("  {why}"));
            }
        }
        if self.receipts.is_empty() && !is_json {
            out.line(format!("No hook of `{agent}` is about this {kind}."));
        }
        if let Some((word, meaning, by)) = &self.verdict {
            let by = by.as_ref().map(|by| by.hook.to_string());
            if is_json {
                out.line(json!({"type": "verdict", "verdict": word, "meaning": meaning, "by": by}).to_string());
            } else {
                let by = by.map(|hook| format!(" (by `{hook}`)")).unwrap_or_default();
                out.line(format!("{meaning}{by}"));
            }
        }
        out.finish()?;
        let has_failed = self.receipts.iter().any(|receipt| receipt.answer.is_failure());
        Ok(if has_failed { ExitCode::Failed } else { ExitCode::Done })
    }
}

fn receipts(delivery: Delivery) -> Result<Vec<Receipt>, Problem> {
    match delivery.failure {
        // A failure of a critical hook stands in its receipt.
        Some(error) if delivery.receipts.is_empty() => Err(Problem::usage(error.to_string())),
        Some(_) | None => Ok(delivery.receipts),
    }
}

fn receipt_text(receipt: &Receipt) -> String {
    let fault = receipt.fault.map(|fault| format!(" ({})", fault.as_str())).unwrap_or_default();
    let decided = match receipt.decided_by {
        Some(RulingCause::Policy) => ", which decides",
        Some(RulingCause::Failure) => ", and its failure blocks",
        None => "",
    };
    let (carrier, answer, millis) = (receipt.carrier.as_str(), receipt.answer.as_str(), receipt.latency.as_millis());
    format!("{}  {}  {carrier}  {answer}{fault} in {millis} ms{decided}", receipt.hook, receipt.kind)
}

fn receipt_json(receipt: &Receipt, why: Option<&str>) -> Value {
    let decided_by = receipt.decided_by.map(|cause| match cause {
        RulingCause::Policy => "policy",
        RulingCause::Failure => "failure",
    });
    json!({
        "type": "receipt", "id": receipt.hook, "event": receipt.kind, "carrier": receipt.carrier.as_str(),
        "answer": receipt.answer.as_str(), "fault": receipt.fault.map(|fault| fault.as_str()), "why": why,
        "decidedBy": decided_by,
        "millis": u64::try_from(receipt.latency.as_millis()).unwrap_or(u64::MAX),
    })
}

/// Refuses data that would not be used as it is given, and says which names are none of the event.
fn examine(kind: HookKind, sample: &Sample, data: &Map<String, Value>) -> Result<(), Problem> {
    for (name, value) in data {
        let wanted = match name.as_str() {
            "operationId" | "agentId" | "userId" if !value.is_string() => "text",
            "identifier" | "apiName" if kind.is_tool_event() && !value.is_string() => "text",
            "args" if kind.is_tool_event() && !value.is_object() => "an object",
            "error" if kind == HookKind::OnToolCallError && !value.is_string() => "text",
            "mocked" if kind == HookKind::AfterToolCall && !value.is_boolean() => "true or false",
            _ => continue,
        };
        return Err(Problem::usage(format!("`{name}` of the data must be {wanted}")));
    }
    let event = sample.event(kind).to_json();
    let known: Vec<&str> = event.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    for name in data.keys().filter(|name| !known.contains(&name.as_str())) {
        // Events have fields that are not always there; only what looks like a slip is worth a word.
        if let Some(meant) = closest(name, known.iter().copied()).filter(|meant| !data.contains_key(meant)) {
            say(format!("note: `{name}` of the data is sent as it is; did you mean `{meant}`?"));
        }
    }
    Ok(())
}

/// The call of a tool event: made up, but for what the data says about the tool.
fn context(sample: &Sample, data: &Map<String, Value>) -> ToolCallContext {
    let mut context = sample.call();
    let text = |name: &str, otherwise: &str| data.get(name).and_then(Value::as_str).unwrap_or(otherwise).to_owned();
    context.key = ToolKey::new(text("identifier", &context.key.identifier), text("apiName", &context.key.api_name));
    if let Some(given) = data.get("args").and_then(Value::as_object) {
        context.args = given.clone();
    }
    context
}

fn kind(name: &str) -> Result<HookKind, Problem> {
    name.parse().map_err(|_| {
        let names = HookKind::ALL.map(HookKind::as_str);
        let meant = closest(name, names).map(|kind| format!("; did you mean `{kind}`?")).unwrap_or_default();
        Problem::usage(format!("there is no event `{name}`{meant}")).hint(format!("Events: {}.", names.join(", ")))
    })
}

fn data(args: &FireArgs) -> Result<Map<String, Value>, Problem> {
    let (name, text) = match &args.data {
        None => return Ok(Map::new()),
        Some(path) if path.as_os_str() == "-" => ("standard input".to_owned(), input_text()?),
        Some(path) => (path.display().to_string(), read_text(path)?),
    };
    serde_json::from_str(&text).map_err(|error| Problem::usage(format!("{name} is no JSON object: {error}")))
}

const OPERATION: &str = "op_hooks_fire";

/// A result that somebody types for a trial is shown whole.
const RESULT_BYTES_MAX: usize = 1 << 20;
