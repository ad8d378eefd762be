//! A driver in a few lines: it feeds a script to the machine and writes down what the machine asks.
//!
//! Awaited hooks and notices are answered as soon as they are asked, unless the script holds them.

use jackline_model::{Fault, FaultAttribution, ModelUsage, NanoDollars, Reason, SideEffect, Status, Totals};
use jackline_runtime::machine::{
    CallFacts, CompactionNeed, Decision, Effect, EffectId, FailureKind, Firing, Folded, HumanVerdict, Input,
    Instruction, Machine, MachineFault, ModelFailure, Moved, Ordinal, Question, Reply, Route, Settings, Settled,
    SettledHow, State, What, is_notice,
};
use jackline_runtime::repeat::{ResultDigest, Signature};

/// A machine, what it asked for so far, and the time.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) machine: Machine,
    pub(crate) now: u64,
    /// All effects, in the order in which they were asked, in words.
    pub(crate) asked: Vec<String>,
    /// Firings are kept open instead of answered.
    pub(crate) hold: bool,
}

/// One line of a script.
pub(crate) enum Say {
    /// Answers the effect of this name.
    To(&'static str, Box<dyn FnOnce(EffectId) -> What>),
    /// Something from outside.
    Outside(What),
    /// The next deadline comes.
    Deadline,
    /// From here on, firings are kept open.
    Hold,
    /// From here on, firings are answered again; those that were held first.
    Deliver,
}

/// Begins an operation and feeds it the script.
pub(crate) fn drive(settings: Settings, script: impl IntoIterator<Item = Say>) -> Run {
    let mut run = Run { machine: Machine::new(settings), now: 1_000, asked: Vec::new(), hold: false };
    run.feed(What::BeginRequested).moved();
    run.go_on(script);
    run
}

/// What became of an input: a wrapper with the two checks that tests want.
pub(crate) struct Outcome(pub(crate) Result<Moved, MachineFault>);

impl Outcome {
    pub(crate) fn moved(self) {
        assert!(matches!(self.0, Ok(Moved::Row(_))), "{:?}", self.0);
    }

    pub(crate) fn refused(self) -> String {
        match self.0 {
            Ok(Moved::Refused(problem)) => problem.to_string(),
            other => panic!("a refusal was expected, not {other:?}"),
        }
    }
}

impl Run {
    /// Feeds more of the script.
    pub(crate) fn go_on(&mut self, script: impl IntoIterator<Item = Say>) {
        for line in script {
            match line {
                Say::To(name, answer) => self.feed(answer(id(name))).moved(),
                Say::Outside(what) => self.feed(what).moved(),
                Say::Deadline => {
                    self.now = self.machine.next_deadline().expect("the machine waits for a time");
                    self.feed(What::DeadlineReached).moved();
                }
                Say::Hold => self.hold = true,
                Say::Deliver => self.deliver(),
            }
        }
    }

    /// Feeds one input and takes what the machine asks for, one millisecond later.
    pub(crate) fn feed(&mut self, what: What) -> Outcome {
        let outcome = self.handle(what);
        self.take();
        Outcome(outcome)
    }

    /// The effects that were asked since the last call.
    pub(crate) fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.asked)
    }

    /// How the run stands, in words.
    pub(crate) fn stands(&self) -> String {
        let State::Finished(ending) = self.machine.state() else {
            return format!("{:?}", self.machine.state().kind());
        };
        match &ending.fault {
            Some(fault) => format!("finished: {} ({})", ending.reason, fault.code),
            None => format!("finished: {}", ending.reason),
        }
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.machine.shared().totals
    }

    /// A transition must stay within its row of the table.
    fn handle(&mut self, what: What) -> Result<Moved, MachineFault> {
        self.now += 1;
        let from = self.machine.state().kind();
        let outcome = self.machine.handle(Input { at: self.now, what });
        if let Ok(Moved::Row(row)) = &outcome {
            let (row, emitted, to) = (row.row(), self.machine.shared().emitted, self.machine.state().kind());
            assert!(row.to.contains(&to) || row.from.is_none() && to == from, "{to:?} is not in {row:?}");
            assert!(emitted.effects().all(|kind| row.effects.contains(&kind)), "{row:?}");
            assert!(emitted.hooks().all(|kind| row.hooks.contains(&kind)), "{row:?}");
        }
        outcome
    }

    fn take(&mut self) {
        while let Some((id, effect)) = self.machine.next_effect() {
            self.asked.push(format!("{id}{}", words(&effect)));
            if !self.hold {
                self.answer_firing(id, &effect);
            }
        }
    }

    fn deliver(&mut self) {
        self.hold = false;
        let held: Vec<_> = self.machine.shared().open.iter().map(|(id, effect)| (*id, effect.clone())).collect();
        for (id, effect) in held {
            self.answer_firing(id, &effect);
        }
        self.take();
    }

    fn answer_firing(&mut self, id: EffectId, effect: &Effect) {
        let what = match effect.firing() {
            Some(_) if is_notice(effect) => What::NoticeDelivered(id),
            Some(_) => What::HookAnswered(id),
            None => return,
        };
        Outcome(self.handle(what)).moved();
    }
}

