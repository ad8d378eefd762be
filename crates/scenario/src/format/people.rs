//! Interrupts and faults: what comes from outside at a bad moment.

use jackline_runtime::machine::EffectId;
use schemars::JsonSchema;
use serde::Deserialize;

/// Somebody stops the run at a moment.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interrupt {
    /// When this effect is about to be performed, such as `s1.c1.run`. Left out: from the start.
    #[serde(default, deserialize_with = "effect_id")]
    #[schemars(with = "Option<String>")]
    pub at: Option<EffectId>,
    /// The agent whose effect it is; the scenario's own by default.
    pub of: Option<String>,
    /// So long after that moment, in milliseconds.
    #[serde(default)]
    pub after_ms: u64,
}

/// A fault of the world around the runtime. Exactly one of the first four keys is given.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "FaultKeys")]
#[schemars(with = "FaultKeys")]
pub struct FaultScript {
    /// What happens.
    pub what: FaultWhat,
    /// Where.
    pub effect: EffectId,
    /// The agent whose effect it is; the scenario's own by default.
    pub of: Option<String>,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultWhat {
    /// The process is killed before the effect is performed; another one resumes.
    CrashBefore,
    /// The process is killed when the effect has been performed and its answer is not written down.
    CrashAfter,
    /// The clock jumps by so many milliseconds before the effect is performed.
    ClockJump(i64),
    /// The store fails to write once, from this effect on.
    StoreFails,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FaultKeys {
    /// The process is killed before this effect is performed, such as `s1.c1.run`; another resumes.
    crash_before: Option<String>,
    /// The process is killed when this effect has been performed and its answer is not written down.
    crash_after: Option<String>,
    /// The clock jumps before this effect is performed.
    clock_jump: Option<String>,
    /// The store fails to write once, from this effect on.
    store_fails: Option<String>,
    /// By how much the clock jumps, forwards or backwards.
    #[serde(default)]
    by_ms: i64,
    /// The agent whose effect it is; the scenario's own by default.
    of: Option<String>,
}

impl TryFrom<FaultKeys> for FaultScript {
    type Error = String;

    fn try_from(keys: FaultKeys) -> Result<Self, String> {
        let named = [
            (keys.crash_before, FaultWhat::CrashBefore),
            (keys.crash_after, FaultWhat::CrashAfter),
            (keys.clock_jump, FaultWhat::ClockJump(keys.by_ms)),
            (keys.store_fails, FaultWhat::StoreFails),
        ];
        let mut named = named.into_iter().filter_map(|(effect, what)| Some((effect?, what)));
        match (named.next(), named.next()) {
            (Some((effect, what)), None) => {
                Ok(Self { what, effect: effect.parse().map_err(|error| format!("{error}"))?, of: keys.of })
            }
            (None, _) | (Some(_), Some(_)) => {
                Err("a fault has one of `crash_before`, `crash_after`, `clock_jump` and `store_fails`".to_owned())
            }
        }
    }
}

fn effect_id<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<EffectId>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
}
