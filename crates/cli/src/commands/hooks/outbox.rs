//! `jackline hooks outbox`.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackline_model::ExitCode;
use jackline_runtime::drive::{OUTBOX_GRACE, Runtime};
use jackline_runtime::journal::{DeliveryChange, Store, StoredDelivery};
use serde_json::{Value, json};

use crate::args::{Common, OutboxCommand};
use crate::host::{self, NoModel};
use crate::problem::Problem;
use crate::render::{Out, say};
use crate::run::block_on;
use crate::store;

/// `jackline hooks outbox`.
pub(super) fn outbox(common: &Common, command: OutboxCommand) -> Result<ExitCode, Problem> {
    match command {
        OutboxCommand::List { json, limit } => list(common, json, limit),
        OutboxCommand::Retry { id } => retry(common, &id),
        OutboxCommand::Drop { id } => {
            change(store::open_existing(common)?.as_ref(), &id, DeliveryChange::Drop)?;
            say(format!("dropped {id}"));
            Ok(ExitCode::Done)
        }
    }
}

fn list(common: &Common, json: bool, limit: usize) -> Result<ExitCode, Problem> {
    let store = store::open_to_read(common)?;
    let waiting = store.outbox(limit)?;
    let now = now();
    let mut out = Out::default();
    for one in &waiting {
        out.line(if json { to_json(one).to_string() } else { line(one, now) });
        if out.is_closed() {
            break;
        }
    }
    if waiting.is_empty() && !json {
        out.line("nothing waits for delivery");
    }
    out.finish()?;
    Ok(ExitCode::Done)
}

fn to_json(one: &StoredDelivery) -> Value {
    let delivery = &one.delivery;
    json!({
        "delivery": delivery.id, "operation": one.operation, "hook": delivery.hook, "type": delivery.kind,
        "dueAt": one.due_at, "attempts": one.attempts, "lastError": one.error, "dead": one.dead,
    })
}

fn line(one: &StoredDelivery, now: Duration) -> String {
    let StoredDelivery { delivery, operation, attempts, due_at, error, dead } = one;
    let failed = error.as_ref().map(|error| format!(", last: {error}")).unwrap_or_default();
    let next = match Duration::from_millis(*due_at).checked_sub(now) {
        _ if *dead => "given up".to_owned(),
        Some(wait) if wait >= Duration::from_secs(1) => format!("due in {} s", wait.as_secs()),
        Some(_) | None => "due".to_owned(),
    };
    let (id, hook, kind) = (&delivery.id, &delivery.hook, &delivery.kind);
    format!("{id}  {hook}  {kind}  {operation}  {next}, attempts: {attempts}{failed}")
}

/// Tries at once, and says how it went.
fn retry(common: &Common, id: &str) -> Result<ExitCode, Problem> {
    let store = store::open_existing(common)?;
    let at = u64::try_from(now().as_millis()).unwrap_or(u64::MAX);
    change(store.as_ref(), id, DeliveryChange::Retry { at })?;
    let runtime = Runtime::builder().store(Arc::clone(&store)).model(NoModel).carriers(host::carriers()?).build()?;
    block_on(async {
        match tokio::time::timeout(OUTBOX_GRACE, runtime.deliver_outbox()).await {
            Ok(outcome) => outcome.map(drop).map_err(Problem::from),
            Err(_) => Ok(()),
        }
    })?;
    match store.outbox(LOOKED_AT_MAX)?.into_iter().find(|one| one.delivery.id == id) {
        None => {
            say(format!("delivered {id}"));
            Ok(ExitCode::Done)
        }
        Some(one) => {
            let why = one.error.unwrap_or_else(|| "the receiver has not answered yet".to_owned());
            Err(Problem::failed(format!("{id} was not delivered: {why}")))
        }
    }
}

fn change(store: &dyn Store, id: &str, change: DeliveryChange) -> Result<(), Problem> {
    if store.change_delivery(id, change)? {
        return Ok(());
    }
    let problem = Problem::usage(format!("there is no delivery `{id}` in the outbox"));
    Err(problem.hint("`jackline hooks outbox list` shows what waits."))
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Deliveries that are looked through for one.
const LOOKED_AT_MAX: usize = 10_000;
