//! Taking in what effects came to: rows for the store, input for the machine, news for readers.

use std::sync::Arc;

use jackline_model::{Content, Fault, Message, MessageBody, ModelUsage, Reason, Status};

use serde_json::Value;

use super::conversation::message_id;
use super::error::RunError;
use super::facts::calling;
use super::operation::{Done, Operation};
use super::perform::pending_views;
use super::stream::{Report, Told};
use super::summarize::{self, summary_body};
use super::turn::Turn;
use super::unit::{SettledCall, Stop};
use crate::compress::overflow_fault;
use crate::journal::posting::tool_message;
use crate::journal::{Approval, Fold, InboxItem, PlacedMessage, Row, Summary};
use crate::llm::{FinishReason, ModelFault, ModelFaultKind, ModelReply};
use crate::machine::{
    CompactionNeed, EffectId, FailureKind, Folded, ModelFailure, ParkReason, Place, Reply, SettledHow, State,
    StateKind, StepOutcome, What,
};

impl Operation {
    /// Takes in what an effect came to.
    pub(crate) fn absorb(&mut self, done: Done) -> Result<(), RunError> {
        match done {
            Done::Hook(id, delivered) => self.hook_answered(id, delivered),
            Done::Notice(id, delivered) => {
                self.enqueue(&delivered.outbox)?;
                self.pending.heard.extend(delivered.heard);
                self.notice_under_way = false;
                self.take(What::NoticeDelivered(id))
            }
            Done::Planned(id, plan) => self.take(What::Planned(id, plan)),
            Done::PlanFailed(id, fault) => self.take(What::PlanFailed(id, fault)),
            Done::Replied(id, reply) => self.model_replied(id, *reply),
            Done::ModelFailed(id, fault) => self.model_failed(id, *fault),
            Done::Unit(id, Ok(stop)) => self.unit_stopped(id, stop),
            Done::ChildCleared(id, Ok(stop)) => self.child_cleared(id, stop),
            Done::Unit(_, Err(fault)) | Done::ChildCleared(_, Err(fault)) => Err(RunError::Call(fault)),
            Done::ChildStarted(id, child, call) => {
                let Some(ordinal) = call_of(id) else { return Ok(()) };
                self.calls.insert(ordinal, call);
                self.tool_parked(ordinal, Some(child.clone()));
                self.take(What::ChildStarted(id, child))
            }
            Done::HumanAsked(id, approval) => self.human_asked(id, approval),
            Done::Summarized(id, done) => self.summarized(id, *done),
            Done::SummaryFailed(id, fault) => self.summary_failed(id, *fault),
        }
    }

    fn model_replied(&mut self, id: EffectId, reply: ModelReply) -> Result<(), RunError> {
        if !self.machine.shared().open.contains_key(&id) {
            return Ok(());
        }
        let place = self.conversation.reserve();
        let seed = format!("{}/{}", self.id(), self.step());
        let cut_off = reply.finish == FinishReason::Length;
        let mut turn = Turn::open(reply.calls, cut_off, &self.setup, &mut self.conversation, &mut self.counts, &seed);
        let message = Message {
            id: message_id(place),
            body: MessageBody::Assistant {
                content: reply.content,
                reasoning: reply.reasoning,
                tool_calls: turn.calls.iter().map(|call| call.call.clone()).collect(),
            },
        };
        turn.assistant = Some(message.id.clone());
        let facts = Reply {
            usage: reply.usage,
            calls: turn.facts(),
            aborted: reply.finish == FinishReason::Abort,
            unresolved: turn.unresolved,
        };
        self.note_reply(&message, reply.usage, reply.finish_raw);
        self.turn = Arc::new(turn);
        self.calls.clear();
        self.pending.rows.push(Row::Message(PlacedMessage { place, message: message.clone() }));
        self.conversation.insert(place, message, false);
        self.take(What::ModelReplied(id, facts))
    }

    fn note_reply(&mut self, message: &Message, usage: Option<ModelUsage>, finish: Option<String>) {
        let MessageBody::Assistant { content, reasoning, tool_calls } = &message.body else { return };
        let text = content.text();
        self.tell(|| Told::ModelEnd { content: text.clone(), calls: tool_calls.len(), usage, finish });
        self.steps.content = Some(text);
        self.steps.reasoning = reasoning.as_ref().map(|text| text.to_string());
        self.steps.calling = calling(tool_calls);
        self.steps.asked_calls += tool_calls.len() as u64;
        if let Some(usage) = usage {
            self.steps.has_usage = true;
            self.steps.cost += usage.cost;
        }
    }

