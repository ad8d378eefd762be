use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value, json};

use super::ledger::{Entry, Ledger, State};
use super::lists::Lists;
use super::problem::Problem;
use super::proofs::{self, Proof};

/// How to show the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// One JSON document in place of lines for people.
    json: bool,
    /// Which promises to list.
    listed: Listed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Listed {
    #[default]
    All,
    /// Only what still lacks a proof.
    NotYet,
    /// None: only the counts and what is wrong.
    Nothing,
}

impl Options {
    /// Only the counts and what is wrong.
    pub(crate) fn totals() -> Options {
        Options { json: false, listed: Listed::Nothing }
    }

    /// Reads the words behind `conformance`; none if one of them is unknown.
    pub(crate) fn parse(words: &[&str]) -> Option<Options> {
        let mut options = Options::default();
        for word in words {
            match *word {
                "--json" => options.json = true,
                "--not-yet" => options.listed = Listed::NotYet,
                _ => return None,
            }
        }
        Some(options)
    }
}

impl Listed {
    fn has(self, state: State) -> bool {
        match self {
            Listed::All => true,
            Listed::NotYet => state == State::NotYet,
            Listed::Nothing => false,
        }
    }
}

/// Shows every promise with its state. Fails if the lists and the proofs contradict each other.
pub(crate) fn run(root: &Path, options: Options) -> ExitCode {
    let ledger = read(root);
    let shown = ledger.entries.iter().filter(|entry| options.listed.has(entry.state()));
    let text = if options.json { format!("{:#}\n", document(&ledger, shown)) } else { listing(&ledger, shown) };
    // A reader that has seen enough, such as `head`, may close the pipe.
    let _ = io::stdout().write_all(text.as_bytes());
    if ledger.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn read(root: &Path) -> Ledger {
    let lists = Lists::read(root);
    let (proofs, problems) = proofs::find(root, &lists);
    Ledger::new(lists, proofs, problems)
}

fn listing<'a>(ledger: &Ledger, shown: impl Iterator<Item = &'a Entry>) -> String {
    let entries: String = shown.map(entry_text).collect();
    let problems: String = ledger.problems.iter().map(|problem| format!("problem: {problem}\n")).collect();
    entries + &counts_text(ledger) + &problems
}

fn entry_text(entry: &Entry) -> String {
    const INDENT: &str = "                  ";
    let (promise, state) = (&entry.promise, entry.state());
    let mut text = format!("{:<8} {:<9} {}\n", promise.id, state.word(), promise.text);
    if let Some(closure) = &entry.closure {
        text += &format!("{INDENT} {} ({}): {}\n", closure.kind.word(), closure.decision, closure.reason);
    }
    for proof in &entry.proofs {
        text += &format!("{INDENT} {}\n", proof.place());
    }
    text
}

fn counts_text(ledger: &Ledger) -> String {
    let mut text = String::new();
    for page in ["hooks", "runtime"] {
        let states = counts(ledger, page).map(|(state, count)| format!("{count} {}", state.word()));
        let total = ledger.entries.iter().filter(|entry| entry.promise.page == page).count();
        text += &format!("{page}: {total} ids: {}\n", states.join(", "));
    }
    text
}

fn counts(ledger: &Ledger, page: &str) -> [(State, usize); 5] {
    State::ALL.map(|state| {
        let of_page = ledger.entries.iter().filter(|entry| entry.promise.page == page);
        (state, of_page.filter(|entry| entry.state() == state).count())
    })
}

fn document<'a>(ledger: &Ledger, shown: impl Iterator<Item = &'a Entry>) -> Value {
    let mut pages = Map::new();
    for page in ["hooks", "runtime"] {
        let states = counts(ledger, page).map(|(state, count)| (state.word().to_owned(), Value::from(count)));
        pages.insert(page.to_owned(), Value::Object(states.into_iter().collect()));
    }
    let problems: Vec<String> = ledger.problems.iter().map(Problem::to_string).collect();
    json!({ "counts": pages, "ids": shown.map(entry_value).collect::<Vec<_>>(), "problems": problems })
}

fn entry_value(entry: &Entry) -> Value {
    let closure = entry.closure.as_ref();
    json!({
        "id": entry.promise.id,
        "page": entry.promise.page,
        "evidence": entry.promise.evidence,
        "text": entry.promise.text,
        "state": entry.state().word(),
        "closed": closure.map(|closure| {
            json!({ "as": closure.kind.word(), "decision": closure.decision, "reason": closure.reason })
        }),
        "proofs": entry.proofs.iter().map(proof_value).collect::<Vec<_>>(),
    })
}

fn proof_value(proof: &Proof) -> Value {
    json!({ "path": proof.path, "line": proof.line, "test": proof.name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_is_refused() {
        assert_eq!(Options::parse(&["--json", "--not-yet"]), Some(Options { json: true, listed: Listed::NotYet }));
        assert_eq!(Options::parse(&["--all"]), None);
    }

    #[test]
    fn the_lists_of_this_workspace_add_up() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(read(&root).problems, []);
    }
}
