//! The chores of this workspace: the gate, its repair, and the list of promises kept.
//!
//! No chore needs more than the toolchain and the sources, and none uses the network, but for `real-model`.

#![expect(clippy::print_stdout, reason = "a command line tool speaks on stdout")]

mod conformance;
mod gate;
mod real_model;
mod source;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  check                            the whole gate; reads only
  fix                              what can be repaired by machine: clippy, then format
  conformance [--json] [--not-yet] every promised behaviour, its state and where it is proven
  real-model                       an example agent with a small real model; installs packages
";

/// The exit code for a command line that says nothing sensible.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => gate::check(&root()),
        ["fix"] => gate::fix(&root()),
        ["conformance", options @ ..] => match conformance::Options::parse(options) {
            Some(options) => conformance::run(&root(), options),
            None => usage(),
        },
        ["real-model"] => real_model::run(&root()),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        [..] => usage(),
    }
}

fn usage() -> ExitCode {
    eprint!("{USAGE}");
    ExitCode::from(EXIT_USAGE)
}

fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the package lies in the workspace").to_path_buf()
}
