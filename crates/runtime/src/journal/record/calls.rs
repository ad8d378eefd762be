//! Calls, their results, and what things cost.

use jackline_model::{Fault, ModelUsage, NanoDollars, OperationId, Totals};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::codes::{AttributionV1, RouteV1, SettledHowV1, SideEffectV1};
use super::is_default;
use crate::machine::{CallFacts, CallSlot, Place, Settled};
use crate::repeat::{ResultDigest, Signature};

/// Lane, route, side effect, signature.
#[derive(Serialize, Deserialize)]
pub(super) struct CallFactsV1(u16, RouteV1, SideEffectV1, u32);

impl CallFactsV1 {
    pub(super) fn of(facts: &CallFacts) -> Self {
        let CallFacts { lane, route, side_effect, signature } = *facts;
        Self(lane, RouteV1(route), SideEffectV1(side_effect), signature.0)
    }

    pub(super) fn into_facts(self) -> CallFacts {
        CallFacts { lane: self.0, route: self.1.0, side_effect: self.2.0, signature: Signature(self.3) }
    }
}

/// The facts, then the place.
#[derive(Serialize, Deserialize)]
pub(super) struct CallSlotV1(u16, RouteV1, SideEffectV1, u32, PlaceV1);

impl CallSlotV1 {
    pub(super) fn of(slot: &CallSlot) -> Self {
        let CallFactsV1(lane, route, side_effect, signature) = CallFactsV1::of(&slot.facts);
        Self(lane, route, side_effect, signature, PlaceV1::of(&slot.place))
    }

    pub(super) fn into_slot(self) -> CallSlot {
        let facts = CallFactsV1(self.0, self.1, self.2, self.3).into_facts();
        CallSlot { facts, place: self.4.into_place() }
    }
}

#[derive(Serialize, Deserialize)]
enum PlaceV1 {
    #[serde(rename = "o")]
    Open,
    #[serde(rename = "q")]
    Queued,
    #[serde(rename = "c")]
    Clearing,
    #[serde(rename = "r")]
    Running,
    #[serde(rename = "f")]
    Refusing,
    #[serde(rename = "h")]
    AwaitingHuman,
    #[serde(rename = "p")]
    Parked,
    #[serde(rename = "a")]
    ParkedFor(OperationId),
    #[serde(rename = "j")]
    Judging,
    #[serde(rename = "s")]
    Settled,
}

impl PlaceV1 {
    fn of(place: &Place) -> Self {
        match place {
            Place::Open => Self::Open,
            Place::Queued => Self::Queued,
            Place::Clearing => Self::Clearing,
            Place::Running => Self::Running,
            Place::Refusing => Self::Refusing,
            Place::AwaitingHuman => Self::AwaitingHuman,
            Place::Parked { child: None } => Self::Parked,
            Place::Parked { child: Some(child) } => Self::ParkedFor(child.clone()),
            Place::Judging => Self::Judging,
            Place::Settled => Self::Settled,
        }
    }

    fn into_place(self) -> Place {
        match self {
            Self::Open => Place::Open,
            Self::Queued => Place::Queued,
            Self::Clearing => Place::Clearing,
            Self::Running => Place::Running,
            Self::Refusing => Place::Refusing,
            Self::AwaitingHuman => Place::AwaitingHuman,
            Self::Parked => Place::Parked { child: None },
            Self::ParkedFor(child) => Place::Parked { child: Some(child) },
            Self::Judging => Place::Judging,
            Self::Settled => Place::Settled,
        }
    }
}

/// A result: how it came about, and what differs from an ordinary success.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SettledV1 {
    h: SettledHowV1,
    /// It failed.
    #[serde(default, skip_serializing_if = "is_default")]
    f: bool,
    /// The tool asks for the end.
    #[serde(default, skip_serializing_if = "is_default")]
    e: bool,
    /// Its cost.
    #[serde(default, skip_serializing_if = "is_default")]
    c: i64,
    /// Its digest.
    #[serde(default, skip_serializing_if = "is_default")]
    g: u32,
}

impl SettledV1 {
    pub(super) fn of(settled: &Settled) -> Self {
        let Settled { how, success, stop, cost, digest } = *settled;
        Self { h: SettledHowV1(how), f: !success, e: stop, c: cost.0, g: digest.0 }
    }

    pub(super) fn into_settled(self) -> Settled {
        Settled {
            how: self.h.0,
            success: !self.f,
            stop: self.e,
            cost: NanoDollars(self.c),
            digest: ResultDigest(self.g),
        }
    }
}

/// Input tokens, output tokens, the provider's total, cost.
#[derive(Serialize, Deserialize)]
pub(super) struct UsageV1(u64, u64, u64, i64);

impl UsageV1 {
    pub(super) fn of(usage: &ModelUsage) -> Self {
        let ModelUsage { input_tokens, output_tokens, total_tokens, cost } = *usage;
        Self(input_tokens, output_tokens, total_tokens, cost.0)
    }

    pub(super) fn into_usage(self) -> ModelUsage {
        let Self(input_tokens, output_tokens, total_tokens, cost) = self;
        ModelUsage { input_tokens, output_tokens, total_tokens, cost: NanoDollars(cost) }
    }
}

/// Model calls, tool calls, input tokens, output tokens, total tokens, cost.
#[derive(Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TotalsV1(u64, u64, u64, u64, u64, i64);

impl TotalsV1 {
    pub(super) fn of(totals: &Totals) -> Self {
        let Totals { llm_calls, tool_calls, input_tokens, output_tokens, total_tokens, cost } = *totals;
        Self(llm_calls, tool_calls, input_tokens, output_tokens, total_tokens, cost.0)
    }

    pub(super) fn into_totals(self) -> Totals {
        let Self(llm_calls, tool_calls, input_tokens, output_tokens, total_tokens, cost) = self;
        Totals { llm_calls, tool_calls, input_tokens, output_tokens, total_tokens, cost: NanoDollars(cost) }
    }
}

/// What went wrong.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultV1 {
    code: String,
    message: String,
    by: AttributionV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<Value>,
}

impl FaultV1 {
    pub(super) fn of(fault: &Fault) -> Self {
        let Fault { code, message, attribution, detail } = fault.clone();
        Self { code, message, by: AttributionV1(attribution), detail }
    }

    pub(super) fn into_fault(self) -> Fault {
        Fault { code: self.code, message: self.message, attribution: self.by.0, detail: self.detail }
    }
}
