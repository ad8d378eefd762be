//! The open turn: the calls of the model's last answer, resolved to who answers them.

use std::collections::{BTreeMap, BTreeSet};

use jackline_model::{ExecutorRoute, MessageId, SideEffect, ToolCall, ToolCallId, ToolKey, ToolSource};
use jackline_tools::lanes::{LaneRequest, lanes, resource};
use jackline_tools::{Receipt, RegisteredTool};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::conversation::{Conversation, message_id};
use super::setup::Setup;
use crate::llm::RawCall;
use crate::machine::{CallFacts, Ordinal, Route, limits};
use crate::planner::Standing;
use crate::repeat::Signature;

/// The calls of one answer.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// The message that asked for them.
    pub(crate) assistant: Option<MessageId>,
    /// The calls, in emission order.
    pub(crate) calls: Vec<TurnCall>,
    /// Some names could not be resolved.
    pub(crate) unresolved: bool,
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct TurnCall {
    /// What the model asked for.
    pub(crate) call: ToolCall,
    /// The place of its result.
    pub(crate) place: u32,
    /// The row of its result.
    pub(crate) row: MessageId,
    /// Who answers it.
    pub(crate) fit: Fit,
    /// The arguments, checked; empty where they cannot be used.
    pub(crate) arguments: Map<String, Value>,
    /// How many calls of the tool there were before in the operation, plus one.
    pub(crate) index: u64,
}

/// Who answers a call.
#[derive(Clone, Debug)]
pub(crate) enum Fit {
    /// A tool.
    Tool(RegisteredTool),
    /// A sub-agent.
    Agent(RegisteredTool),
    /// Whoever drives the runtime.
    Client(RegisteredTool),
    /// Nobody, for this reason.
    Unusable(Receipt),
    /// The agent's tool list does not have it.
    NotAllowed,
}

impl Turn {
    /// Resolves the calls of an answer, as many as the machine takes. A cut-off answer has calls that
    /// must not run.
    pub(crate) fn open(
        raw: Vec<RawCall>,
        cut_off: bool,
        setup: &Setup,
        conversation: &mut Conversation,
        counts: &mut BTreeMap<ToolKey, u64>,
        seed: &str,
    ) -> Self {
        let mut turn = Self::default();
        let mut ids = BTreeSet::new();
        let written = raw.len();
        for (position, raw) in raw.into_iter().take(limits::CALLS_PER_TURN_MAX).enumerate() {
            let (key, known) = match setup.registry.resolve(&raw.name) {
                Ok(key) => (key.clone(), Ok(())),
                Err(unresolved) => (unresolved.key(), Err(unresolved)),
            };
            let id = unique_id(raw.id, &mut ids, seed, position);
            let call = ToolCall { id, key, arguments: raw.arguments.into() };
            // Only the last call of a cut-off answer can be incomplete.
            let is_cut = cut_off && position + 1 == written;
            let (fit, arguments) = match known {
                Ok(()) if is_cut => (Fit::Unusable(Receipt::CutOff), Map::new()),
                Ok(()) => fit(setup, &call),
                Err(unresolved) => {
                    turn.unresolved = true;
                    let receipt = Receipt::UnknownTool { name: unresolved.name, available: unresolved.available };
                    (Fit::Unusable(receipt), Map::new())
                }
            };
            let index = counts.entry(call.key.clone()).and_modify(|count| *count += 1).or_insert(1);
            let place = conversation.reserve();
            turn.calls.push(TurnCall { call, place, row: message_id(place), fit, arguments, index: *index });
        }
        turn
    }

    /// The open turn of a stored operation: the calls of its last assistant message, resolved again.
    pub(crate) fn restore(
        assistant: MessageId,
        first_place: u32,
        calls: &[ToolCall],
        routes: &[Route],
        setup: &Setup,
        counts: &BTreeMap<ToolKey, u64>,
    ) -> Self {
        let mut left: BTreeMap<&ToolKey, u64> = BTreeMap::new();
        for call in calls {
            *left.entry(&call.key).or_default() += 1;
        }
        let mut turn = Self { assistant: Some(assistant), ..Self::default() };
        for (position, call) in calls.iter().enumerate() {
            let place = first_place + u32::try_from(position).unwrap_or(u32::MAX);
            let (mut fit, arguments) = fit(setup, call);
            let was_usable = routes.get(position).is_some_and(|route| *route != Route::Unusable);
            if !was_usable && !matches!(fit, Fit::Unusable(_)) {
                fit = Fit::Unusable(Receipt::CutOff);
            }
            let behind = left.get_mut(&call.key).map_or(0, |left| {
                *left -= 1;
                *left
            });
            let index = counts.get(&call.key).copied().unwrap_or(1).saturating_sub(behind);
            turn.calls.push(TurnCall { call: call.clone(), place, row: message_id(place), fit, arguments, index });
        }
        turn
    }