/// The facts of an effect that its name does not say.
fn words(effect: &Effect) -> String {
    match effect {
        Effect::FireHook(firing) => format!(" {}{}", firing.kind(), firing_words(firing)),
        Effect::Plan { phase } => format!(" {}", phase.as_str()),
        Effect::CallModel { with_tools: true } => String::new(),
        Effect::CallModel { with_tools: false } => " without tools".to_owned(),
        Effect::Refuse(_, refusal) => format!(" {refusal:?}"),
        Effect::AskHuman(Question::Approve(calls)) => format!(" {calls:?}"),
        Effect::AskHuman(Question::Prompt { prompt } | Question::Select { prompt, .. }) => format!(" {prompt}"),
        Effect::Clear(_)
        | Effect::Run(..)
        | Effect::Judge(_)
        | Effect::StartChild(_)
        | Effect::Summarize
        | Effect::Cancel => String::new(),
    }
}

fn firing_words(firing: &Firing) -> String {
    match firing {
        Firing::AfterStep(step) => match step.reason {
            Some(reason) => format!(" {} ({reason})", step.status),
            None if step.status == Status::Running => String::new(),
            None => format!(" {}", step.status),
        },
        Firing::AfterToolCall { mocked: true, .. } => " mocked".to_owned(),
        Firing::BeforeHumanIntervention { calls } => format!(" {calls:?}"),
        Firing::AfterHumanIntervention { action, calls, reason } => {
            format!(" {action:?} {calls:?}{}", reason.as_ref().map(|reason| format!(" {reason}")).unwrap_or_default())
        }
        Firing::OnStopByHumanIntervention { calls, rejected, .. } => {
            format!(" {calls:?}{}", if *rejected { " rejected" } else { "" })
        }
        Firing::AfterCallAgent { child, .. } => format!(" {child}"),
        Firing::BeforeStep
        | Firing::OnComplete
        | Firing::OnError
        | Firing::AfterToolCall { mocked: false, .. }
        | Firing::OnToolCallError { .. }
        | Firing::BeforeCompact { .. }
        | Firing::AfterCompact { .. }
        | Firing::OnCompactError { .. }
        | Firing::BeforeCallAgent { .. }
        | Firing::OnCallAgentError { .. } => String::new(),
    }
}

pub(crate) fn id(name: &str) -> EffectId {
    name.parse().expect("a script names effects")
}

pub(crate) fn to(name: &'static str, answer: impl FnOnce(EffectId) -> What + 'static) -> Say {
    Say::To(name, Box::new(answer))
}

pub(crate) fn plan<const N: usize>(instructions: [Instruction; N]) -> impl FnOnce(EffectId) -> What {
    move |id| What::Planned(id, instructions.to_vec())
}

/// An answer in words.
pub(crate) fn says() -> impl FnOnce(EffectId) -> What {
    move |id| What::ModelReplied(id, Reply { usage: Some(usage()), ..Reply::default() })
}

/// An answer that asks for calls.
pub(crate) fn calls<const N: usize>(facts: [CallFacts; N]) -> impl FnOnce(EffectId) -> What {
    move |id| What::ModelReplied(id, Reply { usage: Some(usage()), calls: facts.to_vec(), ..Reply::default() })
}

pub(crate) fn fails(kind: FailureKind) -> impl FnOnce(EffectId) -> What {
    let compaction = (kind == FailureKind::ContextOverflow).then_some(CompactionNeed { messages: 10, tokens: 90_000 });
    let failure =
        ModelFailure { kind, fault: fault("provider_down"), retry_after_ms: None, jitter_permille: 0, compaction };
    move |id| What::ModelFailed(id, failure)
}

pub(crate) fn settled(how: SettledHow) -> impl FnOnce(EffectId) -> What {
    move |id| What::CallSettled(id, result(how))
}

/// A result with which the tool asks for the end of the run.
pub(crate) fn stops() -> impl FnOnce(EffectId) -> What {
    move |id| What::CallSettled(id, Settled { stop: true, ..result(SettledHow::Ran) })
}

pub(crate) fn folded() -> impl FnOnce(EffectId) -> What {
    move |id| What::Summarized(id, Folded { messages_before: 10, messages_after: 4, usage: Some(usage()) })
}

pub(crate) fn asked(expires_at: Option<u64>) -> impl FnOnce(EffectId) -> What {
    move |id| What::HumanAsked(id, expires_at)
}

pub(crate) fn decide<const N: usize>(decisions: [(Ordinal, HumanVerdict); N]) -> Say {
    let decisions = decisions.map(|(call, verdict)| Decision { call: Some(call), verdict });
    Say::Outside(What::HumanDecided(decisions.to_vec()))
}

pub(crate) fn arrives(call: Ordinal) -> Say {
    Say::Outside(What::AnswerArrived { call, child: None })
}

pub(crate) fn stop() -> Say {
    Say::Outside(What::StopRequested(None))
}

pub(crate) fn finish(reason: Reason) -> Instruction {
    Instruction::Finish { reason }
}

/// A tool call with a lane of its own.
pub(crate) fn tool(lane: u16) -> CallFacts {
    routed(lane, Route::Tool)
}

pub(crate) fn routed(lane: u16, route: Route) -> CallFacts {
    CallFacts { lane, route, side_effect: SideEffect::Effect, signature: Signature(u32::from(lane)) }
}

pub(crate) fn result(how: SettledHow) -> Settled {
    Settled { how, success: how == SettledHow::Ran, stop: false, cost: NanoDollars(5), digest: ResultDigest(1) }
}

pub(crate) fn usage() -> ModelUsage {
    ModelUsage { input_tokens: 100, output_tokens: 10, total_tokens: 110, cost: NanoDollars(1_000) }
}

pub(crate) fn fault(code: &str) -> Fault {
    Fault {
        code: code.to_owned(),
        message: "it broke".to_owned(),
        attribution: FaultAttribution::Provider,
        detail: None,
    }
}
