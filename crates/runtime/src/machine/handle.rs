//! The one door.

use jackline_model::StopRequestId;

use super::boundary::Boundary;
use super::effect::{Effect, EffectKind, Firing};
use super::fault::{MachineFault, Moved, Problem};
use super::id::{EffectId, Unit, Verb};
use super::input::{Input, InputKind, SettledHow, What};
use super::instruction::Ordinal;
use super::shared::{Emitted, Settings, Shared, is_notice};
use super::state::{State, StateKind, StopTold};
use super::table;
use super::transition::{calls, compact, end, human, model, step};

/// The machine of one operation.
///
/// Drivers take effects with [`next_effect`](Self::next_effect), perform them, and hand the answers
/// to [`handle`](Self::handle). That is all there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    state: State,
    shared: Shared,
    at_boundary: bool,
}

impl Machine {
    /// A new operation.
    pub fn new(settings: Settings) -> Self {
        Self { state: State::Idle, shared: Shared::new(settings), at_boundary: false }
    }

    /// An operation as it stood at a step boundary. Its open effects are asked for again.
    pub fn restore(settings: Settings, boundary: Boundary) -> Self {
        let (state, shared) = boundary.into_parts(settings);
        let mut machine = Self { state, shared, at_boundary: false };
        machine.reopen();
        machine
    }

    /// Asks again for every effect that has no answer: after the journal has been read.
    pub fn reopen(&mut self) {
        self.shared.out = self.shared.open.keys().copied().collect();
    }

    /// Takes something that happened.
    ///
    /// Repeats are ordinary and change nothing. The caller appends the input to the journal only
    /// when this returns [`Moved::Row`].
    ///
    /// # Errors
    ///
    /// [`MachineFault`] for an input that is impossible here. The machine is `Failed` afterwards and
    /// takes nothing more; the journal still holds the last good state.
    pub fn handle(&mut self, input: Input) -> Result<Moved, MachineFault> {
        let (from, kind, answers) = (self.state.kind(), input.what.kind(), input.what.answers());
        let fault = |why: String| MachineFault { state: from, input: kind, answers, why };
        if from == StateKind::Failed {
            return Err(fault("the machine has failed before".to_owned()));
        }
        if self.is_stale(&input) {
            return Ok(Moved::Stale);
        }
        if let Some(effect) = answers.and_then(|id| self.shared.open.get(&id))
            && !fits(effect, &input.what)
        {
            self.state = State::Failed;
            return Err(fault(format!("{:?} cannot be answered so", effect.kind())));
        }
        let Some(row) = table::find(from, kind) else {
            if kind.is_request() {
                return Ok(Moved::Refused(Problem::NotNow { state: from, request: kind }));
            }
            self.state = State::Failed;
            return Err(fault("the table has no such row".to_owned()));
        };
        if let Some(id) = answers {
            self.shared.open.remove(&id);
        }
        let before = (self.shared.now, self.shared.emitted);
        self.shared.now = self.shared.now.max(input.at);
        self.shared.emitted = Emitted::default();
        // `Failed` stays behind if a transition returns early.
        match self.transition(input.what) {
            Ok(next) => {
                self.state = next;
                self.at_boundary = from == StateKind::ClosingStep && kind == InputKind::HookAnswered;
                Ok(Moved::Row(row))
            }
            Err((back, problem)) if kind.is_request() => {
                self.state = back;
                (self.shared.now, self.shared.emitted) = before;
                Ok(Moved::Refused(problem))
            }
            Err((_, problem)) => Err(fault(problem.to_string())),
        }
    }

    /// The next effect to perform.
    pub fn next_effect(&mut self) -> Option<(EffectId, Effect)> {
        while let Some(id) = self.shared.out.pop_front() {
            if id.verb == Verb::Cancel {
                return Some((id, Effect::Cancel));
            }
            // What has been answered meanwhile, in a journal that is read back, needs no second answer.
            if let Some(effect) = self.shared.open.get(&id) {
                return Some((id, effect.clone()));
            }
        }
        None
    }

    /// When the machine wants to hear [`What::DeadlineReached`], in milliseconds since the epoch.
    pub fn next_deadline(&self) -> Option<u64> {
        match &self.state {
            State::WaitingToRetry { until, .. }
            | State::WaitingToSummarize { until, .. }
            | State::Draining { until, .. } => Some(*until),
            State::WaitingForHuman => self.shared.expires_at,
            State::WaitingForAsyncTool => self.shared.async_until,
            State::Idle
            | State::OpeningStep
            | State::Planning
            | State::CallingModel { .. }
            | State::RunningCalls
            | State::AskingHuman
            | State::AnnouncingCompaction(_)
            | State::Summarizing { .. }
            | State::ClosingCompaction { .. }
            | State::ClosingStep(_)
            | State::TellingDecision { .. }
            | State::TellingStop { .. }
            | State::Completing(_)
            | State::ReportingError(_)
            | State::Finished(_)
            | State::Failed => None,
        }
    }

