//! A driver that answers at random, but legally, and stops, decides and waits at random.

use std::collections::BTreeMap;

use jackline_model::{Fault, FaultAttribution, ModelUsage, NanoDollars, Reason, SideEffect, Totals};
use jackline_runtime::machine::invariants::{self, Taken};
use jackline_runtime::machine::{
    CallFacts, CompactionNeed, Decision, Effect, EffectId, FailureKind, Firing, Folded, HumanVerdict, Input,
    Instruction, Machine, ModelFailure, Moved, Ordinal, Place, Refusal, Reply, Route, Settings, Settled, SettledHow,
    State, StateKind, StopTold, What, is_notice,
};
use jackline_runtime::repeat::{ResultDigest, Signature};

use crate::chance::Chance;
use crate::laws::Laws;
use crate::nonsense;
use crate::replay::Journal;

/// Inputs that a calm life may still need to end.
const CALM_INPUTS_MAX: usize = 400;

pub(crate) struct World {
    machine: Machine,
    chance: Chance,
    now: u64,
    /// Effects that were taken and not answered.
    taken: BTreeMap<EffectId, Effect>,
    laws: Laws,
    journal: Journal,
    /// Everything that has happened.
    life: Vec<Taken>,
    /// From here on everything goes well and the run ends.
    calm: bool,
}

impl World {
    /// Lives a whole life: so many wild inputs, then calm ones until the end.
    pub(crate) fn live(seed: u64, wild_inputs: usize) -> Self {
        let mut chance = Chance(seed);
        let settings = settings(&mut chance);
        let mut world = Self {
            machine: Machine::new(settings.clone()),
            chance,
            now: 1_000,
            taken: BTreeMap::new(),
            laws: Laws::default(),
            journal: Journal::new(settings.clone()),
            life: Vec::new(),
            calm: false,
        };
        for _ in 0..wild_inputs {
            if !world.go_on() {
                break;
            }
        }
        world.calm = true;
        for _ in 0..CALM_INPUTS_MAX {
            if !world.go_on() {
                break;
            }
        }
        assert!(world.has_ended(), "a calm life ends, this one stands at {:?}", world.machine.state());
        world.journal.check(&world.machine);
        assert_eq!(invariants::of_life(&settings, &world.life), Ok(()));
        world
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.machine.state().kind() == StateKind::Finished
    }

    pub(crate) fn laws(&self) -> &Laws {
        &self.laws
    }

    /// One input. False: the run has ended and stays so.
    fn go_on(&mut self) -> bool {
        if self.chance.percent(10) {
            nonsense::throw_at(&self.machine, &mut self.chance, self.now);
        }
        let Some(what) = self.next_input() else { return false };
        self.now += self.chance.below(50) as u64;
        let input = Input { at: self.now, what };
        let before = self.machine.clone();
        let moved = self.machine.handle(input.clone());
        let Ok(Moved::Row(row)) = moved else { panic!("{input:?} is legal in {:?}, not {moved:?}", before.state()) };
        if self.chance.percent(10) {
            self.repeat(&input);
        }
        self.journal.append(&input, &self.machine);
        if self.chance.percent(2) {
            self.journal.check(&self.machine);
        }
        let mut emitted = Vec::new();
        while let Some((id, effect)) = self.machine.next_effect() {
            emitted.push((id, effect.clone()));
            if effect != Effect::Cancel {
                self.taken.insert(id, effect);
            }
        }
        self.laws.check(before.state(), &input.what, row, &self.machine, &emitted);
        assert_eq!(invariants::of_machine(&self.machine), Ok(()), "after {input:?}");
        self.life.push(Taken { input, emitted });
        // What the machine has dropped is no longer awaited.
        let open = &self.machine.shared().open;
        self.taken.retain(|id, _| open.contains_key(id));
        true
    }

    /// A repeat of an answer changes nothing.
    fn repeat(&self, input: &Input) {
        if input.what.answers().is_some() {
            let mut again = self.machine.clone();
            assert_eq!(again.handle(input.clone()), Ok(Moved::Stale));
            assert_eq!(again, self.machine);
        }
    }

