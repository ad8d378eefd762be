//! What `run` is asked to do: a tour, or an agent with a prompt.

use std::io::{IsTerminal, stdin};
use std::path::{Path, PathBuf};

use crate::args::RunArgs;
use crate::problem::Problem;
use crate::text::{clean, read_all, read_text};

/// What to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A directory with a tour.
    Tour(PathBuf),
    /// An agent file.
    Agent(PathBuf),
    /// The built-in agent.
    Builtin,
}

/// Takes the target off the words; what is left is the prompt.
pub(super) fn target(args: &RunArgs) -> Result<(Target, Vec<String>), Problem> {
    if let Some(agent) = &args.agent {
        return Ok((of_path(agent)?.unwrap_or_else(|| Target::Agent(agent.clone())), args.words.clone()));
    }
    let Some((first, rest)) = args.words.split_first() else { return Ok((Target::Builtin, Vec::new())) };
    let path = Path::new(first);
    match of_path(path) {
        Ok(Some(target)) => Ok((target, rest.to_vec())),
        // The first word of a prompt may be the name of a directory.
        Err(problem) if rest.is_empty() || first.contains('/') => Err(problem),
        Ok(None) | Err(_) => Ok((Target::Builtin, args.words.clone())),
    }
}

fn of_path(path: &Path) -> Result<Option<Target>, Problem> {
    let shown = path.display();
    if path.is_dir() {
        let (tour, agent) = (path.join(TOUR), path.join(AGENT));
        return match (tour.is_file(), agent.is_file()) {
            (true, _) => Ok(Some(Target::Tour(path.to_owned()))),
            (false, true) => Ok(Some(Target::Agent(agent))),
            (false, false) => Err(Problem::usage(format!("the directory `{shown}` holds no {TOUR} and no {AGENT}"))),
        };
    }
    if path.file_name().is_some_and(|name| name == TOUR) && path.is_file() {
        return Ok(Some(Target::Tour(path.parent().map(Path::to_path_buf).unwrap_or_default())));
    }
    let is_agent_file = path.extension().is_some_and(|ending| ending == "toml");
    Ok(is_agent_file.then(|| Target::Agent(path.to_owned())))
}

/// The prompt: words, a file, standard input – what was given of these, in this order.
///
/// Standard input is read only if it was asked for or nothing else was given, so that an open pipe
/// that nobody writes to stops nothing.
pub(super) fn prompt(args: &RunArgs, words: Vec<String>) -> Result<String, Problem> {
    let wants_input = words.iter().any(|word| word == "-");
    let words: Vec<String> = words.into_iter().filter(|word| word != "-").collect();
    let mut parts = vec![words.join(" ")];
    if let Some(file) = &args.file {
        parts.push(read_text(file)?);
    }
    let has_some = parts.iter().any(|part| !part.trim().is_empty());
    if wants_input || (!has_some && args.file.is_none() && !stdin().is_terminal()) {
        parts.push(input_text()?);
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        let hint = "Say what to do: jackline run \"…\", or --file FILE, or on standard input.";
        return Err(Problem::usage("the prompt is empty").hint(hint));
    }
    Ok(parts.join("\n\n"))
}

/// All of standard input, as text.
pub(crate) fn input_text() -> Result<String, Problem> {
    let bytes =
        read_all(stdin().lock()).map_err(|error| Problem::usage(format!("cannot read standard input: {error}")))?;
    clean(bytes, "standard input")
}

const TOUR: &str = "tour.toml";

const AGENT: &str = "agent.toml";
