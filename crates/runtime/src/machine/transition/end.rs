//! The end of a run: who is told, and what comes after it.

use super::step;
use crate::machine::effect::{Effect, Firing};
use crate::machine::fault::Problem;
use crate::machine::firing::Moment;
use crate::machine::id::EffectId;
use crate::machine::instruction::Phase;
use crate::machine::limits;
use crate::machine::shared::Shared;
use crate::machine::state::{Ending, State, StopNotice, StopTold};

/// Ends the run: first what is still to be delivered, then who stopped it, then `onComplete`.
pub(in crate::machine) fn end(shared: &mut Shared, report: Ending) -> State {
    if shared.notices().next().is_some() {
        let until = shared.now.saturating_add(limits::DRAIN_MS);
        return State::Draining { report, until };
    }
    tell_stop(shared, report)
}

/// A firing was delivered while the run waits for the last of them.
pub(in crate::machine) fn drained(shared: &mut Shared, report: Ending, until: u64) -> State {
    if shared.notices().next().is_some() {
        return State::Draining { report, until };
    }
    tell_stop(shared, report)
}

/// The time for deliveries is over: the rest is dropped and counted.
pub(in crate::machine) fn drain_expired(shared: &mut Shared, report: Ending) -> State {
    let late: Vec<_> = shared.notices().collect();
    for id in late {
        shared.open.remove(&id);
        shared.notices_dropped += 1;
    }
    shared.cancel();
    tell_stop(shared, report)
}

/// The hooks of `onStopByHumanIntervention` were asked, and this is how far it is told now.
pub(in crate::machine) fn stop_told(shared: &mut Shared, report: Ending, again: bool, told: StopTold) -> State {
    if let Some(notice) = &mut shared.stop_notice {
        notice.told = told;
    }
    if again { State::Finished(report) } else { complete(shared, report) }
}

/// Tells a stop once more, to hooks of which one was not reached: the same firing, and nothing else.
pub(in crate::machine) fn retell(shared: &mut Shared, report: Ending) -> Result<State, (Ending, Problem)> {
    let Some((id, firing)) = shared.stop_notice.as_ref().and_then(owed) else {
        return Err((report, Problem::NothingOwed));
    };
    shared.emit_again(id, Effect::FireHook(firing));
    Ok(State::TellingStop { report, again: true })
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
    // The run goes on: to tell somebody now that it was stopped would be wrong.
    shared.stop_notice = None;
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

/// Tells who has to hear that a person stopped the run. Its calls have their results, and the end is stored.
fn tell_stop(shared: &mut Shared, report: Ending) -> State {
    let Some(notice) = shared.stop_notice.as_mut().filter(|notice| notice.told == StopTold::Due) else {
        return complete(shared, report);
    };
    notice.told = StopTold::Asked;
    let firing = firing_of(notice);
    shared.fire(Moment::HumanStopped, firing);
    State::TellingStop { report, again: false }
}

fn owed(notice: &StopNotice) -> Option<(EffectId, Firing)> {
    match notice.told {
        StopTold::Owed(id) => Some((id, firing_of(notice))),
        StopTold::Due | StopTold::Asked | StopTold::Heard => None,
    }
}

fn firing_of(notice: &StopNotice) -> Firing {
    Firing::OnStopByHumanIntervention { calls: notice.calls.clone(), rejected: false, reason: None }
}

fn complete(shared: &mut Shared, report: Ending) -> State {
    shared.fire(Moment::Ended, Firing::OnComplete);
    State::Completing(report)
}
