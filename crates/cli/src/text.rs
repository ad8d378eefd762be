//! Reading files that people wrote: agent files, prompts, scripts, tours.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use jackline_runtime::agent::ConfigError;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// Reads a file as it is.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Problem> {
    let problem = |error: &std::io::Error| {
        let why =
            if error.kind() == ErrorKind::NotFound { "there is no such file".to_owned() } else { error.to_string() };
        Problem::usage(format!("cannot read `{}`: {why}", path.display()))
    };
    let file = File::open(path).map_err(|error| problem(&error))?;
    read_all(file).map_err(|error| problem(&error))
}

/// Reads text; see [`clean`].
pub(crate) fn read_text(path: &Path) -> Result<String, Problem> {
    clean(read_bytes(path)?, &path.display().to_string())
}

/// Reads everything that a stream has, up to a bound.
pub(crate) fn read_all(stream: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(std::io::Error::other(format!("it is longer than {} MB", FILE_BYTES_MAX >> 20)));
    }
    Ok(bytes)
}

/// Text without a byte order mark, with line ends of Unix.
pub(crate) fn clean(bytes: Vec<u8>, name: &str) -> Result<String, Problem> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        let (line, column) = place(&valid, valid.len());
        Problem::usage(format!("{name}:{line}:{column}: the file is not UTF-8 text; save it as UTF-8"))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n"))
}

/// Reads a structured file; its ending says whether it is TOML, JSON or YAML.
pub(crate) fn read_structured<T: DeserializeOwned>(path: &Path) -> Result<T, Problem> {
    let text = read_text(path)?;
    Ok(parse(&text, path)?)
}

fn parse<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T, ConfigError> {
    let (line, column, message) = match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => match toml::from_str(text) {
            Ok(value) => return Ok(value),
            Err(error) => {
                let (line, column) = place(text, error.span().map_or(0, |span| span.start));
                (line, column, error.message().trim().replace('\n', " "))
            }
        },
        Some("json") => match serde_json::from_str(text) {
            Ok(value) => return Ok(value),
            Err(error) => (error.line(), error.column(), without_place(&error.to_string())),
        },
        Some(_) | None => match serde_saphyr::from_str(text) {
            Ok(value) => return Ok(value),
            Err(error) => {
                let (line, column) = error.location().map_or((1, 1), |at| (number(at.line()), number(at.column())));
                (line, column, without_place(&first_line(&error.without_snippet().to_string())))
            }
        },
    };
    let mut error = ConfigError {
        file: path.display().to_string(),
        line,
        column,
        key: key_on(text, line),
        message,
        suggestion: None,
    };
    if let Some((word, known)) = unknown_word(&error.message) {
        error.suggestion = closest(&word, known.iter().map(String::as_str));
        error.message = format!("unknown key `{word}`");
        if error.suggestion.is_none() {
            error.message += &format!("; known: {}", known.join(", "));
        }
    }
    Err(error)
}

/// The word among these that was probably meant.
pub(crate) fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let scored = known.into_iter().map(|candidate| (strsim::jaro_winkler(word, candidate), candidate));
    let (score, best) = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (score >= SIMILARITY_MIN).then(|| best.to_owned())
}

/// Takes serde's sentence about an unknown field apart.
fn unknown_word(message: &str) -> Option<(String, Vec<String>)> {
    let rest = &message[message.find("unknown field ")?..];
    let mut quoted = rest.split('`').skip(1).step_by(2).map(str::to_owned);
    let word = quoted.next()?;
    let known: Vec<String> = quoted.collect();
    // Not every reader quotes the known ones.
    let listed = |list: &str| list.split(", ").map(|known| known.trim().to_owned()).collect();
    let unquoted = rest.split_once("expected one of ").map(|(_, list)| listed(list));
    Some((word, if known.is_empty() { unquoted.unwrap_or_default() } else { known }))
}

/// The key that a line sets, in any of the three formats.
fn key_on(text: &str, line: usize) -> String {
    let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let line = line.trim_start_matches(|letter: char| letter.is_whitespace() || "-{\"[".contains(letter));
    match line.find(['=', ':']) {
        Some(end) => line[..end].trim_end_matches(|letter: char| letter.is_whitespace() || letter == '"').to_owned(),
        None => String::new(),
    }
}

/// Line and column in characters, both from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

fn without_place(message: &str) -> String {
    message.split(" at line ").next().unwrap_or(message).to_owned()
}

fn first_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or(message);
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

fn number(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A prompt or a script is written by a person; beyond this something is wrong.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Below this two words have little more than letters in common.
const SIMILARITY_MIN: f64 = 0.8;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[serde(rename = "steps")]
        _steps: u32,
    }

    fn problem(text: &str, name: &str) -> String {
        parse::<Sample>(text, Path::new(name)).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_located_in_all_three_formats() {
        assert_eq!(problem("step = 1\n", "a.toml"), "a.toml:1:1: unknown key `step`; did you mean `steps`?");
        assert!(problem("{\n\"step\": 1}", "a.json").starts_with("a.json:2:6: unknown key `step`; did you mean"));
        assert!(problem("step: 1\n", "a.yaml").starts_with("a.yaml:1:1: unknown key `step`; did you mean"));
        let wrong_type = problem("steps = \"ten\"\n", "a.toml");
        assert!(wrong_type.starts_with("a.toml:1:9:") && wrong_type.contains("`steps`"), "{wrong_type}");
    }

    #[test]
    fn files_of_windows_are_read_as_usual_and_other_encodings_are_named() {
        assert_eq!(clean(b"\xef\xbb\xbfa\r\nb".to_vec(), "f").unwrap(), "a\nb");
        let problem = clean(b"ok\nno\xff".to_vec(), "f").unwrap_err().to_string();
        assert_eq!(problem, "error: f:2:3: the file is not UTF-8 text; save it as UTF-8");
    }
}
