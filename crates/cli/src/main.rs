//! The command line of Jackline: parse, hand over, render, exit code.
//!
//! Nothing that an embedder would also want is here: no decisions about runs, no tools, no store.

mod args;
mod commands;
mod host;
mod problem;
mod render;
mod run;
mod store;
mod text;
mod tour;

use std::process::ExitCode;

use clap::Parser;
use jackline_runtime::drive::install_quiet_panic_hook;
use tracing_subscriber::EnvFilter;

use crate::args::{Arguments, Command};
use crate::problem::Problem;

fn main() -> ExitCode {
    // Its words may hold what a tool had in hand.
    install_quiet_panic_hook();
    let arguments = Arguments::parse();
    let outcome = log(arguments.common.verbose).and_then(|()| perform(arguments));
    match outcome {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(problem) => {
            render::say(&problem);
            ExitCode::from(problem.exit as u8)
        }
    }
}

fn perform(arguments: Arguments) -> Result<jackline_model::ExitCode, Problem> {
    let common = &arguments.common;
    match arguments.command {
        Command::Run(args) => run::run(common, args),
        Command::Resume(args) => commands::resume(common, &args),
        Command::Ops(command) => commands::ops(common, command),
        Command::Approve(args) => commands::approve(common, &args),
        Command::Reject(args) => commands::reject(common, &args),
        Command::Stop(args) => commands::stop(common, &args),
        Command::Complete(args) => commands::complete(common, &args),
        Command::Test(args) => commands::test(&args),
        Command::Tools(command) => commands::tools(common, command),
        Command::Hooks(command) => commands::hooks(common, command),
        Command::Machine(args) => commands::machine(args),
        Command::Schema(args) => commands::schema(args),
        Command::Completions(args) => commands::completions(args),
        Command::Archive(command) => commands::archive(common, command),
    }
}

/// Logs only when asked to, and to standard error.
fn log(verbose: bool) -> Result<(), Problem> {
    let named = std::env::var(LOG_ENV).ok().filter(|filter| !filter.is_empty());
    let filter = match (&named, verbose) {
        (Some(filter), _) => filter.as_str(),
        (None, true) => VERBOSE,
        (None, false) => return Ok(()),
    };
    let filter = EnvFilter::try_new(filter).map_err(|error| Problem::usage(format!("{LOG_ENV}: {error}")))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    subscriber.try_init().map_err(|error| Problem::failed(format!("cannot log: {error}")))
}

/// Chooses what is logged.
const LOG_ENV: &str = "JACKLINE_LOG";

/// Our own crates; what libraries say is asked for by name.
const VERBOSE: &str =
    "warn,jackline_runtime=debug,jackline_hooks=debug,jackline_tools=debug,jackline_store_sqlite=debug";
