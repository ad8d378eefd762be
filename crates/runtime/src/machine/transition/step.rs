//! Steps: opening, planning, going through the plan, closing.

use std::collections::VecDeque;

use jackline_model::{Fault, FaultAttribution, Reason, Status};

use super::{calls, compact, end, human, model};
use crate::machine::calls::{Calls, Place};
use crate::machine::effect::{Effect, Firing, Question, StepSummary};
use crate::machine::firing::Moment;
use crate::machine::id::{Unit, Verb};
use crate::machine::input::{CompactionNeed, Route};
use crate::machine::instruction::{Instruction, Ordinal, Phase, Refusal};
use crate::machine::shared::Shared;
use crate::machine::state::{Ending, ParkReason, State, StepOutcome};

/// Opens the next step.
pub(in crate::machine) fn open(shared: &mut Shared) -> State {
    shared.called_model = false;
    shared.ran_tools = false;
    shared.opened_at = shared.now;
    shared.fire(Moment::StepOpened, Firing::BeforeStep);
    State::OpeningStep
}

/// The hooks of `beforeStep` have answered: some steps plan themselves, the others ask the planner.
pub(in crate::machine) fn opened(shared: &mut Shared) -> State {
    if shared.stop_requested {
        return abort_open_calls(shared);
    }
    if !shared.plan.is_empty() {
        return advance(shared);
    }
    if !shared.deferred_approval.is_empty() {
        let calls = std::mem::take(&mut shared.deferred_approval);
        return human::ask(shared, Question::Approve(calls));
    }
    if !shared.calls.awaiting_human().is_empty() {
        return close(shared);
    }
    if let Some(reason) = shared.doom.take() {
        return settle_and_finish(shared, reason);
    }
    if shared.stop_by_tool {
        shared.plan = VecDeque::from([Instruction::Finish { reason: Reason::Done }]);
        return advance(shared);
    }
    let phase = shared.phase;
    shared.emit(Unit::Step, Verb::Plan, 0, Effect::Plan { phase });
    State::Planning
}

/// The planner has planned.
pub(in crate::machine) fn planned(shared: &mut Shared, plan: Vec<Instruction>) -> State {
    if shared.stop_requested {
        return abort_open_calls(shared);
    }
    if let Err(problem) = check_plan(&shared.calls, &plan) {
        return plan_failed(shared, plan_fault(&problem));
    }
    shared.plan = plan.into();
    advance(shared)
}

/// No plan, or one that leaves calls open: the run fails, and the calls get their answers first.
pub(in crate::machine) fn plan_failed(shared: &mut Shared, fault: Fault) -> State {
    // A planner that was cancelled has not failed.
    if shared.stop_requested {
        return abort_open_calls(shared);
    }
    shared.ending = Some(Ending::failed(Reason::Error, fault));
    let open = shared.calls.which(|place| *place == Place::Open);
    shared.plan = VecDeque::new();
    calls::refuse_all(shared, open, &Refusal::Aborted);
    advance(shared)
}

/// Goes on with the plan of the open step.
pub(in crate::machine) fn advance(shared: &mut Shared) -> State {
    loop {
        if shared.calls.is_busy() {
            return State::RunningCalls;
        }
        if shared.stop_requested && !shared.plan.is_empty() {
            return abort_open_calls(shared);
        }
        let Some(instruction) = shared.plan.pop_front() else {
            return close(shared);
        };
        if let Some(state) = perform(shared, instruction) {
            return state;
        }
    }
}

/// Starts one instruction. `None`: it needs no state of its own, or has only queued calls.
fn perform(shared: &mut Shared, instruction: Instruction) -> Option<State> {
    let parked = shared.calls.any_parked();
    let waits = parked || !shared.calls.awaiting_human().is_empty();
    let ends = shared.stop_by_tool || shared.ending.is_some();
    match instruction {
        Instruction::CallTool(call) | Instruction::CallAgent(call) => calls::queue(shared, &[call]),
        Instruction::CallToolsBatch(batch) => calls::queue(shared, &batch),
        Instruction::ResolveBlockedTools(blocked) => {
            for (call, refusal) in blocked {
                calls::refuse_all(shared, vec![call], &refusal);
            }
        }
        Instruction::ResolveAbortedTools(aborted) => {
            shared.ending.get_or_insert(Ending::because(Reason::Interrupted));
            calls::refuse_all(shared, aborted, &Refusal::Aborted);
        }
        Instruction::RequestHumanApprove(asked) if parked => {
            for call in &asked {
                shared.calls.put(*call, Place::AwaitingHuman);
            }
            shared.deferred_approval = asked;
        }
        // Behind a call without a result nothing else is done; the next plan decides anew.
        Instruction::Finish { .. } if waits => {}
        Instruction::CallLlm
        | Instruction::CompressContext { .. }
        | Instruction::RequestHumanPrompt { .. }
        | Instruction::RequestHumanSelect { .. }
            if waits || ends => {}
        Instruction::RequestHumanApprove(asked) => return Some(human::ask(shared, Question::Approve(asked))),
        Instruction::RequestHumanPrompt { prompt } => return Some(human::ask(shared, Question::Prompt { prompt })),
        Instruction::RequestHumanSelect { prompt, options } => {
            return Some(human::ask(shared, Question::Select { prompt, options }));
        }
        Instruction::CallLlm => return Some(model::call(shared)),
        Instruction::CompressContext { messages, tokens } => {
            return Some(compact::announce(shared, CompactionNeed { messages, tokens }, false));
        }
        Instruction::Finish { reason } => {
            shared.ending.get_or_insert(Ending::because(reason));
        }
    }
    None
}

