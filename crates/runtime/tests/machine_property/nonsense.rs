//! Inputs that make no sense: they are refused, are stale, or poison the machine. They never panic.

use jackline_model::{Fault, FaultAttribution, NanoDollars};
use jackline_runtime::machine::{
    CompactionNeed, Decision, EffectId, FailureKind, Folded, HumanVerdict, Input, InputKind, Instruction, Machine,
    ModelFailure, Moved, Reply, Settled, SettledHow, State, Unit, Verb, What,
};
use jackline_runtime::repeat::ResultDigest;

use crate::chance::Chance;

/// Throws one input at a copy.
pub(crate) fn throw_at(machine: &Machine, chance: &mut Chance, now: u64) {
    let mut copy = machine.clone();
    let input = Input { at: now + chance.below(10_000) as u64, what: what(machine, chance) };
    match copy.handle(input.clone()) {
        Ok(Moved::Row(row)) => {
            let (row, to) = (row.row(), copy.state().kind());
            assert!(row.to.contains(&to) || row.from.is_none(), "{input:?} led to {to:?} against {row:?}");
        }
        Ok(Moved::Stale | Moved::Refused(_)) => assert_eq!(copy, *machine, "{input:?} changed something"),
        Err(_) => {
            assert_eq!(copy.state(), &State::Failed, "{input:?}");
            assert!(!input.what.kind().is_request(), "a request poisoned the machine: {input:?}");
            assert!(copy.handle(input).is_err(), "a failed machine takes nothing");
        }
    }
}

fn what(machine: &Machine, chance: &mut Chance) -> What {
    let id = id(machine, chance);
    match chance.pick(&InputKind::ALL) {
        InputKind::HookAnswered => What::HookAnswered(id),
        InputKind::HookFailed => What::HookFailed(id),
        InputKind::NoticeDelivered => What::NoticeDelivered(id),
        InputKind::Planned => What::Planned(id, plan(chance)),
        InputKind::PlanFailed => What::PlanFailed(id, fault()),
        InputKind::ModelReplied => What::ModelReplied(id, Reply::default()),
        InputKind::ModelFailed => {
            let kind = chance.pick(&[FailureKind::Retryable, FailureKind::ContextOverflow, FailureKind::Cancelled]);
            let retry_after_ms = chance.percent(50).then_some(u64::MAX);
            let compaction = chance.percent(50).then_some(CompactionNeed { messages: u32::MAX, tokens: u64::MAX });
            let jitter_permille = u16::MAX;
            What::ModelFailed(id, ModelFailure { kind, fault: fault(), retry_after_ms, jitter_permille, compaction })
        }
        InputKind::CallCleared => What::CallCleared(id),
        InputKind::CallSettled => {
            let how = chance.pick(&SettledHow::ALL);
            What::CallSettled(
                id,
                Settled { how, success: true, stop: true, cost: NanoDollars(i64::MAX), digest: ResultDigest(7) },
            )
        }
        InputKind::CallParked => What::CallParked(id),
        InputKind::ChildStarted => What::ChildStarted(id, "op-child".into()),
        InputKind::HumanAsked => What::HumanAsked(id, Some(0)),
        InputKind::Summarized => What::Summarized(id, Folded::default()),
        InputKind::SummaryFailed => {
            let kind = chance.pick(&[FailureKind::Retryable, FailureKind::Permanent, FailureKind::Cancelled]);
            let (retry_after_ms, jitter_permille, compaction) = (Some(u64::MAX), u16::MAX, None);
            What::SummaryFailed(id, ModelFailure { kind, fault: fault(), retry_after_ms, jitter_permille, compaction })
        }
        InputKind::DeadlineReached => What::DeadlineReached,
        InputKind::BeginRequested => What::BeginRequested,
        InputKind::HumanDecided => What::HumanDecided(decisions(chance)),
        InputKind::AnswerArrived => What::AnswerArrived { call: chance.below(7) as u16, child: None },
        InputKind::StopRequested => What::StopRequested(None),
        InputKind::RetellRequested => What::RetellRequested,
        InputKind::ResumeRequested => What::ResumeRequested,
    }
}

/// An open effect as often as not.
fn id(machine: &Machine, chance: &mut Chance) -> EffectId {
    let open = &machine.shared().open;
    if !open.is_empty() && chance.percent(60) {
        let index = chance.below(open.len());
        if let Some(id) = open.keys().nth(index) {
            return *id;
        }
    }
    let number = chance.below(4) as u16;
    let units = [Unit::Step, Unit::Model, Unit::Call(number), Unit::Compact, Unit::Human, Unit::Hook(number)];
    let verbs = [Verb::Plan, Verb::Ask, Verb::Clear, Verb::Run, Verb::Judge, Verb::Refuse, Verb::Fire, Verb::Cancel];
    EffectId { step: chance.below(6) as u32, unit: chance.pick(&units), verb: chance.pick(&verbs), attempt: 0 }
}

fn plan(chance: &mut Chance) -> Vec<Instruction> {
    let call = chance.below(7) as u16;
    let all = [
        Instruction::CallLlm,
        Instruction::CallTool(call),
        Instruction::CallAgent(call),
        Instruction::CallToolsBatch(vec![call, call]),
        Instruction::RequestHumanApprove(vec![call]),
        Instruction::RequestHumanApprove(Vec::new()),
        Instruction::ResolveAbortedTools(vec![call]),
    ];
    (0..chance.below(4)).map(|_| chance.pick(&all)).collect()
}

fn decisions(chance: &mut Chance) -> Vec<Decision> {
    let verdicts = [
        HumanVerdict::Approve,
        HumanVerdict::Answer,
        HumanVerdict::Reject { reason: None },
        HumanVerdict::RejectAndContinue { reason: None },
    ];
    let decision = |chance: &mut Chance| Decision {
        call: chance.percent(70).then_some(chance.below(7) as u16),
        verdict: chance.pick(&verdicts),
    };
    (0..chance.below(4)).map(|_| decision(chance)).collect()
}

fn fault() -> Fault {
    Fault {
        code: "nonsense".to_owned(),
        message: "nonsense".to_owned(),
        attribution: FaultAttribution::Harness,
        detail: None,
    }
}
