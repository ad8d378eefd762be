use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::problem::Problem;

/// Where the lists lie, from the root of the workspace.
pub(super) const FOLDER: &str = "tests/conformance";

/// What is promised, and what has been said about it.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Every promise, in the order of its page.
    pub(super) promises: Vec<Promise>,
    /// The promises that need no proof as they stand.
    pub(super) closed: BTreeMap<String, Closure>,
    /// The promises that a resolved issue has made.
    pub(super) required: BTreeSet<String>,
    /// Proofs by tests whose names carry no id.
    pub(super) named: Vec<NamedProof>,
    /// What is wrong with the files themselves.
    pub(super) problems: Vec<Problem>,
}

/// One behaviour that the runtime is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    pub(super) id: String,
    pub(super) page: &'static str,
    pub(super) evidence: String,
    pub(super) text: String,
}

/// Why a promise stands closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closure {
    pub(super) kind: ClosureKind,
    pub(super) decision: String,
    pub(super) reason: String,
}

/// The three ways to close a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClosureKind {
    /// A decision says it otherwise.
    Changed,
    /// A decision puts it off.
    Later,
    /// It speaks of a part that this runtime does not have.
    NotOurs,
}

/// A row of `proofs.tsv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedProof {
    pub(super) id: String,
    pub(super) path: String,
    pub(super) name: String,
}

impl Lists {
    /// Reads all lists. Faults in them are collected, not thrown: one run shows all.
    pub(super) fn read(root: &Path) -> Lists {
        let mut lists = Lists::default();
        for page in ["hooks", "runtime"] {
            for row in lists.rows(root, &format!("{page}.tsv")) {
                lists.add_promise(page, row);
            }
        }
        for row in lists.rows(root, "closed.tsv") {
            lists.add_closure(row);
        }
        for row in lists.rows(root, "required.tsv") {
            lists.add_required(row);
        }
        for row in lists.rows(root, "proofs.tsv") {
            lists.add_named(row);
        }
        lists
    }

    /// Whether some promise has this id.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.promises.iter().any(|promise| promise.id == id)
    }

    fn rows(&mut self, root: &Path, file: &str) -> Vec<Row> {
        let path = format!("{FOLDER}/{file}");
        match fs::read_to_string(root.join(&path)) {
            Ok(text) => rows_of(&path, &text),
            Err(cause) => {
                self.problems.push(Problem::Unreadable { path, cause: cause.to_string() });
                Vec::new()
            }
        }
    }

    fn add_promise(&mut self, page: &'static str, row: Row) {
        match row.fields().as_slice() {
            [id, evidence, text] if is_id(id, page) && is_evidence(evidence) && !text.is_empty() => {
                if self.knows(id) {
                    self.problems.push(row.twice(id));
                    return;
                }
                let (id, evidence, text) = (id.to_string(), evidence.to_string(), text.to_string());
                self.promises.push(Promise { id, page, evidence, text });
            }
            _ => self.problems.push(row.malformed("expected: id, evidence (T, S, D, I or P), restatement")),
        }
    }

    fn add_closure(&mut self, row: Row) {
        match row.fields().as_slice() {
            [id, kind, decision, reason] if !reason.is_empty() => {
                let Some(kind) = ClosureKind::parse(kind) else {
                    self.problems.push(row.malformed("the state is one of: changed, later, not ours"));
                    return;
                };
                if kind != ClosureKind::NotOurs && !is_decision(decision) {
                    self.problems.push(row.malformed("changed and later name their decision, such as 27 or design 6"));
                    return;
                }
                if self.closed.contains_key(*id) {
                    self.problems.push(row.twice(id));
                    return;
                }
                let closure = Closure { kind, decision: decision.to_string(), reason: reason.to_string() };
                self.closed.insert(id.to_string(), closure);
            }
            _ => self.problems.push(row.malformed("expected: id, state, decision or -, reason")),
        }
    }

    fn add_required(&mut self, row: Row) {
        match row.fields().as_slice() {
            [id] if !self.required.insert(id.to_string()) => self.problems.push(row.twice(id)),
            [_] => {}
            _ => self.problems.push(row.malformed("expected: id")),
        }
    }

    fn add_named(&mut self, row: Row) {
        match row.fields().as_slice() {
            [id, path, name] if !path.is_empty() && !name.is_empty() => {
                self.named.push(NamedProof { id: id.to_string(), path: path.to_string(), name: name.to_string() });
            }
            _ => self.problems.push(row.malformed("expected: id, path of the file, name of the test")),
        }
    }
}

