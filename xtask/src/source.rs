//! Reading source files: which there are, and what in them is code.
//!
//! This is a reader for house rules, not a parser: it knows comments, literals, attributes and
//! braces, and nothing about types. The house tests read sources through the same file.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders that hold nothing committed.
const SKIPPED_FOLDERS: [&str; 4] = ["target", ".git", ".jackline", "node_modules"];

/// Every file below `root`, sorted, as paths relative to `root` with forward slashes.
///
/// A `root` that does not exist has no files.
pub(crate) fn files_below(root: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(root.join(&folder)) {
            Ok(entries) => entries,
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => continue,
            Err(other) => return Err(other),
        };
        for entry in entries {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() && !is_skipped(&path) {
                folders.push(path);
            } else if kind.is_file() {
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The text with comments and the insides of literals blanked. Lines and columns stay where they are.
pub(crate) fn code_only(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut kept = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match token_at(bytes, at) {
            Token::Comment(end) => {
                blank(&mut kept[at..end]);
                end
            }
            Token::Literal { inside, end, next } => {
                blank(&mut kept[inside..end]);
                next
            }
            Token::Code(end) => end,
        };
        at = end.max(at + 1);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// The line of a byte, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

enum Token {
    Comment(usize),
    Literal { inside: usize, end: usize, next: usize },
    Code(usize),
}

fn is_skipped(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| SKIPPED_FOLDERS.iter().any(|skipped| name == *skipped))
}

fn token_at(bytes: &[u8], at: usize) -> Token {
    let rest = &bytes[at..];
    let starts_word = at == 0 || !is_word(bytes[at - 1]);
    match rest {
        [b'/', b'/', ..] => Token::Comment(at + position(rest, b'\n')),
        [b'/', b'*', ..] => Token::Comment(block_comment_end(bytes, at)),
        [b'"', ..] => quoted(bytes, at + 1, b'"'),
        [b'\'', ..] => char_or_lifetime(bytes, at),
        [b'r' | b'b' | b'c', ..] if starts_word => prefixed(bytes, at),
        [..] => Token::Code(at + 1),
    }
}

/// A literal with a prefix (`r"`, `br#"`, `b'`), or else a word, passed whole.
fn prefixed(bytes: &[u8], at: usize) -> Token {
    let letters = bytes[at..].iter().take(2).take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
    let after = at + letters;
    let is_raw = bytes[at..after].contains(&b'r');
    let hashes = bytes[after..].iter().take_while(|byte| **byte == b'#').count();
    match bytes.get(after + hashes) {
        Some(b'"') if is_raw => raw(bytes, after + hashes + 1, hashes),
        Some(b'"') if hashes == 0 => quoted(bytes, after + 1, b'"'),
        Some(b'\'') if hashes == 0 && bytes[at] == b'b' => quoted(bytes, after + 1, b'\''),
        Some(_) | None => Token::Code(at + bytes[at..].iter().take_while(|byte| is_word(**byte)).count()),
    }
}

fn quoted(bytes: &[u8], inside: usize, close: u8) -> Token {
    let mut at = inside;
    while at < bytes.len() && bytes[at] != close {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    let end = at.min(bytes.len());
    Token::Literal { inside, end, next: (end + 1).min(bytes.len()) }
}

fn raw(bytes: &[u8], inside: usize, hashes: usize) -> Token {
    let close = [vec![b'"'], vec![b'#'; hashes]].concat();
    let end = bytes[inside..].windows(close.len()).position(|window| window == close);
    let end = end.map_or(bytes.len(), |found| inside + found);
    Token::Literal { inside, end, next: (end + close.len()).min(bytes.len()) }
}

fn char_or_lifetime(bytes: &[u8], at: usize) -> Token {
    let is_escape = bytes.get(at + 1) == Some(&b'\\');
    // A character may take up to four bytes; a lifetime has no closing quote that near to one letter.
    let width = bytes.get(at + 1).map_or(1, |first| utf8_width(*first));
    if is_escape || bytes.get(at + 1 + width) == Some(&b'\'') {
        return quoted(bytes, at + 1, b'\'');
    }
    Token::Code(at + 1)
}

fn utf8_width(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0_usize, start);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            [..] => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(bytes.len())
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn position(bytes: &[u8], wanted: u8) -> usize {
    bytes.iter().position(|byte| *byte == wanted).unwrap_or(bytes.len())
}

/// Turns everything but line ends into spaces.
pub(crate) fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_code_stays_in_place() {
        let code = code_only("let a = \"fn x\"; // note\nlet b = 'c';/* x /* y */ z */let c = r#\"a \" b\"#;");
        assert_eq!(code, "let a = \"    \";        \nlet b = ' ';                 let c = r#\"     \"#;");
    }

    #[test]
    fn a_lifetime_is_not_a_character() {
        assert_eq!(code_only("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn an_escaped_quote_does_not_end_a_literal() {
        assert_eq!(code_only(r#"f("a\"b", '\'') // x"#), r#"f("    ", '  ')     "#);
    }

    #[test]
    fn a_name_that_starts_like_a_prefix_is_code() {
        assert_eq!(code_only("bar(crate_b, r#type)"), "bar(crate_b, r#type)");
    }
}
