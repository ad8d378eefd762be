//! Output of which the beginning and the end are kept.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::page::whole_chars;

/// The beginning and the end of a stream of bytes, and how much there was.
#[derive(Debug)]
pub(super) struct Clipped {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half_max: usize,
    total: usize,
}

impl Clipped {
    /// Keeps at most this many bytes, half from the beginning and half from the end.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half_max: bytes_max / 2, total: 0 }
    }

    /// Reads to the end of a stream. A broken pipe is an end like another. What was read by then is
    /// kept when the future is dropped.
    pub(super) async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(length @ 1..) = stream.read(&mut chunk).await {
            self.push(&chunk[..length]);
        }
    }

    /// Whether nothing was left out.
    pub(super) fn is_whole(&self) -> bool {
        self.total == self.head.len() + self.tail.len()
    }

    /// The text, with a mark where something was left out. What is not UTF-8 becomes replacement
    /// marks; characters that the cut went through are left out.
    pub(super) fn text(&self) -> String {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        if self.is_whole() {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let head = &self.head[..whole_chars(&self.head)];
        let cut = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let left_out = self.total - head.len() - (tail.len() - cut);
        format!(
            "{}\n[{left_out} of {} bytes left out]\n{}",
            String::from_utf8_lossy(head),
            self.total,
            String::from_utf8_lossy(&tail[cut..])
        )
    }

    /// The end of the text, at most this many bytes of it.
    pub(super) fn ending(&self, bytes_max: usize) -> String {
        let text = self.text();
        text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..].trim().to_owned()
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let (head, rest) = bytes.split_at(bytes.len().min(self.half_max - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.half_max);
        self.tail.drain(..excess);
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How much is read at once: what a pipe commonly holds.
const CHUNK_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::Clipped;

    async fn clipped(text: &[u8], bytes_max: usize) -> Clipped {
        let mut clipped = Clipped::new(bytes_max);
        clipped.fill(Some(text)).await;
        clipped
    }

    #[tokio::test]
    async fn what_fits_is_kept_as_it_stands() {
        let text = "äöü🦀 and more";
        for bytes_max in [text.len() + 1, 1000] {
            assert_eq!(clipped(text.as_bytes(), bytes_max).await.text(), text);
        }
    }

    #[tokio::test]
    async fn of_the_rest_beginning_and_end_are_kept() {
        let kept = clipped(b"0123456789", 4).await;
        assert!(!kept.is_whole());
        assert_eq!(kept.text(), "01\n[6 of 10 bytes left out]\n89");
        assert_eq!(kept.ending(1), "9");
    }

    #[tokio::test]
    async fn a_cut_leaves_no_half_characters() {
        for bytes_max in 2..40 {
            let text = clipped("🦀é".repeat(20).as_bytes(), bytes_max).await.text();
            assert!(!text.contains('\u{fffd}'), "{bytes_max}: {text}");
        }
    }

    #[tokio::test]
    async fn c151_bytes_that_are_no_text_become_marks_and_nul_cuts_nothing() {
        let text = clipped(b"\xff\xfe\x00\xc3(\x1b[2Jhello\n", 100).await.text();
        assert_eq!(text, "\u{fffd}\u{fffd}\0\u{fffd}(\u{1b}[2Jhello\n");
    }
}
