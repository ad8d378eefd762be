//! Each target over what is stored for it: what the fuzzer started from, and what it has found.

use std::path::Path;

use jackline_fuzz_targets::TARGETS;

#[test]
fn every_target_holds_over_its_stored_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for (name, target) in TARGETS {
        let mut files: Vec<_> = std::fs::read_dir(corpora.join(name))
            .unwrap_or_else(|error| panic!("the corpus `{name}`: {error}"))
            .map(|entry| entry.expect("an entry can be read").path())
            .collect();
        files.sort();
        assert!(files.len() >= 12, "the corpus `{name}` has only {} files", files.len());
        for file in files {
            let bytes = std::fs::read(&file).expect("a file of the corpus can be read");
            let outcome = std::panic::catch_unwind(|| target(&bytes));
            assert!(outcome.is_ok(), "{name} fails over {}", file.display());
        }
    }
}

#[test]
fn every_target_has_a_program_for_the_fuzzer_and_a_corpus() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = |folder: &str| {
        let entries = std::fs::read_dir(fuzz.join(folder)).expect("it can be listed");
        let mut names: Vec<String> =
            entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned())).collect();
        names.sort();
        names
    };
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed("fuzz_targets"), names);
    assert_eq!(listed("corpus"), names);
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).expect("there is a manifest");
    for name in names {
        let program = std::fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs"))).expect("it can be read");
        assert!(program.contains(&format!("jackline_fuzz_targets::{name}(bytes)")), "{name}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}
