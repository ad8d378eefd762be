//! `jackline archive`.

use jackline_model::{BlobId, ExitCode};

use crate::args::{ArchiveCommand, Common};
use crate::problem::Problem;
use crate::render::Out;
use crate::store;

/// Prints a stored text as it is.
pub(crate) fn archive(common: &Common, command: ArchiveCommand) -> Result<ExitCode, Problem> {
    let ArchiveCommand::Get { blob } = command;
    let store = store::open_to_read(common)?;
    let Some(text) = store.blob(&BlobId::new(blob.trim()))? else {
        let hint = "Its name stands where a result was cut; `jackline ops show OP CALL` shows results.";
        return Err(Problem::usage(format!("the archive holds no `{blob}`")).hint(hint));
    };
    let mut out = Out::default();
    out.write(&text);
    out.finish()?;
    Ok(ExitCode::Done)
}
