//! What a step leaves behind: enough to go on from, and no larger for a long run than for a short one.

use jackline_model::{Reason, Totals};

use super::calls::{CallSlot, Calls};
use super::effect::{Effect, Firing};
use super::id::EffectId;
use super::instruction::{Ordinal, Phase};
use super::shared::{Settings, Shared};
use super::state::{Ending, State, StopNotice};
use crate::compress::CompressionGuard;
use crate::repeat::RepeatGuard;

/// An operation between two steps. The bodies of messages are not here; they are rows of the store.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of `Shared`")]
#[expect(clippy::struct_excessive_bools, reason = "facts of their own; each says what it is about")]
pub struct Boundary {
    pub stands: Stands,
    pub now: u64,
    pub began_at: u64,
    pub opened_at: u64,
    pub step: u32,
    pub steps_done: u32,
    pub episode_base: u32,
    pub phase: Phase,
    pub calls: Vec<CallSlot>,
    pub question: bool,
    pub expires_at: Option<u64>,
    pub async_until: Option<u64>,
    pub deferred_approval: Vec<Ordinal>,
    pub doom: Option<Reason>,
    pub stop_requested: bool,
    pub stop_notice: Option<StopNotice>,
    pub stop_by_tool: bool,
    pub force_finish: bool,
    pub unresolved_rounds: u8,
    pub compression: CompressionGuard,
    pub repeat: RepeatGuard,
    pub totals: Totals,
    pub firings: u16,
    pub notices_dropped: u32,
    /// The firings that are not answered yet, by name.
    pub firings_open: Vec<(EffectId, Firing)>,
}

/// Where an operation can stand between two steps.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "named like the states")]
pub enum Stands {
    OpeningStep,
    WaitingForHuman,
    WaitingForAsyncTool,
    Draining { ending: Ending, until: u64 },
    TellingStop(Ending),
    Completing(Ending),
}

impl Boundary {
    pub(super) fn of(state: &State, shared: &Shared) -> Self {
        Self {
            stands: stands(state),
            now: shared.now,
            began_at: shared.began_at,
            opened_at: shared.opened_at,
            step: shared.step,
            steps_done: shared.steps_done,
            episode_base: shared.episode_base,
            phase: shared.phase,
            calls: shared.calls.slots().to_vec(),
            question: shared.question,
            expires_at: shared.expires_at,
            async_until: shared.async_until,
            deferred_approval: shared.deferred_approval.clone(),
            doom: shared.doom,
            stop_requested: shared.stop_requested,
            stop_notice: shared.stop_notice.clone(),
            stop_by_tool: shared.stop_by_tool,
            force_finish: shared.force_finish,
            unresolved_rounds: shared.unresolved_rounds,
            compression: shared.compression,
            repeat: shared.repeat.clone(),
            totals: shared.totals,
            firings: shared.firings,
            notices_dropped: shared.notices_dropped,
            firings_open: firings_open(shared),
        }
    }

    pub(super) fn into_parts(self, settings: Settings) -> (State, Shared) {
        let state = match self.stands {
            Stands::OpeningStep => State::OpeningStep,
            Stands::WaitingForHuman => State::WaitingForHuman,
            Stands::WaitingForAsyncTool => State::WaitingForAsyncTool,
            Stands::Draining { ending, until } => State::Draining { report: ending, until },
            Stands::TellingStop(ending) => State::TellingStop { report: ending, again: false },
            Stands::Completing(ending) => State::Completing(ending),
        };
        let mut shared = Shared::new(settings);
        shared.now = self.now;
        shared.began_at = self.began_at;
        shared.opened_at = self.opened_at;
        shared.step = self.step;
        shared.steps_done = self.steps_done;
        shared.episode_base = self.episode_base;
        shared.phase = self.phase;
        shared.calls = Calls::from_slots(self.calls);
        shared.question = self.question;
        shared.expires_at = self.expires_at;
        shared.async_until = self.async_until;
        shared.deferred_approval = self.deferred_approval;
        shared.doom = self.doom;
        shared.stop_requested = self.stop_requested;
        shared.stop_notice = self.stop_notice;
        shared.stop_by_tool = self.stop_by_tool;
        shared.force_finish = self.force_finish;
        shared.unresolved_rounds = self.unresolved_rounds;
        shared.compression = self.compression;
        shared.repeat = self.repeat;
        shared.totals = self.totals;
        shared.firings = self.firings;
        shared.notices_dropped = self.notices_dropped;
        shared.open = self.firings_open.into_iter().map(|(id, firing)| (id, Effect::FireHook(firing))).collect();
        (state, shared)
    }
}

/// Only firings can be open between two steps.
fn firings_open(shared: &Shared) -> Vec<(EffectId, Firing)> {
    let firing = |(id, effect): (&EffectId, &Effect)| Some((*id, effect.firing()?.clone()));
    shared.open.iter().filter_map(firing).collect()
}

/// A step closes into one of these; the table says so.
fn stands(state: &State) -> Stands {
    match state {
        State::WaitingForHuman => Stands::WaitingForHuman,
        State::WaitingForAsyncTool => Stands::WaitingForAsyncTool,
        State::Draining { report, until } => Stands::Draining { ending: report.clone(), until: *until },
        State::TellingStop { report, .. } => Stands::TellingStop(report.clone()),
        State::Completing(report) | State::ReportingError(report) | State::Finished(report) => {
            Stands::Completing(report.clone())
        }
        State::OpeningStep
        | State::Idle
        | State::Planning
        | State::CallingModel { .. }
        | State::WaitingToRetry { .. }
        | State::RunningCalls
        | State::AskingHuman
        | State::AnnouncingCompaction(_)
        | State::Summarizing { .. }
        | State::WaitingToSummarize { .. }
        | State::ClosingCompaction { .. }
        | State::ClosingStep(_)
        | State::TellingDecision { .. }
        | State::Failed => Stands::OpeningStep,
    }
}