    fn model_failed(&mut self, id: EffectId, mut fault: ModelFault) -> Result<(), RunError> {
        let mut compaction = None;
        if fault.kind == ModelFaultKind::ContextOverflow {
            (fault.fault, compaction) = self.overflowed(fault.fault);
        }
        let failure = ModelFailure { compaction, ..self.failure(&fault) };
        self.take(What::ModelFailed(id, failure))?;
        if let State::WaitingToRetry { until, attempt, .. } = self.machine.state() {
            self.tell_retry(*attempt, *until, fault.fault.message);
        } else if matches!(self.machine.state(), State::ClosingStep(StepOutcome::End(_))) {
            self.tell(|| Told::ModelError { error: fault.fault });
        }
        Ok(())
    }

    fn summary_failed(&mut self, id: EffectId, fault: ModelFault) -> Result<(), RunError> {
        let failure = self.failure(&fault);
        self.take(What::SummaryFailed(id, failure))?;
        let error = fault.fault.message;
        if let State::WaitingToSummarize { until, attempt, .. } = self.machine.state() {
            self.tell_retry(*attempt, *until, error);
        } else {
            let error = Some(error);
            self.tell(|| Told::CompactionEnd { messages_before: 0, messages_after: 0, error });
        }
        Ok(())
    }

    fn failure(&self, fault: &ModelFault) -> ModelFailure {
        ModelFailure {
            kind: kind_of(fault.kind),
            fault: fault.fault.clone(),
            compaction: None,
            retry_after_ms: fault.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            jitter_permille: self.core.jitter_permille(),
        }
    }

    fn tell_retry(&self, failed: u16, until: u64, error: String) {
        let delay_ms = until.saturating_sub(self.core.clock.now_ms());
        self.tell(|| Told::ModelRetry { attempt: failed + 1, delay_ms, error });
    }

    /// Names the sizes of a request that was too long, and what of it could be folded.
    fn overflowed(&mut self, said: Fault) -> (Fault, Option<CompactionNeed>) {
        let setup = &self.setup;
        let settings = &setup.agent.compression;
        let menu = if self.machine.shared().force_finish { &setup.no_tools } else { &setup.menu };
        let measure = self.conversation.measure(settings, menu, setup.counter.as_ref(), true);
        let mut fault = overflow_fault(measure.tokens, settings, measure.has_summary);
        if !settings.exceeds(measure.tokens, measure.has_summary) {
            // The provider's window is smaller than we know, or it counts otherwise: its words say more.
            fault.message = format!("{} (about {} tokens by our count)", said.message, measure.tokens);
        } else if said.message != fault.message
            && let Some(Value::Object(detail)) = &mut fault.detail
        {
            detail.insert("reported".to_owned(), Value::String(said.message));
        }
        (fault, measure.need)
    }

    fn unit_stopped(&mut self, id: EffectId, stop: Stop) -> Result<(), RunError> {
        let Some(ordinal) = call_of(id) else { return Ok(()) };
        match stop {
            Stop::Cleared(call, deliveries) => {
                self.note_before(ordinal, &deliveries)?;
                self.calls.insert(ordinal, call);
                self.take(What::CallCleared(id))?;
                // A client's call is not run: whoever drives the runtime answers it.
                let place = self.machine.shared().calls.slot(ordinal).map(|slot| &slot.place);
                if matches!(place, Some(Place::Parked { .. })) {
                    self.tool_parked(ordinal, None);
                }
                Ok(())
            }
            Stop::Parked(call, deliveries) => {
                self.note_deliveries(ordinal, &deliveries)?;
                self.calls.insert(ordinal, call);
                self.tool_parked(ordinal, None);
                self.take(What::CallParked(id))
            }
            Stop::Settled(settled) => self.settled(id, *settled),
        }
    }

