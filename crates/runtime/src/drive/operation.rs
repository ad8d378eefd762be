//! The driver of one operation: takes effects, performs them, hands the answers back.
//!
//! It decides nothing. The order is always the same: `handle`, then the journal, then the effects.

use std::collections::{BTreeMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use jackline_hooks::{Delivery, DispatchError, Event, HookHandle, HookKind, OutboxItem};
use jackline_model::{Fault, OperationId, ToolKey};
use jackline_tools::call::{Call, CallFault};
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::core::{Core, Mailbox};
use super::earlier::Earlier;
use super::error::RunError;
use super::facts::{RunFacts, StepFacts};
use super::hearing::{heard, receipts};
use super::pending::Pending;
use super::setup::Setup;
use super::stream::{Report, Told};
use super::turn::Turn;
use super::unit::SettledCall;
use super::{child, outbox, summarize, unit};
use crate::journal::{Approval, Fence, Heard, InboxId};
use crate::llm::{ModelFault, ModelReply};
use crate::machine::{
    Durability, EffectId, Ending, Input, Instruction, Machine, Moved, Ordinal, State, StateKind, What,
};

/// An operation in the hands of this process.
pub(crate) struct Operation {
    pub(crate) core: Arc<Core>,
    pub(crate) run: Arc<RunFacts>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) hooks: HookHandle,
    pub(crate) machine: Machine,
    pub(crate) conversation: Conversation,
    pub(crate) turn: Arc<Turn>,
    pub(crate) counts: BTreeMap<ToolKey, u64>,
    pub(crate) steps: StepFacts,
    pub(crate) approval: Option<Approval>,
    pub(crate) fence: Fence,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) pending: Pending,
    /// What firings of earlier turns are about that a dead process has left unanswered, by their step.
    pub(crate) earlier: BTreeMap<u32, Earlier>,
    /// Calls between two effects: what may not be written down.
    pub(crate) calls: BTreeMap<Ordinal, Call>,
    pub(crate) in_flight: FuturesUnordered<BoxFuture<'static, Done>>,
    pub(crate) ready: VecDeque<Done>,
    pub(crate) notices: VecDeque<Notice>,
    pub(crate) notice_under_way: bool,
    pub(crate) cancel: CancellationToken,
    /// Cancels deliveries that the run does not wait for: once, at the very end.
    pub(crate) notice_cancel: CancellationToken,
    /// Sub-agents whose calls are being refused: they are stopped when that is performed.
    pub(crate) abandoned: BTreeMap<Ordinal, OperationId>,
    /// Inbox items that a later record uses up.
    pub(crate) claimed: BTreeMap<Ordinal, InboxId>,
    pub(crate) inbox_changed: bool,
    /// The end, to be told once it is stored.
    pub(crate) last_word: Option<Told>,
    /// A critical hook that failed about the end of the run.
    pub(crate) critical: Option<Box<DispatchError>>,
    /// Something was handed to the store that is to be delivered.
    pub(crate) has_deliveries: bool,
}

/// What comes of a firing.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    /// A critical hook that failed, if whoever waits for the run is to hear of it.
    pub(crate) critical: Option<Box<DispatchError>>,
    /// What the store is to keep until it is delivered.
    pub(crate) outbox: Vec<OutboxItem>,
    /// Its receipts, for the store.
    pub(crate) heard: Option<Heard>,
}

/// How an operation came to rest.
pub(crate) struct Rest {
    pub(crate) report: Report,
    /// When it wants to be woken, if at all.
    pub(crate) wake_at: Option<u64>,
    /// A critical hook that failed about its end.
    pub(crate) critical: Option<Box<DispatchError>>,
    /// It is one that may still be told of the stop.
    pub(crate) is_stop_owed: bool,
}

impl Rest {
    /// What whoever waits for the run hears.
    pub(crate) fn outcome(self) -> Result<Report, RunError> {
        let Some(error) = self.critical else { return Ok(self.report) };
        let report = Box::new(self.report);
        Err(if self.is_stop_owed {
            RunError::StopNotTold { report, error }
        } else {
            RunError::CriticalHook { report, error }
        })
    }
}