    fn next_input(&mut self) -> Option<What> {
        let kind = self.machine.state().kind();
        if !self.calm && self.chance.percent(stop_percent(kind)) {
            return Some(What::StopRequested(None));
        }
        if kind == StateKind::Idle {
            return Some(What::BeginRequested);
        }
        if let State::Finished(ending) = self.machine.state() {
            let notice = self.machine.shared().stop_notice.as_ref();
            let is_owed = notice.is_some_and(|notice| matches!(notice.told, StopTold::Owed(_)));
            if is_owed && !self.calm && self.chance.percent(60) {
                return Some(What::RetellRequested);
            }
            let goes_on = ending.resumable && !self.calm && self.chance.percent(90);
            return goes_on.then_some(What::ResumeRequested);
        }
        let due = self.machine.next_deadline();
        let nothing_else = self.taken.is_empty() && !self.can_be_told(kind);
        if let Some(due) = due
            && (nothing_else || !self.calm && self.chance.percent(25))
        {
            self.now = self.now.max(due);
            return Some(What::DeadlineReached);
        }
        if self.can_be_told(kind) && (self.taken.is_empty() || self.chance.percent(50)) {
            return Some(self.tell(kind));
        }
        let index = self.chance.below(self.taken.len());
        let (id, effect) = self.taken.iter().nth(index).map(|(id, effect)| (*id, effect.clone()))?;
        Some(self.answer(id, &effect))
    }

    /// Whether somebody outside has something legal to say.
    fn can_be_told(&self, kind: StateKind) -> bool {
        match kind {
            StateKind::WaitingForHuman => true,
            StateKind::WaitingForAsyncTool => self.machine.shared().plan.is_empty() && !self.parked().is_empty(),
            StateKind::Idle
            | StateKind::OpeningStep
            | StateKind::Planning
            | StateKind::CallingModel
            | StateKind::WaitingToRetry
            | StateKind::RunningCalls
            | StateKind::AskingHuman
            | StateKind::AnnouncingCompaction
            | StateKind::Summarizing
            | StateKind::WaitingToSummarize
            | StateKind::ClosingCompaction
            | StateKind::ClosingStep
            | StateKind::TellingDecision
            | StateKind::Draining
            | StateKind::TellingStop
            | StateKind::Completing
            | StateKind::ReportingError
            | StateKind::Finished
            | StateKind::Failed => false,
        }
    }

    fn tell(&mut self, kind: StateKind) -> What {
        if kind == StateKind::WaitingForAsyncTool {
            let call = {
                let parked = self.parked();
                self.chance.pick(&parked)
            };
            let child = self.chance.percent(30).then_some(Totals { llm_calls: 1, ..Totals::default() });
            return What::AnswerArrived { call, child };
        }
        if self.machine.shared().question {
            let verdict = match self.chance.below(4) {
                0 if !self.calm => HumanVerdict::Reject { reason: None },
                _more => HumanVerdict::Answer,
            };
            return What::HumanDecided(vec![Decision { call: None, verdict }]);
        }
        let mut decisions = Vec::new();
        for call in self.machine.shared().calls.awaiting_human() {
            if self.calm || decisions.is_empty() || self.chance.percent(60) {
                decisions.push(Decision { call: Some(call), verdict: self.verdict() });
            }
        }
        What::HumanDecided(decisions)
    }

    fn verdict(&mut self) -> HumanVerdict {
        let reason = self.chance.percent(50).then(|| "no".to_owned());
        match self.chance.below(10) {
            0 if !self.calm => HumanVerdict::Reject { reason },
            1..=3 => HumanVerdict::RejectAndContinue { reason },
            _more => HumanVerdict::Approve,
        }
    }

