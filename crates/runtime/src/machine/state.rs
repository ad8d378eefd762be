//! Where an operation stands.

use std::collections::VecDeque;

use jackline_model::{Fault, Reason, Status, StopRequestId};

use super::effect::Firing;
use super::id::EffectId;
use super::instruction::{Ordinal, Phase};

/// Where an operation stands. Each state owns the facts that only it has.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Created, not begun.
    Idle,
    /// The hooks of `beforeStep` are asked.
    OpeningStep,
    /// The planner is asked.
    Planning,
    /// The model is asked.
    CallingModel {
        /// Which try, from 1.
        attempt: u16,
        /// The history was compressed because this very request was too long.
        compressed: bool,
    },
    /// The model will be asked again.
    WaitingToRetry {
        /// The try that failed.
        attempt: u16,
        /// As in `CallingModel`.
        compressed: bool,
        /// When.
        until: u64,
    },
    /// Calls are cleared, run, judged and refused.
    RunningCalls,
    /// A request for a decision is written down.
    AskingHuman,
    /// The hooks of `beforeCompact` are asked.
    AnnouncingCompaction(Compaction),
    /// The summary is made.
    Summarizing {
        /// The compression.
        compaction: Compaction,
        /// Which try, from 1.
        attempt: u16,
    },
    /// The model will be asked for the summary again.
    WaitingToSummarize {
        /// The compression.
        compaction: Compaction,
        /// The try that failed.
        attempt: u16,
        /// When.
        until: u64,
    },
    /// The hooks of `afterCompact` or `onCompactError` are asked.
    ClosingCompaction {
        /// The compression.
        compaction: Compaction,
        /// Why it failed, if it did.
        failure: Option<Fault>,
    },
    /// The hooks of `afterStep` are asked.
    ClosingStep(StepOutcome),
    /// Parked until a person decides.
    WaitingForHuman,
    /// A person has decided, and the hooks of `afterHumanIntervention` are asked, group by group. Nothing that was
    /// decided is done before they have all been.
    TellingDecision {
        /// The groups after the one that is told now.
        rest: VecDeque<Firing>,
    },
    /// Parked until somebody delivers results.
    WaitingForAsyncTool,
    /// Ended; the firings before `onComplete` are still being delivered.
    Draining {
        /// How it ended.
        report: Ending,
        /// When the rest is dropped.
        until: u64,
    },
    /// Ended by somebody who stopped it; the hooks of `onStopByHumanIntervention` are asked.
    TellingStop {
        /// How it ended.
        report: Ending,
        /// They are asked once more, after the end.
        again: bool,
    },
    /// Ended; the hooks of `onComplete` are asked.
    Completing(Ending),
    /// Ended; the hooks of `onError` are asked.
    ReportingError(Ending),
    /// Ended, and everybody knows.
    Finished(Ending),
    /// An impossible input came. Nothing moves any more.
    Failed,
}

/// The kinds of state, as the table of transitions names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is explained at `State`")]
pub enum StateKind {
    Idle,
    OpeningStep,
    Planning,
    CallingModel,
    WaitingToRetry,
    RunningCalls,
    AskingHuman,
    AnnouncingCompaction,
    Summarizing,
    WaitingToSummarize,
    ClosingCompaction,
    ClosingStep,
    WaitingForHuman,
    TellingDecision,
    WaitingForAsyncTool,
    Draining,
    TellingStop,
    Completing,
    ReportingError,
    Finished,
    Failed,
}

/// A compression under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// How many messages will be folded.
    pub messages: u32,
    /// The token count that made it necessary.
    pub tokens: u64,
    /// The model refused the request as too long; it is asked again in the same step.
    pub for_retry: bool,
}

/// What becomes of the run after a step: the closed list.
#[derive(Clone, Debug, PartialEq)]
pub enum StepOutcome {
    /// The next step follows at once.
    Continue(Phase),
    /// The run waits.
    Park(ParkReason),
    /// The run ends.
    End(Ending),
}

/// What a parked run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParkReason {
    /// A person.
    Human,
    /// Results that somebody else delivers.
    AsyncTool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Why.
    pub reason: Reason,
    /// What went wrong, if something did.
    pub fault: Option<Fault>,
    /// Whether it can be gone on with.
    pub resumable: bool,
}

