//! `jackline hooks`.

mod check;
mod list;
mod listen;

use jackline_model::ExitCode;

use crate::args::HooksCommand;
use crate::problem::Problem;

/// Looks at hooks, tries them out, or stands in for their receiver.
pub(crate) fn hooks(command: HooksCommand) -> Result<ExitCode, Problem> {
    match command {
        HooksCommand::List(args) => list::list(&args),
        HooksCommand::Check(args) => check::check(&args),
        HooksCommand::Listen(args) => listen::listen(&args),
    }
}
