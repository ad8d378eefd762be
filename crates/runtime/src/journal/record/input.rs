//! What happened.

use jackline_model::{Fault, OperationId, StopRequestId};
use serde::{Deserialize, Serialize};

use super::calls::{CallFactsV1, FaultV1, SettledV1, TotalsV1, UsageV1};
use super::codes::{FailureKindV1, IdV1};
use super::instruction::InstructionV1;
use super::is_default;
use crate::machine::{CompactionNeed, Decision, FailureKind, Folded, HumanVerdict, ModelFailure, Ordinal, Reply, What};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WhatV1 {
    Hook(IdV1),
    HookFailed(IdV1),
    Notice(IdV1),
    Planned(IdV1, Vec<InstructionV1>),
    PlanFailed(IdV1, FaultV1),
    Replied(IdV1, ReplyV1),
    ModelFailed(IdV1, ModelFailureV1),
    Cleared(IdV1),
    Settled(IdV1, SettledV1),
    Parked(IdV1),
    Child(IdV1, OperationId),
    /// With the time it expires.
    Asked(IdV1, Option<u64>),
    /// Messages before, messages after, usage.
    Folded(IdV1, u32, u32, Option<UsageV1>),
    /// For good.
    FoldFailed(IdV1, FaultV1),
    FoldFailedAs(IdV1, ModelFailureV1),
    Deadline,
    Begin,
    Decided(Vec<DecisionV1>),
    /// With what a sub-agent used.
    Answer(Ordinal, Option<TotalsV1>),
    Stop,
    /// Under this name.
    StopBy(StopRequestId),
    Retell,
    Resume,
}

impl WhatV1 {
    pub(super) fn of(what: &What) -> Self {
        match what {
            What::HookAnswered(id) => Self::Hook(IdV1(*id)),
            What::HookFailed(id) => Self::HookFailed(IdV1(*id)),
            What::NoticeDelivered(id) => Self::Notice(IdV1(*id)),
            What::Planned(id, plan) => Self::Planned(IdV1(*id), plan.iter().map(InstructionV1::of).collect()),
            What::PlanFailed(id, fault) => Self::PlanFailed(IdV1(*id), FaultV1::of(fault)),
            What::ModelReplied(id, reply) => Self::Replied(IdV1(*id), ReplyV1::of(reply)),
            What::ModelFailed(id, failure) => Self::ModelFailed(IdV1(*id), ModelFailureV1::of(failure)),
            What::CallCleared(id) => Self::Cleared(IdV1(*id)),
            What::CallSettled(id, settled) => Self::Settled(IdV1(*id), SettledV1::of(settled)),
            What::CallParked(id) => Self::Parked(IdV1(*id)),
            What::ChildStarted(id, child) => Self::Child(IdV1(*id), child.clone()),
            What::HumanAsked(id, expires_at) => Self::Asked(IdV1(*id), *expires_at),
            What::Summarized(id, folded) => {
                let Folded { messages_before, messages_after, usage } = folded;
                Self::Folded(IdV1(*id), *messages_before, *messages_after, usage.as_ref().map(UsageV1::of))
            }
            What::SummaryFailed(id, failure) if *failure == for_good(failure.fault.clone()) => {
                Self::FoldFailed(IdV1(*id), FaultV1::of(&failure.fault))
            }
            What::SummaryFailed(id, failure) => Self::FoldFailedAs(IdV1(*id), ModelFailureV1::of(failure)),
            What::DeadlineReached => Self::Deadline,
            What::BeginRequested => Self::Begin,
            What::HumanDecided(decisions) => Self::Decided(decisions.iter().map(DecisionV1::of).collect()),
            What::AnswerArrived { call, child } => Self::Answer(*call, child.as_ref().map(TotalsV1::of)),
            What::StopRequested(None) => Self::Stop,
            What::StopRequested(Some(request)) => Self::StopBy(request.clone()),
            What::RetellRequested => Self::Retell,
            What::ResumeRequested => Self::Resume,
        }
    }

