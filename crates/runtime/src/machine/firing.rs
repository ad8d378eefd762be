//! What fires when: the one map from what happened to the hook types that hear of it.

use jackline_hooks::HookKind;

use super::input::SettledHow;

/// Something in the life of an operation that hooks may hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// A step opens.
    StepOpened,
    /// The work of a step is done.
    StepClosed,
    /// The operation has entered a terminal state.
    Ended,
    /// The hooks of `onComplete` have been asked, and the end is a failure.
    EndedInError,
    /// A call is about to run. The hooks decide, so they are asked by [`Effect::Clear`](super::Effect::Clear).
    CallPlanned,
    /// A call has its result.
    CallSettled(SettledHow),
    /// A person will be asked.
    HumanAsked,
    /// A person decided and the run goes on.
    HumanDecided,
    /// A person's decision ends the run.
    HumanStopped,
    /// The history will be folded.
    CompactionPlanned,
    /// It was folded.
    Compacted,
    /// It was not.
    CompactionFailed,
    /// A sub-agent will be started.
    ChildPlanned,
    /// A sub-agent runs.
    ChildStarted,
    /// The model answered, or did not.
    ModelAnswered,
    /// The operation parked.
    Parked,
}

/// The hook types that hear of it, in order. Total: a moment may have none.
pub fn hooks_of(moment: Moment) -> &'static [HookKind] {
    match moment {
        Moment::StepOpened => &[HookKind::BeforeStep],
        Moment::StepClosed => &[HookKind::AfterStep],
        Moment::Ended => &[HookKind::OnComplete],
        Moment::EndedInError => &[HookKind::OnError],
        Moment::CallPlanned => &[HookKind::BeforeToolCall],
        Moment::CallSettled(SettledHow::Ran | SettledHow::Mocked | SettledHow::Denied) => &[HookKind::AfterToolCall],
        Moment::CallSettled(SettledHow::Threw) => &[HookKind::OnToolCallError],
        Moment::CallSettled(SettledHow::NotStarted) => &[HookKind::OnCallAgentError],
        Moment::CallSettled(SettledHow::Answered | SettledHow::Refused | SettledHow::Aborted) => &[],
        Moment::HumanAsked => &[HookKind::BeforeHumanIntervention],
        Moment::HumanDecided => &[HookKind::AfterHumanIntervention],
        Moment::HumanStopped => &[HookKind::OnStopByHumanIntervention],
        Moment::CompactionPlanned => &[HookKind::BeforeCompact],
        Moment::Compacted => &[HookKind::AfterCompact],
        Moment::CompactionFailed => &[HookKind::OnCompactError],
        Moment::ChildPlanned => &[HookKind::BeforeCallAgent],
        Moment::ChildStarted => &[HookKind::AfterCallAgent],
        Moment::ModelAnswered | Moment::Parked => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hook_type_is_fired_by_some_moment() {
        let settled = SettledHow::ALL.into_iter().map(Moment::CallSettled);
        let others = [
            Moment::StepOpened,
            Moment::StepClosed,
            Moment::Ended,
            Moment::EndedInError,
            Moment::CallPlanned,
            Moment::HumanAsked,
            Moment::HumanDecided,
            Moment::HumanStopped,
            Moment::CompactionPlanned,
            Moment::Compacted,
            Moment::CompactionFailed,
            Moment::ChildPlanned,
            Moment::ChildStarted,
            Moment::ModelAnswered,
            Moment::Parked,
        ];
        let mut fired: Vec<HookKind> = settled.chain(others).flat_map(hooks_of).copied().collect();
        fired.sort_unstable();
        fired.dedup();
        assert_eq!(fired, HookKind::ALL);
    }
}