    fn answer(&mut self, id: EffectId, effect: &Effect) -> What {
        match effect {
            Effect::FireHook(_) if is_notice(effect) => What::NoticeDelivered(id),
            Effect::FireHook(Firing::OnStopByHumanIntervention { .. }) if !self.calm && self.chance.percent(50) => {
                What::HookFailed(id)
            }
            Effect::FireHook(_) => What::HookAnswered(id),
            Effect::Plan { .. } => self.plan(id),
            Effect::CallModel { with_tools } => self.model(id, *with_tools),
            Effect::Clear(_) if self.chance.percent(70) => What::CallCleared(id),
            Effect::Clear(_) => {
                use SettledHow::{Aborted, Denied, Mocked, Refused};
                self.settled(id, &[Mocked, Denied, Refused, Aborted])
            }
            Effect::Run(..) if !self.calm && self.chance.percent(20) => What::CallParked(id),
            Effect::Run(..) => {
                use SettledHow::{Aborted, Ran, Refused, Threw};
                self.settled(id, &[Ran, Ran, Ran, Ran, Threw, Aborted, Refused])
            }
            Effect::Judge(_) => {
                use SettledHow::{Aborted, Answered, Refused};
                self.settled(id, &[Answered, Answered, Refused, Aborted])
            }
            Effect::Refuse(..) => self.settled(id, &[SettledHow::Refused, SettledHow::Aborted]),
            Effect::StartChild(_) if !self.calm && self.chance.percent(70) => What::ChildStarted(id, "op-child".into()),
            Effect::StartChild(_) => self.settled(id, &[SettledHow::NotStarted]),
            Effect::AskHuman(_) => {
                let expires_at = self.chance.percent(50).then_some(self.now + 500);
                What::HumanAsked(id, expires_at)
            }
            Effect::Summarize if !self.calm && self.chance.percent(50) => {
                use FailureKind::{Cancelled, Permanent, Retryable};
                let kind = self.chance.pick(&[Retryable, Retryable, Permanent, Cancelled]);
                let (retry_after_ms, jitter_permille, compaction) = (None, 500, None);
                What::SummaryFailed(
                    id,
                    ModelFailure { kind, fault: fault(), retry_after_ms, jitter_permille, compaction },
                )
            }
            Effect::Summarize => {
                let usage = Some(usage());
                What::Summarized(id, Folded { messages_before: 9, messages_after: 3, usage })
            }
            Effect::Cancel => panic!("nothing answers a cancellation"),
        }
    }

    fn model(&mut self, id: EffectId, with_tools: bool) -> What {
        let usage = Some(usage());
        if self.calm {
            return What::ModelReplied(id, Reply { usage, ..Reply::default() });
        }
        if self.chance.percent(18) {
            use FailureKind::{Cancelled, ContextOverflow, Permanent, Retryable};
            let kind =
                self.chance.pick(&[Retryable, Retryable, Retryable, Retryable, ContextOverflow, Cancelled, Permanent]);
            let compaction = self.chance.percent(70).then_some(CompactionNeed { messages: 9, tokens: 90_000 });
            let failure = ModelFailure { kind, fault: fault(), retry_after_ms: None, jitter_permille: 500, compaction };
            return What::ModelFailed(id, failure);
        }
        let count = if with_tools || self.chance.percent(30) { self.chance.below(5) } else { 0 };
        let calls = (0..count).map(|_| self.call()).collect();
        let (aborted, unresolved) = (self.chance.percent(3), self.chance.percent(20));
        What::ModelReplied(id, Reply { usage, calls, aborted, unresolved })
    }

    fn call(&mut self) -> CallFacts {
        let route =
            self.chance.pick(&[Route::Tool, Route::Tool, Route::Tool, Route::Agent, Route::Client, Route::Unusable]);
        let side_effect = self.chance.pick(&[SideEffect::Pure, SideEffect::Idempotent, SideEffect::Effect]);
        CallFacts {
            lane: self.chance.below(3) as u16,
            route,
            side_effect,
            signature: Signature(self.chance.below(4) as u32),
        }
    }

    fn settled(&mut self, id: EffectId, how: &[SettledHow]) -> What {
        let how = self.chance.pick(how);
        let (success, stop) = (self.chance.percent(80), self.chance.percent(2));
        What::CallSettled(id, Settled { how, success, stop, cost: NanoDollars(1), digest: ResultDigest(0) })
    }

    fn plan(&mut self, id: EffectId) -> What {
        let shared = self.machine.shared();
        let open = shared.calls.which(|place| *place == Place::Open);
        if self.calm {
            let blocked = open.into_iter().map(|call| (call, Refusal::Aborted)).collect();
            let finish = Instruction::Finish { reason: Reason::Done };
            return What::Planned(id, vec![Instruction::ResolveBlockedTools(blocked), finish]);
        }
        match self.chance.below(100) {
            0 | 1 => What::PlanFailed(id, fault()),
            // Impossible if calls are open, and legal to say.
            2 => What::Planned(id, Vec::new()),
            _more => What::Planned(id, self.plan_for(&open)),
        }
    }

