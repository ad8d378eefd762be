//! The invariants of a run, each a named check.
//!
//! [`of_machine`] looks at a machine between two moves, [`of_life`] at all that an operation took in
//! and asked for. Both are functions of their arguments and run after every step in tests; what a
//! store holds of an operation is checked with them too. That no raw output gets out and no call
//! runs uncleared is not here: types see to that.

use std::collections::BTreeSet;
use std::fmt;

use super::Machine;
use super::effect::{Effect, Firing, Question};
use super::id::{EffectId, Unit};
use super::input::{Input, What};
use super::instruction::Ordinal;
use super::limits;
use super::shared::{Settings, Shared, is_notice};
use super::state::State;

/// One move: what the machine took in, and what it then asked for, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Taken {
    /// What happened.
    pub input: Input,
    /// What was asked for because of it.
    pub emitted: Vec<(EffectId, Effect)>,
}

/// The invariants that moves and rows can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// Each call has one result before the model is asked again and before the end; results stand in emission order.
    ResultsPairUp,
    /// `onComplete` once for each entry into the end, `onError` only after it, and nothing after both.
    EndsAreToldOnce,
    /// Steps, compressions and sub-agents are announced and closed, in pairs.
    PairsAreWhole,
    /// A decision and an answer count once, and only where somebody was asked.
    DecisionsCountOnce,
    /// Firings are named in their order, once, and the run does nothing else while it waits for one.
    FiringsKeepOrder,
    /// No limit is passed by more than the one call in flight.
    LimitsHold,
    /// Once a run is stopped, nothing new is begun.
    StopWins,
    /// What is stored is what happened.
    StoreAgrees,
}

impl Invariant {
    /// The law in words.
    pub fn law(self) -> &'static str {
        match self {
            Self::ResultsPairUp => "every call has exactly one result before the next model call, in emission order",
            Self::EndsAreToldOnce => "an end is told once, and nothing follows it",
            Self::PairsAreWhole => "what is announced is closed once",
            Self::DecisionsCountOnce => "a decision counts once, and only where it was asked for",
            Self::FiringsKeepOrder => "firings keep their order and their names",
            Self::LimitsHold => "no limit is passed by more than the one call in flight",
            Self::StopWins => "a stopped run begins nothing new",
            Self::StoreAgrees => "the store holds what happened",
        }
    }
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.law())
    }
}

/// A law that does not hold: a mistake of ours, or a store that somebody changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("broken: {invariant}: {what}")]
pub struct Broken {
    /// Which law.
    pub invariant: Invariant,
    /// What was found.
    pub what: String,
}

/// Checks a machine between two moves.
///
/// # Errors
///
/// [`Broken`] names the first law that does not hold.
pub fn of_machine(machine: &Machine) -> Result<(), Broken> {
    of_state(machine.state(), machine.shared())
}

fn of_state(state: &State, shared: &Shared) -> Result<(), Broken> {
    let unsettled = shared.calls.unsettled();
    let is_over = match state {
        State::CallingModel { .. }
        | State::WaitingToRetry { .. }
        | State::Summarizing { .. }
        | State::WaitingToSummarize { .. } => false,
        State::Draining { .. }
        | State::TellingStop { .. }
        | State::Completing(_)
        | State::ReportingError(_)
        | State::Finished(_) => true,
        State::Idle
        | State::OpeningStep
        | State::Planning
        | State::RunningCalls
        | State::AskingHuman
        | State::AnnouncingCompaction(_)
        | State::ClosingCompaction { .. }
        | State::ClosingStep(_)
        | State::WaitingForHuman
        | State::TellingDecision { .. }
        | State::WaitingForAsyncTool
        | State::Failed => return Ok(()),
    };
    holds(unsettled.is_empty(), Invariant::ResultsPairUp, || {
        format!("the calls {unsettled:?} have no result while the run is {:?}", state.kind())
    })?;
    if is_over {
        return holds(state.status().is_terminal(), Invariant::EndsAreToldOnce, || {
            format!("the run is over and its status is {}", state.status())
        });
    }
    let (settings, totals) = (&shared.settings, &shared.totals);
    let is_within = settings.cost_max.is_none_or(|max| totals.cost < max)
        && settings.tokens_max.is_none_or(|max| totals.total_tokens < max);
    holds(is_within, Invariant::LimitsHold, || format!("the model is asked although {totals:?} is used up"))
}

