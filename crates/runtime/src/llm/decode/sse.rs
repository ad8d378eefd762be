//! Server-sent events out of arbitrary pieces of bytes.

use std::collections::VecDeque;

use crate::llm::limits::{ANSWER_BYTES_MAX, EVENT_BYTES_MAX};

/// Something that a stream said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SseEvent {
    /// The data of one event, its lines joined with line feeds.
    Data {
        /// The text of the `data:` lines.
        text: String,
        /// Whether the event is named `error`.
        is_error: bool,
    },
    /// The end marker. Nothing after it counts, and the connection may well stay open.
    Done,
}

/// More bytes than any honest answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SseLimit {
    /// One event alone.
    #[error("an event of the stream is longer than {EVENT_BYTES_MAX} bytes")]
    Event,
    /// The whole stream.
    #[error("the answer is longer than {ANSWER_BYTES_MAX} bytes")]
    Answer,
}

/// Reads lines and events; a line is decoded only when it is complete, so that a character which
/// was cut between two reads stays whole.
#[derive(Debug, Default)]
pub(crate) struct SseReader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    is_error: bool,
    after_cr: bool,
    at_line: u64,
    bytes: usize,
    events: VecDeque<SseEvent>,
}

impl SseReader {
    /// Takes the next piece, however it was cut.
    pub(crate) fn handle_bytes(&mut self, mut piece: &[u8]) -> Result<(), SseLimit> {
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > ANSWER_BYTES_MAX {
            return Err(SseLimit::Answer);
        }
        if self.after_cr && !piece.is_empty() {
            self.after_cr = false;
            piece = piece.strip_prefix(b"\n").unwrap_or(piece);
        }
        while let Some(at) = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line.extend_from_slice(&piece[..at]);
            self.end_line()?;
            let rest = &piece[at + 1..];
            if piece[at] != b'\r' {
                piece = rest;
                continue;
            }
            self.after_cr = rest.is_empty();
            piece = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        self.line.extend_from_slice(piece);
        self.check_event()
    }

    /// The connection ended: what stands there without a closing empty line counts too.
    pub(crate) fn handle_end(&mut self) -> Result<(), SseLimit> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        self.end_event();
        Ok(())
    }

    /// The oldest event that nobody took yet.
    pub(crate) fn next_event(&mut self) -> Option<SseEvent> {
        self.events.pop_front()
    }

    fn end_line(&mut self) -> Result<(), SseLimit> {
        let mut line = std::mem::take(&mut self.line);
        self.at_line += 1;
        let text = if self.at_line == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line) } else { &line };
        match text {
            b"" => self.end_event(),
            _ => self.take_field(text),
        }
        line.clear();
        self.line = line;
        self.check_event()
    }

    fn take_field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => self.take_data(value),
            b"event" => self.is_error = value.trim_ascii() == b"error",
            // A comment, `id`, `retry`, or something that nobody defined: all are to be ignored.
            _ => {}
        }
    }

    fn take_data(&mut self, value: &[u8]) {
        // The marker counts as soon as its line ends: some servers send no empty line after it.
        if !self.has_data && value.trim_ascii() == DONE {
            self.events.push_back(SseEvent::Done);
            return;
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    fn end_event(&mut self) {
        let is_error = std::mem::take(&mut self.is_error);
        if !std::mem::take(&mut self.has_data) {
            return;
        }
        let data = std::mem::take(&mut self.data);
        if data.trim_ascii().is_empty() {
            return;
        }
        let text = match String::from_utf8(data) {
            Ok(text) => text,
            Err(broken) => String::from_utf8_lossy(broken.as_bytes()).into_owned(),
        };
        self.events.push_back(SseEvent::Data { text, is_error });
    }

    fn check_event(&self) -> Result<(), SseLimit> {
        if self.line.len().saturating_add(self.data.len()) > EVENT_BYTES_MAX {
            return Err(SseLimit::Event);
        }
        Ok(())
    }
}

const DONE: &[u8] = b"[DONE]";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut reader = SseReader::default();
        for piece in pieces {
            reader.handle_bytes(piece).unwrap();
        }
        reader.handle_end().unwrap();
        std::iter::from_fn(|| reader.next_event()).collect()
    }

    fn data(text: &str) -> SseEvent {
        SseEvent::Data { text: text.to_owned(), is_error: false }
    }

    #[test]
    fn line_ends_of_all_three_kinds_are_equal() {
        for text in ["data: a\n\ndata: b\n\n", "data: a\r\n\r\ndata: b\r\n\r\n", "data: a\r\rdata: b\r\r"] {
            assert_eq!(read(&[text.as_bytes()]), [data("a"), data("b")]);
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(read(&bytes), [data("a"), data("b")]);
        }
    }

    #[test]
    fn lines_of_one_event_are_joined() {
        assert_eq!(read(&[b"data: {\ndata:\"a\":1}\n\n"]), [data("{\n\"a\":1}")]);
    }

    #[test]
    fn comments_names_ids_and_retries_are_no_data() {
        assert_eq!(read(&[b": hi\n:\nretry: 3\nid: 7\nevent: ping\ndata:\n\nodd\n\ndata: x\n\n"]), [data("x")]);
    }

    #[test]
    fn event_named_error_is_marked_and_the_next_is_not() {
        let error = SseEvent::Data { text: "x".to_owned(), is_error: true };
        assert_eq!(read(&[b"event: error\ndata: x\n\ndata: y\n\n"]), [error, data("y")]);
    }

    #[test]
    fn end_marker_counts_when_its_line_ends() {
        let mut reader = SseReader::default();
        reader.handle_bytes(b"data: [DONE]").unwrap();
        assert_eq!(reader.next_event(), None);
        reader.handle_bytes(b"\r").unwrap();
        assert_eq!(reader.next_event(), Some(SseEvent::Done));
    }

    #[test]
    fn end_without_an_empty_line_gives_the_last_event() {
        assert_eq!(read(&[b"data: a\n\ndata: [DONE]"]), [data("a"), SseEvent::Done]);
        assert_eq!(read(&[b"data: a"]), [data("a")]);
    }

    #[test]
    fn byte_order_mark_is_skipped() {
        assert_eq!(read(&[b"\xef\xbb", b"\xbfdata: a\n\n"]), [data("a")]);
    }

    #[test]
    fn endless_line_is_refused() {
        let mut reader = SseReader::default();
        let piece = vec![b'x'; EVENT_BYTES_MAX / 2 + 1];
        reader.handle_bytes(&piece).unwrap();
        assert_eq!(reader.handle_bytes(&piece), Err(SseLimit::Event));
    }

    #[test]
    fn endless_stream_is_refused() {
        let mut reader = SseReader::default();
        let piece = b": padding\n".repeat(ANSWER_BYTES_MAX / 40);
        let ends: Vec<_> = (0..5).map(|_| reader.handle_bytes(&piece)).collect();
        assert_eq!(ends.last(), Some(&Err(SseLimit::Answer)));
    }
}