impl Ending {
    /// An end for this reason, without a fault.
    pub fn because(reason: Reason) -> Self {
        Self { reason, fault: None, resumable: reason.is_resumable() }
    }

    /// A failure.
    pub fn failed(reason: Reason, fault: Fault) -> Self {
        Self { reason, fault: Some(fault), resumable: false }
    }
}

/// The stop of a run that waited for a person, and how far it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopNotice {
    /// The request that stopped it, if it has a name.
    pub request: Option<StopRequestId>,
    /// The calls that waited.
    pub calls: Vec<Ordinal>,
    /// How far.
    pub told: StopTold,
}

/// How far a stop is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopTold {
    /// Not before the run has ended.
    Due,
    /// The hooks are asked.
    Asked,
    /// A hook that must hear of it could not be told. The request that stopped the run may repeat this firing.
    Owed(EffectId),
    /// Everybody has heard who had to.
    Heard,
}

impl State {
    /// The kind.
    pub fn kind(&self) -> StateKind {
        match self {
            Self::Idle => StateKind::Idle,
            Self::OpeningStep => StateKind::OpeningStep,
            Self::Planning => StateKind::Planning,
            Self::CallingModel { .. } => StateKind::CallingModel,
            Self::WaitingToRetry { .. } => StateKind::WaitingToRetry,
            Self::RunningCalls => StateKind::RunningCalls,
            Self::AskingHuman => StateKind::AskingHuman,
            Self::AnnouncingCompaction(_) => StateKind::AnnouncingCompaction,
            Self::Summarizing { .. } => StateKind::Summarizing,
            Self::WaitingToSummarize { .. } => StateKind::WaitingToSummarize,
            Self::ClosingCompaction { .. } => StateKind::ClosingCompaction,
            Self::ClosingStep(_) => StateKind::ClosingStep,
            Self::WaitingForHuman => StateKind::WaitingForHuman,
            Self::TellingDecision { .. } => StateKind::TellingDecision,
            Self::WaitingForAsyncTool => StateKind::WaitingForAsyncTool,
            Self::Draining { .. } => StateKind::Draining,
            Self::TellingStop { .. } => StateKind::TellingStop,
            Self::Completing(_) => StateKind::Completing,
            Self::ReportingError(_) => StateKind::ReportingError,
            Self::Finished(_) => StateKind::Finished,
            Self::Failed => StateKind::Failed,
        }
    }

    /// The status that people see.
    pub fn status(&self) -> Status {
        match self {
            Self::Idle => Status::Idle,
            Self::OpeningStep
            | Self::Planning
            | Self::CallingModel { .. }
            | Self::WaitingToRetry { .. }
            | Self::RunningCalls
            | Self::AskingHuman
            | Self::AnnouncingCompaction(_)
            | Self::Summarizing { .. }
            | Self::WaitingToSummarize { .. }
            | Self::ClosingCompaction { .. }
            | Self::ClosingStep(_) => Status::Running,
            // What was decided is pending until it is told.
            Self::WaitingForHuman | Self::TellingDecision { .. } => Status::WaitingForHuman,
            Self::WaitingForAsyncTool => Status::WaitingForAsyncTool,
            Self::Draining { report, .. }
            | Self::TellingStop { report, .. }
            | Self::Completing(report)
            | Self::ReportingError(report)
            | Self::Finished(report) => report.reason.status(),
            Self::Failed => Status::Error,
        }
    }
}

impl StateKind {
    /// All kinds.
    pub const ALL: [Self; 21] = [
        Self::Idle,
        Self::OpeningStep,
        Self::Planning,
        Self::CallingModel,
        Self::WaitingToRetry,
        Self::RunningCalls,
        Self::AskingHuman,
        Self::AnnouncingCompaction,
        Self::Summarizing,
        Self::WaitingToSummarize,
        Self::ClosingCompaction,
        Self::ClosingStep,
        Self::WaitingForHuman,
        Self::TellingDecision,
        Self::WaitingForAsyncTool,
        Self::Draining,
        Self::TellingStop,
        Self::Completing,
        Self::ReportingError,
        Self::Finished,
        Self::Failed,
    ];
}
