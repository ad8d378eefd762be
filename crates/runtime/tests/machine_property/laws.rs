//! The laws, checked after every input.

use std::collections::{BTreeSet, HashMap};

use jackline_hooks::HookKind;
use jackline_model::Reason;
use jackline_runtime::machine::table::{ROWS, Row, RowId};
use jackline_runtime::machine::{
    Effect, EffectId, EffectKind, Firing, Machine, Ordinal, Place, Question, State, StateKind, Verb, What, is_notice,
};

/// What must be remembered of a life to check its laws.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is what one law must remember")]
pub(crate) struct Laws {
    rows: HashMap<usize, u64>,
    seen: BTreeSet<(usize, Cell)>,
    names: BTreeSet<EffectId>,
    /// Firings of which a hook must hear and has not.
    owed: BTreeSet<EffectId>,
    step_is_open: bool,
    compaction_is_open: bool,
    /// Sub-agents that were announced and neither started nor failed.
    announced: BTreeSet<Ordinal>,
    /// Calls of the turn that a person was asked about.
    asked_about: BTreeSet<Ordinal>,
    /// A person was asked a question in this episode.
    asked_question: bool,
    /// The run was stopped while nothing had decided its end yet.
    is_stopped: bool,
}

/// One entry of a row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cell {
    To(StateKind),
    Asks(EffectKind),
    Hears(HookKind),
}

impl Cell {
    /// All entries of a row.
    pub(crate) fn all_of(row: &Row) -> impl Iterator<Item = Self> {
        let to = row.to.iter().map(|state| Self::To(*state));
        let asks = row.effects.iter().map(|effect| Self::Asks(*effect));
        to.chain(asks).chain(row.hooks.iter().map(|hook| Self::Hears(*hook)))
    }
}

impl Laws {
    /// The entries of the table that this life has shown.
    pub(crate) fn seen(&self) -> &BTreeSet<(usize, Cell)> {
        &self.seen
    }

    pub(crate) fn rows_taken(&self) -> impl Iterator<Item = (usize, u64)> {
        self.rows.iter().map(|(row, count)| (*row, *count))
    }

    pub(crate) fn check(
        &mut self,
        from: &State,
        what: &What,
        row: RowId,
        machine: &Machine,
        emitted: &[(EffectId, Effect)],
    ) {
        let index = usize::from(row.0);
        *self.rows.entry(index).or_default() += 1;
        let emitted_kinds = machine.shared().emitted;
        self.seen.insert((index, Cell::To(machine.state().kind())));
        self.seen.extend(emitted_kinds.effects().map(|kind| (index, Cell::Asks(kind))));
        self.seen.extend(emitted_kinds.hooks().map(|kind| (index, Cell::Hears(kind))));
        self.note(from, what, emitted);
        self.parks_are_asked_for(machine);
        self.stop_wins(machine);
        stays_within_its_row(from, row, machine, emitted);
        open_effects_are_expected(machine);
        ends_are_told_once(from, machine, emitted);
        for (id, effect) in emitted {
            assert!(*effect == Effect::Cancel || self.names.insert(*id), "the name {id} was given twice");
            only_cleared_calls_run(what, effect);
            results_come_before_the_model(machine, effect);
            // Beyond the cap notices are dropped, and with them what pairs up.
            if machine.shared().notices_dropped == 0 {
                self.pairs_are_whole(effect);
            }
        }
        limits_hold(machine);
    }

    fn note(&mut self, from: &State, what: &What, emitted: &[(EffectId, Effect)]) {
        match what {
            What::ModelReplied(..) => self.asked_about.clear(),
            What::ResumeRequested => (self.asked_question, self.is_stopped) = (false, false),
            // The news of a stop has the name that it had.
            What::RetellRequested => {
                for (id, _) in emitted {
                    assert!(self.owed.remove(id) && self.names.remove(id), "{id} is not owed");
                }
            }
            What::HookFailed(id) => drop(self.owed.insert(*id)),
            What::StopRequested(_) => {
                self.is_stopped |=
                    matches!(from, State::Planning | State::CallingModel { .. } | State::WaitingForAsyncTool)
            }
            What::HookAnswered(_)
            | What::NoticeDelivered(_)
            | What::Planned(..)
            | What::PlanFailed(..)
            | What::ModelFailed(..)
            | What::CallCleared(_)
            | What::CallSettled(..)
            | What::CallParked(_)
            | What::ChildStarted(..)
            | What::HumanAsked(..)
            | What::Summarized(..)
            | What::SummaryFailed(..)
            | What::DeadlineReached
            | What::BeginRequested
            | What::HumanDecided(_)
            | What::AnswerArrived { .. } => {}
        }
        for (_, effect) in emitted {
            if let Effect::AskHuman(question) = effect {
                match question {
                    Question::Approve(calls) => self.asked_about.extend(calls),
                    Question::Prompt { .. } | Question::Select { .. } => self.asked_question = true,
                }
            }
        }
    }