    /// The call at this place of the turn.
    pub(crate) fn call(&self, ordinal: Ordinal) -> Option<&TurnCall> {
        self.calls.get(usize::from(ordinal).checked_sub(1)?)
    }

    /// The place of the call with this id.
    pub(crate) fn ordinal(&self, id: &ToolCallId) -> Option<Ordinal> {
        let position = self.calls.iter().position(|call| call.call.id == *id)?;
        Ordinal::try_from(position + 1).ok()
    }

    /// What the machine must know.
    pub(crate) fn facts(&self) -> Vec<CallFacts> {
        let requests: Vec<LaneRequest<'_>> = self.calls.iter().map(TurnCall::lane_request).collect();
        let lanes = lanes(&requests);
        self.calls.iter().zip(lanes).map(|(call, lane)| call.facts(u16::try_from(lane).unwrap_or(u16::MAX))).collect()
    }
}

impl TurnCall {
    /// The declaration of the tool, where there is one.
    pub(crate) fn entry(&self) -> Option<&RegisteredTool> {
        match &self.fit {
            Fit::Tool(entry) | Fit::Agent(entry) | Fit::Client(entry) => Some(entry),
            Fit::Unusable(_) | Fit::NotAllowed => None,
        }
    }

    /// Whether it can be answered.
    pub(crate) fn standing(&self) -> Standing {
        match &self.fit {
            Fit::Tool(_) | Fit::Agent(_) | Fit::Client(_) => Standing::Usable,
            Fit::Unusable(_) => Standing::Unusable,
            Fit::NotAllowed => Standing::NotAllowed,
        }
    }

    fn route(&self) -> Route {
        match &self.fit {
            Fit::Tool(_) => Route::Tool,
            Fit::Agent(_) => Route::Agent,
            Fit::Client(_) => Route::Client,
            Fit::Unusable(_) | Fit::NotAllowed => Route::Unusable,
        }
    }

    fn facts(&self, lane: u16) -> CallFacts {
        let side_effect = self.entry().map_or(SideEffect::Effect, |entry| entry.spec().side_effect);
        CallFacts { lane, route: self.route(), side_effect, signature: Signature::of(&self.call) }
    }

    fn lane_request(&self) -> LaneRequest<'_> {
        let spec = self.entry().map(RegisteredTool::spec);
        LaneRequest {
            key: &self.call.key,
            ordered: spec.is_some_and(|spec| spec.ordered),
            resource: spec.and_then(|spec| resource(spec.serialize_by.as_deref(), &self.arguments)),
        }
    }
}

fn fit(setup: &Setup, call: &ToolCall) -> (Fit, Map<String, Value>) {
    let Some(entry) = setup.registry.get(&call.key) else {
        let available = setup.registry.iter().map(|(key, _)| key.to_string()).collect();
        return (Fit::Unusable(Receipt::UnknownTool { name: call.key.to_string(), available }), Map::new());
    };
    if !setup.agent.allows(&call.key) {
        return (Fit::NotAllowed, Map::new());
    }
    let arguments = match entry.arguments(&call.arguments) {
        Ok(arguments) => arguments.object,
        Err(problem) => return (Fit::Unusable(Receipt::BadArguments { problem: problem.to_string() }), Map::new()),
    };
    let spec = entry.spec();
    let fit = match (spec.source, spec.executor) {
        (ToolSource::Agent, _) => Fit::Agent(entry.clone()),
        (_, ExecutorRoute::Client) => Fit::Client(entry.clone()),
        (_, ExecutorRoute::Server) => Fit::Tool(entry.clone()),
    };
    (fit, arguments)
}

/// The provider's id, or one of nine letters and digits where it gave none or one twice.
fn unique_id(given: Option<String>, taken: &mut BTreeSet<String>, seed: &str, position: usize) -> ToolCallId {
    let given = given.filter(|id| !id.is_empty() && !taken.contains(id));
    let id = given.unwrap_or_else(|| {
        let mut salt = 0_u32;
        loop {
            let id = made_id(seed, position, salt);
            if !taken.contains(&id) {
                return id;
            }
            salt += 1;
        }
    });
    taken.insert(id.clone());
    ToolCallId::from(id)
}

fn made_id(seed: &str, position: usize, salt: u32) -> String {
    let digest = Sha256::digest(format!("{seed}/{position}/{salt}").as_bytes());
    digest.iter().take(9).map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])).collect()
}

const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
