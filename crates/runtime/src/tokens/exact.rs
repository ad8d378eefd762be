//! Exact counts, with the tables of `tiktoken`.

use tiktoken_rs::tokenizer::{Tokenizer, get_tokenizer};
use tiktoken_rs::{CoreBPE, bpe_for_tokenizer, o200k_base_singleton};

use super::TokenCounter;

/// Counts as the tokeniser of a model does.
///
/// A model that is not known is counted with `o200k_base`. The table is read when the first text
/// is counted and then shared by the whole process.
#[derive(Clone, Copy, Debug)]
pub struct TiktokenCounter {
    encoding: Tokenizer,
    is_fallback: bool,
}

impl TiktokenCounter {
    /// The counter of a model; a provider's prefix, as in `openai/gpt-5`, is passed over.
    pub fn for_model(model: &str) -> Self {
        let bare = model.rsplit('/').next().unwrap_or(model);
        match get_tokenizer(bare) {
            Some(encoding) => Self { encoding, is_fallback: false },
            None => Self { encoding: Tokenizer::O200kBase, is_fallback: true },
        }
    }

    /// Whether the model is not known, so that counts are estimates. Whoever makes the counter may
    /// say so once.
    pub fn is_fallback(&self) -> bool {
        self.is_fallback
    }

    fn table(&self) -> &'static CoreBPE {
        bpe_for_tokenizer(self.encoding).unwrap_or_else(|_| o200k_base_singleton())
    }
}

impl TokenCounter for TiktokenCounter {
    fn count_text(&self, text: &str) -> u64 {
        self.table().count_ordinary(text) as u64
    }

    fn is_exact(&self) -> bool {
        true
    }
}