/// The work of the step is done: says what becomes of the run and asks the hooks of `afterStep`.
pub(in crate::machine) fn close(shared: &mut Shared) -> State {
    // Whatever ends the run, no call is left without a result. Those of an answer that came in this
    // step get theirs in the next: a name stands for one call of a step.
    let ends = shared.stop_requested || shared.ending.is_some();
    if ends && !shared.called_model && !shared.calls.unsettled().is_empty() {
        return abort_open_calls(shared);
    }
    let outcome = outcome(shared);
    if !matches!(&outcome, StepOutcome::End(_)) || shared.called_model || shared.ran_tools {
        shared.steps_done += 1;
    }
    let summary = summary(shared, &outcome);
    shared.fire(Moment::StepClosed, Firing::AfterStep(summary));
    State::ClosingStep(outcome)
}

/// The hooks of `afterStep` have answered.
pub(in crate::machine) fn closed(shared: &mut Shared, outcome: StepOutcome) -> State {
    shared.plan.clear();
    shared.called_model = false;
    shared.ran_tools = false;
    shared.step += 1;
    // Not in `open`: what fires while the run is parked belongs to the next step already.
    shared.firings = 0;
    match outcome {
        // A stop that came while `afterStep` was asked ends the run in a step of its own.
        StepOutcome::Continue(phase) => {
            shared.phase = phase;
            open(shared)
        }
        StepOutcome::Park(_) if shared.stop_requested => open(shared),
        StepOutcome::Park(ParkReason::Human) => State::WaitingForHuman,
        StepOutcome::Park(ParkReason::AsyncTool) => {
            shared.async_until = shared.settings.async_wait_ms.map(|wait| shared.now.saturating_add(wait));
            State::WaitingForAsyncTool
        }
        StepOutcome::End(ending) => end::end(shared, ending),
    }
}

/// Answers every open call as aborted, then ends the run as interrupted.
pub(in crate::machine) fn abort_open_calls(shared: &mut Shared) -> State {
    shared.plan.clear();
    shared.deferred_approval.clear();
    shared.doom = None;
    shared.ending.get_or_insert(Ending::because(Reason::Interrupted));
    let open = shared.calls.which(|place| match place {
        Place::Open | Place::Queued | Place::AwaitingHuman | Place::Parked { .. } => true,
        Place::Clearing | Place::Running | Place::Refusing | Place::Judging | Place::Settled => false,
    });
    calls::refuse_all(shared, open, &Refusal::Aborted);
    if shared.calls.is_busy() {
        return State::RunningCalls;
    }
    close(shared)
}

fn settle_and_finish(shared: &mut Shared, reason: Reason) -> State {
    let open = shared.calls.which(|place| *place == Place::Open);
    let refusal = if reason == Reason::UnresolvedTools { Refusal::Unusable } else { Refusal::Limit(reason) };
    shared.plan = VecDeque::from([
        Instruction::ResolveBlockedTools(open.into_iter().map(|call| (call, refusal.clone())).collect()),
        Instruction::Finish { reason },
    ]);
    advance(shared)
}

fn outcome(shared: &mut Shared) -> StepOutcome {
    if let Some(ending) = shared.ending.take() {
        return StepOutcome::End(ending);
    }
    if shared.stop_requested && shared.calls.unsettled().is_empty() {
        return StepOutcome::End(Ending::because(Reason::Interrupted));
    }
    if shared.calls.any_parked() {
        return StepOutcome::Park(ParkReason::AsyncTool);
    }
    if shared.question || !shared.calls.awaiting_human().is_empty() {
        return StepOutcome::Park(ParkReason::Human);
    }
    if shared.stop_by_tool && shared.ran_tools {
        return StepOutcome::End(Ending::because(Reason::Done));
    }
    StepOutcome::Continue(shared.phase)
}

