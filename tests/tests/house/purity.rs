use crate::rust_code::{paths_from, without_tests, word_at};
use crate::source::{code_only, line_of};
use crate::{assert_none, root, texts};

/// Where decisions are made: the same input gives the same output, on any machine and at any time.
const PURE_PLACES: [&str; 4] =
    ["crates/model/src/", "crates/tools/src/call/", "crates/tools/src/gate.rs", "crates/runtime/src/machine/"];

/// Words that stand for a clock, chance, waiting, or an order that changes from run to run.
const KEPT_OUT_WORDS: [&str; 10] =
    ["Instant", "SystemTime", "HashMap", "HashSet", "async", "await", "rand", "getrandom", "tokio", "uuid"];

/// Modules of the standard library that reach the world outside.
const KEPT_OUT_MODULES: [&str; 6] = ["env", "fs", "net", "process", "thread", "os"];

#[test]
fn decisions_reach_no_clock_no_chance_and_no_world_outside() {
    let mut findings = Vec::new();
    for (path, text) in texts(&[".rs"]).iter().filter(|(path, _)| is_pure(path)) {
        let code = without_tests(&code_only(text));
        for word in KEPT_OUT_WORDS {
            let places = word_at(&code, word).into_iter();
            findings.extend(places.map(|at| format!("{path}:{} names {word}", line_of(&code, at))));
        }
        for (at, used) in paths_from(&code, "std") {
            if let Some(module) = used.first().filter(|module| KEPT_OUT_MODULES.contains(&module.as_str())) {
                findings.push(format!("{path}:{} uses std::{module}", line_of(&code, at)));
            }
        }
    }
    assert_none("pure code takes time, chance and the world as arguments, and orders its maps", &findings);
}

#[test]
fn every_pure_place_is_there() {
    // A place that was renamed must be renamed here, or nothing would be checked any more.
    let files = texts(&[".rs"]);
    let has_driver = root().join("crates/runtime/src/drive").is_dir();
    let expected = PURE_PLACES.iter().filter(|place| has_driver || !place.contains("/machine/"));
    let gone = expected.filter(|place| !files.iter().any(|(path, _)| path.starts_with(**place)));
    assert_none("pure places without a file", &gone.map(|place| (*place).to_owned()).collect::<Vec<_>>());
}

fn is_pure(path: &str) -> bool {
    PURE_PLACES.iter().any(|place| path.starts_with(place))
}
