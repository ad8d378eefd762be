//! Why a model stopped, in the words of many servers.

use crate::llm::FinishReason;

/// Reads a server's word. The second half is that word itself when the published API does not know it.
pub(crate) fn read_finish(word: &str) -> (FinishReason, Option<String>) {
    let known = match word {
        "stop" => Some(FinishReason::Stop),
        "tool_calls" | "function_call" => Some(FinishReason::ToolCalls),
        "length" => Some(FinishReason::Length),
        "content_filter" => Some(FinishReason::ContentFilter),
        _ => None,
    };
    match known {
        Some(reason) => (reason, None),
        None => (read_foreign(&word.to_ascii_lowercase()), Some(word.to_owned())),
    }
}

/// Words that mean more than "done" in other dialects. Anything else is taken for an ordinary end:
/// the answer is there, and what it holds decides.
fn read_foreign(word: &str) -> FinishReason {
    match word {
        "tool_use" | "tool_call" | "tool-calls" => FinishReason::ToolCalls,
        "max_tokens"
        | "max_output_tokens"
        | "model_length"
        | "model_context_window_exceeded"
        | "max_length"
        | "length" => FinishReason::Length,
        "content-filter" | "safety" | "recitation" | "prohibited_content" | "blocklist" | "sensitive" => {
            FinishReason::ContentFilter
        }
        "abort" | "aborted" | "cancelled" | "canceled" => FinishReason::Abort,
        _ => FinishReason::Stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_api_leave_no_raw_word() {
        assert_eq!(read_finish("stop"), (FinishReason::Stop, None));
        assert_eq!(read_finish("function_call"), (FinishReason::ToolCalls, None));
    }

    #[test]
    fn c026_foreign_words_are_read_and_kept() {
        for (word, reason) in [
            ("eos_token", FinishReason::Stop),
            ("end_turn", FinishReason::Stop),
            ("model_length", FinishReason::Length),
            ("MAX_TOKENS", FinishReason::Length),
            ("SAFETY", FinishReason::ContentFilter),
            ("abort", FinishReason::Abort),
        ] {
            assert_eq!(read_finish(word), (reason, Some(word.to_owned())));
        }
    }
}