/// Checks all moves of an operation, from the first.
///
/// # Errors
///
/// [`Broken`] names the first law that does not hold.
pub fn of_life(settings: &Settings, life: &[Taken]) -> Result<(), Broken> {
    results_pair_up(life)?;
    ends_are_told_once(life)?;
    pairs_are_whole(life)?;
    decisions_count_once(life)?;
    firings_keep_order(life)?;
    limits_hold(settings, life)?;
    stop_wins(life)
}

/// [`Invariant::ResultsPairUp`].
///
/// # Errors
///
/// [`Broken`] if it does not hold.
pub fn results_pair_up(life: &[Taken]) -> Result<(), Broken> {
    let broken = |what: String| Err(Broken { invariant: Invariant::ResultsPairUp, what });
    let mut unsettled: BTreeSet<Ordinal> = BTreeSet::new();
    for taken in life {
        if let What::ModelReplied(id, reply) = &taken.input.what {
            if !unsettled.is_empty() {
                return broken(format!("{id} was answered while the calls {unsettled:?} had no result"));
            }
            let calls = reply.calls.len().min(limits::CALLS_PER_TURN_MAX);
            unsettled = (1..=calls).filter_map(|call| Ordinal::try_from(call).ok()).collect();
        }
        if let What::CallSettled(id, _) = &taken.input.what
            && !call_of(*id).is_some_and(|call| unsettled.remove(&call))
        {
            return broken(format!("{id} is a second result, or that of no call"));
        }
        for (id, effect) in &taken.emitted {
            let wants_results = matches!(effect, Effect::CallModel { .. }) || effect.firing().is_some_and(tells_an_end);
            if wants_results && !unsettled.is_empty() {
                return broken(format!("{id} while the calls {unsettled:?} have no result"));
            }
        }
    }
    Ok(())
}

