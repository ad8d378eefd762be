//! What a scenario has covered.

use std::collections::{BTreeMap, BTreeSet};

use jackline_hooks::HookKind;

/// What was seen of the table of transitions and of the hooks' answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// How often each row was taken.
    pub(crate) rows: BTreeMap<u8, u64>,
    /// Which answers hooks of each type gave.
    pub(crate) answers: BTreeSet<(HookKind, Answered)>,
}

impl Seen {
    pub(crate) fn merge(&mut self, other: &Self) {
        for (row, times) in &other.rows {
            *self.rows.entry(*row).or_default() += times;
        }
        self.answers.extend(&other.answers);
    }
}

/// The answers that coverage tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Answered {
    Ok,
    Error,
    Panic,
    Hang,
    Mock,
    Deny,
    DenyWithoutReason,
}

impl Answered {
    pub(crate) const ALL: [Self; 7] =
        [Self::Ok, Self::Error, Self::Panic, Self::Hang, Self::Mock, Self::Deny, Self::DenyWithoutReason];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Panic => "panic",
            Self::Hang => "hang",
            Self::Mock => "mock",
            Self::Deny => "deny",
            Self::DenyWithoutReason => "deny, no reason",
        }
    }

    /// Whether hooks of this type can answer so.
    pub(crate) fn fits(self, kind: HookKind) -> bool {
        match self {
            Self::Ok | Self::Error | Self::Panic | Self::Hang => true,
            Self::Mock | Self::DenyWithoutReason => kind == HookKind::BeforeToolCall,
            Self::Deny => matches!(kind, HookKind::BeforeToolCall | HookKind::AfterToolCall),
        }
    }

    /// The answer that a receipt tells of.
    pub(crate) fn of_receipt(word: &str, had_reason: bool) -> Option<Self> {
        match word {
            "ok" | "allow" | "keep" => Some(Self::Ok),
            "error" => Some(Self::Error),
            "panic" => Some(Self::Panic),
            "timeout" => Some(Self::Hang),
            "mock" => Some(Self::Mock),
            "deny" if had_reason => Some(Self::Deny),
            "deny" => Some(Self::DenyWithoutReason),
            _unknown => None,
        }
    }
}
