//! `jackline test`.

use jackline_model::ExitCode;

use crate::args::TestArgs;
use crate::problem::Problem;

/// Runs scenarios.
pub(crate) fn test(args: &TestArgs) -> Result<ExitCode, Problem> {
    let _ = (args.coverage, args.json, &args.paths);
    Err(Problem::failed("scenarios cannot be run yet"))
}
