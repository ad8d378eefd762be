//! The windows that events show of long texts. Counted in Unicode scalar values, so no character is cut in two.

/// The start of an instruction to a sub-agent, as `beforeCallAgent` shows it.
///
/// ```
/// use jackline_hooks::instruction_excerpt;
/// assert_eq!(instruction_excerpt("short"), "short");
/// assert_eq!(instruction_excerpt(&"ü".repeat(300)).chars().count(), 200);
/// ```
pub fn instruction_excerpt(text: &str) -> String {
    prefix(text, INSTRUCTION_CHARS_MAX).to_owned()
}

/// The start of a summary, as `afterCompact` shows it.
pub fn summary_excerpt(text: &str) -> String {
    prefix(text, SUMMARY_CHARS_MAX).to_owned()
}

/// The start of an earlier answer, as `lastLLMContent` of `afterStep` shows it; `...` marks a cut.
pub fn last_content_excerpt(text: &str) -> String {
    let window = prefix(text, LAST_CONTENT_CHARS_MAX);
    if window.len() == text.len() { text.to_owned() } else { format!("{window}...") }
}

fn prefix(text: &str, chars_max: usize) -> &str {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Enough to recognise a task without repeating a whole prompt in every receiver's log.
const INSTRUCTION_CHARS_MAX: usize = 200;

/// Enough to tell what was folded.
const SUMMARY_CHARS_MAX: usize = 500;

/// Enough for a status line of a long answer.
const LAST_CONTENT_CHARS_MAX: usize = 1800;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l12_a_summary_shows_at_most_five_hundred_characters() {
        assert_eq!(summary_excerpt(&"é".repeat(500)), "é".repeat(500));
        assert_eq!(summary_excerpt(&"é".repeat(501)), "é".repeat(500));
        assert_eq!(summary_excerpt(""), "");
    }

    #[test]
    fn l13_an_instruction_is_cut_at_two_hundred_characters() {
        assert_eq!(instruction_excerpt(&"a🦀".repeat(101)), "a🦀".repeat(100));
    }

    #[test]
    fn a_cut_earlier_answer_ends_in_dots_and_a_whole_one_does_not() {
        assert_eq!(last_content_excerpt(&"x".repeat(1800)), "x".repeat(1800));
        assert_eq!(last_content_excerpt(&"x".repeat(1801)), format!("{}...", "x".repeat(1800)));
    }
}
