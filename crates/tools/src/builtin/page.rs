//! A page of a text, by lines: what one call of a reading tool shows.

use std::fmt::Write as _;
use std::io::{self, BufRead};

use super::Refusal;
use super::blocking::Cancel;
use crate::limits;

/// Some lines of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    bytes: Vec<u8>,
    /// The first line that is not shown, if there is one.
    next: Option<u64>,
    /// The page is a part of one line that is too long for a page.
    is_cut: bool,
}

/// Reads at most `limit` whole lines from line `offset` on, counted from 1. Memory is bounded by the
/// page, not by the text.
pub(super) fn page(reader: &mut impl BufRead, offset: u64, limit: u64, cancel: &Cancel) -> Result<Page, Refusal> {
    let offset = offset.max(1);
    let end = offset.saturating_add(limit.clamp(1, limits::PAGE_LINES_MAX));
    let mut page = Page::default();
    let mut line = 1;
    // Where the line that is being read begins in the page.
    let mut line_start = 0;
    loop {
        cancel.check()?;
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(page);
        }
        if line == end {
            page.next = Some(line);
            return Ok(page);
        }
        let (piece, is_whole) = first_line(chunk);
        if line >= offset && page.bytes.len() + piece.len() > limits::PAGE_BYTES_MAX {
            return Ok(overfull(page, line, line_start, piece));
        }
        if line >= offset {
            page.bytes.extend_from_slice(piece);
        }
        let consumed = piece.len();
        reader.consume(consumed);
        if is_whole {
            line += 1;
            line_start = page.bytes.len();
        }
    }
}

impl Page {
    /// The lines, and where to read on. Bytes that are not UTF-8 become replacement marks.
    pub(super) fn into_text(self, offset: u64) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).into_owned();
        if let Some(next) = self.next {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            let offset = offset.max(1);
            let note = if self.is_cut {
                format!("[Line {offset} is too long for a page; its beginning is shown. Read on with offset {next}.]")
            } else {
                format!("[Lines {offset} to {} are shown. Read on with offset {next}.]", next - 1)
            };
            let _ = write!(text, "{note}");
        }
        text
    }
}

/// Ends a page before the line that no longer fits; a page that would be empty shows its beginning.
fn overfull(mut page: Page, line: u64, line_start: usize, piece: &[u8]) -> Page {
    if line_start > 0 {
        page.bytes.truncate(line_start);
        page.next = Some(line);
        return page;
    }
    let room = limits::PAGE_BYTES_MAX - page.bytes.len();
    page.bytes.extend_from_slice(&piece[..room]);
    page.bytes.truncate(whole_chars(&page.bytes));
    page.next = Some(line + 1);
    page.is_cut = true;
    page
}

fn first_line(chunk: &[u8]) -> (&[u8], bool) {
    match chunk.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&chunk[..=end], true),
        None => (chunk, false),
    }
}

/// How many bytes remain when a character that is cut off at the end is left out.
pub(super) fn whole_chars(bytes: &[u8]) -> usize {
    match str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // Not UTF-8 further up; the cut is one replacement mark among others.
        Err(_) => bytes.len(),
    }
}

/// Whether the beginning of a file looks like no text: text holds no NUL.
pub(super) fn looks_binary(reader: &mut impl BufRead) -> io::Result<bool> {
    Ok(reader.fill_buf()?.contains(&0))
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{Cancel, page};
    use crate::limits;

    /// Reads a page through a small buffer, so that lines span chunks.
    fn read(text: &str, offset: u64, limit: u64) -> String {
        let mut reader = BufReader::with_capacity(7, text.as_bytes());
        page(&mut reader, offset, limit, &Cancel::default()).unwrap().into_text(offset)
    }

    #[test]
    fn a_text_that_fits_is_shown_as_it_stands() {
        assert_eq!(read("one\ntwo\nthree", 1, 100), "one\ntwo\nthree");
        assert_eq!(read("one\ntwo\n", 1, 2), "one\ntwo\n");
        assert_eq!(read("", 1, 100), "");
    }

    #[test]
    fn a_page_says_where_to_read_on() {
        assert_eq!(read("one\ntwo\nthree\nfour", 2, 2), "two\nthree\n[Lines 2 to 3 are shown. Read on with offset 4.]");
        assert_eq!(read("one\ntwo\nthree\nfour", 4, 2), "four");
        assert_eq!(read("one\n", 9, 2), "");
    }

    #[test]
    fn a_page_ends_with_the_last_line_that_fits() {
        let line = format!("{}\n", "x".repeat(999));
        let shown = read(&line.repeat(100), 1, 1000);
        assert!(shown.len() <= limits::PAGE_BYTES_MAX + 100);
        assert!(
            shown.ends_with("[Lines 1 to 20 are shown. Read on with offset 21.]"),
            "{}",
            &shown[shown.len() - 60..]
        );
    }

    #[test]
    fn a_line_longer_than_a_page_is_cut_between_characters() {
        let shown = read(&format!("a{}\nnext\n", "é".repeat(limits::PAGE_BYTES_MAX)), 1, 10);
        assert!(shown.contains("Line 1 is too long") && shown.contains("offset 2"));
        assert!(!shown.contains('\u{fffd}'));
    }
}
