//! One tool call, from its before-hooks to its published result: the part that must stay in memory.
//!
//! This steps the pure machine of a call and performs what it asks for. Raw output and clearances
//! live in its states and nowhere else.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{self, Either};
use jackline_hooks::{BeforeToolCallEvent, Delivery, HookHandle, RuledBy, RulingCause};
use jackline_model::{MessageId, NanoDollars, RawOutput, SideEffect, ToolRunResult};
use jackline_tools::call::{Call, CallFault, Effect, In, Told};
use jackline_tools::{
    Clearance, Denial, Publishable, Receipt, RegisteredTool, ToolAnswer, ToolContext, ToolError, arguments, gate,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::clock::Clock;
use super::facts::RunFacts;
use super::spawn::spawn_held;
use super::stream::Decided;
use super::turn::{Fit, TurnCall};
use crate::machine::{Ordinal, Refusal, Settled, SettledHow};
use crate::repeat::ResultDigest;

/// What a unit needs to know and to ask.
#[derive(Clone)]
pub(crate) struct Unit {
    pub(crate) ordinal: Ordinal,
    pub(crate) step: u32,
    pub(crate) turn_call: TurnCall,
    pub(crate) assistant: Option<MessageId>,
    pub(crate) run: Arc<RunFacts>,
    pub(crate) hooks: HookHandle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) cancel: CancellationToken,
}

/// Where a unit stops.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The call may run; the operation writes that down first.
    Cleared(Call, Vec<Delivery>),
    /// A result comes later.
    Parked(Call, Vec<Delivery>),
    /// The result.
    Settled(Box<SettledCall>),
}

/// A call that has its result.
#[derive(Debug)]
pub(crate) struct SettledCall {
    pub(crate) ordinal: Ordinal,
    pub(crate) published: Publishable,
    pub(crate) settled: Settled,
    pub(crate) decided: Decided,
    pub(crate) deliveries: Vec<Delivery>,
}

/// A call on its way, with what it has asked for and what it has learnt.
struct Way {
    call: Call,
    out: VecDeque<Effect>,
    deliveries: Vec<Delivery>,
    /// How the runtime ended it, if it did.
    ended: Option<SettledHow>,
}

impl Unit {
    /// Asks the before-hooks. Ends cleared, or settled if they mock or deny.
    pub(crate) async fn clear(self) -> Result<Stop, CallFault> {
        let mut way = Way::new(Call::new(self.turn_call.call.clone()));
        self.ask_before(&mut way).await?;
        self.go(way).await
    }

    /// Runs a cleared call. Without one – the process that cleared it has died – the call is run
    /// again only if that is harmless, and the before-hooks are asked again first.
    pub(crate) async fn run(self, cleared: Option<Call>, side_effect: SideEffect) -> Result<Stop, CallFault> {
        let call = match (cleared, side_effect) {
            (Some(call), _) => call,
            (None, SideEffect::Effect) => return Ok(self.refuse(&Refusal::InDoubt)),
            (None, SideEffect::Pure | SideEffect::Idempotent) => match self.clone().clear().await? {
                Stop::Cleared(call, _) => call,
                stop @ (Stop::Parked(..) | Stop::Settled(_)) => return Ok(stop),
            },
        };
        let mut way = Way::new(call);
        way.step(In::Go)?;
        self.go(way).await
    }

    /// Lets the after-hooks judge an answer that was delivered.
    pub(crate) async fn judge(self, answer: ToolRunResult) -> Result<Stop, CallFault> {
        let mut out = VecDeque::new();
        let call = Call::answered(RawOutput::new(answer), &mut out);
        self.go(Way { out, ..Way::new(call) }).await
    }