/// [`Invariant::EndsAreToldOnce`].
///
/// # Errors
///
/// [`Broken`] if it does not hold.
pub fn ends_are_told_once(life: &[Taken]) -> Result<(), Broken> {
    let broken = |what: String| Err(Broken { invariant: Invariant::EndsAreToldOnce, what });
    let mut is_told = false;
    let mut owed: Option<EffectId> = None;
    for taken in life {
        is_told &= taken.input.what != What::ResumeRequested;
        if let What::HookFailed(id) = &taken.input.what {
            owed = Some(*id);
        }
        for (id, effect) in &taken.emitted {
            match effect {
                Effect::FireHook(Firing::OnComplete) if is_told => return broken(format!("{id} tells it again")),
                Effect::FireHook(Firing::OnComplete) => is_told = true,
                Effect::FireHook(Firing::OnError) => {
                    if !is_told || !matches!(taken.input.what, What::HookAnswered(_)) {
                        return broken(format!("{id} comes before the answer to `onComplete`"));
                    }
                }
                // The one thing that may follow an end: the news of a stop that somebody must hear and has not.
                Effect::FireHook(Firing::OnStopByHumanIntervention { .. }) if is_told => {
                    if taken.input.what != What::RetellRequested || owed.take() != Some(*id) {
                        return broken(format!("{id} tells a stop again that nobody is owed"));
                    }
                }
                Effect::Cancel => {}
                Effect::FireHook(_)
                | Effect::Plan { .. }
                | Effect::CallModel { .. }
                | Effect::Clear(_)
                | Effect::Run(..)
                | Effect::Judge(_)
                | Effect::Refuse(..)
                | Effect::StartChild(_)
                | Effect::AskHuman(_)
                | Effect::Summarize => {
                    if is_told {
                        return broken(format!("{id} comes after the end"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// [`Invariant::PairsAreWhole`].
///
/// # Errors
///
/// [`Broken`] if it does not hold.
pub fn pairs_are_whole(life: &[Taken]) -> Result<(), Broken> {
    let mut open = Announced::default();
    let mut notices: BTreeSet<EffectId> = BTreeSet::new();
    for taken in life {
        if let What::NoticeDelivered(id) = &taken.input.what {
            notices.remove(id);
        }
        for (id, effect) in &taken.emitted {
            if is_notice(effect) {
                notices.insert(*id);
            }
            if let Effect::FireHook(firing) = effect {
                holds(open.takes(firing), Invariant::PairsAreWhole, || format!("{id} does not fit {open:?}"))?;
            }
        }
        // Beyond the cap firings are dropped, and what they announced with them.
        open.some_dropped |= notices.len() >= limits::NOTICES_MAX;
    }
    Ok(())
}

/// What was announced and is not closed.
#[derive(Debug, Default)]
struct Announced {
    step: bool,
    compaction: bool,
    agents: BTreeSet<Ordinal>,
    some_dropped: bool,
}

impl Announced {
    /// Notes a firing. False if it does not fit.
    fn takes(&mut self, firing: &Firing) -> bool {
        match firing {
            Firing::BeforeStep => !std::mem::replace(&mut self.step, true),
            Firing::AfterStep(_) => {
                let is_whole = !self.compaction && (self.agents.is_empty() || self.some_dropped);
                std::mem::take(&mut self.step) && is_whole
            }
            Firing::BeforeCompact { .. } => self.step && !std::mem::replace(&mut self.compaction, true),
            Firing::AfterCompact { .. } | Firing::OnCompactError { .. } => std::mem::take(&mut self.compaction),
            Firing::BeforeCallAgent { call } => self.agents.insert(*call),
            Firing::AfterCallAgent { call, .. } | Firing::OnCallAgentError { call } => {
                self.agents.remove(call) || self.some_dropped
            }
            Firing::OnComplete | Firing::OnError | Firing::OnStopByHumanIntervention { rejected: false, .. } => {
                !self.step
            }
            Firing::AfterToolCall { .. }
            | Firing::OnToolCallError { .. }
            | Firing::BeforeHumanIntervention { .. }
            | Firing::AfterHumanIntervention { .. }
            | Firing::OnStopByHumanIntervention { rejected: true, .. } => true,
        }
    }
}

/// [`Invariant::DecisionsCountOnce`].
///
/// # Errors
///
/// [`Broken`] if it does not hold.
pub fn decisions_count_once(life: &[Taken]) -> Result<(), Broken> {
    // `None` stands for a question that is not about a call.
    let mut asked: BTreeSet<Option<Ordinal>> = BTreeSet::new();
    let mut answered: BTreeSet<Ordinal> = BTreeSet::new();
    for taken in life {
        match &taken.input.what {
            What::ModelReplied(..) => {
                asked.clear();
                answered.clear();
            }
            What::ResumeRequested => asked.clear(),
            What::HumanDecided(decisions) => {
                for decision in decisions {
                    let is_asked = asked.remove(&decision.call);
                    holds(is_asked, Invariant::DecisionsCountOnce, || format!("{decision:?} was not asked for"))?;
                }
            }
            What::AnswerArrived { call, .. } => {
                let is_first = answered.insert(*call);
                holds(is_first, Invariant::DecisionsCountOnce, || format!("call {call} was answered twice"))?;
            }
            What::HookAnswered(_)
            | What::HookFailed(_)
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
            | What::StopRequested(_)
            | What::RetellRequested => {}
        }
        for (_, effect) in &taken.emitted {
            match effect {
                Effect::AskHuman(Question::Approve(calls)) => asked.extend(calls.iter().copied().map(Some)),
                Effect::AskHuman(Question::Prompt { .. } | Question::Select { .. }) => drop(asked.insert(None)),
                Effect::FireHook(_)
                | Effect::Plan { .. }
                | Effect::CallModel { .. }
                | Effect::Clear(_)
                | Effect::Run(..)
                | Effect::Judge(_)
                | Effect::Refuse(..)
                | Effect::StartChild(_)
                | Effect::Summarize
                | Effect::Cancel => {}
            }
        }
    }
    Ok(())
}

/// [`Invariant::FiringsKeepOrder`].
///
/// # Errors
///
/// [`Broken`] if it does not hold.
pub fn firings_keep_order(life: &[Taken]) -> Result<(), Broken> {
    let broken = |what: String| Err(Broken { invariant: Invariant::FiringsKeepOrder, what });
    let mut names: BTreeSet<EffectId> = BTreeSet::new();
    let mut last = (0, 0);
    let mut awaited: Option<EffectId> = None;
    let mut owed: BTreeSet<EffectId> = BTreeSet::new();
    for taken in life {
        if let What::HookFailed(id) = &taken.input.what {
            owed.insert(*id);
        }
        if let What::HookAnswered(id) | What::HookFailed(id) = &taken.input.what
            && awaited.take() != Some(*id)
        {
            return broken(format!("{id} was answered and nobody waited for it"));
        }
        for (id, effect) in &taken.emitted {
            let is_owed = owed.remove(id);
            if *effect != Effect::Cancel && !names.insert(*id) && !is_owed {
                return broken(format!("the name {id} was given twice"));
            }
            if let Some(other) = awaited.filter(|_| !is_notice(effect) && *effect != Effect::Cancel) {
                return broken(format!("{id} was asked for while {other} was awaited"));
            }
            let Unit::Hook(firing) = id.unit else { continue };
            if is_owed {
                awaited = Some(*id);
                continue;
            }
            if std::mem::replace(&mut last, (id.step, firing)) >= (id.step, firing) {
                return broken(format!("{id} was fired out of its order"));
            }
            if !is_notice(effect) {
                awaited = Some(*id);
            }
        }
    }
    Ok(())
}

/// [`Invariant::LimitsHold`], as far as moves show it; [`of_machine`] checks money and tokens.
///
/// # Errors
///
/// [`Broken`] if it does not hold.
pub fn limits_hold(settings: &Settings, life: &[Taken]) -> Result<(), Broken> {
    let broken = |what: String| Err(Broken { invariant: Invariant::LimitsHold, what });
    let calls_max = usize::from(settings.concurrency.max(1));
    let steps_max = settings.steps_max.filter(|max| *max > 0);
    let mut under_way: BTreeSet<Ordinal> = BTreeSet::new();
    let mut steps = 0;
    for taken in life {
        if taken.input.what == What::ResumeRequested {
            steps = 0;
        }
        if let Some(call) = taken.input.what.answers().and_then(call_of) {
            under_way.remove(&call);
        }
        for (id, effect) in &taken.emitted {
            match effect {
                Effect::Clear(call) | Effect::Run(call, _) | Effect::StartChild(call) => drop(under_way.insert(*call)),
                Effect::FireHook(Firing::AfterStep(step)) => {
                    steps += u32::from(step.reason.is_none() || step.called_model || step.ran_tools);
                }
                Effect::CallModel { with_tools: true } if steps_max.is_some_and(|max| steps >= max) => {
                    return broken(format!("{id} offers tools after {steps} steps"));
                }
                Effect::FireHook(_)
                | Effect::Plan { .. }
                | Effect::CallModel { .. }
                | Effect::Judge(_)
                | Effect::Refuse(..)
                | Effect::AskHuman(_)
                | Effect::Summarize
                | Effect::Cancel => {}
            }
        }
        if under_way.len() > calls_max {
            return broken(format!("the calls {under_way:?} are under way at once, the limit is {calls_max}"));
        }
    }
    Ok(())
}

/// [`Invariant::StopWins`].
///
/// # Errors
///
/// [`Broken`] if it does not hold.
pub fn stop_wins(life: &[Taken]) -> Result<(), Broken> {
    let mut is_stopped = false;
    for taken in life {
        is_stopped |= matches!(taken.input.what, What::StopRequested(_));
        is_stopped &= taken.input.what != What::ResumeRequested;
        for (id, effect) in &taken.emitted {
            holds(!is_stopped || !begins_something(effect), Invariant::StopWins, || {
                format!("{id} was asked for after the stop")
            })?;
        }
    }
    Ok(())
}

fn begins_something(effect: &Effect) -> bool {
    match effect {
        Effect::Plan { .. }
        | Effect::CallModel { .. }
        | Effect::Clear(_)
        | Effect::Run(..)
        | Effect::StartChild(_)
        | Effect::AskHuman(_)
        | Effect::Summarize => true,
        // Calls get their answers, those that have come are judged, and hooks hear of the end.
        Effect::FireHook(_) | Effect::Judge(_) | Effect::Refuse(..) | Effect::Cancel => false,
    }
}

/// Whether a firing says how a run has ended.
fn tells_an_end(firing: &Firing) -> bool {
    matches!(firing, Firing::OnComplete | Firing::OnStopByHumanIntervention { rejected: false, .. })
}

fn call_of(id: EffectId) -> Option<Ordinal> {
    match id.unit {
        Unit::Call(call) => Some(call),
        Unit::Step | Unit::Model | Unit::Compact | Unit::Human | Unit::Hook(_) => None,
    }
}

fn holds(law: bool, invariant: Invariant, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if law { Ok(()) } else { Err(Broken { invariant, what: what() }) }
}

#[cfg(test)]
mod tests;
