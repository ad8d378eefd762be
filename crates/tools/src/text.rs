//! Small helpers on text and bytes that several modules share.

use std::fmt::Write as _;

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
    digest.iter().fold(String::with_capacity(digest.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
