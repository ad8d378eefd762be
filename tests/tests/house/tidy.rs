use std::fs;

use crate::rust_code::{paths_from, tests_only, without_tests, word_at};
use crate::source::{code_only, line_of};
use crate::{assert_none, root, texts};

/// Lines of code in one file, comments and tests left out: about what fits into one sitting.
const CODE_LINES_MAX: usize = 500;

/// Texts that people write. Lists may hold tabs.
const WRITTEN: [&str; 8] = [".rs", ".toml", ".md", ".yaml", ".yml", ".tsv", ".sh", ".ci/run"];

/// Files whose bytes are the test, whatever they look like.
const FIXTURES: [&str; 3] = ["tests/cases/", "tests/data/", "tests/fixtures/"];

/// Marks of unfinished work. Written in two parts so that this file passes.
const UNFINISHED: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Texts that say where somebody worked or what was downloaded from where.
const PLACES: [&str; 8] = [
    concat!("..", "/shared"),
    concat!("/wo", "rk/"),
    concat!("/.cargo/", "registry"),
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("registry", ".npmjs", ".org"),
    concat!("files", ".pythonhosted", ".org"),
    concat!("proxy.golang", ".org"),
];

/// The only source that the lock file may name.
const LOCKED_SOURCE: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";

#[test]
fn a_file_fits_into_one_sitting() {
    let mut findings = Vec::new();
    for (path, text) in texts(&[".rs"]).iter().filter(|(path, _)| !is_test_file(path)) {
        let code = without_tests(&code_only(text));
        let lines = code.lines().filter(|line| !line.trim().is_empty()).count();
        if lines > CODE_LINES_MAX {
            findings.push(format!("{path} has {lines} lines of code; split it by phase"));
        }
    }
    assert_none("files are at most 500 lines of code", &findings);
}

#[test]
fn lints_are_expected_with_a_reason_never_allowed() {
    let mut findings = Vec::new();
    for (path, text) in texts(&[".rs"]) {
        let code = code_only(&text);
        let places = code.match_indices("[allow(").map(|(at, _)| line_of(&code, at));
        findings.extend(places.map(|line| format!("{path}:{line} allows a lint; expect it with a reason")));
    }
    assert_none("no allow attributes", &findings);
}

#[test]
fn nothing_is_left_unfinished() {
    let mut findings = Vec::new();
    for (path, text) in written() {
        for mark in UNFINISHED {
            let places = word_at(&text, mark).into_iter();
            findings
                .extend(places.map(|at| format!("{path}:{} says {mark}; do it, or file an issue", line_of(&text, at))));
        }
    }
    assert_none("no marks of unfinished work", &findings);
}

#[test]
fn no_text_says_where_it_was_written() {
    let root = root();
    // A clone right below `/` has too common a name to be told from an example.
    let here = Some(root.to_string_lossy()).filter(|_| root.components().count() > 2);
    let mut findings = Vec::new();
    for (path, text) in written() {
        for place in PLACES.iter().copied().chain(here.as_deref()) {
            let found = text.match_indices(place).map(|(at, _)| line_of(&text, at));
            findings.extend(found.map(|line| format!("{path}:{line} names {place}")));
        }
    }
    assert_none("no machine paths and no registry hosts in committed text", &findings);
}

#[test]
fn tests_wait_for_events_never_for_time() {
    let mut findings = Vec::new();
    for (path, text) in texts(&[".rs"]) {
        let code = if is_test_file(&path) { code_only(&text) } else { tests_only(&text) };
        let paths = ["std", "tokio"].into_iter().flat_map(|base| paths_from(&code, base));
        let imported = paths.filter(|(_, path)| is_sleep(path)).map(|(at, _)| at);
        let called = ["thread::sleep", "time::sleep"].into_iter().flat_map(|name| word_at(&code, name));
        let mut lines: Vec<usize> = imported.chain(called).map(|at| line_of(&code, at)).collect();
        lines.sort_unstable();
        lines.dedup();
        findings.extend(lines.iter().map(|line| format!("{path}:{line} sleeps; wait for an event or move a clock")));
    }
    assert_none("no sleeps in tests", &findings);
}

#[test]
fn lines_end_clean_and_are_indented_with_spaces() {
    let mut findings = Vec::new();
    for (path, text) in written() {
        for (at, line) in text.split_terminator('\n').enumerate() {
            if line.trim_end() != line {
                findings.push(format!("{path}:{} ends in white space", at + 1));
            }
            if line.contains('\t') && !path.ends_with(".tsv") {
                findings.push(format!("{path}:{} has a tab", at + 1));
            }
        }
        if !text.is_empty() && !text.ends_with('\n') {
            findings.push(format!("{path} does not end in a line end"));
        }
    }
    assert_none("clean lines", &findings);
}

#[test]
fn every_crate_says_what_it_is() {
    let roots = texts(&["/src/lib.rs", "/src/main.rs", "tests/lib.rs"]);
    let silent = roots.iter().filter(|(_, text)| !text.starts_with("//! "));
    let findings: Vec<String> = silent.map(|(path, _)| format!("{path} does not start with //!")).collect();
    assert!(!roots.is_empty(), "no crate was found");
    assert_none("each crate root starts with its doc", &findings);
}

#[test]
fn the_lock_file_is_committed_and_names_one_registry() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock is there");
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap_or_default();
    assert!(!ignored.lines().any(|line| line.trim().ends_with("Cargo.lock")), ".gitignore names Cargo.lock");
    let sources = lock.lines().filter(|line| line.starts_with("source = "));
    let foreign: Vec<String> = sources.filter(|line| *line != LOCKED_SOURCE).map(str::to_owned).collect();
    assert_none("Cargo.lock names another source", &foreign);
}

fn written() -> Vec<(String, String)> {
    let all = texts(&WRITTEN).into_iter();
    all.filter(|(path, _)| !FIXTURES.iter().any(|fixtures| path.starts_with(fixtures))).collect()
}

/// Files that hold nothing but tests. A crate `tests` at the top has its support code in there, too.
fn is_test_file(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs")
}

fn is_sleep(path: &[String]) -> bool {
    match path {
        [module, function, ..] => {
            matches!(module.as_str(), "thread" | "time") && matches!(function.as_str(), "sleep" | "sleep_until")
        }
        [..] => false,
    }
}
