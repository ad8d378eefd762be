//! Reading a scenario, and saying where it is wrong.

use std::fmt;

use serde_json::Value;
use serde_saphyr::Error as YamlError;

use super::script::Script;

/// A scenario that has been read.
///
/// ```
/// use jackline_scenario::Scenario;
///
/// let text = "about: It answers.\ninput: hi\nturns:\n- reply: {text: hello}\nexpect: {reason: done}\n";
/// assert_eq!(Scenario::parse(text, "hi.yaml").unwrap().script.about, "It answers.");
///
/// let error = Scenario::parse("about: It answers.\ninputt: hi\nexpect: {}\n", "hi.yaml").unwrap_err();
/// assert_eq!(error.to_string(), "hi.yaml:2:1: unknown key `inputt`; did you mean `input`?");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The file, as it was named to the reader.
    pub path: String,
    /// Its content.
    pub script: Script,
}

impl Scenario {
    /// Reads YAML or JSON. A byte order mark and line ends of Windows are taken as they come.
    ///
    /// # Errors
    ///
    /// [`ScenarioError`] at the first mistake: correct it.
    pub fn parse(text: &str, path: &str) -> Result<Self, ScenarioError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        // `no` and `yes` are words, as people write them in answers.
        let options = serde_saphyr::options! { strict_booleans: true };
        let script =
            serde_saphyr::from_str_with_options(&text, options).map_err(|error| describe(&error, &text, path))?;
        Ok(Self { path: path.to_owned(), script })
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), and at the first byte that is not UTF-8.
    pub fn parse_bytes(bytes: &[u8], path: &str) -> Result<Self, ScenarioError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text, path),
            Err(error) => {
                let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let line = valid.matches('\n').count() + 1;
                let column = valid.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
                let message = "the file is not UTF-8 text; save it as UTF-8".to_owned();
                Err(ScenarioError { key: key_at(&valid, line), message, ..ScenarioError::at(path, line, column) })
            }
        }
    }
}

/// A mistake in a scenario file, at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, as it was named to the reader.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The key on that line or above it. Empty where there is none.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// The word that was probably meant.
    pub suggestion: Option<String>,
}

impl ScenarioError {
    fn at(file: &str, line: usize, column: usize) -> Self {
        Self { file: file.to_owned(), line, column, key: String::new(), message: String::new(), suggestion: None }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        if !self.key.is_empty() && !self.message.contains(&format!("`{}`", self.key)) {
            write!(f, " (in `{}`)", self.key)?;
        }
        match &self.suggestion {
            Some(suggestion) => write!(f, "; did you mean `{suggestion}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// The JSON Schema of a scenario file, for editors.
pub fn schema() -> Value {
    schemars::schema_for!(Script).to_value()
}

fn describe(error: &YamlError, text: &str, path: &str) -> ScenarioError {
    let error = error.without_snippet();
    let place = error.location().unwrap_or(serde_saphyr::Location::UNKNOWN);
    let line = usize::try_from(place.line()).unwrap_or(1).max(1);
    let column = usize::try_from(place.column()).unwrap_or(1).max(1);
    let mut described = ScenarioError { key: key_at(text, line), ..ScenarioError::at(path, line, column) };
    if let YamlError::SerdeUnknownField { field, expected, .. } = error {
        described.unknown("key", field, expected);
    } else if let YamlError::SerdeUnknownVariant { variant, expected, .. } = error {
        described.unknown("value", variant, expected);
    } else if let YamlError::SerdeMissingField { field, .. } = error {
        described.message = format!("the key `{field}` is missing");
        described.key.clear();
    } else {
        described.message = one_line(&error.render_with_formatter(&serde_saphyr::UserMessageFormatter));
    }
    described
}

impl ScenarioError {
    fn unknown(&mut self, what: &str, word: &str, known: &[&str]) {
        self.message = format!("unknown {what} `{word}`");
        self.suggestion = closest(word, known);
        if self.suggestion.is_none() && !known.is_empty() {
            self.message += &format!("; known: {}", known.join(", "));
        }
    }
}

fn closest(word: &str, known: &[&str]) -> Option<String> {
    let scored = known.iter().map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate));
    let (score, best) = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (score >= SIMILARITY_MIN).then(|| best.to_owned())
}

/// The key that is set on this line, or on the nearest line above it.
fn key_at(text: &str, line: usize) -> String {
    let above = text.lines().take(line).collect::<Vec<_>>();
    let key = |line: &&str| {
        let (key, _) = line.trim_start_matches([' ', '-', '{', '"']).split_once(':')?;
        let key = key.trim_end_matches('"').trim();
        (!key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_')).then(|| key.to_owned())
    };
    above.iter().rev().find_map(key).unwrap_or_default()
}

fn one_line(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default().trim();
    let text = first.strip_prefix("error: ").unwrap_or(first);
    match text.find(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text.to_owned(),
    }
}

/// Below this two words have little more than letters in common.
const SIMILARITY_MIN: f64 = 0.8;

#[cfg(test)]
mod tests;
