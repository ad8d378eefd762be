use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::lists::Lists;
use super::problem::Problem;
use super::test_fns::{TestFn, test_fns};
use crate::source;

/// Folders whose Rust files may hold proofs.
const TEST_ROOTS: [&str; 2] = ["crates", "tests"];

/// Folders whose data files may say what they prove; a test of the workspace runs every file there.
const DATA_ROOTS: [&str; 2] = ["tests/scenarios", "tests/data"];

/// How data files end.
const DATA_ENDINGS: [&str; 4] = [".yaml", ".yml", ".json", ".tsv"];

/// First words of test names that look like an id of the hooks page but speak of a type or a coding.
const LOOKALIKES: [&str; 5] = ["b64", "f32", "f64", "i32", "i64"];

/// One place that proves one promise.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Proof {
    pub(super) id: String,
    pub(super) path: String,
    pub(super) line: usize,
    /// The test function; none for a data file.
    pub(super) name: Option<String>,
}

impl Proof {
    /// Where it is, for people.
    pub(super) fn place(&self) -> String {
        let Proof { path, line, name, .. } = self;
        match name {
            Some(name) => format!("{path}:{line} {name}"),
            None => format!("{path}:{line}"),
        }
    }
}

/// Finds every proof in the sources.
pub(super) fn find(root: &Path, lists: &Lists) -> (Vec<Proof>, Vec<Problem>) {
    let mut finder = Finder { proofs: Vec::new(), problems: Vec::new(), tests: Vec::new(), prefixes: prefixes(lists) };
    for folder in TEST_ROOTS {
        finder.each_file(root, folder, &[".rs"], Finder::read_rust);
    }
    for folder in DATA_ROOTS {
        finder.each_file(root, folder, &DATA_ENDINGS, Finder::read_data);
    }
    finder.read_named(lists);
    finder.proofs.sort();
    finder.proofs.dedup();
    (finder.proofs, finder.problems)
}

struct Finder {
    proofs: Vec<Proof>,
    problems: Vec<Problem>,
    tests: Vec<(String, TestFn)>,
    prefixes: BTreeSet<String>,
}

impl Finder {
    fn each_file(&mut self, root: &Path, folder: &str, endings: &[&str], read: fn(&mut Finder, &str, &str)) {
        let files = match source::files_below(&root.join(folder)) {
            Ok(files) => files,
            Err(cause) => {
                self.problems.push(Problem::Unreadable { path: folder.to_owned(), cause: cause.to_string() });
                return;
            }
        };
        for file in files.iter().filter(|file| endings.iter().any(|ending| file.ends_with(ending))) {
            let path = format!("{folder}/{file}");
            match fs::read_to_string(root.join(&path)) {
                Ok(text) => read(self, &path, &text),
                Err(cause) => self.problems.push(Problem::Unreadable { path, cause: cause.to_string() }),
            }
        }
    }

    fn read_rust(&mut self, path: &str, text: &str) {
        for test in test_fns(text) {
            for id in ids_in_name(&test.name, &self.prefixes) {
                let name = Some(test.name.clone());
                self.proofs.push(Proof { id, path: path.to_owned(), line: test.line, name });
            }
            self.tests.push((path.to_owned(), test));
        }
    }

    fn read_data(&mut self, path: &str, text: &str) {
        let found = if path.ends_with(".json") { ids_in_json(text) } else { ids_in_lines(text) };
        let proofs = found.into_iter().map(|(line, id)| Proof { id, path: path.to_owned(), line, name: None });
        self.proofs.extend(proofs);
    }

    fn read_named(&mut self, lists: &Lists) {
        for named in &lists.named {
            let test = self.tests.iter().find(|(path, test)| *path == named.path && test.name == named.name);
            let (id, path, name) = (named.id.clone(), named.path.clone(), named.name.clone());
            match test {
                Some((_, test)) => self.proofs.push(Proof { id, path, line: test.line, name: Some(name) }),
                None => self.problems.push(Problem::NoSuchTest { id, path, name }),
            }
        }
    }
}

/// The prefixes of the runtime page, in the lower case of test names.
fn prefixes(lists: &Lists) -> BTreeSet<String> {
    let split = lists.promises.iter().filter_map(|promise| promise.id.split_once('-'));
    split.map(|(prefix, _)| prefix.to_ascii_lowercase()).collect()
}

/// The ids that a test name starts with: `d01_d02_x` has two, `pln_06_x` one, `x_pln_06` none.
fn ids_in_name(name: &str, prefixes: &BTreeSet<String>) -> Vec<String> {
    let words: Vec<&str> = name.split('_').collect();
    let mut ids = Vec::new();
    let mut rest = words.as_slice();
    loop {
        rest = match rest {
            [word, tail @ ..] if is_hooks_word(word) => {
                ids.push(word.to_ascii_uppercase());
                tail
            }
            [prefix, number, tail @ ..] if prefixes.contains(*prefix) && is_two_digits(number) => {
                ids.push(format!("{}-{number}", prefix.to_ascii_uppercase()));
                tail
            }
            [..] => return ids,
        }
    }
}

