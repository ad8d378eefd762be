//! What a step leaves behind.

use jackline_model::{Reason, StopRequestId};
use serde::{Deserialize, Serialize};

use super::calls::{CallSlotV1, FaultV1, TotalsV1};
use super::codes::{IdV1, PhaseV1, ReasonV1};
use super::firing::FiringV1;
use super::repeat::{RepeatV1, repeat_from_record, repeat_to_record};
use super::{after, is_default, since};
use crate::compress::CompressionGuard;
use crate::machine::{Boundary, EffectId, Ending, Firing, Ordinal, Stands, StopNotice, StopTold, Unit, Verb};

/// Times are distances: `n` from the input that closed the step, the others from `n`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "a record lists the facts of a boundary, and these are facts")]
pub(super) struct BoundaryV1 {
    /// Absent in the usual case: the next step is opening, and nothing is open but its `beforeStep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<StandsV1>,
    #[serde(default, skip_serializing_if = "is_default")]
    n: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    began: i64,
    #[serde(default, skip_serializing_if = "is_default")]
    opened: i64,
    /// Step, steps done, steps done when the episode began.
    s: (u32, u32, u32),
    p: PhaseV1,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    c: Vec<CallSlotV1>,
    #[serde(default, skip_serializing_if = "is_default")]
    question: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deferred: Vec<Ordinal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doom: Option<ReasonV1>,
    #[serde(default, skip_serializing_if = "is_default")]
    stop: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<StopNoticeV1>,
    #[serde(default, skip_serializing_if = "is_default")]
    tool_stop: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    force: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    unresolved: u8,
    #[serde(default, skip_serializing_if = "is_default")]
    unfolded: u8,
    #[serde(default, skip_serializing_if = "is_default")]
    refold: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat: Option<RepeatV1>,
    #[serde(default, skip_serializing_if = "is_default")]
    u: TotalsV1,
    #[serde(default, skip_serializing_if = "is_default")]
    f: u16,
    #[serde(default, skip_serializing_if = "is_default")]
    dropped: u32,
    /// The firings that are not answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    h: Vec<(IdV1, FiringV1)>,
}

impl BoundaryV1 {
    pub(super) fn of(boundary: &Boundary, at: u64) -> Self {
        let is_usual = boundary.stands == Stands::OpeningStep
            && boundary.firings_open == [opening(boundary.step, boundary.firings)];
        let firings: &[(EffectId, Firing)] = if is_usual { &[] } else { &boundary.firings_open };
        Self {
            at: (!is_usual).then(|| StandsV1::of(&boundary.stands)),
            n: since(at, boundary.now),
            began: since(boundary.now, boundary.began_at),
            opened: since(boundary.now, boundary.opened_at),
            s: (boundary.step, boundary.steps_done, boundary.episode_base),
            p: PhaseV1(boundary.phase),
            c: boundary.calls.iter().map(CallSlotV1::of).collect(),
            question: boundary.question,
            expires: boundary.expires_at,
            until: boundary.async_until,
            deferred: boundary.deferred_approval.clone(),
            doom: boundary.doom.map(ReasonV1),
            stop: boundary.stop_requested,
            stopped: boundary.stop_notice.as_ref().map(StopNoticeV1::of),
            tool_stop: boundary.stop_by_tool,
            force: boundary.force_finish,
            unresolved: boundary.unresolved_rounds,
            unfolded: boundary.compression.failures_in_row,
            refold: boundary.compression.retry_from_step,
            repeat: repeat_to_record(&boundary.repeat),
            u: TotalsV1::of(&boundary.totals),
            f: boundary.firings,
            dropped: boundary.notices_dropped,
            h: firings.iter().map(|(id, firing)| (IdV1(*id), FiringV1::of(firing))).collect(),
        }
    }

