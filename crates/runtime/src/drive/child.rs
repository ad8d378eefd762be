//! Starting sub-agents, and noticing those that nobody waits for any more.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jackline_model::{Lineage, OperationId, ThreadId};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::core::Purpose;
use super::error::RunError;
use super::operation::Operation;
use super::runtime::{first_messages, stored_texts};
use super::turn::TurnCall;
use crate::journal::{NewOperation, StoreError};
use crate::machine::{EffectId, Input, Machine, Moved, Ordinal, Place, Unit, What};

/// Whether the sub-agent of a call exists already.
pub(crate) fn exists(parent: &Operation, ordinal: Ordinal) -> Result<bool, RunError> {
    match parent.core.store.header(&child_id(parent.id(), parent.step(), ordinal)) {
        Ok(_) => Ok(true),
        Err(StoreError::NoSuchOperation(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Starts the sub-agent that a call asks for. `Err` is for the model to read.
pub(crate) fn start(
    parent: &Operation,
    ordinal: Ordinal,
    call: &TurnCall,
) -> Result<Result<OperationId, String>, RunError> {
    let named = |name: &str| call.arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let (wanted, instruction) = (named("agentId"), named("instruction"));
    let header = &parent.run.header;
    let depth = header.lineage.depth + 1;
    let depth_max = parent.setup.agent.depth_max;
    let Some(agent) = parent.setup.agent.agents.iter().find(|agent| agent.name == wanted) else {
        return Ok(Err(format!("there is no agent `{wanted}`")));
    };
    if depth > depth_max {
        return Ok(Err(format!("agents may nest {depth_max} deep and this one would be at {depth}")));
    }
    let mut agent = agent.clone();
    // A child may narrow what its parent may do, never widen it.
    agent.depth_max = depth_max;
    agent.approval_mode = parent.setup.agent.approval_mode;
    let id = child_id(&header.id, parent.step(), ordinal);
    let (config, config_hash) = agent.frozen().map_err(|error| RunError::Setup(error.to_string()))?;
    let mut origin = header.origin.clone();
    origin.agent_id = Some(agent.name.as_str().into());
    origin.thread_id = Some(ThreadId::from(id.as_str()));
    let new = NewOperation {
        id: id.clone(),
        agent: agent.name.as_str().into(),
        config,
        config_hash,
        lineage: Lineage { parent_operation_id: Some(header.id.clone()), is_sub_agent: true, depth },
        parent_call: Some(ordinal),
        origin,
        user: header.user.clone(),
        required_hooks: Vec::new(),
        caller_hooks: parent.core.hooks_of.get(&agent.name).map(stored_texts).unwrap_or_default(),
        messages: first_messages(&agent, instruction),
        created_at: parent.core.clock.now_ms(),
    };
    match parent.core.store.create(new) {
        Ok(_) | Err(StoreError::Exists(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let ancestors = parent.ancestors();
    if let Err(error) = parent.core.launch(&id, ancestors, Purpose::Continue, None) {
        return Ok(Err(error.to_string()));
    }
    Ok(Ok(id))
}

/// Hands an input to the machine. A parked call that it begins to refuse leaves a sub-agent behind
/// for which nobody waits any more: it is noted, to be stopped.
pub(crate) fn handle_noting_abandoned(
    machine: &mut Machine,
    input: Input,
    abandoned: &mut BTreeMap<Ordinal, OperationId>,
) -> Result<Moved, RunError> {
    let mut children = parked_children(machine);
    // A sub-agent whose start is refused at once was never seen parked.
    if let What::ChildStarted(EffectId { unit: Unit::Call(call), .. }, child) = &input.what {
        children.push((*call, child.clone()));
    }
    let moved = machine.handle(input).map_err(|fault| RunError::Machine(Box::new(fault)))?;
    let is_refused =
        |call: Ordinal| machine.shared().calls.slot(call).is_some_and(|slot| slot.place == Place::Refusing);
    abandoned.extend(children.into_iter().filter(|(call, _)| is_refused(*call)));
    Ok(moved)
}

fn parked_children(machine: &Machine) -> Vec<(Ordinal, OperationId)> {
    let slots = (1..).zip(machine.shared().calls.slots());
    slots
        .filter_map(|(call, slot)| match &slot.place {
            Place::Parked { child } => Some((call, child.clone()?)),
            Place::Open
            | Place::Queued
            | Place::Clearing
            | Place::Running
            | Place::Refusing
            | Place::AwaitingHuman
            | Place::Judging
            | Place::Settled => None,
        })
        .collect()
}

/// The same for every start of the same call, in any process: a start that is repeated after a
/// crash finds its child.
fn child_id(parent: &OperationId, step: u32, call: Ordinal) -> OperationId {
    let digest = Sha256::digest(format!("{parent}/s{step}.c{call}").as_bytes());
    let hex = digest.iter().take(12).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    OperationId::from(format!("op_{hex}"))
}
