//! Ids of calls, shortened for providers that accept only short ones.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::llm::dialect::ToolCallIds;

/// The id as the provider accepts it. The same id gives the same answer in every message and run.
pub(crate) fn wire_id(id: &str, rule: ToolCallIds) -> Cow<'_, str> {
    match rule {
        ToolCallIds::Any => Cow::Borrowed(id),
        ToolCallIds::Max40 if id.chars().count() <= 40 => Cow::Borrowed(id),
        ToolCallIds::Max40 => Cow::Owned(format!("call_{}", letters_of(id, 32))),
        ToolCallIds::Alnum9 if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            Cow::Borrowed(id)
        }
        ToolCallIds::Alnum9 => Cow::Owned(letters_of(id, 9)),
    }
}

/// Letters and digits out of a hash; nine of them tell 10^16 ids apart.
fn letters_of(id: &str, length: usize) -> String {
    let digest = Sha256::digest(id.as_bytes());
    digest.iter().take(length).map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])).collect()
}

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c017_strict_ids_are_nine_letters_or_digits_and_fitting_ones_stay() {
        for id in ["turn1_0", "call_a1", "", "abc-12345", "杭州杭"] {
            let short = wire_id(id, ToolCallIds::Alnum9);
            assert!(short.len() == 9 && short.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{short}");
            assert_eq!(short, wire_id(id, ToolCallIds::Alnum9));
        }
        assert_eq!(wire_id("abcDEF123", ToolCallIds::Alnum9), "abcDEF123");
        assert_eq!(wire_id("turn1_0", ToolCallIds::Any), "turn1_0");
    }

    #[test]
    fn c018_long_ids_become_short_and_stay_different() {
        let [a, b] = ["a", "b"].map(|end| format!("run_{}{end}", "a".repeat(59)));
        let short = |id: &str| wire_id(id, ToolCallIds::Max40).into_owned();
        assert!(short(&a).len() <= 40);
        assert_ne!(short(&a), short(&b));
        assert_eq!(short("call_1"), "call_1");
    }
}