    pub(super) fn into_what(self) -> What {
        match self {
            Self::Hook(id) => What::HookAnswered(id.0),
            Self::HookFailed(id) => What::HookFailed(id.0),
            Self::Notice(id) => What::NoticeDelivered(id.0),
            Self::Planned(id, plan) => {
                What::Planned(id.0, plan.into_iter().map(InstructionV1::into_instruction).collect())
            }
            Self::PlanFailed(id, fault) => What::PlanFailed(id.0, fault.into_fault()),
            Self::Replied(id, reply) => What::ModelReplied(id.0, reply.into_reply()),
            Self::ModelFailed(id, failure) => What::ModelFailed(id.0, failure.into_failure()),
            Self::Cleared(id) => What::CallCleared(id.0),
            Self::Settled(id, settled) => What::CallSettled(id.0, settled.into_settled()),
            Self::Parked(id) => What::CallParked(id.0),
            Self::Child(id, child) => What::ChildStarted(id.0, child),
            Self::Asked(id, expires_at) => What::HumanAsked(id.0, expires_at),
            Self::Folded(id, messages_before, messages_after, usage) => {
                let usage = usage.map(UsageV1::into_usage);
                What::Summarized(id.0, Folded { messages_before, messages_after, usage })
            }
            Self::FoldFailed(id, fault) => What::SummaryFailed(id.0, for_good(fault.into_fault())),
            Self::FoldFailedAs(id, failure) => What::SummaryFailed(id.0, failure.into_failure()),
            Self::Deadline => What::DeadlineReached,
            Self::Begin => What::BeginRequested,
            Self::Decided(decisions) => {
                What::HumanDecided(decisions.into_iter().map(DecisionV1::into_decision).collect())
            }
            Self::Answer(call, child) => What::AnswerArrived { call, child: child.map(TotalsV1::into_totals) },
            Self::Stop => What::StopRequested(None),
            Self::StopBy(request) => What::StopRequested(Some(request)),
            Self::Retell => What::RetellRequested,
            Self::Resume => What::ResumeRequested,
        }
    }
}

/// A failure after which nothing is tried again, as all that kept a summary from being made once were.
fn for_good(fault: Fault) -> ModelFailure {
    ModelFailure { kind: FailureKind::Permanent, fault, retry_after_ms: None, jitter_permille: 0, compaction: None }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplyV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    u: Option<UsageV1>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    c: Vec<CallFactsV1>,
    #[serde(default, skip_serializing_if = "is_default")]
    aborted: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    unresolved: bool,
}

impl ReplyV1 {
    fn of(reply: &Reply) -> Self {
        let Reply { usage, calls, aborted, unresolved } = reply;
        Self {
            u: usage.as_ref().map(UsageV1::of),
            c: calls.iter().map(CallFactsV1::of).collect(),
            aborted: *aborted,
            unresolved: *unresolved,
        }
    }

    fn into_reply(self) -> Reply {
        Reply {
            usage: self.u.map(UsageV1::into_usage),
            calls: self.c.into_iter().map(CallFactsV1::into_facts).collect(),
            aborted: self.aborted,
            unresolved: self.unresolved,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelFailureV1 {
    kind: FailureKindV1,
    fault: FaultV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    #[serde(default, skip_serializing_if = "is_default")]
    jitter: u16,
    /// Messages and tokens that could be folded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fold: Option<(u32, u64)>,
}

impl ModelFailureV1 {
    fn of(failure: &ModelFailure) -> Self {
        let ModelFailure { kind, fault, retry_after_ms, jitter_permille, compaction } = failure;
        Self {
            kind: FailureKindV1(*kind),
            fault: FaultV1::of(fault),
            retry_after: *retry_after_ms,
            jitter: *jitter_permille,
            fold: compaction.map(|need| (need.messages, need.tokens)),
        }
    }

    fn into_failure(self) -> ModelFailure {
        ModelFailure {
            kind: self.kind.0,
            fault: self.fault.into_fault(),
            retry_after_ms: self.retry_after,
            jitter_permille: self.jitter,
            compaction: self.fold.map(|(messages, tokens)| CompactionNeed { messages, tokens }),
        }
    }
}

/// The call, if it is about one, and the decision.
#[derive(Serialize, Deserialize)]
pub(super) struct DecisionV1(Option<Ordinal>, VerdictV1);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum VerdictV1 {
    Approve,
    Reject(Option<String>),
    RejectAndContinue(Option<String>),
    Answer,
}

impl DecisionV1 {
    fn of(decision: &Decision) -> Self {
        let verdict = match decision.verdict.clone() {
            HumanVerdict::Approve => VerdictV1::Approve,
            HumanVerdict::Reject { reason } => VerdictV1::Reject(reason),
            HumanVerdict::RejectAndContinue { reason } => VerdictV1::RejectAndContinue(reason),
            HumanVerdict::Answer => VerdictV1::Answer,
        };
        Self(decision.call, verdict)
    }

    fn into_decision(self) -> Decision {
        let verdict = match self.1 {
            VerdictV1::Approve => HumanVerdict::Approve,
            VerdictV1::Reject(reason) => HumanVerdict::Reject { reason },
            VerdictV1::RejectAndContinue(reason) => HumanVerdict::RejectAndContinue { reason },
            VerdictV1::Answer => HumanVerdict::Answer,
        };
        Decision { call: self.0, verdict }
    }
}
