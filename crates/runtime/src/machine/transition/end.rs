//! The end of a run, and what comes after it.

use super::step;
use crate::machine::effect::Firing;
use crate::machine::fault::Problem;
use crate::machine::firing::Moment;
use crate::machine::instruction::Phase;
use crate::machine::limits;
use crate::machine::state::{Ending, Shared, State};

/// Ends the run: first what is still to be delivered, then `onComplete`.
pub(in crate::machine) fn end(shared: &mut Shared, report: Ending) -> State {
    if shared.notices().next().is_some() {
        let until = shared.now.saturating_add(limits::DRAIN_MS);
        return State::Draining { report, until };
    }
    complete(shared, report)
}

/// A firing was delivered while the run waits for the last of them.
pub(in crate::machine) fn drained(shared: &mut Shared, report: Ending, until: u64) -> State {
    if shared.notices().next().is_some() {
        return State::Draining { report, until };
    }
    complete(shared, report)
}

/// The time for deliveries is over: the rest is dropped and counted.
pub(in crate::machine) fn drain_expired(shared: &mut Shared, report: Ending) -> State {
    let late: Vec<_> = shared.notices().collect();
    for id in late {
        shared.open.remove(&id);
        shared.notices_dropped += 1;
    }
    shared.cancel();
    complete(shared, report)
}

/// The hooks of `onComplete` have answered.
pub(in crate::machine) fn completed(shared: &mut Shared, report: Ending) -> State {
    if report.fault.is_none() {
        return State::Finished(report);
    }
    shared.fire(Moment::EndedInError, Firing::OnError);
    State::ReportingError(report)
}

/// Opens a new episode of a run that ended and can be gone on with.
pub(in crate::machine) fn resume(shared: &mut Shared, report: &Ending) -> Result<State, Problem> {
    if !report.resumable {
        return Err(Problem::NotResumable(report.reason));
    }
    shared.stop_requested = false;
    shared.stop_by_tool = false;
    shared.force_finish = false;
    // A question that nobody answered died with the episode that asked it.
    shared.question = false;
    shared.expires_at = None;
    shared.doom = None;
    shared.ending = None;
    shared.episode_base = shared.steps_done;
    shared.phase = Phase::UserInput;
    Ok(step::open(shared))
}

fn complete(shared: &mut Shared, report: Ending) -> State {
    shared.fire(Moment::Ended, Firing::OnComplete);
    State::Completing(report)
}
