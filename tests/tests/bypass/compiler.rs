//! Programs that must not compile, given to the compiler.
//!
//! A program is compiled against the very libraries that this test is linked with. It must fail
//! with the error that is meant, and a program that differs in the forbidden line only must
//! compile: else a typing mistake would look like a proof.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Checks that `allowed` compiles and `forbidden` does not, and that the error is this one.
#[track_caller]
pub(crate) fn refused(error: &str, forbidden: &str, allowed: &str) {
    if let Err(problem) = compile(libraries(), allowed) {
        panic!("the allowed program does not compile:\n{problem}");
    }
    match compile(libraries(), forbidden) {
        Ok(()) => panic!("the forbidden program compiles"),
        Err(problem) => {
            let errors: Vec<&str> = problem.lines().filter(|line| line.starts_with("error[")).collect();
            let is_meant = !errors.is_empty() && errors.iter().all(|line| line.contains(error));
            assert!(is_meant, "it does not compile, but for another reason than {error}:\n{problem}");
        }
    }
}

/// The libraries of one build that fit together.
struct Libraries {
    runtime: PathBuf,
    serde: PathBuf,
}

/// There may be several builds of each, left by other commands. The newest that work together count.
fn libraries() -> &'static Libraries {
    static FOUND: OnceLock<Libraries> = OnceLock::new();
    FOUND.get_or_init(|| {
        for runtime in built("jackline_runtime") {
            for serde in built("serde") {
                let libraries = Libraries { runtime: runtime.clone(), serde };
                if compile(&libraries, CONTROL).is_ok() {
                    return libraries;
                }
            }
        }
        panic!("no build of the libraries compiles this:\n{CONTROL}");
    })
}

/// Uses everything that the programs use.
const CONTROL: &str = "
    pub fn takes<T: serde::Serialize + serde::de::DeserializeOwned>() {}
    pub fn control() {
        takes::<jackline_runtime::model::ToolRunResult>();
        let _ = jackline_runtime::drive::check_operation;
    }
";

/// The builds of a library, newest first.
fn built(name: &str) -> Vec<PathBuf> {
    let start = format!("lib{name}-");
    let mut found: Vec<PathBuf> = dependencies()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "rlib"))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)))
        .collect();
    found.sort_by_key(|path| std::cmp::Reverse(path.metadata().and_then(|data| data.modified()).unwrap()));
    found
}

/// Where cargo puts what it builds: beside this test.
fn dependencies() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

fn compile(libraries: &Libraries, program: &str) -> Result<(), String> {
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("program.rs");
    std::fs::write(&source, format!("{PRELUDE}{program}")).unwrap();
    let output = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--out-dir"])
        .arg(place.path())
        .arg("-L")
        .arg(format!("dependency={}", dependencies().display()))
        .args(external("jackline_runtime", &libraries.runtime))
        .args(external("serde", &libraries.serde))
        .arg(&source)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn external(name: &str, library: &Path) -> [String; 2] {
    ["--extern".to_owned(), format!("{name}={}", library.display())]
}

const PRELUDE: &str = "
    #![allow(unused)]
    use std::collections::VecDeque;
    use jackline_runtime::hooks::{AfterToolCallControl, AfterVerdict, BeforeVerdict, Decision, Hooks, MockAnswer, Ruling};
    use jackline_runtime::journal::Row;
    use jackline_runtime::model::{MessageId, RawOutput, ToolCall, ToolCallId, ToolKey, ToolRunResult};
    use jackline_runtime::tools::call::{Call, Effect, In};
    use jackline_runtime::tools::{Clearance, Publishable, ToolAnswer, gate};
    fn writes<T: serde::Serialize>(_: &T) {}
    fn copies<T: Clone>(_: &T) {}
    fn reads<T: serde::de::DeserializeOwned>() {}
";
