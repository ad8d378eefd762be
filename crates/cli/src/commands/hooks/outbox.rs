//! `jackline hooks outbox`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackline_model::ExitCode;
use jackline_runtime::drive::{OUTBOX_GRACE, OutboxReport, Runtime};
use jackline_runtime::journal::{
    DeliveryChange, DeliveryChanged, OUTBOX_DEAD_MAX, OUTBOX_WAITING_MAX, Store, StoredDelivery,
};
use serde_json::{Value, json};

use crate::args::{Common, DeliveriesArgs, OutboxCommand};
use crate::host::{self, NoModel};
use crate::problem::Problem;
use crate::render::{Out, say};
use crate::run::{Signals, block_on};
use crate::store;

/// `jackline hooks outbox`.
pub(super) fn outbox(common: &Common, command: OutboxCommand) -> Result<ExitCode, Problem> {
    match command {
        OutboxCommand::List { json, limit } => list(common, json, limit),
        OutboxCommand::Deliver { wait, json } => deliver(common, wait, json),
        OutboxCommand::Retry(which) => retry(common, &which),
        OutboxCommand::Drop(which) => drop_out(common, &which),
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
    if store.outbox_is_full()? {
        say(format!("the outbox is full: until fewer than {OUTBOX_WAITING_MAX} wait, new deliveries are dropped"));
    }
    Ok(ExitCode::Done)
}

fn to_json(one: &StoredDelivery) -> Value {
    let delivery = &one.delivery;
    json!({
        "delivery": delivery.id, "operation": one.operation, "hook": delivery.hook, "type": delivery.kind,
        "dueAt": one.due_at, "attempts": one.attempts, "lastError": one.error, "dead": one.dead, "holder": one.holder,
    })
}

fn line(one: &StoredDelivery, now: Duration) -> String {
    let StoredDelivery { delivery, operation, attempts, due_at, error, dead, holder } = one;
    let failed = error.as_ref().map(|error| format!(", last: {error}")).unwrap_or_default();
    let next = match (Duration::from_millis(*due_at).checked_sub(now), holder) {
        _ if *dead => "given up".to_owned(),
        (_, Some(holder)) => format!("being tried by {holder}"),
        (Some(wait), None) if wait >= Duration::from_secs(1) => format!("due in {} s", wait.as_secs()),
        (Some(_) | None, None) => "due".to_owned(),
    };
    let (id, hook, kind) = (&delivery.id, &delivery.hook, &delivery.kind);
    format!("{id}  {hook}  {kind}  {operation}  {next}, attempts: {attempts}{failed}")
}

/// Makes what is due, or with `wait` all that can be made.
fn deliver(common: &Common, wait: bool, json: bool) -> Result<ExitCode, Problem> {
    let store = store::open_existing(common)?;
    let runtime = runtime(&store)?;
    let mut all = OutboxReport::default();
    let outcome = block_on(async {
        let signals = Signals::new()?;
        tokio::select! {
            outcome = deliver_all(&runtime, store.as_ref(), wait, &mut all) => outcome,
            () = signals.first() => Err(Problem::interrupted("interrupted; what has not arrived is kept")),
        }
    });
    let left = store.outbox(KEPT_MAX)?;
    let dead = left.iter().filter(|one| one.dead).count();
    let waiting = left.len() - dead;
    let mut out = Out::default();
    out.line(if json {
        let OutboxReport { delivered, failed } = all;
        json!({"delivered": delivered, "failed": failed, "waiting": waiting, "dead": dead}).to_string()
    } else {
        let OutboxReport { delivered, failed } = all;
        format!("delivered {delivered}, tries that failed: {failed}; {waiting} waiting, {dead} given up")
    });
    out.finish()?;
    outcome?;
    // With `--wait` a failed try was only a step on the way.
    let has_failed = if wait { dead > 0 } else { all.failed > 0 };
    if has_failed {
        return Err(Problem::failed("not everything was delivered").hint("`jackline hooks outbox list` says why."));
    }
    Ok(ExitCode::Done)
}

async fn deliver_all(runtime: &Runtime, store: &dyn Store, wait: bool, all: &mut OutboxReport) -> Result<(), Problem> {
    loop {
        let report = runtime.deliver_outbox().await?;
        all.delivered += report.delivered;
        all.failed += report.failed;
        let next = store.outbox(KEPT_MAX)?.iter().filter(|one| !one.dead).map(|one| one.due_at).min();
        let Some(next) = next.filter(|_| wait) else { return Ok(()) };
        // What another process has in hand may come back sooner, if that process ends.
        let pause = Duration::from_millis(next).saturating_sub(now()).clamp(PAUSE_MIN, PAUSE_MAX);
        tokio::time::sleep(pause).await;
    }
}

/// Tries at once, and says how it went.
fn retry(common: &Common, which: &DeliveriesArgs) -> Result<ExitCode, Problem> {
    let store = store::open_existing(common)?;
    let at = u64::try_from(now().as_millis()).unwrap_or(u64::MAX);
    let ids = change(store.as_ref(), which, &DeliveryChange::Retry { at })?;
    let runtime = runtime(&store)?;
    block_on(async {
        match tokio::time::timeout(OUTBOX_GRACE, runtime.deliver_outbox()).await {
            Ok(outcome) => outcome.map(drop).map_err(Problem::from),
            Err(_) => Ok(()),
        }
    })?;
    let left = store.outbox(KEPT_MAX)?;
    let left = left.into_iter().filter(|one| ids.contains(&one.delivery.id)).collect::<Vec<_>>();
    for id in ids.iter().filter(|id| left.iter().all(|one| one.delivery.id != **id)) {
        say(format!("delivered {id}"));
    }
    let Some((last, others)) = left.split_last() else { return Ok(ExitCode::Done) };
    let why = |one: &StoredDelivery| {
        let why = one.error.as_deref().filter(|_| one.holder.is_none());
        format!("{} was not delivered: {}", one.delivery.id, why.unwrap_or("the receiver has not answered yet"))
    };
    others.iter().for_each(|one| say(why(one)));
    Err(Problem::failed(why(last)))
}

fn drop_out(common: &Common, which: &DeliveriesArgs) -> Result<ExitCode, Problem> {
    for id in change(store::open_existing(common)?.as_ref(), which, &DeliveryChange::Drop)? {
        say(format!("dropped {id}"));
    }
    Ok(ExitCode::Done)
}

/// Changes one delivery or all that were given up, and says which.
fn change(store: &dyn Store, which: &DeliveriesArgs, change: &DeliveryChange) -> Result<BTreeSet<String>, Problem> {
    let Some(id) = &which.id else {
        let dead = store.outbox(KEPT_MAX)?.into_iter().filter(|one| one.dead).map(|one| one.delivery.id);
        let dead = dead.collect::<BTreeSet<_>>();
        for id in &dead {
            store.change_delivery(id, change.clone())?;
        }
        if dead.is_empty() {
            say("no delivery was given up");
        }
        return Ok(dead);
    };
    match store.change_delivery(id, change.clone())? {
        DeliveryChanged::Done => Ok(BTreeSet::from([id.clone()])),
        DeliveryChanged::NotThere => {
            let problem = Problem::usage(format!("there is no delivery `{id}` in the outbox"));
            Err(problem.hint("`jackline hooks outbox list` shows what waits."))
        }
        DeliveryChanged::InHand { holder } => {
            let problem = Problem::usage(format!("`{id}` is being tried right now, by {holder}"));
            Err(problem.hint("Wait for the outcome, or end that process."))
        }
    }
}

fn runtime(store: &Arc<dyn Store>) -> Result<Runtime, Problem> {
    Ok(Runtime::builder().store(Arc::clone(store)).model(NoModel).carriers(host::carriers()?).build()?)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// More than a store keeps.
const KEPT_MAX: usize = 2 * (OUTBOX_WAITING_MAX + OUTBOX_DEAD_MAX);

/// Between two looks at what is left to do.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
