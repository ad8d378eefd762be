//! `jackline hooks`.

mod check;
mod fire;
mod list;
mod listen;
mod outbox;
mod overlay;
mod trial;

use jackline_model::ExitCode;

use crate::args::{Common, HooksCommand};
use crate::problem::Problem;

/// Looks at hooks, tries them out, or stands in for their receiver.
pub(crate) fn hooks(common: &Common, command: HooksCommand) -> Result<ExitCode, Problem> {
    match command {
        HooksCommand::List(args) => list::list(&args),
        HooksCommand::Check(args) => check::check(&args),
        HooksCommand::Fire(args) => fire::fire(&args),
        HooksCommand::Listen(args) => listen::listen(&args),
        HooksCommand::Outbox(command) => outbox::outbox(common, command),
    }
}