    /// Where the operation stands.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// What it carries.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The boundary that the last input closed, if it closed a step.
    pub fn boundary(&self) -> Option<Boundary> {
        self.at_boundary.then(|| Boundary::of(&self.state, &self.shared))
    }

    fn is_stale(&self, input: &Input) -> bool {
        match input.what.answers() {
            Some(id) => !self.shared.open.contains_key(&id),
            None if input.what == What::DeadlineReached => self.next_deadline().is_none_or(|due| input.at < due),
            None => false,
        }
    }

    fn transition(&mut self, what: What) -> Result<State, (State, Problem)> {
        let shared = &mut self.shared;
        let state = std::mem::replace(&mut self.state, State::Failed);
        if let What::StopRequested(request) = what {
            return Ok(stop(shared, state, request));
        }
        Ok(match (state, what) {
            (State::Idle, What::BeginRequested) => {
                shared.began_at = shared.now;
                step::open(shared)
            }
            (State::OpeningStep, What::HookAnswered(_)) => step::opened(shared),
            (State::Planning, What::Planned(_, plan)) => step::planned(shared, plan),
            (State::Planning, What::PlanFailed(_, fault)) => step::plan_failed(shared, fault),
            (State::CallingModel { .. }, What::ModelReplied(_, reply)) => model::replied(shared, &reply),
            (State::CallingModel { attempt, compressed }, What::ModelFailed(_, failure)) => {
                model::failed(shared, attempt, compressed, failure)
            }
            (State::WaitingToRetry { attempt, compressed, .. }, What::DeadlineReached) => {
                model::ask(shared, attempt + 1, compressed)
            }
            (State::RunningCalls, What::CallCleared(id)) => {
                calls::cleared(shared, ordinal(id)).map_err(|problem| (State::Failed, problem))?
            }
            (State::RunningCalls, What::CallSettled(id, settled)) => calls::settled(shared, ordinal(id), &settled),
            (State::RunningCalls, What::CallParked(id)) => calls::parked(shared, ordinal(id)),
            (State::RunningCalls, What::ChildStarted(id, child)) => calls::child_started(shared, ordinal(id), child),
            (State::AskingHuman, What::HumanAsked(_, expires_at)) => human::asked(shared, expires_at),
            (State::AnnouncingCompaction(compaction), What::HookAnswered(_)) => compact::announced(shared, compaction),
            (State::Summarizing { compaction, .. }, What::Summarized(_, folded)) => {
                compact::summarized(shared, compaction, &folded)
            }
            (State::Summarizing { compaction, attempt }, What::SummaryFailed(_, failure)) => {
                compact::summary_failed(shared, compaction, attempt, failure)
            }
            (State::WaitingToSummarize { compaction, attempt, .. }, What::DeadlineReached) => {
                compact::summarize(shared, compaction, attempt + 1)
            }
            (State::ClosingCompaction { compaction, failure }, What::HookAnswered(_)) => {
                compact::closed(shared, compaction, failure)
            }
            (State::ClosingStep(outcome), What::HookAnswered(_)) => step::closed(shared, outcome),
            (State::WaitingForHuman, What::HumanDecided(decisions)) => {
                human::decided(shared, decisions).map_err(|problem| (State::WaitingForHuman, problem))?
            }
            (State::WaitingForHuman, What::DeadlineReached) => human::expired(shared),
            (State::TellingDecision { rest }, What::HookAnswered(_)) => human::told(shared, rest),
            (State::WaitingForAsyncTool, What::AnswerArrived { call, child }) => {
                calls::answered(shared, call, child.as_ref())
                    .map_err(|problem| (State::WaitingForAsyncTool, problem))?
            }
            (State::WaitingForAsyncTool, What::CallSettled(id, settled)) => {
                calls::note_settled(shared, ordinal(id), &settled);
                calls::unpark(shared)
            }
            (State::WaitingForAsyncTool, What::DeadlineReached) => calls::give_up_parked(shared),
            (state @ (State::Draining { .. } | State::TellingStop { .. } | State::Completing(_)), what) => {
                ending(shared, state, what)?
            }
            (state @ (State::ReportingError(_) | State::Finished(_)), what) => ending(shared, state, what)?,
            (state, What::NoticeDelivered(_)) => state,
            (state, what) => return Err(not_now(state, &what)),
        })
    }
}

/// What happens to a run that has ended.
fn ending(shared: &mut Shared, state: State, what: What) -> Result<State, (State, Problem)> {
    Ok(match (state, what) {
        (State::Draining { report, until }, What::NoticeDelivered(_)) => end::drained(shared, report, until),
        (State::Draining { report, .. }, What::DeadlineReached) => end::drain_expired(shared, report),
        (State::TellingStop { report, again }, What::HookAnswered(_)) => {
            end::stop_told(shared, report, again, StopTold::Heard)
        }
        (State::TellingStop { report, again }, What::HookFailed(id)) => {
            end::stop_told(shared, report, again, StopTold::Owed(id))
        }
        (State::Completing(report), What::HookAnswered(_)) => end::completed(shared, report),
        (State::ReportingError(report), What::HookAnswered(_)) => State::Finished(report),
        (State::Finished(report), What::RetellRequested) => {
            end::retell(shared, report).map_err(|(report, problem)| (State::Finished(report), problem))?
        }
        (State::Finished(report), What::ResumeRequested) => {
            end::resume(shared, &report).map_err(|problem| (State::Finished(report), problem))?
        }
        (state, What::NoticeDelivered(_)) => state,
        (state, what) => return Err(not_now(state, &what)),
    })
}

