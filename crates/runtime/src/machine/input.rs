//! All that can happen to an operation.

use jackline_model::{Fault, ModelUsage, NanoDollars, OperationId, SideEffect, StopRequestId, Totals};

use super::id::EffectId;
use super::instruction::{Instruction, Ordinal};
use crate::repeat::{ResultDigest, Signature};

/// Something that happened, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Milliseconds since the Unix epoch, by the driver's clock. Never runs backwards within an operation.
    pub at: u64,
    /// What.
    pub what: What,
}

/// What happened. Answers name the effect that they answer; the last six come from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The hooks of an awaited firing have all been asked.
    HookAnswered(EffectId),
    /// They were asked as well, and one that must hear of it could not be told: it is still owed the firing.
    HookFailed(EffectId),
    /// The hooks of a firing that the run does not wait for have all been asked.
    NoticeDelivered(EffectId),
    /// The planner has planned.
    Planned(EffectId, Vec<Instruction>),
    /// The planner, or what it needs, failed.
    PlanFailed(EffectId, Fault),
    /// The model answered.
    ModelReplied(EffectId, Reply),
    /// The model did not.
    ModelFailed(EffectId, ModelFailure),
    /// The before-hooks let a call through; it may run.
    CallCleared(EffectId),
    /// A call has its result, and the result is written.
    CallSettled(EffectId, Settled),
    /// The result of a call comes later.
    CallParked(EffectId),
    /// A sub-agent runs.
    ChildStarted(EffectId, OperationId),
    /// The request for a decision is written.
    HumanAsked(EffectId, Option<u64>),
    /// The history is folded.
    Summarized(EffectId, Folded),
    /// It could not be; nothing has changed. Whatever kept it from being made counts as a failure of the model.
    SummaryFailed(EffectId, ModelFailure),
    /// The time that [`next_deadline`](super::Machine::next_deadline) named has come.
    DeadlineReached,
    /// Start.
    BeginRequested,
    /// A person decided about calls, or answered a question.
    HumanDecided(Vec<Decision>),
    /// The result of a parked call was handed in, or its sub-agent ended.
    AnswerArrived {
        /// Which call.
        call: Ordinal,
        /// What a sub-agent used.
        child: Option<Totals>,
    },
    /// Somebody stops the run, perhaps under a name.
    StopRequested(Option<StopRequestId>),
    /// Whoever stopped the run wants its hooks told again, because one of them could not be.
    RetellRequested,
    /// Somebody goes on with a run that ended and can be resumed.
    ResumeRequested,
}

/// The kinds of input, as the table of transitions names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is explained at `What`")]
pub enum InputKind {
    HookAnswered,
    HookFailed,
    NoticeDelivered,
    Planned,
    PlanFailed,
    ModelReplied,
    ModelFailed,
    CallCleared,
    CallSettled,
    CallParked,
    ChildStarted,
    HumanAsked,
    Summarized,
    SummaryFailed,
    DeadlineReached,
    BeginRequested,
    HumanDecided,
    AnswerArrived,
    StopRequested,
    RetellRequested,
    ResumeRequested,
}

impl InputKind {
    /// All kinds.
    pub const ALL: [Self; 21] = [
        Self::HookAnswered,
        Self::HookFailed,
        Self::NoticeDelivered,
        Self::Planned,
        Self::PlanFailed,
        Self::ModelReplied,
        Self::ModelFailed,
        Self::CallCleared,
        Self::CallSettled,
        Self::CallParked,
        Self::ChildStarted,
        Self::HumanAsked,
        Self::Summarized,
        Self::SummaryFailed,
        Self::DeadlineReached,
        Self::BeginRequested,
        Self::HumanDecided,
        Self::AnswerArrived,
        Self::StopRequested,
        Self::RetellRequested,
        Self::ResumeRequested,
    ];

    /// Whether the input is a request from outside: one that does not fit is refused, it is no fault.
    pub fn is_request(self) -> bool {
        match self {
            Self::BeginRequested
            | Self::HumanDecided
            | Self::AnswerArrived
            | Self::StopRequested
            | Self::RetellRequested
            | Self::ResumeRequested => true,
            Self::HookAnswered
            | Self::HookFailed
            | Self::NoticeDelivered
            | Self::Planned
            | Self::PlanFailed
            | Self::ModelReplied
            | Self::ModelFailed
            | Self::CallCleared
            | Self::CallSettled
            | Self::CallParked
            | Self::ChildStarted
            | Self::HumanAsked
            | Self::Summarized
            | Self::SummaryFailed
            | Self::DeadlineReached => false,
        }
    }
}

impl What {
    /// The kind.
    pub fn kind(&self) -> InputKind {
        match self {
            Self::HookAnswered(_) => InputKind::HookAnswered,
            Self::HookFailed(_) => InputKind::HookFailed,
            Self::NoticeDelivered(_) => InputKind::NoticeDelivered,
            Self::Planned(..) => InputKind::Planned,
            Self::PlanFailed(..) => InputKind::PlanFailed,
            Self::ModelReplied(..) => InputKind::ModelReplied,
            Self::ModelFailed(..) => InputKind::ModelFailed,
            Self::CallCleared(_) => InputKind::CallCleared,
            Self::CallSettled(..) => InputKind::CallSettled,
            Self::CallParked(_) => InputKind::CallParked,
            Self::ChildStarted(..) => InputKind::ChildStarted,
            Self::HumanAsked(..) => InputKind::HumanAsked,
            Self::Summarized(..) => InputKind::Summarized,
            Self::SummaryFailed(..) => InputKind::SummaryFailed,
            Self::DeadlineReached => InputKind::DeadlineReached,
            Self::BeginRequested => InputKind::BeginRequested,
            Self::HumanDecided(_) => InputKind::HumanDecided,
            Self::AnswerArrived { .. } => InputKind::AnswerArrived,
            Self::StopRequested(_) => InputKind::StopRequested,
            Self::RetellRequested => InputKind::RetellRequested,
            Self::ResumeRequested => InputKind::ResumeRequested,
        }
    }

