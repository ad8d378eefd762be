//! Which hooks were asked about a call, and which of them decided.

use jackline_model::ToolCall;
use jackline_runtime::journal::{Header, Store};
use serde_json::Value;

use crate::problem::Problem;
use crate::render::{Out, Paint, plain};

/// The stored receipts about a call, one object per firing, oldest first.
pub(super) fn of_call(store: &dyn Store, header: &Header, call: &ToolCall) -> Result<Vec<Value>, Problem> {
    let heard = store.heard(&header.id)?;
    let about = heard.iter().filter(|heard| heard.call.as_ref() == Some(&call.id));
    about
        .map(|heard| {
            serde_json::from_str(&heard.text)
                .map_err(|error| Problem::failed(format!("the receipts of `{}` cannot be read: {error}", header.id)))
        })
        .collect()
}

/// Prints receipts for people.
pub(super) fn show(firings: &[Value], paint: Paint, out: &mut Out) {
    if firings.is_empty() {
        out.line(paint.dim("no hook was asked about it"));
    }
    for firing in firings {
        out.line(paint.dim(firing["type"].as_str().unwrap_or_default()));
        for receipt in firing["asked"].as_array().into_iter().flatten() {
            out.line(line(receipt, paint));
        }
    }
}

fn line(receipt: &Value, paint: Paint) -> String {
    let text = |name: &str| receipt[name].as_str().unwrap_or_default();
    let ms = receipt["micros"].as_u64().unwrap_or(0) / 1_000;
    let fault = receipt["fault"].as_str().map(|fault| format!(" ({fault})")).unwrap_or_default();
    let decided = match receipt["decidedBy"].as_str() {
        Some("policy") => "  decided: by its answer",
        Some("failure") => "  decided: it failed, and its failures block",
        Some(_) | None => "",
    };
    let from = receipt["inheritedFrom"].as_str().map(|from| format!("  (inherited from {from})")).unwrap_or_default();
    let (id, carrier, answer) = (paint.name(&plain(text("id"))), text("carrier"), text("answer"));
    format!("  {id}  {carrier}  {answer}{fault} in {ms} ms{decided}{from}")
}