/// A firing that waits for its delivery. Its event was built when it fired: later the turn, the step
/// and the rows are others.
pub(crate) struct Notice {
    pub(crate) id: EffectId,
    pub(crate) kind: HookKind,
    /// `None` when no hook wants it.
    pub(crate) event: Option<Event>,
}

/// An effect that was performed.
#[derive(Debug)]
pub(crate) enum Done {
    Hook(EffectId, Delivered),
    Notice(EffectId, Delivered),
    Planned(EffectId, Vec<Instruction>),
    PlanFailed(EffectId, Fault),
    Replied(EffectId, Box<ModelReply>),
    ModelFailed(EffectId, Box<ModelFault>),
    Unit(EffectId, Result<unit::Stop, CallFault>),
    ChildCleared(EffectId, Result<unit::Stop, CallFault>),
    ChildStarted(EffectId, OperationId, Call),
    HumanAsked(EffectId, Approval),
    Summarized(EffectId, Box<summarize::Done>),
    SummaryFailed(EffectId, Box<ModelFault>),
}

impl Operation {
    /// Runs until the operation has ended or waits for somebody outside.
    pub(crate) async fn drive(mut self) -> Result<Rest, RunError> {
        let driven = AssertUnwindSafe(self.drive_to_rest()).catch_unwind().await;
        let result = driven.unwrap_or(Err(RunError::Panicked));
        // Whatever happened, what is under way ends with us.
        self.cancel.cancel();
        self.core.store.release(self.id(), self.fence).or_else(|error| match &result {
            Ok(()) => Err(RunError::Store(error)),
            Err(_) => Ok(()),
        })?;
        result?;
        let is_stop_owed = self.is_stop_owed();
        Ok(Rest { report: self.report(), wake_at: self.machine.next_deadline(), critical: self.critical, is_stop_owed })
    }

    async fn drive_to_rest(&mut self) -> Result<(), RunError> {
        loop {
            while let Some((id, effect)) = self.machine.next_effect() {
                self.perform(id, effect).await?;
            }
            self.next_notice().await?;
            // First what comes from outside: a stop must not wait for work that goes on by itself.
            self.inbox_changed |= self.mailbox.take_unread();
            if self.take_inbox()? {
                continue;
            }
            if let Some(done) = self.ready.pop_front() {
                self.absorb(done)?;
                continue;
            }
            if self.is_at_rest() {
                return self.rest().await;
            }
            self.wait().await?;
        }
    }

