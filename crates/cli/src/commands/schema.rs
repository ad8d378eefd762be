//! `jackline schema` and `jackline completions`.

use std::io::Write as _;

use clap::CommandFactory as _;
use jackline_model::ExitCode;
use jackline_runtime::{agent, drive};

use crate::args::{Arguments, CompletionsArgs, SchemaArgs, SchemaOf};
use crate::problem::Problem;
use crate::render::Out;

/// Prints a JSON Schema.
pub(crate) fn schema(args: SchemaArgs) -> Result<ExitCode, Problem> {
    let schema = match args.of {
        SchemaOf::Agent => agent::schema(),
        SchemaOf::Scenario => jackline_scenario::schema(),
        SchemaOf::Events => drive::events_schema(),
    };
    let mut out = Out::default();
    out.line(format!("{schema:#}"));
    out.finish()?;
    Ok(ExitCode::Done)
}

/// Prints completions for a shell.
pub(crate) fn completions(args: CompletionsArgs) -> Result<ExitCode, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "jackline", &mut script);
    script.flush().map_err(|error| Problem::failed(error.to_string()))?;
    let mut out = Out::default();
    out.write(&String::from_utf8_lossy(&script));
    out.finish()?;
    Ok(ExitCode::Done)
}