    /// Answers without running.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> Stop {
        let receipt = self.receipt(refusal);
        let how = if *refusal == Refusal::Aborted { SettledHow::Aborted } else { SettledHow::Refused };
        self.settle(gate::receipt(&receipt), how, None, Vec::new())
    }

    /// Answers a call whose sub-agent could not be started.
    pub(crate) fn child_not_started(&self, problem: &str) -> Stop {
        let receipt = Receipt::ChildNotStarted { problem: problem.to_owned() };
        self.settle(gate::receipt(&receipt), SettledHow::NotStarted, None, Vec::new())
    }

    /// Performs what the call asks for until it can go no further.
    async fn go(&self, mut way: Way) -> Result<Stop, CallFault> {
        loop {
            match way.out.pop_front() {
                Some(Effect::Tell) | None => return Ok(Stop::Cleared(way.call, way.deliveries)),
                Some(Effect::Park) => return Ok(Stop::Parked(way.call, way.deliveries)),
                Some(Effect::RunTool(clearance)) => {
                    let ran = self.run_tool(clearance).await;
                    way.ended = ran.ended;
                    way.step(ran.input)?;
                }
                Some(Effect::AskAfter) => self.ask_after(&mut way).await?,
                Some(Effect::Publish { published, told, denied_by }) => {
                    let how = how(&told, &published, way.ended);
                    let mocked_by = match told {
                        Told::Mocked(by) => Some(by),
                        Told::Ran | Told::Threw | Told::Answered | Told::Receipt => None,
                    };
                    return Ok(self.settle(*published, how, denied_by.or(mocked_by), way.deliveries));
                }
            }
        }
    }

    async fn ask_before(&self, way: &mut Way) -> Result<(), CallFault> {
        let asked = self.hooks.dispatch_before_tool_call(|| BeforeToolCallEvent { context: self.context() });
        match self.unless_cancelled(asked).await {
            Some((ruling, delivery)) => {
                way.deliveries.push(delivery);
                way.step(In::BeforeRuled(ruling))
            }
            None => way.end(Receipt::Aborted, SettledHow::Aborted),
        }
    }

    async fn ask_after(&self, way: &mut Way) -> Result<(), CallFault> {
        let Some((raw, told)) = way.call.raw() else { return Ok(()) };
        let mocked = matches!(told, Told::Mocked(_));
        let asked = self.hooks.evaluate_after_tool_call(raw, mocked, || self.context());
        match self.unless_cancelled(asked).await {
            Some((ruling, delivery)) => {
                way.deliveries.push(delivery);
                let bytes_max = self.turn_call.entry().map_or(usize::MAX, |entry| entry.spec().result_bytes_max);
                way.step(In::AfterRuled(ruling, bytes_max))
            }
            None => way.end(Receipt::Aborted, SettledHow::Aborted),
        }
    }

    /// Runs the tool, with its deadline, as often as it asks for and may.
    async fn run_tool(&self, clearance: Clearance) -> Ran {
        let Some(entry) = self.turn_call.entry().cloned() else {
            return Ran::threw(format!("The tool `{}` is gone.", self.turn_call.call.key));
        };
        let started = self.clock.now_ms();
        let deadline = started.saturating_add(ms(entry.spec().deadline));
        let mut attempt = 1;
        loop {
            let ran = self.run_once(&clearance, &entry, attempt, deadline).await;
            let may_retry = attempt < entry.spec().attempts_max && !self.cancel.is_cancelled();
            match ran {
                Attempt::Retry(_) if may_retry => attempt += 1,
                Attempt::Retry(input) | Attempt::Final(input) => {
                    return Ran { input: timed(input, self.clock.now_ms().saturating_sub(started)), ended: None };
                }
                Attempt::Ended(receipt, how) => return Ran { input: In::Ended(receipt), ended: Some(how) },
            }
        }
    }

    async fn run_once(&self, clearance: &Clearance, entry: &RegisteredTool, attempt: u32, deadline: u64) -> Attempt {
        let context = ToolContext {
            operation: self.run.header.id.clone(),
            step: self.step,
            call_id: clearance.call().id.clone(),
            idempotency_key: self.idempotency_key(),
            attempt,
            deadline: Duration::from_millis(deadline.saturating_sub(self.clock.now_ms())),
        };
        let tool = Arc::clone(entry.tool());
        let input = self.turn_call.arguments.clone();
        let is_real = !entry.spec().simulated;
        let run = async move { tool.run(input, &context).await };
        let mut run = AssertUnwindSafe(run).catch_unwind().map(Result::ok).boxed();
        // A pure tool that has its answer at once needs no task of its own.
        if entry.spec().side_effect == SideEffect::Pure
            && let Some(answer) = (&mut run).now_or_never()
        {
            return attempt_of(answer);
        }
        let run = spawn_held(&self.clock, is_real, run);
        let timeout = self.clock.sleep_until(deadline);
        // Dropping the handle aborts the task; dropping its future is how a tool is told to stop.
        match self.unless_cancelled(future::select(Box::pin(run), timeout)).await {
            None => Attempt::Ended(Receipt::Aborted, SettledHow::Aborted),
            Some(Either::Right(_)) => {
                Attempt::Ended(Receipt::TimedOut { after_ms: ms(entry.spec().deadline) }, SettledHow::Threw)
            }
            Some(Either::Left((joined, _))) => attempt_of(joined.ok().flatten()),
        }
    }

    async fn unless_cancelled<F: Future>(&self, future: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => None,
            output = future => Some(output),
        }
    }

    fn settle(&self, published: Publishable, how: SettledHow, by: Option<RuledBy>, deliveries: Vec<Delivery>) -> Stop {
        let result = published.result();
        let is_free = !how.is_counted() || how == SettledHow::Denied;
        let price = self.turn_call.entry().map_or(NanoDollars::ZERO, |entry| entry.spec().price);
        let settled = Settled {
            how,
            success: result.success,
            stop: result.stop,
            cost: if is_free { NanoDollars::ZERO } else { price },
            digest: ResultDigest::of(&result.content),
        };
        let decided = decided(how, &published, by);
        Stop::Settled(Box::new(SettledCall { ordinal: self.ordinal, published, settled, decided, deliveries }))
    }

    fn receipt(&self, refusal: &Refusal) -> Receipt {
        let name = self.turn_call.call.key.to_string();
        match refusal {
            Refusal::Unusable => match &self.turn_call.fit {
                Fit::Unusable(receipt) => receipt.clone(),
                Fit::Tool(_) | Fit::Agent(_) | Fit::Client(_) | Fit::NotAllowed => Receipt::NotAllowed { name },
            },
            Refusal::NotAllowed => Receipt::NotAllowed { name },
            Refusal::NobodyToApprove => Receipt::NobodyToApprove { name },
            Refusal::Limit(reason) => Receipt::Limit { which: format!("the run ends for the reason `{reason}`") },
            Refusal::Aborted => Receipt::Aborted,
            Refusal::Rejected { reason } => Receipt::Rejected { reason: reason.clone() },
            Refusal::Expired => Receipt::Expired,
            Refusal::TimedOut => Receipt::Limit { which: "the result did not come in time".to_owned() },
            Refusal::InDoubt => Receipt::InDoubt,
        }
    }

    fn context(&self) -> jackline_hooks::ToolCallContext {
        self.run.tool(self.step, self.assistant.as_ref(), &self.turn_call)
    }

    fn idempotency_key(&self) -> String {
        let place = format!("{}.c{}", self.assistant.as_ref().map_or("", |id| id.as_str()), self.ordinal);
        arguments::idempotency_key(&self.run.header.id, &place, &arguments::canonical(&self.turn_call.call.arguments))
    }
}

