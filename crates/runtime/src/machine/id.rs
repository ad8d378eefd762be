//! Names of effects. A name says a place in the run, not a count of what happened.

use std::fmt;
use std::str::FromStr;

/// The name of one effect: `s3.c1.run` is step 3, call 1, running.
///
/// A replay that sees two calls finish in another order still agrees on every name.
///
/// ```
/// use jackline_runtime::machine::{EffectId, Unit, Verb};
/// let id = EffectId { step: 3, unit: Unit::Call(1), verb: Verb::Run, attempt: 0 };
/// assert_eq!(id.to_string(), "s3.c1.run");
/// assert_eq!("s3.c1.run".parse(), Ok(id));
/// assert!("s3.c1.fly".parse::<EffectId>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId {
    /// The step that asked.
    pub step: u32,
    /// What it is about.
    pub unit: Unit,
    /// What is asked.
    pub verb: Verb,
    /// Which try; 0 is the first and is not printed.
    pub attempt: u16,
}

/// What an effect is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// The step itself.
    Step,
    /// The model.
    Model,
    /// A tool call, by its place in the answer that asked for it, from 1.
    Call(u16),
    /// The compression of the history.
    Compact,
    /// A person.
    Human,
    /// A hook firing, by its place in the step.
    Hook(u16),
}

/// What an effect asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is explained at its effect")]
pub enum Verb {
    Plan,
    Ask,
    Clear,
    Run,
    Judge,
    Refuse,
    Start,
    Summarize,
    Fire,
    Cancel,
}

impl Verb {
    const ALL: [Self; 10] = [
        Self::Plan,
        Self::Ask,
        Self::Clear,
        Self::Run,
        Self::Judge,
        Self::Refuse,
        Self::Start,
        Self::Summarize,
        Self::Fire,
        Self::Cancel,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Clear => "clear",
            Self::Run => "run",
            Self::Judge => "judge",
            Self::Refuse => "refuse",
            Self::Start => "start",
            Self::Summarize => "summarize",
            Self::Fire => "fire",
            Self::Cancel => "cancel",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step => f.write_str("step"),
            Self::Model => f.write_str("model"),
            Self::Call(ordinal) => write!(f, "c{ordinal}"),
            Self::Compact => f.write_str("compact"),
            Self::Human => f.write_str("human"),
            Self::Hook(ordinal) => write!(f, "h{ordinal}"),
        }
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}.{}.{}", self.step, self.unit, self.verb.as_str())?;
        match self.attempt {
            0 => Ok(()),
            attempt => write!(f, ".{attempt}"),
        }
    }
}

impl FromStr for EffectId {
    type Err = BadEffectId;

    fn from_str(text: &str) -> Result<Self, BadEffectId> {
        parse(text).ok_or_else(|| BadEffectId(text.to_owned()))
    }
}

/// Text that names no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no effect id")]
pub struct BadEffectId(String);

fn parse(text: &str) -> Option<EffectId> {
    let mut parts = text.split('.');
    let step = parts.next()?.strip_prefix('s')?.parse().ok()?;
    let unit = parse_unit(parts.next()?)?;
    let word = parts.next()?;
    let verb = Verb::ALL.into_iter().find(|verb| verb.as_str() == word)?;
    let attempt = match parts.next() {
        Some(number) => number.parse().ok()?,
        None => 0,
    };
    parts.next().is_none().then_some(EffectId { step, unit, verb, attempt })
}

fn parse_unit(text: &str) -> Option<Unit> {
    match text {
        "step" => Some(Unit::Step),
        "model" => Some(Unit::Model),
        "compact" => Some(Unit::Compact),
        "human" => Some(Unit::Human),
        numbered => match numbered.strip_prefix('c') {
            Some(ordinal) => ordinal.parse().ok().map(Unit::Call),
            None => numbered.strip_prefix('h')?.parse().ok().map(Unit::Hook),
        },
    }
}