impl ClosureKind {
    /// The word of `closed.tsv`.
    pub(super) fn word(self) -> &'static str {
        match self {
            ClosureKind::Changed => "changed",
            ClosureKind::Later => "later",
            ClosureKind::NotOurs => "not ours",
        }
    }

    fn parse(word: &str) -> Option<ClosureKind> {
        [ClosureKind::Changed, ClosureKind::Later, ClosureKind::NotOurs].into_iter().find(|kind| kind.word() == word)
    }
}

/// One line of a list that is neither blank nor a comment.
struct Row {
    path: String,
    line: usize,
    text: String,
}

impl Row {
    fn fields(&self) -> Vec<&str> {
        self.text.split('\t').map(str::trim).collect()
    }

    fn twice(&self, id: &str) -> Problem {
        Problem::Twice { path: self.path.clone(), line: self.line, id: id.to_owned() }
    }

    fn malformed(&self, what: &str) -> Problem {
        Problem::Malformed { path: self.path.clone(), line: self.line, what: what.to_owned() }
    }
}

fn rows_of(path: &str, text: &str) -> Vec<Row> {
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    numbered.map(|(at, line)| Row { path: path.to_owned(), line: at + 1, text: line.to_owned() }).collect()
}

/// `A02` on the page of the hooks, `PLN-06` on the page of the runtime.
fn is_id(id: &str, page: &str) -> bool {
    let (letters, digits) = id.split_at(id.len().saturating_sub(2));
    let is_letters = match letters.strip_suffix('-') {
        Some(prefix) => page == "runtime" && prefix.len() >= 2 && prefix.bytes().all(|byte| byte.is_ascii_uppercase()),
        None => page == "hooks" && matches!(letters.as_bytes(), [b'A'..=b'L']),
    };
    is_letters && digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_evidence(tags: &str) -> bool {
    tags.split('/').all(|tag| matches!(tag, "T" | "S" | "D" | "I" | "P"))
}

fn is_decision(text: &str) -> bool {
    let number = text.strip_prefix("design ").unwrap_or(text);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        Row { path: "x.tsv".to_owned(), line: 3, text: text.to_owned() }
    }

    #[test]
    fn comments_and_blank_lines_are_no_rows() {
        let rows = rows_of("x.tsv", "# id\n\nA01\tT\tx\n");
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn an_id_belongs_to_its_page() {
        assert!(is_id("A01", "hooks") && is_id("PLN-06", "runtime") && is_id("ST-14", "runtime"));
        assert!(
            !is_id("M01", "hooks") && !is_id("A1", "hooks") && !is_id("A01", "runtime") && !is_id("PLN-6", "runtime")
        );
    }

    #[test]
    fn a_change_without_a_decision_is_malformed() {
        let mut lists = Lists::default();
        lists.add_closure(row("A01\tchanged\t-\tbecause"));
        lists.add_closure(row("A02\tnot ours\t-\tbecause"));
        assert_eq!(lists.closed.keys().collect::<Vec<_>>(), ["A02"]);
        assert!(matches!(lists.problems.as_slice(), [Problem::Malformed { line: 3, .. }]));
    }

    #[test]
    fn a_promise_listed_twice_is_a_problem() {
        let mut lists = Lists::default();
        lists.add_promise("hooks", row("A01\tT\tone"));
        lists.add_promise("hooks", row("A01\tS/P\ttwo"));
        assert_eq!(lists.promises.len(), 1);
        assert_eq!(lists.problems, [row("").twice("A01")]);
    }
}
