//! Short words for the small enums: one list each, read in both directions.

use std::borrow::Cow;

use jackline_model::{FaultAttribution, Reason, SideEffect, Status};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::machine::{BadEffectId, EffectId, FailureKind, HumanAction, Phase, Route, SettledHow, Unit};

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
        let text = self.0.to_string();
        let short = usual_verb(self.0.unit).and_then(|verb| text.strip_suffix(verb));
        serializer.serialize_str(short.unwrap_or(&text))
    }
}

/// What is nearly always asked about a unit goes without saying: `s3.h1` is `s3.h1.fire`.
fn usual_verb(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::Step => Some(".plan"),
        Unit::Model => Some(".ask"),
        Unit::Call(_) => Some(".run"),
        Unit::Hook(_) => Some(".fire"),
        Unit::Compact | Unit::Human => None,
    }
}

impl<'de> Deserialize<'de> for IdV1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        parse_id(&text).map(Self).map_err(de::Error::custom)
    }
}

fn parse_id(text: &str) -> Result<EffectId, BadEffectId> {
    text.parse().or_else(|bad| {
        // Any verb will do to learn the unit, and the unit says which verb was left out.
        let unit = format!("{text}.run").parse::<EffectId>().map_err(|_| bad)?.unit;
        format!("{text}{}", usual_verb(unit).unwrap_or_default()).parse()
    })
}
