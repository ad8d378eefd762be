//! Small helpers on text and bytes that several modules share.

use sha2::{Digest, Sha256};

/// The longest prefix of at most `bytes_max` bytes that ends between two characters.
pub(crate) fn prefix(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The SHA-256 of all parts in a row, in lower-case hex.
pub(crate) fn sha256_hex(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(HEX_DIGITS[usize::from(digit)])).collect()
}

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