    pub(super) fn into_boundary(self, at: u64) -> Boundary {
        let now = after(at, self.n);
        let (step, steps_done, episode_base) = self.s;
        let (stands, implied) = match self.at {
            Some(stands) => (stands.into_stands(), None),
            None => (Stands::OpeningStep, Some(opening(step, self.f))),
        };
        let firings = self.h.into_iter().map(|(id, firing)| (id.0, firing.into_firing()));
        Boundary {
            stands,
            now,
            began_at: after(now, self.began),
            opened_at: after(now, self.opened),
            step,
            steps_done,
            episode_base,
            phase: self.p.0,
            calls: self.c.into_iter().map(CallSlotV1::into_slot).collect(),
            question: self.question,
            expires_at: self.expires,
            async_until: self.until,
            deferred_approval: self.deferred,
            doom: self.doom.map(|reason| reason.0),
            stop_requested: self.stop,
            stop_notice: self.stopped.map(StopNoticeV1::into_notice),
            stop_by_tool: self.tool_stop,
            force_finish: self.force,
            unresolved_rounds: self.unresolved,
            compression: CompressionGuard { failures_in_row: self.unfolded, retry_from_step: self.refold },
            repeat: repeat_from_record(self.repeat),
            totals: self.u.into_totals(),
            firings: self.f,
            notices_dropped: self.dropped,
            firings_open: firings.chain(implied).collect(),
        }
    }
}

/// The firing that opens a step, when it was the last that was fired.
fn opening(step: u32, firings: u16) -> (EffectId, Firing) {
    (EffectId { step, unit: Unit::Hook(firings), verb: Verb::Fire, attempt: 0 }, Firing::BeforeStep)
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StandsV1 {
    Open,
    Human,
    Async,
    /// Until when.
    Drain(EndingV1, u64),
    TellStop(EndingV1),
    End(EndingV1),
}

impl StandsV1 {
    fn of(stands: &Stands) -> Self {
        match stands {
            Stands::OpeningStep => Self::Open,
            Stands::WaitingForHuman => Self::Human,
            Stands::WaitingForAsyncTool => Self::Async,
            Stands::Draining { ending, until } => Self::Drain(EndingV1::of(ending), *until),
            Stands::TellingStop(ending) => Self::TellStop(EndingV1::of(ending)),
            Stands::Completing(ending) => Self::End(EndingV1::of(ending)),
        }
    }

    fn into_stands(self) -> Stands {
        match self {
            Self::Open => Stands::OpeningStep,
            Self::Human => Stands::WaitingForHuman,
            Self::Async => Stands::WaitingForAsyncTool,
            Self::Drain(ending, until) => Stands::Draining { ending: ending.into_ending(), until },
            Self::TellStop(ending) => Stands::TellingStop(ending.into_ending()),
            Self::End(ending) => Stands::Completing(ending.into_ending()),
        }
    }
}

/// A stop of a run that waited for a person.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StopNoticeV1 {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<StopRequestId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Ordinal>,
    told: StopToldV1,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StopToldV1 {
    Due,
    Asked,
    Owed(IdV1),
    Heard,
}

impl StopNoticeV1 {
    fn of(notice: &StopNotice) -> Self {
        let told = match notice.told {
            StopTold::Due => StopToldV1::Due,
            StopTold::Asked => StopToldV1::Asked,
            StopTold::Owed(id) => StopToldV1::Owed(IdV1(id)),
            StopTold::Heard => StopToldV1::Heard,
        };
        Self { by: notice.request.clone(), calls: notice.calls.clone(), told }
    }

    fn into_notice(self) -> StopNotice {
        let told = match self.told {
            StopToldV1::Due => StopTold::Due,
            StopToldV1::Asked => StopTold::Asked,
            StopToldV1::Owed(id) => StopTold::Owed(id.0),
            StopToldV1::Heard => StopTold::Heard,
        };
        StopNotice { request: self.by, calls: self.calls, told }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndingV1 {
    reason: ReasonV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<FaultV1>,
    /// Only where it differs from what the reason says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resumable: Option<bool>,
}

impl EndingV1 {
    fn of(ending: &Ending) -> Self {
        Self {
            reason: ReasonV1(ending.reason),
            fault: ending.fault.as_ref().map(FaultV1::of),
            resumable: (ending.resumable != resumable_in_v1(ending.reason)).then_some(ending.resumable),
        }
    }

    fn into_ending(self) -> Ending {
        let reason = self.reason.0;
        let resumable = self.resumable.unwrap_or(resumable_in_v1(reason));
        Ending { reason, fault: self.fault.map(FaultV1::into_fault), resumable }
    }
}

/// What an absent `resumable` means in version 1. Not `Reason::is_resumable`: that may change.
fn resumable_in_v1(reason: Reason) -> bool {
    match reason {
        Reason::Interrupted | Reason::MaxSteps => true,
        Reason::Done
        | Reason::Error
        | Reason::CostLimit
        | Reason::TokenLimit
        | Reason::ToolCallRepeatLimit
        | Reason::UnresolvedTools
        | Reason::ContextOverflow => false,
    }
}
