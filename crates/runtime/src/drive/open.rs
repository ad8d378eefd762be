//! Opening an operation: reading its journal back and going on where it stands.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use jackline_hooks::Rounds;
use jackline_model::{MessageBody, OperationId, Reason, ToolCall, ToolKey};
use tokio_util::sync::CancellationToken;

use super::agent::Agent;
use super::child;
use super::conversation::Conversation;
use super::core::{Core, Mailbox, Purpose};
use super::earlier;
use super::error::RunError;
use super::facts::{RunFacts, StepFacts};
use super::operation::Operation;
use super::pending::Pending;
use super::runtime::prompt_id;
use super::stream::Told;
use super::turn::Turn;
use crate::journal::{Fence, InboxItem, Loaded, StoredMessage, decode};
use crate::machine::{Boundary, CallSlot, Input, Machine, Ordinal, Place, Route, State, StateKind, What};
use crate::repeat::Signature;

impl Operation {
    /// Takes ownership, reads the journal back, and begins or goes on.
    pub(crate) fn open(
        core: &Arc<Core>,
        id: &OperationId,
        rounds: &Rounds,
        purpose: Purpose,
        mailbox: Arc<Mailbox>,
    ) -> Result<Self, RunError> {
        let fence = match purpose {
            Purpose::Begin(fence) => fence,
            Purpose::Continue | Purpose::Resume | Purpose::Retell => core.store.claim(id)?,
        };
        let opened =
            core.bring_back_hooks(id).and_then(|()| Self::open_owned(core, id, rounds, purpose, mailbox, fence));
        if opened.is_err() {
            // What kept it from being opened says more than a release that fails as well.
            let _ = core.store.release(id, fence);
        }
        opened
    }

    fn open_owned(
        core: &Arc<Core>,
        id: &OperationId,
        rounds: &Rounds,
        purpose: Purpose,
        mailbox: Arc<Mailbox>,
        fence: Fence,
    ) -> Result<Self, RunError> {
        let loaded = core.store.load(id)?;
        let setup = core.setup(agent_of(&loaded)?, &loaded.header.config_hash)?;
        let (machine, abandoned) = replay(&setup.agent, &loaded)?;
        let mut counts = counts(&loaded.messages);
        let mut conversation = Conversation::restore(loaded.messages, loaded.next_place);
        if conversation.has_summary() {
            counts = self::counts(&core.store.messages(id)?);
        }
        let turn = open_turn(&machine, &mut conversation, &setup, &counts)?;
        let earlier = earlier::restore(core.store.as_ref(), id, &machine, &turn, &setup)?;
        let steps = StepFacts::restore(machine.shared(), &turn, &conversation, counts.values().sum());
        let mut operation = Self {
            core: Arc::clone(core),
            run: Arc::new(RunFacts::new(loaded.header, prompt_id(&setup.agent))),
            setup,
            hooks: core.dispatcher.handle(rounds),
            machine,
            conversation,
            turn: Arc::new(turn),
            counts,
            steps,
            approval: loaded.approval,
            fence,
            mailbox,
            pending: Pending::default(),
            earlier,
            calls: BTreeMap::new(),
            in_flight: FuturesUnordered::new(),
            ready: VecDeque::new(),
            notices: VecDeque::new(),
            notice_under_way: false,
            cancel: CancellationToken::new(),
            notice_cancel: CancellationToken::new(),
            abandoned,
            claimed: BTreeMap::new(),
            inbox_changed: true,
            last_word: None,
            critical: None,
            has_deliveries: false,
        };
        operation.begin(purpose)?;
        operation.launch_children()?;
        Ok(operation)
    }

    /// The operations above this one, from the root, and this one.
    pub(crate) fn ancestors(&self) -> Vec<OperationId> {
        let mut ancestors = self.core.live().get(self.id()).map(|live| live.ancestors().to_vec()).unwrap_or_default();
        ancestors.push(self.id().clone());
        ancestors
    }

