//! `jackline ops show`: what an operation did, read back from the store.

use jackline_model::{ExitCode, Message, MessageBody, StopRequestId, ToolCall};
use jackline_runtime::drive::{UntoldStop, untold_stop};
use jackline_runtime::journal::{Header, Store, StoredMessage, decode};
use serde_json::{Value, json};

use super::decide::same_stop;
use super::heard;
use super::ops::{header_json, stands};
use crate::args::Common;
use crate::problem::Problem;
use crate::render::{Out, Paint, counted, one_line, plain, used};
use crate::run::undecided;
use crate::store;

/// Shows an operation, or one call of it.
pub(crate) fn show(common: &Common, word: &str, call: Option<&str>, json: bool) -> Result<ExitCode, Problem> {
    let store = store::open_to_read(common)?;
    let header = store::find(store.as_ref(), word)?;
    let messages = store.messages(&header.id)?;
    let paint = Paint::for_output(common.color, Out::is_terminal());
    let mut out = Out::default();
    match (call, json) {
        (Some(call), _) => show_call(store.as_ref(), &header, &messages, call, json, paint, &mut out)?,
        (None, true) => out.line(operation_json(store.as_ref(), &header, &messages)?),
        (None, false) => show_operation(common, store.as_ref(), &header, &messages, paint, &mut out)?,
    }
    out.finish()?;
    Ok(ExitCode::Done)
}

fn show_operation(
    common: &Common,
    store: &dyn Store,
    header: &Header,
    messages: &[StoredMessage],
    paint: Paint,
    out: &mut Out,
) -> Result<(), Problem> {
    let summary = &header.summary;
    out.line(format!("{}  {}", paint.bold(&header.agent), header.id));
    let mut parts = vec![stands(header).to_owned(), counted(u64::from(summary.steps), "step")];
    parts.extend(used(&summary.totals));
    out.line(parts.join(" · "));
    if let Some(parent) = &header.lineage.parent_operation_id {
        out.line(format!("sub-agent of {parent}"));
    }
    for stored in messages {
        show_message(stored, paint, out);
        if out.is_closed() {
            return Ok(());
        }
    }
    if let Some(approval) = store.approval(&header.id)? {
        for call in undecided(&approval) {
            out.line(paint.warn(&format!("waits for a decision: {} {} ({})", call.key, call.arguments, call.call)));
        }
    }
    if let Some(stop) = untold(store, header) {
        let words = same_stop(common, &header.id, &[], stop.request.as_ref().map(StopRequestId::as_str));
        out.line(paint.warn(&format!("a hook has not heard that it was stopped; to tell it again: {words}")));
    }
    let records = store.records(&header.id)?;
    let inputs: usize = records.iter().map(|record| decode(record).map_or(0, |inputs| inputs.len())).sum();
    out.line(paint.dim(&format!("{} commits in the journal, {inputs} records", records.len())));
    Ok(())
}

/// The news of a stop that a hook is owed. An operation that cannot be read in full is shown all the same.
fn untold(store: &dyn Store, header: &Header) -> Option<UntoldStop> {
    header.summary.status.is_terminal().then(|| untold_stop(store, &header.id).ok().flatten())?
}

fn show_message(stored: &StoredMessage, paint: Paint, out: &mut Out) {
    let folded = if stored.folded { paint.dim(" (folded into a summary)") } else { String::new() };
    let head = |name: &str| format!("{}{folded}", paint.dim(name));
    match &stored.message.body {
        MessageBody::System { content } => paragraph(out, &head("system"), &one_line(&content.text(), LINE_CHARS)),
        MessageBody::User { content } => paragraph(out, &head("user"), &plain(&content.text())),
        MessageBody::Assistant { content, tool_calls, .. } => {
            paragraph(out, &head("model"), &plain(&content.text()));
            for call in tool_calls {
                let id = paint.dim(call.id.as_str());
                let key = paint.name(&call.key.to_string());
                out.line(format!("  ▸ {key} {} {id}", one_line(&call.arguments, LINE_CHARS)));
            }
        }
        MessageBody::Tool { call_id, key, content, success, state, .. } => {
            let mark = if *success { paint.good("✓") } else { paint.bad("✗") };
            let why = state.as_ref().and_then(blocked).unwrap_or_default();
            let id = paint.dim(call_id.as_str());
            out.line(format!("{mark} {} {id}{folded}{why}", paint.name(&key.to_string())));
            out.line(format!("  {}", one_line(content, LINE_CHARS)));
        }
    }
}

