//! The lifecycle as data: every transition that there is, and nothing else.
//!
//! A row is one pair of state and input kind. The door refuses every other pair; what a transition
//! may lead to and may ask for is checked against its row in tests and in every scenario.

use jackline_hooks::HookKind;

use super::effect::EffectKind;
use super::input::InputKind;
use super::state::StateKind;

/// The number of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub u8);

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The state that the input meets; `None`: any, and it stays as it is.
    pub from: Option<StateKind>,
    /// The input.
    pub input: InputKind,
    /// The states it may lead to.
    pub to: &'static [StateKind],
    /// What it may ask for.
    pub effects: &'static [EffectKind],
    /// The hooks that may hear of it.
    pub hooks: &'static [HookKind],
}

/// The row for this pair, if there is one.
pub fn find(from: StateKind, input: InputKind) -> Option<RowId> {
    let exact = ROWS.iter().position(|row| row.from == Some(from) && row.input == input);
    let any = || ROWS.iter().position(|row| row.from.is_none() && row.input == input && from != StateKind::Failed);
    exact.or_else(any).and_then(|index| u8::try_from(index).ok()).map(RowId)
}

impl RowId {
    /// The row.
    pub fn row(self) -> &'static Row {
        &ROWS[usize::from(self.0)]
    }
}

use EffectKind as E;
use HookKind as H;
use InputKind as I;
use StateKind as S;

/// What `advance` can lead to from inside a step.
const INSIDE: &[S] = &[S::CallingModel, S::RunningCalls, S::AskingHuman, S::AnnouncingCompaction, S::ClosingStep];
const INSIDE_EFFECTS: &[E] = &[E::CallModel, E::Clear, E::Refuse, E::AskHuman, E::FireHook];
const INSIDE_HOOKS: &[H] = &[H::BeforeToolCall, H::BeforeHumanIntervention, H::BeforeCompact, H::AfterStep];

