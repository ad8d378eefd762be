//! People: asking, deciding, stopping, and nobody answering.

use std::collections::VecDeque;

use jackline_model::{Reason, StopRequestId};

use super::{end, step};
use crate::machine::calls::Place;
use crate::machine::effect::{Effect, Firing, HumanAction, Question};
use crate::machine::fault::Problem;
use crate::machine::firing::Moment;
use crate::machine::id::{Unit, Verb};
use crate::machine::input::{Decision, HumanVerdict, Route};
use crate::machine::instruction::{Instruction, Ordinal, Phase, Refusal};
use crate::machine::shared::Shared;
use crate::machine::state::{Ending, State, StopNotice, StopTold};

/// Asks a person.
pub(in crate::machine) fn ask(shared: &mut Shared, question: Question) -> State {
    let calls = match &question {
        Question::Approve(calls) => {
            for call in calls {
                shared.calls.put(*call, Place::AwaitingHuman);
            }
            calls.clone()
        }
        Question::Prompt { .. } | Question::Select { .. } => {
            shared.question = true;
            Vec::new()
        }
    };
    shared.fire(Moment::HumanAsked, Firing::BeforeHumanIntervention { calls });
    shared.emit(Unit::Human, Verb::Ask, 0, Effect::AskHuman(question));
    State::AskingHuman
}

/// The request is written down.
pub(in crate::machine) fn asked(shared: &mut Shared, expires_at: Option<u64>) -> State {
    shared.expires_at = expires_at;
    step::advance(shared)
}

/// A person decided. All decisions are checked before any is applied.
pub(in crate::machine) fn decided(shared: &mut Shared, decisions: Vec<Decision>) -> Result<State, Problem> {
    check(shared, &decisions)?;
    shared.phase = Phase::HumanApprovedTool;
    if decisions.iter().any(|decision| matches!(decision.verdict, HumanVerdict::Reject { .. })) {
        return Ok(halt(shared, &decisions));
    }
    let groups = groups(&decisions);
    let mut approved = Vec::new();
    let mut rejected = Vec::new();
    for decision in decisions {
        match (decision.call, decision.verdict) {
            (Some(call), HumanVerdict::Approve) => approved.push(call),
            (Some(call), HumanVerdict::RejectAndContinue { reason } | HumanVerdict::Reject { reason }) => {
                rejected.push((call, Refusal::Rejected { reason }));
            }
            (Some(_) | None, HumanVerdict::Answer)
            | (None, HumanVerdict::Approve | HumanVerdict::Reject { .. } | HumanVerdict::RejectAndContinue { .. }) => {
                shared.question = false;
                shared.phase = Phase::UserInput;
            }
        }
    }
    approved.sort_unstable();
    shared.plan = plan(shared, approved, rejected);
    Ok(tell_next(shared, groups))
}

/// The hooks of `afterHumanIntervention` have heard of a group.
pub(in crate::machine) fn told(shared: &mut Shared, rest: VecDeque<Firing>) -> State {
    if shared.stop_requested {
        return step::open(shared);
    }
    tell_next(shared, rest)
}

/// Nobody decided in time: the calls are answered, the model reads why and goes on.
pub(in crate::machine) fn expired(shared: &mut Shared) -> State {
    let pending = shared.calls.awaiting_human();
    shared.expires_at = None;
    shared.question = false;
    let refused = pending.into_iter().map(|call| (call, Refusal::Expired)).collect();
    shared.plan = plan(shared, Vec::new(), refused);
    if shared.plan.is_empty() {
        shared.phase = Phase::UserInput;
    }
    step::open(shared)
}

/// Somebody stops a run that waits for a decision. That is told when the run has ended.
pub(in crate::machine) fn stopped(shared: &mut Shared, request: Option<StopRequestId>) -> State {
    note_stop(shared, request);
    step::open(shared)
}

/// Somebody stops a run before its hooks have heard what was decided: it was not done, and is not.
pub(in crate::machine) fn stopped_before_told(
    shared: &mut Shared,
    rest: VecDeque<Firing>,
    request: Option<StopRequestId>,
) -> State {
    note_stop(shared, request);
    shared.cancel();
    State::TellingDecision { rest }
}

fn note_stop(shared: &mut Shared, request: Option<StopRequestId>) {
    let calls = shared.calls.awaiting_human();
    shared.stop_requested = true;
    shared.stop_notice.get_or_insert(StopNotice { request, calls, told: StopTold::Due });
}