fn paragraph(out: &mut Out, head: &str, text: &str) {
    out.line(head);
    for line in text.lines().filter(|_| !text.is_empty()) {
        out.line(format!("  {line}"));
    }
}

/// Why a call was blocked, where its row says so.
fn blocked(state: &Value) -> Option<String> {
    let kind = state.get("type")?.as_str()?;
    (kind == "blocked").then(|| {
        let by = state.get("hookId").and_then(Value::as_str).map(|hook| format!(" by the hook `{hook}`"));
        format!("  blocked{}", by.unwrap_or_default())
    })
}

fn show_call(
    store: &dyn Store,
    header: &Header,
    messages: &[StoredMessage],
    word: &str,
    json: bool,
    paint: Paint,
    out: &mut Out,
) -> Result<(), Problem> {
    let calls: Vec<&ToolCall> = messages.iter().flat_map(|stored| calls_of(&stored.message)).collect();
    let fits = |call: &&&ToolCall| call.id.as_str() == word;
    let begins = || calls.iter().find(|call| call.id.as_str().starts_with(word));
    let Some(call) = calls.iter().find(fits).or_else(begins) else {
        let known: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        let problem = Problem::usage(format!("`{}` has no call `{word}`", header.id));
        return Err(problem.hint(format!("It has: {}.", known.join(", "))));
    };
    let row = messages.iter().map(|stored| &stored.message).find(|message| is_result_of(message, call));
    if json {
        let asked: Vec<Value> = heard::of_call(store, header, call)?;
        out.line(json!({"call": call, "result": row, "hooks": asked}));
        return Ok(());
    }
    out.line(format!("{} {}", paint.name(&call.key.to_string()), paint.dim(call.id.as_str())));
    out.line(plain(&call.arguments));
    match row.map(|message| &message.body) {
        Some(MessageBody::Tool { content, success, error, state, .. }) => {
            out.line(if *success { paint.good("✓ succeeded") } else { paint.bad("✗ did not succeed") });
            for (name, value) in [("error", error), ("state", state)] {
                if let Some(value) = value {
                    out.line(format!("{name}: {value}"));
                }
            }
            out.line(plain(content));
        }
        Some(MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Assistant { .. }) | None => {
            out.line(paint.warn("it has no result yet"));
        }
    }
    heard::show(&heard::of_call(store, header, call)?, paint, out);
    Ok(())
}

fn is_result_of(message: &Message, call: &ToolCall) -> bool {
    match &message.body {
        MessageBody::Tool { call_id, .. } => *call_id == call.id,
        MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Assistant { .. } => false,
    }
}

fn calls_of(message: &Message) -> &[ToolCall] {
    match &message.body {
        MessageBody::Assistant { tool_calls, .. } => tool_calls,
        MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Tool { .. } => &[],
    }
}

fn operation_json(store: &dyn Store, header: &Header, messages: &[StoredMessage]) -> Result<Value, Problem> {
    let mut shown = header_json(header);
    let rows: Vec<Value> = messages
        .iter()
        .map(|stored| json!({"place": stored.place, "folded": stored.folded, "message": stored.message}))
        .collect();
    let waiting: Vec<Value> = store
        .approval(&header.id)?
        .iter()
        .flat_map(undecided)
        .map(|call| json!({"call": call.call, "tool": call.key, "arguments": call.arguments}))
        .collect();
    shown["messages"] = Value::Array(rows);
    shown["waiting"] = Value::Array(waiting);
    if let Some(stop) = untold(store, header) {
        shown["untoldStop"] = json!({"request": stop.request, "calls": stop.calls});
    }
    let records: Vec<Value> =
        store.records(&header.id)?.iter().filter_map(|record| serde_json::from_str(record).ok()).collect();
    shown["records"] = Value::Array(records);
    Ok(shown)
}

/// What fits on a line beside a name.
const LINE_CHARS: usize = 140;