    /// Waits for the next thing to happen. What has been decided is with the store first.
    async fn wait(&mut self) -> Result<(), RunError> {
        self.pending.append(self.core.store.as_ref(), self.run.id(), self.fence)?;
        self.ring_outbox();
        let deadline = self.machine.next_deadline();
        let clock = Arc::clone(&self.core.clock);
        let until_deadline = async {
            match deadline {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(done) = self.in_flight.next(), if !self.in_flight.is_empty() => self.absorb(done),
            () = self.mailbox.changed() => {
                self.inbox_changed = true;
                Ok(())
            }
            () = until_deadline => self.take(What::DeadlineReached),
        }
    }

    /// What the store has got to deliver since the last time is seen to.
    fn ring_outbox(&mut self) {
        if std::mem::take(&mut self.has_deliveries) {
            self.core.ring_outbox();
        }
    }

    /// Whether nothing happens any more until somebody outside does something.
    fn is_at_rest(&self) -> bool {
        let idle = self.in_flight.is_empty() && !self.inbox_changed;
        match self.machine.state().kind() {
            StateKind::Finished => true,
            StateKind::WaitingForHuman | StateKind::WaitingForAsyncTool => idle && !self.is_due(),
            StateKind::Idle
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
            | StateKind::TellingDecision
            | StateKind::Draining
            | StateKind::TellingStop
            | StateKind::Completing
            | StateKind::ReportingError
            | StateKind::Failed => false,
        }
    }

    fn is_due(&self) -> bool {
        self.machine.next_deadline().is_some_and(|due| due <= self.core.clock.now_ms())
    }

    async fn rest(&mut self) -> Result<(), RunError> {
        let store = self.core.store.as_ref();
        self.pending.make(Durability::Committed, store, self.run.id(), self.fence).await?;
        self.ring_outbox();
        if let Some(end) = self.last_word.take() {
            self.tell(|| end);
        }
        let status = self.machine.state().status();
        if !status.is_terminal() {
            self.tell(|| Told::Parked { status });
        }
        Ok(())
    }

    /// Hands an input to the machine; if it moved, it becomes a record.
    pub(crate) fn take(&mut self, what: What) -> Result<(), RunError> {
        let moved = self.offer(what)?;
        debug_assert!(!matches!(moved, Moved::Refused(_)), "answers are not refused: {moved:?}");
        Ok(())
    }

    /// Like [`take`](Self::take), for requests from outside, which may be refused.
    pub(crate) fn offer(&mut self, what: What) -> Result<Moved, RunError> {
        let input = Input { at: self.core.clock.now_ms(), what };
        let from = self.machine.state().kind();
        let status = self.machine.state().status();
        let moved = child::handle_noting_abandoned(&mut self.machine, input.clone(), &mut self.abandoned)?;
        if let Moved::Row(row) = &moved {
            self.core.note_row(*row, &self.machine);
            let boundary = self.machine.boundary();
            if boundary.is_some() {
                self.steps.next_step();
            }
            let has_ended = self.machine.state().kind() == StateKind::Finished;
            if boundary.is_some() || has_ended || self.machine.state().status() != status {
                self.pending.summary = Some(self.summary());
            }
            self.pending.record(input, boundary);
            self.after_move(from);
        }
        Ok(moved)
    }

    pub(crate) fn id(&self) -> &OperationId {
        self.run.id()
    }

    pub(crate) fn step(&self) -> u32 {
        self.machine.shared().step
    }

    /// Tells readers, if there are any.
    pub(crate) fn tell(&self, what: impl FnOnce() -> Told) {
        if self.core.stream.is_read() {
            self.core.stream.tell(self.core.clock.now_ms(), self.id(), self.step(), what());
        }
    }

    pub(crate) fn ending(&self) -> Option<&Ending> {
        match self.machine.state() {
            State::Draining { report, .. }
            | State::TellingStop { report, .. }
            | State::Completing(report)
            | State::ReportingError(report)
            | State::Finished(report) => Some(report),
            State::Idle
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
            | State::Failed => None,
        }
    }

    /// Before-hooks were asked, and perhaps there were none.
    pub(crate) fn note_before(&mut self, call: Ordinal, deliveries: &[Delivery]) -> Result<(), RunError> {
        if deliveries.iter().all(Delivery::is_empty) {
            self.tell(|| Told::Hook { hook: HookKind::BeforeToolCall, asked: Vec::new() });
        }
        self.note_deliveries(call, deliveries)
    }

    /// What is to be delivered by way of the store is written with the next record.
    pub(crate) fn enqueue(&mut self, items: &[OutboxItem]) -> Result<(), RunError> {
        for item in items {
            let stored = outbox::stored_form(item).map_err(|error| RunError::Journal(error.to_string()))?;
            self.pending.outbox.push(stored);
            self.has_deliveries = true;
        }
        Ok(())
    }

    /// Hooks were asked about a call.
    pub(crate) fn note_deliveries(&mut self, call: Ordinal, deliveries: &[Delivery]) -> Result<(), RunError> {
        let call = self.turn.call(call).map(|call| call.call.id.clone());
        for delivery in deliveries {
            self.enqueue(&delivery.outbox)?;
            self.pending.heard.extend(heard(self.run.id(), call.clone(), self.step(), delivery));
            if let Some(first) = delivery.receipts.first() {
                let hook = first.kind;
                self.tell(|| Told::Hook { hook, asked: receipts(self.run.id(), delivery) });
            }
        }
        Ok(())
    }

    pub(crate) fn settled_told(&self, settled: &SettledCall) {
        let Some(call) = self.turn.call(settled.ordinal) else { return };
        let result = settled.published.result();
        self.tell(|| Told::ToolEnd {
            call: call.call.id.clone(),
            tool: call.call.key.clone(),
            decision: settled.decided.clone(),
            result: result.clone(),
            duration_ms: result.execution_time.unwrap_or(0),
        });
    }
}