fn summary(shared: &Shared, outcome: &StepOutcome) -> StepSummary {
    let (should_continue, status, reason) = match outcome {
        StepOutcome::Continue(_) => (true, Status::Running, None),
        StepOutcome::Park(ParkReason::Human) => (false, Status::WaitingForHuman, None),
        StepOutcome::Park(ParkReason::AsyncTool) => (false, Status::WaitingForAsyncTool, None),
        StepOutcome::End(ending) => (false, ending.reason.status(), Some(ending.reason)),
    };
    StepSummary {
        ran_tools: shared.ran_tools,
        called_model: shared.called_model,
        should_continue,
        status,
        reason,
        opened_at: shared.opened_at,
    }
}

/// Every open call must be covered once, by an instruction that fits it; a person is asked once at
/// most; nothing follows an instruction that ends the step.
pub(in crate::machine) fn check_plan(calls: &Calls, plan: &[Instruction]) -> Result<(), String> {
    let Some((_, before_last)) = plan.split_last() else {
        return Err("the plan is empty".to_owned());
    };
    if let Some(early) = before_last.iter().find(|instruction| ends_step(instruction)) {
        return Err(format!("`{}` must be the last instruction", early.name()));
    }
    if plan.iter().filter(|instruction| asks_human(instruction)).count() > 1 {
        return Err("a step asks a person one thing".to_owned());
    }
    if plan.iter().any(|instruction| *instruction == Instruction::RequestHumanApprove(Vec::new())) {
        return Err("`request_human_approve` names no call".to_owned());
    }
    let mut covered: Vec<Ordinal> = Vec::new();
    for instruction in plan {
        for call in instruction.calls() {
            check_cover(calls, instruction, call)?;
            covered.push(call);
        }
    }
    covered.sort_unstable();
    let open = calls.which(|place| *place == Place::Open);
    if covered == open { Ok(()) } else { Err(format!("the plan covers the calls {covered:?}, open are {open:?}")) }
}

fn check_cover(calls: &Calls, instruction: &Instruction, call: Ordinal) -> Result<(), String> {
    let Some(slot) = calls.slot(call) else {
        return Err(format!("`{}` names call {call}, which does not exist", instruction.name()));
    };
    let fits = match instruction {
        Instruction::CallAgent(_) => slot.facts.route == Route::Agent,
        Instruction::CallTool(_) | Instruction::CallToolsBatch(_) => {
            matches!(slot.facts.route, Route::Tool | Route::Client)
        }
        Instruction::RequestHumanApprove(_) => slot.facts.route != Route::Unusable,
        Instruction::CallLlm
        | Instruction::RequestHumanPrompt { .. }
        | Instruction::RequestHumanSelect { .. }
        | Instruction::CompressContext { .. }
        | Instruction::ResolveBlockedTools(_)
        | Instruction::ResolveAbortedTools(_)
        | Instruction::Finish { .. } => true,
    };
    if fits { Ok(()) } else { Err(format!("`{}` does not fit call {call}", instruction.name())) }
}

fn asks_human(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::RequestHumanApprove(_)
        | Instruction::RequestHumanPrompt { .. }
        | Instruction::RequestHumanSelect { .. } => true,
        Instruction::CallLlm
        | Instruction::CallTool(_)
        | Instruction::CallToolsBatch(_)
        | Instruction::CallAgent(_)
        | Instruction::CompressContext { .. }
        | Instruction::ResolveBlockedTools(_)
        | Instruction::ResolveAbortedTools(_)
        | Instruction::Finish { .. } => false,
    }
}

fn ends_step(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::CallLlm
        | Instruction::CompressContext { .. }
        | Instruction::Finish { .. }
        | Instruction::RequestHumanPrompt { .. }
        | Instruction::RequestHumanSelect { .. } => true,
        Instruction::CallTool(_)
        | Instruction::CallToolsBatch(_)
        | Instruction::CallAgent(_)
        | Instruction::RequestHumanApprove(_)
        | Instruction::ResolveBlockedTools(_)
        | Instruction::ResolveAbortedTools(_) => false,
    }
}

fn plan_fault(problem: &str) -> Fault {
    Fault {
        code: "plan_fault".to_owned(),
        message: format!("the planner made an impossible plan: {problem}"),
        attribution: FaultAttribution::Harness,
        detail: None,
    }
}

/// Where the conversation stands once all calls of the turn have their results.
pub(in crate::machine) fn phase_after_calls(calls: &Calls) -> Phase {
    if calls.len() == 1 { Phase::ToolResult } else { Phase::ToolsBatchResult }
}
