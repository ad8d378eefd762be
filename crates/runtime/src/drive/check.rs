//! Whether what a store holds of an operation keeps the invariants.

use std::collections::BTreeMap;

use jackline_model::{Message, MessageBody, OperationId, ToolCallId};

use super::agent::Agent;
use super::error::RunError;
use crate::journal::{Header, Store, StoredMessage, decode};
use crate::machine::invariants::{Broken, Invariant, Taken, of_life, of_machine};
use crate::machine::{Effect, EffectId, Input, Machine, Moved, Place, Settings, StateKind};

/// Why an operation does not pass [`check_operation`].
#[derive(Clone, Debug, thiserror::Error)]
pub enum CheckError {
    /// It could not be read, so nothing is known.
    #[error(transparent)]
    Unreadable(#[from] RunError),
    /// A law does not hold.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// Checks a stored operation: lives its whole journal again, and compares rows, requests and header
/// with what happened in it.
///
/// It reads only, and may look at operations in any state; one that is being worked on is seen as
/// of its last commit. Operations above and below it are not looked at: check them too.
///
/// # Errors
///
/// [`CheckError::Broken`] names the first law that does not hold: report it as a mistake of ours,
/// unless somebody has changed the store. [`CheckError::Unreadable`] if it cannot be read.
///
/// ```
/// use jackline_runtime::drive::check_operation;
/// use jackline_runtime::llm::{ScriptedModel, Turn};
/// use jackline_runtime::{Agent, Hooks, OperationId, Runtime};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let runtime = Runtime::builder().model(ScriptedModel::new([Turn::text("Yes.")])).build()?;
/// let run = runtime.start(&Agent::new("clerk", ""), "Is all well?", Hooks::new())?;
/// run.wait().await?;
/// check_operation(runtime.store().as_ref(), run.id()).unwrap();
/// assert!(check_operation(runtime.store().as_ref(), &OperationId::from("op_none")).is_err());
/// # Ok::<(), jackline_runtime::RunError>(())
/// # }).unwrap();
/// ```
pub fn check_operation(store: &dyn Store, id: &OperationId) -> Result<(), CheckError> {
    let header = store.header(id).map_err(RunError::from)?;
    let agent = agent_of(store, &header)?;
    let machine = live_again(store, &header, agent.settings())?;
    let messages = store.messages(id).map_err(RunError::from)?;
    results_stand_in_order(&machine, &messages)?;
    header_agrees(&header, &machine, agent.depth_max)?;
    let is_asked = store.approval(id).map_err(RunError::from)?.is_some();
    let shared = machine.shared();
    let may_ask = shared.question
        || !shared.calls.awaiting_human().is_empty()
        || machine.state().kind() == StateKind::AskingHuman;
    law(!is_asked || may_ask, Invariant::DecisionsCountOnce, || "a request is open and nothing waits for it".to_owned())
}

fn agent_of(store: &dyn Store, header: &Header) -> Result<Agent, RunError> {
    let config = store.config(&header.config_hash)?;
    let text = config.ok_or_else(|| RunError::Journal("its configuration is gone".to_owned()))?;
    serde_json::from_str(&text).map_err(|error| RunError::Setup(error.to_string()))
}

/// Feeds a new machine all inputs of the journal. Each must move it, and leave the boundary that
/// was written down with it, if one was: not every boundary is worth its bytes.
fn live_again(store: &dyn Store, header: &Header, settings: Settings) -> Result<Machine, CheckError> {
    let mut machine = Machine::new(settings.clone());
    let mut life = Vec::new();
    for record in store.records(&header.id).map_err(RunError::from)? {
        let inputs = decode(&record).map_err(|error| RunError::Journal(error.to_string()))?;
        for (input, boundary) in inputs {
            let emitted = take(&mut machine, &input)?;
            let is_same = boundary.is_none() || machine.boundary() == boundary;
            law(is_same, Invariant::StoreAgrees, || format!("another boundary was stored with {:?}", input.what))?;
            of_machine(&machine)?;
            life.push(Taken { input, emitted });
        }
    }
    of_life(&settings, &life)?;
    Ok(machine)
}

fn take(machine: &mut Machine, input: &Input) -> Result<Vec<(EffectId, Effect)>, CheckError> {
    let moved = machine.handle(input.clone());
    law(matches!(moved, Ok(Moved::Row(_))), Invariant::StoreAgrees, || {
        format!("a stored input does not move the machine: {:?} gives {moved:?}", input.what)
    })?;
    Ok(std::iter::from_fn(|| machine.next_effect()).collect())
}

/// Each assistant message is followed by the results of its calls, in emission order, in the places
/// that were reserved for them. Only calls of the open turn may have none yet.
fn results_stand_in_order(machine: &Machine, messages: &[StoredMessage]) -> Result<(), CheckError> {
    let broken = |what: String| Err(Broken { invariant: Invariant::ResultsPairUp, what }.into());
    let mut results: BTreeMap<u32, &ToolCallId> = BTreeMap::new();
    for stored in messages {
        if let MessageBody::Tool { call_id, .. } = &stored.message.body
            && results.insert(stored.place, call_id).is_some()
        {
            return broken(format!("place {} has two results", stored.place));
        }
    }
    let last = messages.iter().rev().find(|stored| is_assistant(&stored.message)).map(|stored| stored.place);
    for stored in messages {
        let MessageBody::Assistant { tool_calls, .. } = &stored.message.body else { continue };
        for (place, (index, call)) in (stored.place + 1..).zip(tool_calls.iter().enumerate()) {
            let is_settled = Some(stored.place) != last || is_settled(machine, index);
            match results.remove(&place) {
                Some(found) if *found == call.id && is_settled => {}
                None if !is_settled => {}
                found => {
                    let what = format!("call {index} of message {}: {found:?} at place {place}", stored.message.id);
                    return broken(what);
                }
            }
        }
    }
    if results.is_empty() { Ok(()) } else { broken(format!("results of no call: {results:?}")) }
}

fn is_assistant(message: &Message) -> bool {
    matches!(message.body, MessageBody::Assistant { .. })
}

/// Calls of a turn that is over are settled.
fn is_settled(machine: &Machine, index: usize) -> bool {
    let slots = machine.shared().calls.slots();
    slots.get(index).is_none_or(|slot| slot.place == Place::Settled)
}

fn header_agrees(header: &Header, machine: &Machine, depth_max: u32) -> Result<(), CheckError> {
    let depth = header.lineage.depth;
    law(depth <= depth_max, Invariant::LimitsHold, || format!("it is {depth} deep, the limit is {depth_max}"))?;
    let is_stored = header.required_hooks.iter().any(|hook| hook.starts_with("server-env-webhook:"));
    law(!is_stored, Invariant::FiringsKeepOrder, || "hooks of the environment are stored".to_owned())?;
    if machine.state().kind() != StateKind::Finished {
        return Ok(());
    }
    let (told, stands) = (&header.summary, machine.shared());
    let is_same =
        (told.status, told.steps, told.totals) == (machine.state().status(), stands.steps_done, stands.totals);
    law(is_same, Invariant::StoreAgrees, || format!("the header tells {told:?}, the journal {:?}", machine.state()))
}

fn law(holds: bool, invariant: Invariant, what: impl FnOnce() -> String) -> Result<(), CheckError> {
    if holds { Ok(()) } else { Err(Broken { invariant, what: what() }.into()) }
}