    fn begin(&mut self, purpose: Purpose) -> Result<(), RunError> {
        let kind = self.machine.state().kind();
        let told = Told::OperationStart {
            agent: Arc::clone(&self.run.header.agent),
            parent: self.run.header.lineage.parent_operation_id.clone(),
            resumed: kind != StateKind::Idle,
        };
        self.tell(|| told);
        match kind {
            // Stopped before it began: the inbox is taken first thing, and there will be no step.
            StateKind::Idle if self.is_stopped()? => Ok(()),
            StateKind::Idle => self.take(What::BeginRequested),
            StateKind::Finished if purpose == Purpose::Resume => self.begin_anew(),
            // Refused if another process was quicker: then everybody has heard.
            StateKind::Finished if purpose == Purpose::Retell => self.offer(What::RetellRequested).map(drop),
            StateKind::Finished
            | StateKind::OpeningStep
            | StateKind::Planning
            | StateKind::CallingModel
            | StateKind::WaitingToRetry
            | StateKind::RunningCalls
            | StateKind::AskingHuman
            | StateKind::AnnouncingCompaction
            | StateKind::Summarizing
            | StateKind::WaitingToSummarize
            | StateKind::ClosingCompaction
            | StateKind::ClosingStep
            | StateKind::WaitingForHuman
            | StateKind::TellingDecision
            | StateKind::WaitingForAsyncTool
            | StateKind::Draining
            | StateKind::TellingStop
            | StateKind::Completing
            | StateKind::ReportingError
            | StateKind::Failed => Ok(()),
        }
    }

    /// A new episode. What ended for good, as after a rejection, stays as it is.
    fn begin_anew(&mut self) -> Result<(), RunError> {
        match self.ending() {
            Some(ending) if !ending.resumable => {
                Err(RunError::NotResumable { operation: self.id().clone(), reason: ending.reason })
            }
            Some(_) | None => self.take(What::ResumeRequested),
        }
    }

    fn is_stopped(&self) -> Result<bool, RunError> {
        let inbox = self.core.store.inbox(self.id())?;
        Ok(inbox.iter().any(|(_, item)| matches!(item, InboxItem::Stop(_))))
    }

    /// Sub-agents whose end is not in our inbox yet go on with their parent. One whose status is
    /// terminal may still have hooks to ask: its end is posted by the commit that finishes it.
    fn launch_children(&self) -> Result<(), RunError> {
        let inbox = self.core.store.inbox(self.id())?;
        let has_ended = |child: &OperationId| {
            inbox.iter().any(|(_, item)| matches!(item, InboxItem::ChildEnded { child: ended, .. } if ended == child))
        };
        for slot in self.machine.shared().calls.slots() {
            match &slot.place {
                Place::Parked { child: Some(child) } if !has_ended(child) => {
                    self.core.launch(child, self.ancestors(), Purpose::Continue, None)?;
                }
                Place::Parked { .. }
                | Place::Open
                | Place::Queued
                | Place::Clearing
                | Place::Running
                | Place::Refusing
                | Place::AwaitingHuman
                | Place::Judging
                | Place::Settled => {}
            }
        }
        Ok(())
    }
}

/// Why an operation has ended, if that is told and cannot be gone on with. The end is stored before
/// its hooks are asked: a process that died in between leaves something to do.
pub(crate) fn over_for_good(core: &Core, id: &OperationId) -> Result<Option<Reason>, RunError> {
    let loaded = core.store.load(id)?;
    let (machine, _) = replay(&agent_of(&loaded)?, &loaded)?;
    Ok(match machine.state() {
        State::Finished(ending) if !ending.resumable => Some(ending.reason),
        State::Finished(_)
        | State::Idle
        | State::OpeningStep
        | State::Planning
        | State::CallingModel { .. }
        | State::WaitingToRetry { .. }
        | State::RunningCalls
        | State::AskingHuman
        | State::AnnouncingCompaction(_)
        | State::Summarizing { .. }
        | State::WaitingToSummarize { .. }
        | State::ClosingCompaction { .. }
        | State::ClosingStep(_)
        | State::WaitingForHuman
        | State::TellingDecision { .. }
        | State::WaitingForAsyncTool
        | State::Draining { .. }
        | State::TellingStop { .. }
        | State::Completing(_)
        | State::ReportingError(_)
        | State::Failed => None,
    })
}

