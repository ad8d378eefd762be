//! What is wrong with an agent file, and where.

use std::fmt;

/// A mistake in an agent file, at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, as it was named to the reader.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key, with the section it is in, as `limits.max_steps`. Empty where there is none.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// The word that was probably meant.
    pub suggestion: Option<String>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        let name = self.key.rsplit('.').next().unwrap_or_default();
        if !self.key.is_empty() && !has_word(&self.message, name) {
            write!(f, " (in `{}`)", self.key)?;
        }
        match &self.suggestion {
            Some(suggestion) => write!(f, "; did you mean `{suggestion}`?"),
            None => Ok(()),
        }
    }
}

/// Whether a name stands in a message as a word of its own.
fn has_word(message: &str, name: &str) -> bool {
    message.split(|letter: char| !(letter.is_alphanumeric() || "_-[]".contains(letter))).any(|word| word == name)
}

impl std::error::Error for ConfigError {}