    fn settled(&mut self, id: EffectId, settled: SettledCall) -> Result<(), RunError> {
        if !self.machine.shared().open.contains_key(&id) {
            return Ok(());
        }
        let Some(call) = self.turn.call(settled.ordinal).cloned() else { return Ok(()) };
        self.calls.remove(&settled.ordinal);
        self.note_deliveries(settled.ordinal, &settled.deliveries)?;
        self.settled_told(&settled);
        let message = tool_message(call.row.clone(), call.call.id.clone(), call.call.key.clone(), &settled.published);
        self.steps.results.push((call.call.key.clone(), settled.published.result().clone()));
        self.pending.rows.push(Row::Tool {
            place: call.place,
            id: call.row.clone(),
            call: call.call.id.clone(),
            key: call.call.key.clone(),
            published: Box::new(settled.published),
        });
        self.pending.consumed.extend(self.claimed.remove(&settled.ordinal));
        self.conversation.insert(call.place, message, false);
        self.take(What::CallSettled(id, settled.settled))
    }

    /// The before-hooks were asked again about a sub-agent. `beforeCallAgent` has been fired already,
    /// so whatever keeps it from starting is told as `onCallAgentError`.
    fn child_cleared(&mut self, id: EffectId, stop: Stop) -> Result<(), RunError> {
        let Some(ordinal) = call_of(id) else { return Ok(()) };
        match stop {
            Stop::Cleared(_, deliveries) | Stop::Parked(_, deliveries) => {
                self.note_deliveries(ordinal, &deliveries)?;
                self.start_cleared_child(id, ordinal)
            }
            Stop::Settled(mut settled) => {
                settled.settled.how = SettledHow::NotStarted;
                self.steps.child_problem.clone_from(&settled.published.result().content);
                self.settled(id, *settled)
            }
        }
    }

    fn tool_parked(&self, ordinal: u16, child: Option<jackline_model::OperationId>) {
        let Some(call) = self.turn.call(ordinal) else { return };
        self.tell(|| Told::ToolParked { call: call.call.id.clone(), tool: call.call.key.clone(), child });
    }

    fn human_asked(&mut self, id: EffectId, approval: Approval) -> Result<(), RunError> {
        let (calls, question) = pending_views(&approval.question);
        let (expires_at, name) = (approval.expires_at, approval.id.clone());
        self.tell(|| Told::ApprovalRequired { approval: name, calls, question, expires_at });
        self.approval = Some(approval.clone());
        self.pending.approval = Some(approval);
        self.take(What::HumanAsked(id, expires_at))
    }

    fn summarized(&mut self, id: EffectId, done: summarize::Done) -> Result<(), RunError> {
        if !self.machine.shared().open.contains_key(&id) {
            return Ok(());
        }
        let place = done.plan.fold.first().map_or(0, |index| self.conversation.place(*index));
        let row = self.conversation.reserve();
        let message = Message { id: message_id(row), body: summary_body(&done.summary) };
        let folded = done.plan.fold.iter().map(|index| self.conversation.place(*index)).collect();
        self.pending.fold = Some(Fold { summary: PlacedMessage { place, message: message.clone() }, folded });
        self.conversation.fold(&done.plan, message);
        self.steps.summary = done.summary;
        let (messages_before, messages_after) = (done.messages_before, done.messages_after);
        self.tell(|| Told::CompactionEnd { messages_before, messages_after, error: None });
        self.take(What::Summarized(id, Folded { messages_before, messages_after, usage: done.usage }))
    }

    /// What follows from a move that began in `from`, whatever the input was.
    pub(crate) fn after_move(&mut self, from: StateKind) {
        let to = self.machine.state().kind();
        // A stop that is told once more ends nothing: that has been told.
        if to != from && !(from == StateKind::TellingStop && to == StateKind::Finished) {
            self.tell_state(to);
        }
        if self.approval.is_some() && !self.awaits_human() {
            self.approval = None;
            // One that was opened since the last commit is never shown at all.
            self.pending.approval = None;
            self.pending.approval_closed = true;
        }
    }

