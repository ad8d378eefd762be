//! The house rules that a compiler does not check. Each failure names file, line and remedy.

mod arrows;
mod purity;
mod rust_code;
#[path = "../../../xtask/src/source.rs"]
mod source;
mod tidy;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the package lies in the workspace").to_path_buf()
}

/// Every text file of the workspace with one of these endings: its path and its text.
fn texts(endings: &[&str]) -> Vec<(String, String)> {
    let files = source::files_below(&root()).expect("the workspace can be listed");
    let wanted = files.into_iter().filter(|path| endings.iter().any(|ending| path.ends_with(ending)));
    let read = |path: String| {
        let bytes = fs::read(root().join(&path)).expect("a listed file can be read");
        // Fixtures may be anything; what is no text breaks no rule about text.
        String::from_utf8(bytes).ok().map(|text| (path, text))
    };
    wanted.filter_map(read).collect()
}

/// Fails with all findings at once.
fn assert_none(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n  {}", findings.join("\n  "));
}