    /// A possible plan for these calls.
    fn plan_for(&mut self, open: &[Ordinal]) -> Vec<Instruction> {
        let (mut runs, mut batch, mut approve, mut blocked) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for call in open {
            let route = self.machine.shared().calls.slot(*call).expect("an open call exists").facts.route;
            match (route, self.chance.below(6)) {
                (Route::Unusable, _) | (_, 0) => blocked.push((*call, Refusal::Unusable)),
                (_, 1 | 2) => approve.push(*call),
                (Route::Agent, _) => runs.push(Instruction::CallAgent(*call)),
                (Route::Tool | Route::Client, 3) => runs.push(Instruction::CallTool(*call)),
                (Route::Tool | Route::Client, _) => batch.push(*call),
            }
        }
        let mut plan = runs;
        if !batch.is_empty() {
            let index = self.chance.below(plan.len() + 1);
            plan.insert(index, Instruction::CallToolsBatch(batch));
        }
        let asks = !approve.is_empty();
        if asks {
            let index = self.chance.below(plan.len() + 1);
            plan.insert(index, Instruction::RequestHumanApprove(approve));
        }
        if !blocked.is_empty() {
            let index = self.chance.below(plan.len() + 1);
            let resolve = if self.chance.percent(10) {
                Instruction::ResolveAbortedTools(blocked.into_iter().map(|(call, _)| call).collect())
            } else {
                Instruction::ResolveBlockedTools(blocked)
            };
            plan.insert(index, resolve);
        }
        if plan.is_empty() || self.chance.percent(30) {
            plan.push(self.last_instruction(asks));
        }
        plan
    }

    fn last_instruction(&mut self, asks: bool) -> Instruction {
        match self.chance.below(20) {
            0..=2 => Instruction::CompressContext { messages: 9, tokens: 9_000 },
            3 | 4 if !asks => Instruction::RequestHumanPrompt { prompt: "why?".to_owned() },
            5 if !asks => {
                Instruction::RequestHumanSelect { prompt: "which?".to_owned(), options: vec!["a".to_owned()] }
            }
            6 => Instruction::Finish { reason: self.chance.pick(&Reason::ALL) },
            _more => Instruction::CallLlm,
        }
    }

    fn parked(&self) -> Vec<Ordinal> {
        self.machine.shared().calls.which(|place| matches!(place, Place::Parked { .. }))
    }
}

/// How often somebody stops the run here. States that are rare are stopped more often.
fn stop_percent(kind: StateKind) -> usize {
    match kind {
        StateKind::OpeningStep
        | StateKind::Planning
        | StateKind::CallingModel
        | StateKind::RunningCalls
        | StateKind::ClosingStep => 2,
        StateKind::Idle => 4,
        StateKind::AskingHuman
        | StateKind::AnnouncingCompaction
        | StateKind::Summarizing
        | StateKind::ClosingCompaction
        | StateKind::WaitingForHuman
        | StateKind::WaitingForAsyncTool => 8,
        StateKind::WaitingToRetry | StateKind::WaitingToSummarize | StateKind::TellingDecision => 20,
        StateKind::Draining
        | StateKind::TellingStop
        | StateKind::Completing
        | StateKind::ReportingError
        | StateKind::Finished
        | StateKind::Failed => 0,
    }
}

fn settings(chance: &mut Chance) -> Settings {
    Settings {
        steps_max: chance.pick(&[None, None, Some(0), Some(1), Some(4), Some(9)]),
        cost_max: chance.pick(&[None, None, None, None, None, None, Some(NanoDollars(0)), Some(NanoDollars(900))]),
        tokens_max: chance.pick(&[None, None, None, None, None, Some(100)]),
        concurrency: chance.pick(&[0, 1, 2, 8]),
        model_attempts_max: chance.pick(&[0, 1, 2, 6, 6, 6]),
        async_wait_ms: chance.pick(&[None, Some(200), Some(5_000)]),
    }
}

fn usage() -> ModelUsage {
    ModelUsage { input_tokens: 9, output_tokens: 1, total_tokens: 10, cost: NanoDollars(100) }
}

fn fault() -> Fault {
    Fault {
        code: "broke".to_owned(),
        message: "it broke".to_owned(),
        attribution: FaultAttribution::System,
        detail: None,
    }
}
