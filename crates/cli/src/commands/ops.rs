//! `jackline ops`.

use jackline_model::ExitCode;
use jackline_runtime::journal::Header;
use serde_json::{Value, json};

use super::show::show;
use crate::args::{Common, OpsCommand};
use crate::problem::Problem;
use crate::render::{Out, Paint, clipped, thousands};
use crate::store;

/// `jackline ops`.
pub(crate) fn ops(common: &Common, command: OpsCommand) -> Result<ExitCode, Problem> {
    match command {
        OpsCommand::List { json, limit } => list(common, json, limit),
        OpsCommand::Show { operation, call, json } => show(common, &operation, call.as_deref(), json),
    }
}

fn list(common: &Common, json: bool, limit: usize) -> Result<ExitCode, Problem> {
    let store = store::open_to_read(common)?;
    let paint = Paint::for_output(common.color, Out::is_terminal());
    let mut out = Out::default();
    for header in store.list(limit)? {
        if json {
            out.line(header_json(&header));
        } else {
            out.line(line(&header, paint));
        }
        if out.is_closed() {
            break;
        }
    }
    out.finish()?;
    Ok(ExitCode::Done)
}

fn line(header: &Header, paint: Paint) -> String {
    let summary = &header.summary;
    let stands = stands(header);
    let padded = format!("{stands:<22}");
    let painted = if summary.status.is_terminal() { paint.dim(&padded) } else { paint.warn(&padded) };
    let agent = format!("{:<20}", clipped(&header.agent, 20));
    let below = if header.lineage.is_sub_agent { "  (sub-agent)" } else { "" };
    let (steps, tokens) = (summary.steps, thousands(summary.totals.total_tokens));
    format!("{:<35}  {}  {painted}{steps:>3} steps  {tokens} tokens{below}", header.id.as_str(), paint.name(&agent))
}

/// How an operation stands, in a word.
pub(super) fn stands(header: &Header) -> &'static str {
    header.summary.reason.map_or(header.summary.status.as_str(), jackline_model::Reason::as_str)
}

/// A header for programs.
pub(super) fn header_json(header: &Header) -> Value {
    let summary = &header.summary;
    json!({
        "operation": header.id, "agent": header.agent, "status": summary.status, "reason": summary.reason,
        "steps": summary.steps, "totals": summary.totals, "createdAt": header.created_at,
        "updatedAt": summary.updated_at, "parent": header.lineage.parent_operation_id, "origin": header.origin,
        "user": header.user,
    })
}