    /// A run that waits for a person has asked one.
    fn parks_are_asked_for(&self, machine: &Machine) {
        if machine.state().kind() != StateKind::WaitingForHuman {
            return;
        }
        let awaiting = machine.shared().calls.awaiting_human();
        assert!(awaiting.iter().all(|call| self.asked_about.contains(call)), "nobody was asked about {awaiting:?}");
        assert!(!awaiting.is_empty() || machine.shared().question && self.asked_question, "nobody was asked");
    }

    /// Cancel wins.
    fn stop_wins(&self, machine: &Machine) {
        if let State::Completing(ending) = machine.state()
            && self.is_stopped
        {
            assert_eq!(ending.reason, Reason::Interrupted, "the run was stopped and ended otherwise");
        }
    }

    fn pairs_are_whole(&mut self, effect: &Effect) {
        let Effect::FireHook(firing) = effect else { return };
        match firing {
            Firing::BeforeStep => assert!(!std::mem::replace(&mut self.step_is_open, true), "a step in a step"),
            Firing::AfterStep(_) => {
                assert!(std::mem::replace(&mut self.step_is_open, false), "the end of no step");
                assert!(!self.compaction_is_open, "a compression that was never closed");
                assert!(self.announced.is_empty(), "sub-agents that were announced and forgotten");
            }
            Firing::BeforeCompact { .. } => {
                assert!(!std::mem::replace(&mut self.compaction_is_open, true), "a compression in a compression");
            }
            Firing::AfterCompact { .. } | Firing::OnCompactError { .. } => {
                assert!(std::mem::replace(&mut self.compaction_is_open, false), "the end of no compression");
            }
            Firing::BeforeCallAgent { call } => assert!(self.announced.insert(*call), "announced twice"),
            Firing::AfterCallAgent { call, .. } | Firing::OnCallAgentError { call } => {
                assert!(self.announced.remove(call), "started without a word");
            }
            Firing::OnComplete => assert!(!self.step_is_open, "the run ended inside a step"),
            Firing::OnError
            | Firing::AfterToolCall { .. }
            | Firing::OnToolCallError { .. }
            | Firing::BeforeHumanIntervention { .. }
            | Firing::AfterHumanIntervention { .. }
            | Firing::OnStopByHumanIntervention { .. } => {}
        }
    }
}

fn stays_within_its_row(from: &State, row: RowId, machine: &Machine, emitted: &[(EffectId, Effect)]) {
    let (row, to) = (ROWS[usize::from(row.0)], machine.state().kind());
    match row.from {
        Some(state) => assert!(state == from.kind() && row.to.contains(&to), "{to:?} is not in {row:?}"),
        None => assert_eq!(from, machine.state(), "the state stays as it is"),
    }
    for (_, effect) in emitted {
        assert!(row.effects.contains(&effect.kind()), "{effect:?} is not in {row:?}");
        if let Effect::FireHook(firing) = effect {
            assert!(row.hooks.contains(&firing.kind()), "{firing:?} is not in {row:?}");
        }
        if let Effect::Clear(_) = effect {
            assert!(row.hooks.contains(&HookKind::BeforeToolCall), "{row:?}");
        }
    }
}

/// What is open is what the state waits for: one answer, or one for each call under way.
fn open_effects_are_expected(machine: &Machine) {
    let blocking: Vec<&Effect> = machine.shared().open.values().filter(|effect| !is_notice(effect)).collect();
    let kind = machine.state().kind();
    for effect in &blocking {
        assert!(is_expected(kind, effect), "{effect:?} is open while {kind:?}");
    }
    let under_way = machine.shared().calls.which(|place| match place {
        Place::Clearing | Place::Running | Place::Refusing | Place::Judging => true,
        Place::Open | Place::Queued | Place::AwaitingHuman | Place::Parked { .. } | Place::Settled => false,
    });
    let expected = match kind {
        StateKind::RunningCalls => under_way.len().max(1),
        StateKind::WaitingForAsyncTool => under_way.len(),
        StateKind::OpeningStep
        | StateKind::Planning
        | StateKind::CallingModel
        | StateKind::AskingHuman
        | StateKind::AnnouncingCompaction
        | StateKind::Summarizing
        | StateKind::ClosingCompaction
        | StateKind::ClosingStep
        | StateKind::TellingDecision
        | StateKind::TellingStop
        | StateKind::Completing
        | StateKind::ReportingError => 1,
        StateKind::Idle
        | StateKind::WaitingToRetry
        | StateKind::WaitingToSummarize
        | StateKind::WaitingForHuman
        | StateKind::Draining
        | StateKind::Finished
        | StateKind::Failed => 0,
    };
    assert_eq!(blocking.len(), expected, "{blocking:?} while {kind:?}");
    let is_at_work = kind == StateKind::RunningCalls || kind == StateKind::WaitingForAsyncTool;
    assert!(is_at_work || under_way.is_empty(), "calls are under way while {kind:?}");
}