/// Every transition.
pub const ROWS: &[Row] = &[
    row(S::Idle, I::BeginRequested, &[S::OpeningStep], &[E::FireHook], &[H::BeforeStep]),
    row(S::Idle, I::StopRequested, &[S::Completing], &[E::FireHook], &[H::OnComplete]),
    row(
        S::OpeningStep,
        I::HookAnswered,
        &[S::Planning, S::RunningCalls, S::AskingHuman, S::ClosingStep],
        &[E::Plan, E::Clear, E::Refuse, E::AskHuman, E::FireHook],
        &[H::BeforeToolCall, H::BeforeHumanIntervention, H::AfterStep],
    ),
    row(S::OpeningStep, I::StopRequested, &[S::OpeningStep], &[E::Cancel], &[]),
    row(S::Planning, I::Planned, INSIDE, INSIDE_EFFECTS, INSIDE_HOOKS),
    row(S::Planning, I::PlanFailed, &[S::RunningCalls, S::ClosingStep], &[E::Refuse, E::FireHook], &[H::AfterStep]),
    row(S::Planning, I::StopRequested, &[S::Planning], &[E::Cancel], &[]),
    row(S::CallingModel, I::ModelReplied, &[S::ClosingStep], &[E::FireHook], &[H::AfterStep]),
    row(
        S::CallingModel,
        I::ModelFailed,
        &[S::WaitingToRetry, S::AnnouncingCompaction, S::ClosingStep],
        &[E::FireHook],
        &[H::BeforeCompact, H::AfterStep],
    ),
    row(S::CallingModel, I::StopRequested, &[S::CallingModel], &[E::Cancel], &[]),
    row(S::WaitingToRetry, I::DeadlineReached, &[S::CallingModel], &[E::CallModel], &[]),
    row(S::WaitingToRetry, I::StopRequested, &[S::ClosingStep], &[E::FireHook], &[H::AfterStep]),
    row(
        S::RunningCalls,
        I::CallCleared,
        &[S::RunningCalls, S::ClosingStep],
        &[E::Run, E::StartChild, E::Clear, E::Refuse, E::FireHook],
        &[H::BeforeCallAgent, H::BeforeToolCall, H::AfterStep],
    ),
    row(
        S::RunningCalls,
        I::CallSettled,
        INSIDE,
        INSIDE_EFFECTS,
        &[
            H::AfterToolCall,
            H::OnToolCallError,
            H::OnCallAgentError,
            H::BeforeToolCall,
            H::BeforeHumanIntervention,
            H::BeforeCompact,
            H::AfterStep,
        ],
    ),
    row(
        S::RunningCalls,
        I::CallParked,
        &[S::RunningCalls, S::ClosingStep],
        &[E::Clear, E::Refuse, E::FireHook],
        &[H::BeforeToolCall, H::AfterStep],
    ),
    row(
        S::RunningCalls,
        I::ChildStarted,
        &[S::RunningCalls, S::ClosingStep],
        &[E::Clear, E::Refuse, E::FireHook],
        &[H::AfterCallAgent, H::BeforeToolCall, H::AfterStep],
    ),
    row(S::RunningCalls, I::StopRequested, &[S::RunningCalls], &[E::Cancel, E::Refuse], &[]),
    row(
        S::AskingHuman,
        I::HumanAsked,
        &[S::ClosingStep, S::RunningCalls],
        &[E::FireHook, E::Refuse, E::Clear],
        &[H::AfterStep, H::BeforeToolCall],
    ),
    row(S::AskingHuman, I::StopRequested, &[S::AskingHuman], &[E::Cancel], &[]),
    row(
        S::AnnouncingCompaction,
        I::HookAnswered,
        &[S::Summarizing, S::ClosingCompaction],
        &[E::Summarize, E::FireHook],
        &[H::OnCompactError],
    ),
    row(S::AnnouncingCompaction, I::StopRequested, &[S::AnnouncingCompaction], &[E::Cancel], &[]),
    row(S::Summarizing, I::Summarized, &[S::ClosingCompaction], &[E::FireHook], &[H::AfterCompact]),
    row(
        S::Summarizing,
        I::SummaryFailed,
        &[S::WaitingToSummarize, S::ClosingCompaction],
        &[E::FireHook],
        &[H::OnCompactError],
    ),
    row(S::Summarizing, I::StopRequested, &[S::Summarizing], &[E::Cancel], &[]),
    row(S::WaitingToSummarize, I::DeadlineReached, &[S::Summarizing], &[E::Summarize], &[]),
    row(S::WaitingToSummarize, I::StopRequested, &[S::ClosingCompaction], &[E::FireHook], &[H::OnCompactError]),
    row(
        S::ClosingCompaction,
        I::HookAnswered,
        &[S::ClosingStep, S::CallingModel],
        &[E::FireHook, E::CallModel],
        &[H::AfterStep],
    ),
    row(S::ClosingCompaction, I::StopRequested, &[S::ClosingCompaction], &[E::Cancel], &[]),
    row(
        S::ClosingStep,
        I::HookAnswered,
        &[S::OpeningStep, S::WaitingForHuman, S::WaitingForAsyncTool, S::Draining, S::TellingStop, S::Completing],
        &[E::FireHook],
        &[H::BeforeStep, H::OnStopByHumanIntervention, H::OnComplete],
    ),
    row(S::ClosingStep, I::StopRequested, &[S::ClosingStep], &[E::Cancel], &[]),
    row(
        S::WaitingForHuman,
        I::HumanDecided,
        &[S::TellingDecision, S::OpeningStep],
        &[E::FireHook],
        &[H::AfterHumanIntervention, H::OnStopByHumanIntervention, H::BeforeStep],
    ),
    row(S::WaitingForHuman, I::DeadlineReached, &[S::OpeningStep], &[E::FireHook], &[H::BeforeStep]),
    row(S::WaitingForHuman, I::StopRequested, &[S::OpeningStep], &[E::FireHook], &[H::BeforeStep]),
    row(
        S::TellingDecision,
        I::HookAnswered,
        &[S::TellingDecision, S::OpeningStep],
        &[E::FireHook],
        &[H::AfterHumanIntervention, H::BeforeStep],
    ),
    row(S::TellingDecision, I::StopRequested, &[S::TellingDecision], &[E::Cancel], &[]),
    row(S::WaitingForAsyncTool, I::AnswerArrived, &[S::WaitingForAsyncTool], &[E::Judge], &[]),
    row(
        S::WaitingForAsyncTool,
        I::CallSettled,
        &[S::WaitingForAsyncTool, S::OpeningStep],
        &[E::FireHook],
        &[H::BeforeStep],
    ),
    row(
        S::WaitingForAsyncTool,
        I::DeadlineReached,
        &[S::WaitingForAsyncTool, S::OpeningStep],
        &[E::Cancel, E::FireHook],
        &[H::BeforeStep],
    ),
    row(
        S::WaitingForAsyncTool,
        I::StopRequested,
        &[S::WaitingForAsyncTool, S::OpeningStep],
        &[E::Cancel, E::FireHook],
        &[H::BeforeStep],
    ),
    row(
        S::Draining,
        I::NoticeDelivered,
        &[S::Draining, S::TellingStop, S::Completing],
        &[E::FireHook],
        &[H::OnStopByHumanIntervention, H::OnComplete],
    ),
    row(
        S::Draining,
        I::DeadlineReached,
        &[S::TellingStop, S::Completing],
        &[E::Cancel, E::FireHook],
        &[H::OnStopByHumanIntervention, H::OnComplete],
    ),
    row(S::TellingStop, I::HookAnswered, &[S::Completing, S::Finished], &[E::FireHook], &[H::OnComplete]),
    row(S::TellingStop, I::HookFailed, &[S::Completing, S::Finished], &[E::FireHook], &[H::OnComplete]),
    row(S::Completing, I::HookAnswered, &[S::ReportingError, S::Finished], &[E::FireHook], &[H::OnError]),
    row(S::ReportingError, I::HookAnswered, &[S::Finished], &[], &[]),
    row(S::Finished, I::RetellRequested, &[S::TellingStop], &[E::FireHook], &[H::OnStopByHumanIntervention]),
    row(S::Finished, I::ResumeRequested, &[S::OpeningStep], &[E::FireHook], &[H::BeforeStep]),
    Row { from: None, input: I::NoticeDelivered, to: &[], effects: &[], hooks: &[] },
];

const fn row(
    from: StateKind,
    input: InputKind,
    to: &'static [StateKind],
    effects: &'static [EffectKind],
    hooks: &'static [HookKind],
) -> Row {
    Row { from: Some(from), input, to, effects, hooks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pair_has_two_rows() {
        for (index, row) in ROWS.iter().enumerate() {
            let first = ROWS.iter().position(|other| other.from == row.from && other.input == row.input);
            assert_eq!(first, Some(index), "{row:?}");
        }
    }

    #[test]
    fn a_failed_machine_takes_nothing() {
        assert!(InputKind::ALL.into_iter().all(|input| find(StateKind::Failed, input).is_none()));
    }

    #[test]
    fn every_state_can_be_reached_and_every_hook_type_heard() {
        for state in StateKind::ALL {
            let reached = ROWS.iter().any(|row| row.to.contains(&state));
            assert_eq!(reached, !matches!(state, S::Idle | S::Failed), "{state:?}");
        }
        for kind in HookKind::ALL {
            assert!(ROWS.iter().any(|row| row.hooks.contains(&kind)), "{kind}");
        }
    }
}