fn not_now(state: State, what: &What) -> (State, Problem) {
    let problem = Problem::NotNow { state: state.kind(), request: what.kind() };
    (state, problem)
}

/// Somebody stops the run. What is under way is cancelled and answers; nothing new starts.
fn stop(shared: &mut Shared, state: State, request: Option<StopRequestId>) -> State {
    match state {
        State::Idle => human::stopped_idle(shared),
        State::WaitingForHuman => human::stopped(shared, request),
        State::TellingDecision { rest } => human::stopped_before_told(shared, rest, request),
        State::WaitingToRetry { .. } => {
            shared.stop_requested = true;
            step::close(shared)
        }
        State::WaitingToSummarize { compaction, .. } => {
            shared.stop_requested = true;
            compact::given_up(shared, compaction, compact::cancelled())
        }
        State::RunningCalls => {
            shared.stop_requested = true;
            shared.cancel();
            step::abort_open_calls(shared)
        }
        State::WaitingForAsyncTool => {
            shared.stop_requested = true;
            shared.cancel();
            calls::unpark(shared)
        }
        busy @ (State::OpeningStep
        | State::Planning
        | State::CallingModel { .. }
        | State::AskingHuman
        | State::AnnouncingCompaction(_)
        | State::Summarizing { .. }
        | State::ClosingCompaction { .. }
        | State::ClosingStep(_)) => {
            shared.stop_requested = true;
            shared.cancel();
            busy
        }
        // The table has no row for these.
        ended @ (State::Draining { .. }
        | State::TellingStop { .. }
        | State::Completing(_)
        | State::ReportingError(_)
        | State::Finished(_)
        | State::Failed) => ended,
    }
}

/// Only effects about calls are answered by inputs about calls, as `fits` has checked.
fn ordinal(id: EffectId) -> Ordinal {
    match id.unit {
        Unit::Call(ordinal) => ordinal,
        Unit::Step | Unit::Model | Unit::Compact | Unit::Human | Unit::Hook(_) => 0,
    }
}

/// Which answers an effect can have.
fn fits(effect: &Effect, what: &What) -> bool {
    let answer = what.kind();
    if let What::CallSettled(_, settled) = what {
        return settled_fits(effect.kind(), settled.how);
    }
    match effect.kind() {
        EffectKind::FireHook if is_notice(effect) => answer == InputKind::NoticeDelivered,
        EffectKind::FireHook if answer == InputKind::HookFailed => is_stop_notice(effect),
        EffectKind::FireHook => answer == InputKind::HookAnswered,
        EffectKind::Plan => matches!(answer, InputKind::Planned | InputKind::PlanFailed),
        EffectKind::CallModel => matches!(answer, InputKind::ModelReplied | InputKind::ModelFailed),
        EffectKind::Clear => answer == InputKind::CallCleared,
        EffectKind::Run => answer == InputKind::CallParked,
        EffectKind::StartChild => answer == InputKind::ChildStarted,
        EffectKind::AskHuman => answer == InputKind::HumanAsked,
        EffectKind::Summarize => matches!(answer, InputKind::Summarized | InputKind::SummaryFailed),
        // A result answers the first two, as `settled_fits` says; nothing answers the third.
        EffectKind::Judge | EffectKind::Refuse | EffectKind::Cancel => false,
    }
}

/// Whether hooks that could not be told may be told again.
fn is_stop_notice(effect: &Effect) -> bool {
    matches!(effect, Effect::FireHook(Firing::OnStopByHumanIntervention { rejected: false, .. }))
}

/// How the result of an effect can come about. The hooks that hear of it depend on this.
fn settled_fits(effect: EffectKind, how: SettledHow) -> bool {
    match how {
        // A call that is run again after a crash is cleared again first.
        SettledHow::Mocked | SettledHow::Denied => matches!(effect, EffectKind::Clear | EffectKind::Run),
        SettledHow::Ran | SettledHow::Threw => effect == EffectKind::Run,
        SettledHow::Answered => effect == EffectKind::Judge,
        // After `beforeCallAgent`, one of `afterCallAgent` and `onCallAgentError` must follow.
        SettledHow::NotStarted => effect == EffectKind::StartChild,
        SettledHow::Refused | SettledHow::Aborted => {
            matches!(effect, EffectKind::Clear | EffectKind::Run | EffectKind::Judge | EffectKind::Refuse)
        }
    }
}
