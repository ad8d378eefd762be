//! Calls: queueing, clearing, running, settling.

use jackline_model::{OperationId, Totals};

use super::step;
use crate::machine::calls::Place;
use crate::machine::effect::{Effect, Firing};
use crate::machine::fault::Problem;
use crate::machine::firing::Moment;
use crate::machine::id::Verb;
use crate::machine::input::{Route, Settled};
use crate::machine::instruction::{Instruction, Ordinal, Refusal};
use crate::machine::shared::Shared;
use crate::machine::state::State;

/// Queues calls and starts those that have room.
pub(in crate::machine) fn queue(shared: &mut Shared, calls: &[Ordinal]) {
    for call in calls {
        shared.calls.put(*call, Place::Queued);
    }
    start_heads(shared);
}

/// Answers calls without running them.
pub(in crate::machine) fn refuse_all(shared: &mut Shared, calls: Vec<Ordinal>, refusal: &Refusal) {
    for call in calls {
        shared.calls.put(call, Place::Refusing);
        shared.emit_for_call(call, Verb::Refuse, Effect::Refuse(call, refusal.clone()));
    }
}

/// The before-hooks let a call through.
pub(in crate::machine) fn cleared(shared: &mut Shared, call: Ordinal) -> Result<State, Problem> {
    let slot = shared.calls.slot(call).ok_or(Problem::UnknownCall(call))?;
    let (route, side_effect) = (slot.facts.route, slot.facts.side_effect);
    if shared.stop_requested {
        refuse_all(shared, vec![call], &Refusal::Aborted);
        return Ok(State::RunningCalls);
    }
    match route {
        Route::Tool => {
            shared.calls.put(call, Place::Running);
            shared.emit_for_call(call, Verb::Run, Effect::Run(call, side_effect));
        }
        Route::Agent => {
            shared.calls.put(call, Place::Running);
            shared.fire(Moment::ChildPlanned, Firing::BeforeCallAgent { call });
            shared.emit_for_call(call, Verb::Start, Effect::StartChild(call));
        }
        Route::Client => {
            shared.calls.put(call, Place::Parked { child: None });
            return Ok(proceed(shared));
        }
        Route::Unusable => return Err(Problem::UnknownCall(call)),
    }
    Ok(State::RunningCalls)
}

/// A call has its result.
pub(in crate::machine) fn settled(shared: &mut Shared, call: Ordinal, settled: &Settled) -> State {
    note_settled(shared, call, settled);
    proceed(shared)
}

pub(in crate::machine) fn note_settled(shared: &mut Shared, call: Ordinal, settled: &Settled) {
    if let Some(slot) = shared.calls.slot(call) {
        shared.repeat.note_result(slot.facts.signature, settled.digest);
    }
    shared.calls.put(call, Place::Settled);
    shared.ran_tools = true;
    shared.stop_by_tool |= settled.stop;
    if settled.how.is_counted() {
        shared.totals.add_tool_call(settled.cost);
    }
    shared.fire_settled(call, settled.how);
}

/// The result of a call comes later.
pub(in crate::machine) fn parked(shared: &mut Shared, call: Ordinal) -> State {
    shared.calls.put(call, Place::Parked { child: None });
    proceed(shared)
}

/// A sub-agent runs.
pub(in crate::machine) fn child_started(shared: &mut Shared, call: Ordinal, child: OperationId) -> State {
    shared.fire(Moment::ChildStarted, Firing::AfterCallAgent { call, child: child.clone() });
    shared.calls.put(call, Place::Parked { child: Some(child) });
    proceed(shared)
}

/// The result of a parked call is here; the after-hooks judge it.
pub(in crate::machine) fn answered(
    shared: &mut Shared,
    call: Ordinal,
    child: Option<&Totals>,
) -> Result<State, Problem> {
    let is_parked = matches!(shared.calls.slot(call).map(|slot| &slot.place), Some(Place::Parked { .. }));
    // A plan made while the run is parked is the end of its patience: see `give_up_parked`.
    if !is_parked || !shared.plan.is_empty() {
        return Err(Problem::NotParked(call));
    }
    child.into_iter().for_each(|child| shared.totals.add_child(child));
    shared.calls.put(call, Place::Judging);
    shared.emit_for_call(call, Verb::Judge, Effect::Judge(call));
    Ok(State::WaitingForAsyncTool)
}

/// A parked run goes on when nothing is parked any more, or when it is stopped or out of time and
/// nothing is judged.
pub(in crate::machine) fn unpark(shared: &mut Shared) -> State {
    let waits = shared.calls.any_parked() && !shared.stop_requested && shared.plan.is_empty();
    if shared.calls.is_busy() || waits {
        return State::WaitingForAsyncTool;
    }
    shared.async_until = None;
    shared.phase = step::phase_after_calls(&shared.calls);
    step::open(shared)
}

/// The time for parked results is over: what has not come will not be taken. What is being judged
/// has come.
pub(in crate::machine) fn give_up_parked(shared: &mut Shared) -> State {
    let late = shared.calls.which(|place| matches!(place, Place::Parked { .. }));
    shared.async_until = None;
    if late.is_empty() {
        return unpark(shared);
    }
    shared.cancel();
    let refused = late.into_iter().map(|call| (call, Refusal::TimedOut)).collect();
    shared.plan = [Instruction::ResolveBlockedTools(refused)].into();
    let deferred = std::mem::take(&mut shared.deferred_approval);
    if !deferred.is_empty() {
        shared.plan.push_back(Instruction::RequestHumanApprove(deferred));
    }
    unpark(shared)
}

fn proceed(shared: &mut Shared) -> State {
    if shared.stop_requested {
        // Calls that have not started will not; those under way answer as aborted.
        return step::abort_open_calls(shared);
    }
    start_heads(shared);
    if shared.calls.is_busy() {
        return State::RunningCalls;
    }
    shared.phase = step::phase_after_calls(&shared.calls);
    step::advance(shared)
}

fn start_heads(shared: &mut Shared) {
    for call in shared.calls.start_heads(shared.settings.concurrency) {
        shared.emit_for_call(call, Verb::Clear, Effect::Clear(call));
    }
}
