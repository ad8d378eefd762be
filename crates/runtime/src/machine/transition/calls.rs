//! Calls: queueing, clearing, running, settling.

use jackline_model::OperationId;

use super::step;
use crate::machine::calls::Place;
use crate::machine::effect::{Effect, Firing};
use crate::machine::fault::Problem;
use crate::machine::firing::Moment;
use crate::machine::id::Verb;
use crate::machine::input::{Route, Settled};
use crate::machine::instruction::{Ordinal, Refusal};
use crate::machine::state::{Shared, State};

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
