//! `jackline test`.

use std::fmt::Display;

use jackline_model::ExitCode;
use jackline_scenario::{Matrix, Summary, run_paths};
use serde_json::json;

use crate::args::TestArgs;
use crate::problem::Problem;
use crate::render::{Out, say};
use crate::run::block_on;

/// Runs scenarios. Files that cannot be read are a mistake of the caller: nothing is run then.
pub(crate) fn test(args: &TestArgs) -> Result<ExitCode, Problem> {
    // Scenarios have hooks and tools panic; what comes of it is in their outcomes.
    std::panic::set_hook(Box::new(|_| {}));
    let summary = block_on(async { Ok(run_paths(&args.paths).await) })?;
    let mut out = Out::default();
    let is_readable = summary.unreadable.is_empty();
    if !is_readable && !args.json {
        summary.unreadable.iter().for_each(|problem| say(format!("error: {problem}")));
        return Ok(ExitCode::Usage);
    }
    let is_good = if args.coverage && is_readable {
        let matrix = Matrix::of(summary);
        print_coverage(&matrix, args.json, &mut out);
        matrix.is_complete()
    } else {
        print(&summary, args.json, &mut out);
        summary.is_passed()
    };
    out.finish()?;
    Ok(match (is_good, is_readable) {
        (true, _) => ExitCode::Done,
        (false, true) => ExitCode::Failed,
        (false, false) => ExitCode::Usage,
    })
}

fn print(summary: &Summary, is_json: bool, out: &mut Out) {
    if !is_json {
        for outcome in summary.outcomes.iter().filter(|outcome| outcome.is_passed()) {
            text(outcome, out);
        }
        // The failures come last, where they are seen.
        return text(summary, out);
    }
    for outcome in &summary.outcomes {
        out.line(json!({
            "type": "scenario", "path": outcome.path, "about": outcome.about, "ok": outcome.is_passed(),
            "problems": outcome.problems, "tookMs": outcome.took.as_secs_f64() * 1e3,
        }));
    }
    let unreadable: Vec<String> = summary.unreadable.iter().map(ToString::to_string).collect();
    out.line(json!({
        "type": "summary", "ok": summary.is_passed(), "passed": summary.outcomes.len() - summary.failed(),
        "failed": summary.failed(), "unreadable": unreadable, "tookMs": summary.took.as_secs_f64() * 1e3,
    }));
}

fn print_coverage(matrix: &Matrix, is_json: bool, out: &mut Out) {
    if !is_json {
        return text(matrix, out);
    }
    print(&matrix.summary, true, out);
    out.line(json!({
        "type": "coverage", "ok": matrix.is_complete(), "percent": matrix.percent(), "missing": matrix.missing(),
    }));
}

fn text(shown: &impl Display, out: &mut Out) {
    out.line(shown.to_string().trim_end_matches('\n'));
}