pub(super) fn agent_of(loaded: &Loaded) -> Result<Agent, RunError> {
    serde_json::from_str(&loaded.config).map_err(|error| RunError::Setup(error.to_string()))
}

/// The machine as the journal leaves it: the last boundary and what came after. With the sub-agents
/// of calls that were being refused.
pub(super) fn replay(agent: &Agent, loaded: &Loaded) -> Result<(Machine, BTreeMap<Ordinal, OperationId>), RunError> {
    let mut inputs: Vec<(Input, Option<Boundary>)> = Vec::new();
    for record in &loaded.records {
        inputs.extend(decode(record).map_err(|error| RunError::Journal(error.to_string()))?);
    }
    let last = inputs.iter().rposition(|(_, boundary)| boundary.is_some());
    let rest = inputs.split_off(last.map_or(0, |last| last + 1));
    let mut machine = match inputs.pop().and_then(|(_, boundary)| boundary) {
        Some(boundary) => Machine::restore(agent.settings(), boundary),
        None => Machine::new(agent.settings()),
    };
    let mut abandoned = BTreeMap::new();
    for (input, _) in rest {
        child::handle_noting_abandoned(&mut machine, input, &mut abandoned)?;
    }
    machine.reopen();
    Ok((machine, abandoned))
}

/// How often each tool was called. Folded turns count too.
pub(super) fn counts(messages: &[StoredMessage]) -> BTreeMap<ToolKey, u64> {
    let mut counts = BTreeMap::new();
    for stored in messages {
        for call in calls_of(&stored.message.body) {
            *counts.entry(call.key.clone()).or_default() += 1;
        }
    }
    counts
}

fn open_turn(
    machine: &Machine,
    conversation: &mut Conversation,
    setup: &super::setup::Setup,
    counts: &BTreeMap<ToolKey, u64>,
) -> Result<Turn, RunError> {
    let slots = machine.shared().calls.slots();
    let Some((place, message)) = conversation.last_assistant_placed() else {
        return check_calls(slots, &[]).map(|()| Turn::default());
    };
    let calls = calls_of(&message.body).to_vec();
    check_calls(slots, &calls)?;
    if slots.is_empty() || calls.is_empty() {
        return Ok(Turn { assistant: Some(message.id.clone()), ..Turn::default() });
    }
    let routes: Vec<Route> = slots.iter().map(|slot| slot.facts.route).collect();
    let turn = Turn::restore(message.id.clone(), place + 1, &calls, &routes, setup, counts);
    // The places of results that are not there yet are taken all the same.
    conversation.reserve_up_to(place + 1 + u32::try_from(calls.len()).unwrap_or(u32::MAX));
    Ok(turn)
}

/// Whether the calls that wait for something are those of the message. Otherwise nothing can be asked about them, and
/// what cannot be judged must not be published.
fn check_calls(slots: &[CallSlot], calls: &[ToolCall]) -> Result<(), RunError> {
    let is_known = |(position, slot): (usize, &CallSlot)| {
        slot.place == Place::Settled
            || calls.get(position).is_some_and(|call| Signature::of(call) == slot.facts.signature)
    };
    match slots.iter().enumerate().position(|slot| !is_known(slot)) {
        Some(position) => Err(RunError::Journal(format!(
            "Cannot evaluate afterToolCall: tool call context is unavailable: the message that asked for call {} is not \
             in the store",
            position + 1
        ))),
        None => Ok(()),
    }
}

pub(super) fn calls_of(body: &MessageBody) -> &[ToolCall] {
    match body {
        MessageBody::Assistant { tool_calls, .. } => tool_calls,
        MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Tool { .. } => &[],
    }
}
