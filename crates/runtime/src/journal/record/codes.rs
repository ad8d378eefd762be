//! Short words for the small enums: one list each, read in both directions.

use std::borrow::Cow;

use jackline_model::{FaultAttribution, Reason, SideEffect, Status};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::machine::{EffectId, FailureKind, HumanAction, Phase, Route, SettledHow};

macro_rules! coded {
    ($($name:ident: $type:ident { $($variant:ident = $text:literal),+ $(,)? })+) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) $type);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(match self.0 { $($type::$variant => $text),+ })
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match Cow::<str>::deserialize(deserializer)?.as_ref() {
                    $($text => Ok(Self($type::$variant)),)+
                    other => Err(de::Error::unknown_variant(other, &[$($text),+])),
                }
            }
        }
    )+};
}

coded! {
    PhaseV1: Phase {
        UserInput = "user",
        LlmResult = "llm",
        ToolResult = "tool",
        ToolsBatchResult = "batch",
        CompressionResult = "compressed",
        HumanApprovedTool = "approved",
        HumanAbort = "abort",
    }
    RouteV1: Route { Tool = "t", Agent = "a", Client = "c", Unusable = "u" }
    SideEffectV1: SideEffect { Pure = "p", Idempotent = "i", Effect = "e" }
    FailureKindV1: FailureKind {
        Retryable = "retryable",
        ContextOverflow = "overflow",
        Permanent = "permanent",
        Cancelled = "cancelled",
    }
    SettledHowV1: SettledHow {
        Ran = "ran",
        Mocked = "mocked",
        Denied = "denied",
        Threw = "threw",
        Answered = "answered",
        NotStarted = "not_started",
        Refused = "refused",
        Aborted = "aborted",
    }
    HumanActionV1: HumanAction {
        Approve = "approve",
        Reject = "reject",
        RejectAndContinue = "reject_and_continue",
    }
    ReasonV1: Reason {
        Done = "done",
        Error = "error",
        Interrupted = "interrupted",
        MaxSteps = "max_steps",
        CostLimit = "cost_limit",
        TokenLimit = "token_limit",
        ToolCallRepeatLimit = "tool_call_repeat_limit",
        UnresolvedTools = "unresolved_tools",
        ContextOverflow = "context_overflow",
    }
    StatusV1: Status {
        Idle = "idle",
        Running = "running",
        WaitingForHuman = "human",
        WaitingForAsyncTool = "async",
        Interrupted = "interrupted",
        Done = "done",
        Error = "error",
    }
    AttributionV1: FaultAttribution {
        User = "user",
        Provider = "provider",
        Harness = "harness",
        System = "system",
    }
}

/// The name of an effect, as text.
#[derive(Clone, Copy)]
pub(super) struct IdV1(pub(super) EffectId);

impl Serialize for IdV1 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for IdV1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map(Self).map_err(de::Error::custom)
    }
}
