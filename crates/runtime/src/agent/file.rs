//! Reading an agent file.

use super::config::AgentConfig;
use super::error::ConfigError;
use super::locate;

/// The reader of agent files.
///
/// ```
/// use jackline_runtime::agent::AgentFile;
///
/// let agent = AgentFile::parse("name = \"clerk\"\nmodel = \"gpt-5\"\n", "agent.toml")?;
/// assert_eq!(agent.limits.max_steps.get(), 100);
///
/// let error = AgentFile::parse("name = \"clerk\"\n[limits]\nmax_stepz = 3\n", "agent.toml").unwrap_err();
/// assert_eq!(error.to_string(), "agent.toml:3:1: unknown key `max_stepz`; did you mean `max_steps`?");
/// # Ok::<(), jackline_runtime::agent::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum AgentFile {}

impl AgentFile {
    /// Reads an agent file. A byte order mark and line ends of Windows are taken as they come.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] at the first mistake. Correct it: a file that is only half understood is
    /// never used.
    pub fn parse(text: &str, path: &str) -> Result<AgentConfig, ConfigError> {
        // Literal strings over several lines would keep the carriage returns.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        let config: AgentConfig = toml::from_str(&text).map_err(|error| describe(&error, &text, path))?;
        check(&config, &text, path)?;
        Ok(config)
    }

    /// Reads the bytes of an agent file.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), and at the first byte that is not UTF-8.
    pub fn parse_bytes(bytes: &[u8], path: &str) -> Result<AgentConfig, ConfigError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text, path),
            Err(error) => {
                let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let message = "the file is not UTF-8 text; save it as UTF-8".to_owned();
                Err(error_at(&valid, path, valid.len(), message))
            }
        }
    }
}

/// What no single value can tell.
fn check(config: &AgentConfig, text: &str, path: &str) -> Result<(), ConfigError> {
    let error_on = |key: &str, message: String| {
        let mut error = error_at(text, path, locate::offset_of_key(text, key), message);
        key.clone_into(&mut error.key);
        Err(error)
    };
    if config.name.trim().is_empty() {
        return error_on("name", "`name` is empty".to_owned());
    }
    if config.instructions.is_some() && config.instructions_file.is_some() {
        return error_on("instructions_file", "`instructions` and `instructions_file` exclude each other".to_owned());
    }
    let commands = config.command_tool.iter().map(|tool| ("command", tool.name.as_str()));
    let clients = config.client_tool.iter().map(|tool| ("client", tool.name.as_str()));
    let declared: Vec<(&str, &str)> = commands.chain(clients).collect();
    for (at, (kind, name)) in declared.iter().enumerate() {
        let twice = declared[..at].iter().any(|(_, earlier)| earlier == name);
        if twice || name.split('/').count() != 2 || name.split('/').any(str::is_empty) {
            let what = if twice { "is declared twice" } else { "is not of the form `identifier/apiName`" };
            let mut error = error_at(text, path, offset_of_text(text, name, twice), String::new());
            error.message = format!("the {kind} tool `{name}` {what}");
            return Err(error);
        }
    }
    #[cfg(feature = "drive")]
    super::hook_check::check(&config.hook, text, path)?;
    Ok(())
}

fn offset_of_text(text: &str, name: &str, is_last: bool) -> usize {
    let quoted = format!("\"{name}\"");
    let at = if is_last { text.rfind(&quoted) } else { text.find(&quoted) };
    at.unwrap_or_default()
}

pub(super) fn error_at(text: &str, path: &str, offset: usize, message: String) -> ConfigError {
    let (line, column) = locate::line_and_column(text, offset);
    ConfigError { file: path.to_owned(), line, column, key: locate::key_at(text, offset), message, suggestion: None }
}

fn describe(error: &toml::de::Error, text: &str, path: &str) -> ConfigError {
    let offset = error.span().map_or(0, |span| span.start);
    let mut described = error_at(text, path, offset, error.message().trim().replace('\n', " "));
    if let Some((kind, word, known)) = unknown_word(error.message()) {
        described.message = format!("unknown {kind} `{word}`");
        described.suggestion = closest(word, &known);
        if let Some(table) = table_of_hook_key(word, &known) {
            described.message += &format!("; it belongs inside `{table} = {{ … }}`");
            described.suggestion = None;
        } else if described.suggestion.is_none() && !known.is_empty() {
            described.message += &format!("; known: {}", known.join(", "));
        }
    }
    described
}

/// Takes serde's sentence about an unknown field or variant apart.
fn unknown_word(message: &str) -> Option<(&'static str, &str, Vec<&str>)> {
    let (kind, rest) = if let Some(rest) = message.strip_prefix("unknown field ") {
        ("key", rest)
    } else {
        ("value", message.strip_prefix("unknown variant ")?)
    };
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    Some((kind, word, quoted.collect()))
}

/// Where a key belongs that was written one level too high in a hook.
fn table_of_hook_key(word: &str, known: &[&str]) -> Option<&'static str> {
    (known == HOOK_KEYS && CARRIER_KEYS.contains(&word)).then_some("webhook")
}

/// The word of a list that was probably meant.
pub(super) fn closest(word: &str, known: &[&str]) -> Option<String> {
    let (score, best) = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate))
        .max_by(|one, other| one.0.total_cmp(&other.0))?;
    (score >= SIMILARITY_MIN).then(|| best.to_owned())
}

/// The keys of a hook.
const HOOK_KEYS: [&str; 5] = ["id", "type", "matcher", "webhook", "command"];

/// Keys of a webhook, some of which a command has, too.
const CARRIER_KEYS: [&str; 8] =
    ["url", "timeout", "headers", "responseHandling", "onError", "delivery", "signingSecretEnv", "inherit"];

/// Below this two words have little more than letters in common.
const SIMILARITY_MIN: f64 = 0.8;

#[cfg(test)]
mod tests;
