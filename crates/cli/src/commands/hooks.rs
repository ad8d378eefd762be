//! `jackline hooks`.

use jackline_model::ExitCode;

use crate::args::HooksCommand;
use crate::host;
use crate::problem::Problem;
use crate::render::Out;

/// Lists the hooks of an agent. There are none yet that a file can declare.
pub(crate) fn hooks(command: HooksCommand) -> Result<ExitCode, Problem> {
    let HooksCommand::List { agent, json } = command;
    let agent = host::read(&agent)?;
    let mut out = Out::default();
    if !json {
        out.line(format!("The agent `{}` has no hooks.", agent.name));
        out.line("Hooks in Rust belong to the program that embeds the runtime and cannot be seen from here.");
        out.line("Every firing is told all the same: see the lines of type `hook` in `jackline run --json`.");
    }
    out.finish()?;
    Ok(ExitCode::Done)
}