    /// The effect that it answers; requests and deadlines answer none.
    pub fn answers(&self) -> Option<EffectId> {
        match self {
            Self::HookAnswered(id)
            | Self::HookFailed(id)
            | Self::NoticeDelivered(id)
            | Self::Planned(id, _)
            | Self::PlanFailed(id, _)
            | Self::ModelReplied(id, _)
            | Self::ModelFailed(id, _)
            | Self::CallCleared(id)
            | Self::CallSettled(id, _)
            | Self::CallParked(id)
            | Self::ChildStarted(id, _)
            | Self::HumanAsked(id, _)
            | Self::Summarized(id, _)
            | Self::SummaryFailed(id, _) => Some(*id),
            Self::DeadlineReached
            | Self::BeginRequested
            | Self::HumanDecided(_)
            | Self::AnswerArrived { .. }
            | Self::StopRequested(_)
            | Self::RetellRequested
            | Self::ResumeRequested => None,
        }
    }
}

/// An answer of the model, as far as decisions need it. The words are rows of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// What it cost, if the provider told.
    pub usage: Option<ModelUsage>,
    /// The calls it asks for, in emission order.
    pub calls: Vec<CallFacts>,
    /// The answer was cut short because the user stopped it.
    pub aborted: bool,
    /// The names of some calls could not be resolved.
    pub unresolved: bool,
}

/// What the machine must know about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallFacts {
    /// Calls of one lane run one after another.
    pub lane: u16,
    /// Who answers.
    pub route: Route,
    /// What a second run would do.
    pub side_effect: SideEffect,
    /// Equal for equal calls: tool and canonical arguments.
    pub signature: Signature,
}

/// Who answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// A tool of this process.
    Tool,
    /// A sub-agent.
    Agent,
    /// Whoever drives the runtime.
    Client,
    /// Nobody: it cannot be run.
    Unusable,
}

/// A model call that gave no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFailure {
    /// What to do about it.
    pub kind: FailureKind,
    /// What is stored and shown.
    pub fault: Fault,
    /// How long the provider asks to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Chance for the back-off, in thousandths: the machine has none of its own.
    pub jitter_permille: u16,
    /// What could be folded, if the request was too long and anything can be.
    pub compaction: Option<CompactionNeed>,
}

/// A history that must be folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionNeed {
    /// How many messages would be folded.
    pub messages: u32,
    /// The count that makes it necessary.
    pub tokens: u64,
}

/// What a failure of the model means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// Try again.
    Retryable,
    /// The request does not fit the window.
    ContextOverflow,
    /// Trying again does not help.
    Permanent,
    /// The call was cancelled because the run is being stopped.
    Cancelled,
}

/// A call that has its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// How the result came about; decides which hooks hear of it.
    pub how: SettledHow,
    /// What the tool said of itself.
    pub success: bool,
    /// The tool asks the run to end.
    pub stop: bool,
    /// What the call cost.
    pub cost: NanoDollars,
    /// Equal for equal results.
    pub digest: ResultDigest,
}

/// How a result came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SettledHow {
    /// The tool ran.
    Ran,
    /// A hook supplied the output.
    Mocked,
    /// A before-hook denied the call.
    Denied,
    /// The tool broke, or took too long.
    Threw,
    /// It was handed in later.
    Answered,
    /// A sub-agent could not be started.
    NotStarted,
    /// The runtime answered without running the tool.
    Refused,
    /// The call was aborted.
    Aborted,
}

impl SettledHow {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Ran,
        Self::Mocked,
        Self::Denied,
        Self::Threw,
        Self::Answered,
        Self::NotStarted,
        Self::Refused,
        Self::Aborted,
    ];

    /// Whether it counts as a tool call in the totals.
    pub fn is_counted(self) -> bool {
        match self {
            Self::Ran | Self::Mocked | Self::Denied | Self::Threw | Self::Answered => true,
            Self::NotStarted | Self::Refused | Self::Aborted => false,
        }
    }
}

/// What a compression did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// Messages before, the kept user message not counted.
    pub messages_before: u32,
    /// Messages afterwards.
    pub messages_after: u32,
    /// What the summary cost.
    pub usage: Option<ModelUsage>,
}

/// One decision of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The call it is about; `None` answers a question.
    pub call: Option<Ordinal>,
    /// What was decided.
    pub verdict: HumanVerdict,
}

/// What a person can decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HumanVerdict {
    /// Run it.
    Approve,
    /// Do not run it, and stop.
    Reject {
        /// In these words.
        reason: Option<String>,
    },
    /// Do not run it; the model reads the reason and goes on.
    RejectAndContinue {
        /// In these words.
        reason: Option<String>,
    },
    /// The answer to a question; its words are a row of the store.
    Answer,
}