impl Way {
    fn new(call: Call) -> Self {
        Self { call, out: VecDeque::new(), deliveries: Vec::new(), ended: None }
    }

    fn step(&mut self, input: In) -> Result<(), CallFault> {
        let call = std::mem::replace(&mut self.call, Call::Done);
        self.call = call.step(input, &mut self.out)?;
        Ok(())
    }

    fn end(&mut self, receipt: Receipt, how: SettledHow) -> Result<(), CallFault> {
        self.ended = Some(how);
        self.step(In::Ended(receipt))
    }
}

/// What a run of the tool came to.
struct Ran {
    input: In,
    ended: Option<SettledHow>,
}

impl Ran {
    fn threw(message: String) -> Self {
        Self { input: In::Threw(RawOutput::new(ToolRunResult::failed(message))), ended: None }
    }
}

enum Attempt {
    Final(In),
    Retry(In),
    Ended(Receipt, SettledHow),
}

/// What a tool answered; nothing if it panicked.
type Answer = Option<Result<ToolAnswer, ToolError>>;

fn attempt_of(answer: Answer) -> Attempt {
    match answer {
        Some(Ok(ToolAnswer::Now(result))) => {
            let wants_retry = !result.success && error_kind(&result) == Some("retry");
            let input = In::Finished(RawOutput::new(result));
            if wants_retry { Attempt::Retry(input) } else { Attempt::Final(input) }
        }
        Some(Ok(ToolAnswer::Later)) => Attempt::Final(In::Deferred),
        Some(Err(ToolError { message, retry })) => {
            let input = In::Threw(RawOutput::new(ToolRunResult::failed(message)));
            if retry { Attempt::Retry(input) } else { Attempt::Final(input) }
        }
        // The text of a panic may hold what the tool had in hand.
        None => Attempt::Final(In::Threw(RawOutput::new(ToolRunResult::failed("The tool panicked.")))),
    }
}

fn error_kind(result: &ToolRunResult) -> Option<&str> {
    result.error.as_ref()?.get("kind").and_then(Value::as_str)
}

fn timed(input: In, elapsed_ms: u64) -> In {
    let with_time = |raw: RawOutput| {
        let mut result = raw.into_result();
        result.execution_time.get_or_insert(elapsed_ms);
        RawOutput::new(result)
    };
    match input {
        In::Finished(raw) => In::Finished(with_time(raw)),
        In::Threw(raw) => In::Threw(with_time(raw)),
        other @ (In::BeforeRuled(_) | In::Go | In::Deferred | In::Answered(_) | In::AfterRuled(..) | In::Ended(_)) => {
            other
        }
    }
}

fn how(told: &Told, published: &Publishable, ended: Option<SettledHow>) -> SettledHow {
    match (told, ended) {
        (Told::Ran, _) => SettledHow::Ran,
        (Told::Threw, _) => SettledHow::Threw,
        (Told::Mocked(_), _) => SettledHow::Mocked,
        (Told::Answered, _) => SettledHow::Answered,
        (Told::Receipt, Some(how)) => how,
        (Told::Receipt, None) if published.denial() == Some(Denial::Before) => SettledHow::Denied,
        (Told::Receipt, None) => SettledHow::Refused,
    }
}

fn decided(how: SettledHow, published: &Publishable, by: Option<RuledBy>) -> Decided {
    let hook = by.as_ref().map(|by| by.hook.to_string()).unwrap_or_default();
    if let Some(denial) = published.denial() {
        let failure = by.is_some_and(|by| by.cause == RulingCause::Failure);
        return Decided::Denied { hook, after: denial == Denial::After, failure };
    }
    match how {
        SettledHow::Ran => Decided::Ran,
        SettledHow::Mocked => Decided::Mocked { hook },
        SettledHow::Threw => Decided::Threw,
        SettledHow::Answered => Decided::Answered,
        SettledHow::Aborted => Decided::Aborted,
        SettledHow::Denied | SettledHow::NotStarted | SettledHow::Refused => Decided::Refused,
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
