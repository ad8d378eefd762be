use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::rust_code::{paths_from, without_tests};
use crate::source::{code_only, files_below, line_of};
use crate::{assert_none, root};

/// What each package may name of this workspace. Arrows point down, and only down.
const ARROWS: [(&str, &[&str]); 13] = [
    ("jackline-model", &[]),
    ("jackline-process", &[]),
    ("jackline-hooks", &["jackline-model", "jackline-process"]),
    ("jackline-tools", &["jackline-hooks", "jackline-model", "jackline-process"]),
    ("jackline-runtime", &["jackline-tools", "jackline-hooks", "jackline-model"]),
    ("jackline-scenario", &["jackline-runtime", "jackline-tools", "jackline-hooks", "jackline-model"]),
    ("jackline-store-sqlite", &["jackline-runtime", "jackline-tools", "jackline-hooks", "jackline-model"]),
    ("jackline-cli", ALL_LIBRARIES),
    ("jackline-bench", ALL_LIBRARIES),
    ("jackline-fuzz-targets", ALL_LIBRARIES),
    ("jackline-examples", ALL_LIBRARIES),
    ("jackline-tests", ALL_LIBRARIES),
    ("xtask", &[]),
];

const ALL_LIBRARIES: &[&str] = &[
    "jackline-scenario",
    "jackline-store-sqlite",
    "jackline-runtime",
    "jackline-tools",
    "jackline-hooks",
    "jackline-model",
    "jackline-process",
];

/// The layers of the runtime, lowest first. Each may use those before it.
const LAYERS: [&str; 4] = ["machine", "journal", "drive", "llm"];

/// The port that models are reached through. It belongs to nobody's layer: both sides speak it.
const PORT_FILES: [&str; 2] = ["llm/port.rs", "llm/history.rs"];

/// What the runtime without its default features must not contain.
const KEPT_OUT: [&str; 6] = ["tokio", "async-openai", "reqwest", "hyper", "rusqlite", "libsqlite3-sys"];

const RUNTIME: &str = "crates/runtime/src";

#[test]
fn packages_name_only_what_lies_below_them() {
    let metadata: Value =
        serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1", "--offline"]))
            .expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("metadata lists packages");
    let members: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut findings = Vec::new();
    for package in packages {
        let name = package["name"].as_str().expect("a package has a name");
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            findings.push(format!("{name} has no place yet; give it one in ARROWS"));
            continue;
        };
        let named = package["dependencies"].as_array().into_iter().flatten().filter_map(|one| one["name"].as_str());
        let wrong = named.filter(|other| members.contains(other) && !allowed.contains(other));
        findings.extend(wrong.map(|other| format!("{name} names {other}, which does not lie below it")));
    }
    assert_none("arrows between crates", &findings);
}

#[test]
fn layers_of_the_runtime_use_only_what_lies_below_them() {
    let port = port_names();
    let mut findings = Vec::new();
    for (rank, layer) in LAYERS.iter().enumerate() {
        let folder = root().join(RUNTIME);
        let files = files_below(&folder).expect("the runtime can be listed");
        let own = files.iter().filter(|path| path.starts_with(&format!("{layer}/")) || **path == format!("{layer}.rs"));
        for path in own {
            let text = fs::read_to_string(folder.join(path)).expect("a listed file can be read");
            let code = without_tests(&code_only(&text));
            for (at, used) in paths_from(&code, "crate") {
                let is_above = LAYERS[rank + 1..].iter().any(|above| used.first().is_some_and(|first| first == above));
                let is_port = used.last().is_some_and(|name| port.contains(name));
                if is_above && !is_port {
                    let line = line_of(&code, at);
                    findings.push(format!("{RUNTIME}/{path}:{line} uses {} from above {layer}", used.join("::")));
                }
            }
        }
    }
    assert_none("layers of the runtime (llm over drive over journal over machine)", &findings);
}

#[test]
fn the_lean_runtime_names_no_async_runtime_no_http_client_and_no_store() {
    let tree = cargo(&[
        "tree",
        "--package",
        "jackline-runtime",
        "--no-default-features",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--offline",
    ]);
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains("jackline-runtime"), "cargo tree says nothing of the runtime: {tree}");
    let found: Vec<String> =
        KEPT_OUT.iter().filter(|name| names.contains(**name)).map(|name| (*name).to_owned()).collect();
    assert_none("jackline-runtime --no-default-features depends on", &found);
}

/// The public names that the port files declare.
fn port_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in PORT_FILES {
        let text = fs::read_to_string(root().join(RUNTIME).join(file)).unwrap_or_default();
        let code = code_only(&text);
        let mut words = code.split(|char: char| !char.is_alphanumeric() && char != '_').filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            if matches!(word, "struct" | "enum" | "trait" | "type") {
                names.extend(words.next().map(str::to_owned));
            }
        }
    }
    names
}

fn cargo(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(words).current_dir(root()).output().expect("cargo starts");
    assert!(output.status.success(), "cargo {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo speaks UTF-8")
}
