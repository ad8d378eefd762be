//! What a shell command would delete.

use super::matcher::ShellPredicate;
use super::path::{self, Target};
use super::words::{self, Word};

/// What a command line would delete, as far as its text tells. Each answer at most once.
///
/// Wrappers, shells within shells and substitutions are followed. A command word that only a
/// running shell knows counts as `rm` when its arguments look like those of one. Nesting beyond
/// [`NESTING_MAX`] counts as a delete of the root: nobody writes that by accident.
pub(super) fn deletes(text: &str) -> Vec<ShellPredicate> {
    let mut found = Vec::new();
    inspect_line(text, 0, &mut found);
    found
}

fn inspect_line(text: &str, depth: usize, found: &mut Vec<ShellPredicate>) {
    if depth > NESTING_MAX {
        return note(Target::Root, found);
    }
    let line = words::split(text);
    for command in &line.commands {
        inspect_command(command, depth, found);
    }
    for inner in &line.substitutions {
        inspect_line(inner, depth + 1, found);
    }
}

fn inspect_command(command: &[Word], depth: usize, found: &mut Vec<ShellPredicate>) {
    if depth > NESTING_MAX {
        return note(Target::Root, found);
    }
    let mut rest = command;
    // Each turn takes at least one word off, so this ends with the command.
    while let Some((first, arguments)) = rest.split_first() {
        let name = program_name(&first.text);
        if is_assignment(&first.text) || KEYWORDS.contains(&name) {
            rest = arguments;
        } else if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            if let Some(whole) = split_string_of(wrapper, arguments) {
                return inspect_line(&whole, depth + 1, found);
            }
            rest = wrapper.command_in(arguments);
        } else {
            inspect_program(name, first, arguments, depth, found);
            return;
        }
    }
}

fn inspect_program(name: &str, word: &Word, arguments: &[Word], depth: usize, found: &mut Vec<ShellPredicate>) {
    if word.is_dynamic {
        return note_deletes(arguments, found);
    }
    match name {
        "rm" | "rm.exe" | "grm" => note_deletes(arguments, found),
        "find" | "gfind" => inspect_find(arguments, depth, found),
        "trap" => {
            if let Some(handler) = arguments.first() {
                inspect_line(&handler.text, depth + 1, found);
            }
        }
        "eval" => inspect_line(&joined(arguments), depth + 1, found),
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" | "ash" | "su" | "runuser" => {
            if let Some(script) = script_of(arguments) {
                inspect_line(script, depth + 1, found);
            }
        }
        _other => {}
    }
}

/// Notes what an `rm` with these arguments would delete.
fn note_deletes(arguments: &[Word], found: &mut Vec<ShellPredicate>) {
    let options_end = arguments.iter().position(|word| word.text == "--").unwrap_or(arguments.len());
    let is_option = |(at, word): &(usize, &Word)| *at < options_end && word.text.starts_with('-') && word.text != "-";
    let is_recursive = arguments.iter().enumerate().filter(is_option).any(|(_, word)| is_recursive_option(&word.text))
        || arguments.iter().any(is_unknown_option);
    if !is_recursive {
        return;
    }
    for (at, word) in arguments.iter().enumerate() {
        if at != options_end && !is_option(&(at, word)) && !is_unknown_option(word) {
            note(path::classify(&word.text), found);
        }
    }
}

fn is_recursive_option(text: &str) -> bool {
    match text.strip_prefix("--") {
        Some(long) => long.len() >= 2 && "recursive".starts_with(long) || long == "no-preserve-root",
        None => text.contains(['r', 'R']),
    }
}

/// `$FLAGS`: it may hold anything. Variables that name a place are targets.
fn is_unknown_option(word: &Word) -> bool {
    word.is_dynamic && !word.text.contains('/') && path::classify(&word.text) == Target::Elsewhere
}

/// `find PLACE… -delete`, `find PLACE… -exec rm …`.
fn inspect_find(arguments: &[Word], depth: usize, found: &mut Vec<ShellPredicate>) {
    let Some(action) = arguments.iter().position(|word| FIND_ACTIONS.contains(&word.text.as_str())) else { return };
    let (before, from) = arguments.split_at(action);
    if from[0].text != "-delete" {
        // What the command names itself.
        inspect_command(&from[1..], depth + 1, found);
        if from.get(1).is_none_or(|word| program_name(&word.text) != "rm") {
            return;
        }
    }
    let filters = before.iter().any(|word| FIND_FILTERS.contains(&word.text.as_str()));
    if filters {
        return;
    }
    for word in before.iter().take_while(|word| !word.text.starts_with('-')) {
        note(path::classify(&word.text), found);
    }
}