fn is_expected(kind: StateKind, effect: &Effect) -> bool {
    let expected: &[StateKind] = match effect {
        Effect::FireHook(Firing::BeforeStep) => &[StateKind::OpeningStep],
        Effect::FireHook(Firing::AfterStep(_)) => &[StateKind::ClosingStep],
        Effect::FireHook(Firing::OnComplete) => &[StateKind::Completing],
        Effect::FireHook(Firing::OnError) => &[StateKind::ReportingError],
        Effect::FireHook(Firing::AfterHumanIntervention { .. }) => &[StateKind::TellingDecision],
        Effect::FireHook(Firing::OnStopByHumanIntervention { .. }) => &[StateKind::TellingStop],
        Effect::FireHook(Firing::BeforeCompact { .. }) => &[StateKind::AnnouncingCompaction],
        Effect::FireHook(Firing::AfterCompact { .. } | Firing::OnCompactError { .. }) => {
            &[StateKind::ClosingCompaction]
        }
        Effect::Plan { .. } => &[StateKind::Planning],
        Effect::CallModel { .. } => &[StateKind::CallingModel],
        Effect::Clear(_) | Effect::Run(..) | Effect::Refuse(..) | Effect::StartChild(_) => &[StateKind::RunningCalls],
        Effect::Judge(_) => &[StateKind::WaitingForAsyncTool],
        Effect::AskHuman(_) => &[StateKind::AskingHuman],
        Effect::Summarize => &[StateKind::Summarizing],
        Effect::Cancel
        | Effect::FireHook(
            Firing::AfterToolCall { .. }
            | Firing::OnToolCallError { .. }
            | Firing::BeforeHumanIntervention { .. }
            | Firing::BeforeCallAgent { .. }
            | Firing::AfterCallAgent { .. }
            | Firing::OnCallAgentError { .. },
        ) => &[],
    };
    expected.contains(&kind)
}

/// `onComplete` belongs to the entry into the end, `onError` comes after it, and nothing is open then.
fn ends_are_told_once(from: &State, machine: &Machine, emitted: &[(EffectId, Effect)]) {
    let fired = |kind| {
        let is_kind = |effect: &Effect| matches!(effect, Effect::FireHook(firing) if firing.kind() == kind);
        emitted.iter().filter(|(_, effect)| is_kind(effect)).count()
    };
    let enters = |kind| usize::from(machine.state().kind() == kind && from.kind() != kind);
    assert_eq!(fired(HookKind::OnComplete), enters(StateKind::Completing));
    assert_eq!(fired(HookKind::OnError), enters(StateKind::ReportingError));
    if let State::Draining { .. }
    | State::TellingStop { .. }
    | State::Completing(_)
    | State::ReportingError(_)
    | State::Finished(_) = machine.state()
    {
        assert!(machine.shared().calls.unsettled().is_empty(), "calls without a result at the end");
        assert!(machine.state().status().is_terminal());
    }
}

fn only_cleared_calls_run(what: &What, effect: &Effect) {
    let (Effect::Run(call, _) | Effect::StartChild(call)) = effect else { return };
    let What::CallCleared(id) = what else { panic!("call {call} runs because of {what:?}") };
    assert_eq!((id.unit, id.verb), (jackline_runtime::machine::Unit::Call(*call), Verb::Clear));
}

fn results_come_before_the_model(machine: &Machine, effect: &Effect) {
    if let Effect::CallModel { .. } = effect {
        assert!(machine.shared().calls.unsettled().is_empty(), "the model is asked while calls have no result");
    }
}

fn limits_hold(machine: &Machine) {
    let shared = machine.shared();
    assert!(shared.steps_done <= shared.step + 1);
    let bound = usize::from(shared.settings.concurrency.max(1));
    let running = shared.calls.which(|place| matches!(place, Place::Clearing | Place::Running));
    assert!(running.len() <= bound, "{} calls run, the bound is {bound}", running.len());
}
