//! A set of hook types, in sixteen bits.

use crate::HookKind;

/// A set of hook types. Asking it costs one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KindSet(u16);

impl KindSet {
    /// All sixteen.
    pub(crate) const ALL: Self = Self(u16::MAX);

    /// The set of one.
    pub(crate) fn of(kind: HookKind) -> Self {
        Self(1 << kind as u8)
    }

    /// What is in either.
    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The type, if there is exactly one.
    pub(crate) fn only(self) -> Option<HookKind> {
        HookKind::ALL.into_iter().find(|kind| self == Self::of(*kind))
    }

    /// Whether a type is in it.
    pub(crate) fn contains(self, kind: HookKind) -> bool {
        self.0 & Self::of(kind).0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_the_sixteen_has_its_own_bit() {
        for kind in HookKind::ALL {
            let set = KindSet::of(kind);
            assert_eq!(HookKind::ALL.into_iter().filter(|other| set.contains(*other)).collect::<Vec<_>>(), [kind]);
            assert!(KindSet::ALL.contains(kind) && !KindSet::default().contains(kind));
        }
    }
}