/// The text after `-c`, alone or as the last of several short options.
fn script_of(arguments: &[Word]) -> Option<&str> {
    let at = arguments.iter().position(|word| {
        let is_short = word.text.starts_with('-') && !word.text.starts_with("--");
        is_short && word.text.ends_with('c') || word.text == "--command"
    })?;
    arguments.get(at + 1).map(|word| word.text.as_str())
}

/// `env -S 'rm -rf /'` holds a whole command in one word, and what follows belongs to it.
fn split_string_of(wrapper: &Wrapper, arguments: &[Word]) -> Option<String> {
    if wrapper.name != "env" {
        return None;
    }
    let own = arguments.iter().take_while(|word| word.text.starts_with('-') || is_assignment(&word.text));
    own.enumerate().find_map(|(at, word)| {
        let first = word.text.strip_prefix("--split-string=").or_else(|| word.text.strip_prefix("-S"))?;
        Some(format!("{first} {}", joined(&arguments[at + 1..])))
    })
}

fn note(target: Target, found: &mut Vec<ShellPredicate>) {
    let predicate = match target {
        Target::Home => ShellPredicate::DeletesHome,
        Target::Root => ShellPredicate::DeletesRoot,
        Target::CurrentDirectory => ShellPredicate::DeletesCurrentDirectory,
        Target::Elsewhere => return,
    };
    if !found.contains(&predicate) {
        found.push(predicate);
    }
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

fn program_name(text: &str) -> &str {
    text.rsplit('/').next().unwrap_or(text)
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// A program that runs the command in its arguments.
struct Wrapper {
    name: &'static str,
    /// Options that take the next word.
    options_with_value: &'static [&'static str],
    /// Words of its own before the command.
    operands: usize,
}

impl Wrapper {
    const fn new(name: &'static str, options_with_value: &'static [&'static str], operands: usize) -> Self {
        Self { name, options_with_value, operands }
    }

    /// The words of the command that it runs.
    fn command_in<'a>(&self, arguments: &'a [Word]) -> &'a [Word] {
        let mut at = 0;
        let mut operands = self.operands;
        while let Some(word) = arguments.get(at) {
            let text = word.text.as_str();
            if self.options_with_value.contains(&text) {
                at += 2;
            } else if text.starts_with('-') || is_assignment(text) {
                at += 1;
            } else if operands > 0 {
                operands -= 1;
                at += 1;
            } else {
                break;
            }
        }
        arguments.get(at..).unwrap_or_default()
    }
}

const WRAPPERS: [Wrapper; 24] = [
    Wrapper::new("sudo", &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group"], 0),
    Wrapper::new("doas", &["-u", "-C"], 0),
    Wrapper::new("env", &["-u", "-C", "--unset", "--chdir"], 0),
    Wrapper::new("nohup", &[], 0),
    Wrapper::new("chroot", &[], 1),
    Wrapper::new("unshare", &[], 0),
    Wrapper::new("builtin", &[], 0),
    Wrapper::new("command", &[], 0),
    Wrapper::new("exec", &["-a"], 0),
    Wrapper::new("coproc", &[], 0),
    Wrapper::new("time", &["-f", "-o"], 0),
    Wrapper::new("nice", &["-n"], 0),
    Wrapper::new("ionice", &["-c", "-n", "-p"], 0),
    Wrapper::new("timeout", &["-s", "-k"], 1),
    Wrapper::new("stdbuf", &["-i", "-o", "-e"], 0),
    Wrapper::new("setsid", &[], 0),
    Wrapper::new("xargs", &["-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s"], 0),
    Wrapper::new("busybox", &[], 0),
    Wrapper::new("toybox", &[], 0),
    Wrapper::new("strace", &["-e", "-o", "-p", "-s"], 0),
    Wrapper::new("watch", &["-n"], 0),
    Wrapper::new("flock", &["-w", "-E"], 1),
    Wrapper::new("parallel", &["-j"], 0),
    Wrapper::new("caffeinate", &["-t", "-w"], 0),
];

/// Words that stand before a command without being one.
const KEYWORDS: [&str; 10] = ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "}"];

const FIND_ACTIONS: [&str; 5] = ["-delete", "-exec", "-execdir", "-ok", "-okdir"];

/// Tests that leave most of a tree alone.
const FIND_FILTERS: [&str; 10] =
    ["-name", "-iname", "-path", "-regex", "-mtime", "-atime", "-ctime", "-size", "-newer", "-empty"];

/// Shells in shells, and substitutions in substitutions: people write two or three.
const NESTING_MAX: usize = 16;

#[cfg(test)]
mod tests;