    /// News of a state that was just entered.
    fn tell_state(&mut self, entered: StateKind) {
        match entered {
            StateKind::OpeningStep => self.tell(|| Told::StepStart),
            StateKind::ClosingStep => {
                let status = self.status_after_step();
                self.tell(|| Told::StepEnd { status });
            }
            StateKind::AnnouncingCompaction => {
                if let State::AnnouncingCompaction(compaction) = self.machine.state() {
                    let (messages, tokens) = (compaction.messages, compaction.tokens);
                    self.tell(|| Told::CompactionStart { messages, tokens });
                }
            }
            StateKind::Finished => {
                self.finished();
                // What lies there still is dropped: an answer that nobody will judge must not stay.
                self.inbox_changed = true;
            }
            // What did not fit before may fit now.
            StateKind::WaitingForHuman | StateKind::WaitingForAsyncTool => self.inbox_changed = true,
            StateKind::Idle
            | StateKind::Planning
            | StateKind::CallingModel
            | StateKind::WaitingToRetry
            | StateKind::RunningCalls
            | StateKind::AskingHuman
            | StateKind::Summarizing
            | StateKind::WaitingToSummarize
            | StateKind::ClosingCompaction
            | StateKind::TellingDecision
            | StateKind::Draining
            | StateKind::TellingStop
            | StateKind::Completing
            | StateKind::ReportingError
            | StateKind::Failed => {}
        }
    }

    fn awaits_human(&self) -> bool {
        let shared = self.machine.shared();
        // Nobody waits for anything at the end of a run, not even for the answer to a question.
        let may_wait = self.ending().is_none();
        may_wait
            && (shared.question
                || !shared.calls.awaiting_human().is_empty()
                || self.machine.state().kind() == StateKind::AskingHuman)
    }

    fn status_after_step(&self) -> Status {
        let State::ClosingStep(outcome) = self.machine.state() else { return self.machine.state().status() };
        match outcome {
            StepOutcome::Continue(_) => Status::Running,
            StepOutcome::Park(ParkReason::Human) => Status::WaitingForHuman,
            StepOutcome::Park(ParkReason::AsyncTool) => Status::WaitingForAsyncTool,
            StepOutcome::End(ending) => ending.reason.status(),
        }
    }

    fn finished(&mut self) {
        let report = self.report();
        if let (Some(parent), Some(call)) =
            (self.run.header.lineage.parent_operation_id.clone(), self.run.header.parent_call)
        {
            self.pending.posts.push((parent, InboxItem::ChildEnded { child: self.id().clone(), call }));
        }
        self.last_word = Some(Told::OperationEnd {
            status: report.status,
            reason: report.reason.unwrap_or(Reason::Error),
            answer: report.answer,
            error: report.fault,
            totals: report.totals,
            resumable: report.resumable,
        });
    }

    /// How the operation stands.
    pub(crate) fn report(&self) -> Report {
        let ending = self.ending();
        let answer = match self.conversation.last_assistant().map(|message| &message.body) {
            Some(MessageBody::Assistant { content, .. }) => Some(content.text()).filter(|text| !text.is_empty()),
            Some(MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Tool { .. }) | None => None,
        };
        Report {
            operation: self.id().clone(),
            status: self.machine.state().status(),
            reason: ending.map(|ending| ending.reason),
            answer,
            fault: ending.and_then(|ending| ending.fault.clone()),
            totals: self.machine.shared().totals,
            steps: self.machine.shared().steps_done,
            resumable: ending.is_some_and(|ending| ending.resumable),
        }
    }

    pub(crate) fn summary(&self) -> Summary {
        Summary {
            status: self.machine.state().status(),
            reason: self.ending().map(|ending| ending.reason),
            steps: self.machine.shared().steps_done,
            totals: self.machine.shared().totals,
            updated_at: self.machine.shared().now,
        }
    }
}

/// What a person said, as a message.
pub(crate) fn user_body(text: &str) -> MessageBody {
    MessageBody::User { content: Content::from(text) }
}

fn call_of(id: EffectId) -> Option<u16> {
    match id.unit {
        crate::machine::Unit::Call(ordinal) => Some(ordinal),
        crate::machine::Unit::Step
        | crate::machine::Unit::Model
        | crate::machine::Unit::Compact
        | crate::machine::Unit::Human
        | crate::machine::Unit::Hook(_) => None,
    }
}

fn kind_of(kind: ModelFaultKind) -> FailureKind {
    match kind {
        ModelFaultKind::Retryable => FailureKind::Retryable,
        ModelFaultKind::ContextOverflow => FailureKind::ContextOverflow,
        ModelFaultKind::Permanent => FailureKind::Permanent,
        ModelFaultKind::Cancelled => FailureKind::Cancelled,
    }
}