fn halt(shared: &mut Shared, decisions: &[Decision]) -> State {
    let pending = shared.calls.awaiting_human();
    let rejected: Vec<(Ordinal, Refusal)> = decisions
        .iter()
        .filter_map(|decision| match (&decision.call, &decision.verdict) {
            (Some(call), HumanVerdict::Reject { reason } | HumanVerdict::RejectAndContinue { reason }) => {
                Some((*call, Refusal::Rejected { reason: reason.clone() }))
            }
            (Some(_), HumanVerdict::Approve | HumanVerdict::Answer)
            | (
                None,
                HumanVerdict::Approve
                | HumanVerdict::Answer
                | HumanVerdict::Reject { .. }
                | HumanVerdict::RejectAndContinue { .. },
            ) => None,
        })
        .collect();
    let reason = rejected.iter().find_map(|(_, refusal)| match refusal {
        Refusal::Rejected { reason } => reason.clone(),
        Refusal::Unusable
        | Refusal::NotAllowed
        | Refusal::NobodyToApprove
        | Refusal::Limit(_)
        | Refusal::Aborted
        | Refusal::Expired
        | Refusal::TimedOut
        | Refusal::InDoubt => None,
    });
    let others: Vec<Ordinal> =
        pending.iter().copied().filter(|call| rejected.iter().all(|(rejected, _)| rejected != call)).collect();
    shared.fire(Moment::HumanStopped, Firing::OnStopByHumanIntervention { calls: pending, rejected: true, reason });
    shared.plan = VecDeque::from([Instruction::ResolveBlockedTools(rejected)]);
    if !others.is_empty() {
        shared.plan.push_back(Instruction::ResolveAbortedTools(others));
    }
    shared.ending = Some(Ending { resumable: false, ..Ending::because(Reason::Interrupted) });
    step::open(shared)
}

/// Lets the hooks hear of the next group, one after the other; when all have heard, the run goes on.
fn tell_next(shared: &mut Shared, mut groups: VecDeque<Firing>) -> State {
    let Some(firing) = groups.pop_front() else { return step::open(shared) };
    shared.fire(Moment::HumanDecided, firing);
    State::TellingDecision { rest: groups }
}

/// One event for each group of decisions with the same action and the same words.
fn groups(decisions: &[Decision]) -> VecDeque<Firing> {
    let mut groups: Vec<(HumanAction, Option<String>, Vec<Ordinal>)> = Vec::new();
    for decision in decisions {
        let (action, reason) = match &decision.verdict {
            HumanVerdict::Approve | HumanVerdict::Answer => (HumanAction::Approve, None),
            HumanVerdict::Reject { reason } => (HumanAction::Reject, reason.clone()),
            HumanVerdict::RejectAndContinue { reason } => (HumanAction::RejectAndContinue, reason.clone()),
        };
        match groups.iter_mut().find(|group| group.0 == action && group.1 == reason) {
            Some(group) => group.2.extend(decision.call),
            None => groups.push((action, reason, decision.call.into_iter().collect())),
        }
    }
    let firing = |(action, reason, calls)| Firing::AfterHumanIntervention { action, calls, reason };
    groups.into_iter().map(firing).collect()
}

fn plan(shared: &Shared, approved: Vec<Ordinal>, rejected: Vec<(Ordinal, Refusal)>) -> VecDeque<Instruction> {
    let mut plan = VecDeque::new();
    let is_agent = |call: &Ordinal| shared.calls.slot(*call).is_some_and(|slot| slot.facts.route == Route::Agent);
    let (agents, tools): (Vec<Ordinal>, Vec<Ordinal>) = approved.into_iter().partition(is_agent);
    match tools.as_slice() {
        [] => {}
        [call] => plan.push_back(Instruction::CallTool(*call)),
        [_, ..] => plan.push_back(Instruction::CallToolsBatch(tools)),
    }
    plan.extend(agents.into_iter().map(Instruction::CallAgent));
    if !rejected.is_empty() {
        plan.push_back(Instruction::ResolveBlockedTools(rejected));
    }
    plan
}

fn check(shared: &Shared, decisions: &[Decision]) -> Result<(), Problem> {
    if decisions.is_empty() {
        return Err(Problem::NothingDecided);
    }
    let mut seen = Vec::new();
    for decision in decisions {
        let fits = match (decision.call, &decision.verdict) {
            (Some(call), HumanVerdict::Approve)
            | (Some(call), HumanVerdict::Reject { .. } | HumanVerdict::RejectAndContinue { .. }) => {
                shared.calls.slot(call).is_some_and(|slot| slot.place == Place::AwaitingHuman)
            }
            (None, HumanVerdict::Answer | HumanVerdict::Reject { .. }) => shared.question,
            (None, HumanVerdict::Approve | HumanVerdict::RejectAndContinue { .. })
            | (Some(_), HumanVerdict::Answer) => false,
        };
        if !fits || seen.contains(&decision.call) {
            return Err(Problem::NotWaitingFor(decision.call));
        }
        seen.push(decision.call);
    }
    Ok(())
}

/// Somebody stops a run that is idle: there is nothing to abort.
pub(in crate::machine) fn stopped_idle(shared: &mut Shared) -> State {
    shared.stop_requested = true;
    shared.began_at = shared.now;
    end::end(shared, Ending::because(Reason::Interrupted))
}