fn is_hooks_word(word: &str) -> bool {
    let is_shape = word.is_char_boundary(1) && matches!(word.as_bytes().first(), Some(b'a'..=b'l'));
    is_shape && is_two_digits(&word[1..]) && !LOOKALIKES.contains(&word)
}

fn is_two_digits(word: &str) -> bool {
    word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The ids of every `proves:` list at the left margin, also behind a `#`: inline or as a block.
fn ids_in_lines(text: &str) -> Vec<(usize, String)> {
    let mut ids = Vec::new();
    let mut list = List::Outside;
    for (at, line) in text.lines().enumerate() {
        let (is_margin, line) = uncommented(line);
        list = match (list, line.strip_prefix("proves:")) {
            (List::Outside | List::Block, Some(rest)) if is_margin => opened(rest.trim()),
            (List::Inline, _) => List::Inline,
            (List::Block, None) if line.starts_with("- ") || line.is_empty() => List::Block,
            (List::Outside | List::Block | List::Last, _) => List::Outside,
        };
        if list == List::Outside {
            continue;
        }
        let (content, closes) = list_part(line);
        ids.extend(content.into_iter().map(|id| (at + 1, id)));
        if list == List::Last || (list == List::Inline && closes) {
            list = List::Outside;
        }
    }
    ids
}

#[derive(Clone, Copy, PartialEq)]
enum List {
    Outside,
    /// Between `[` and `]`.
    Inline,
    /// Lines with a dash.
    Block,
    /// One id on the line itself.
    Last,
}

fn opened(rest: &str) -> List {
    match rest.as_bytes() {
        [] | [b'#', ..] => List::Block,
        [b'[', ..] => List::Inline,
        [..] => List::Last,
    }
}

/// The line without a comment mark in front, and whether it starts at the margin.
fn uncommented(line: &str) -> (bool, &str) {
    match line.strip_prefix('#') {
        Some(rest) => (true, rest.trim()),
        None => (!line.starts_with([' ', '\t']), line.trim()),
    }
}

fn list_part(line: &str) -> (Vec<String>, bool) {
    let line = line.strip_prefix("proves:").unwrap_or(line);
    let line = line.split(" #").next().unwrap_or_default();
    let line = line.trim_start().trim_start_matches("- ").trim_start_matches('[');
    let (content, closes) = match line.split_once(']') {
        Some((content, _)) => (content, true),
        None => (line, false),
    };
    let words = content.split(',').map(|word| word.trim().trim_matches(['"', '\'']).to_owned());
    (words.filter(|word| !word.is_empty()).collect(), closes)
}

fn ids_in_json(text: &str) -> Vec<(usize, String)> {
    let line = text.find("\"proves\"").map_or(1, |at| source::line_of(text, at));
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let listed = value.get("proves").and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(Value::as_str).map(|id| (line, id.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_name(name: &str) -> Vec<String> {
        ids_in_name(name, &["pln", "st", "llm"].map(str::to_owned).into())
    }

    fn in_lines(text: &str) -> Vec<String> {
        ids_in_lines(text).into_iter().map(|(_, id)| id).collect()
    }

    #[test]
    fn a_name_proves_the_ids_it_starts_with() {
        assert_eq!(in_name("a02_two_registrations_append"), ["A02"]);
        assert_eq!(in_name("d01_d02_mocks"), ["D01", "D02"]);
        assert_eq!(in_name("pln_06_l13_both_pages"), ["PLN-06", "L13"]);
        assert_eq!(in_name("l11"), ["L11"]);
    }

    #[test]
    fn a_name_without_an_id_in_front_proves_nothing() {
        for name in ["retries_a02", "a2_x", "a021_x", "m01_x", "pln_6_x", "retry_12_times", "i64_wraps", "", "é01_x"] {
            assert_eq!(in_name(name), [""; 0], "{name}");
        }
    }

    #[test]
    fn an_unknown_number_is_still_an_id_so_that_it_can_be_refused() {
        assert_eq!(in_name("pln_99_x"), ["PLN-99"]);
    }

    #[test]
    fn scenario_lists_are_read_inline_and_as_blocks() {
        assert_eq!(
            in_lines("name: x\nproves: [A01, 'PLN-06', \"L11\"] # why\nturns: [B01]\n"),
            ["A01", "PLN-06", "L11"]
        );
        assert_eq!(in_lines("proves: [A01,\n  A02,\n]\nother: [A03]\n"), ["A01", "A02"]);
        assert_eq!(in_lines("proves:\n  - A01 # why\n\n- PLN-06\nturns:\n  - B01\n"), ["A01", "PLN-06"]);
        assert_eq!(in_lines("proves: A01\n- B01\n"), ["A01"]);
        assert_eq!(in_lines("# proves: [A01]\na\tb\n"), ["A01"]);
    }

    #[test]
    fn a_nested_key_and_a_word_in_a_text_prove_nothing() {
        assert_eq!(in_lines("turns:\n  proves: [A01]\nnote: this proves: nothing\n"), [""; 0]);
    }

    #[test]
    fn json_lists_are_read_at_the_top() {
        assert_eq!(ids_in_json("{\n\"proves\": [\"A01\"], \"x\": {\"proves\": [\"B01\"]}}"), [(2, "A01".to_owned())]);
        assert_eq!(ids_in_json("not json"), []);
    }
}
