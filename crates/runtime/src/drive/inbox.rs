//! What comes from outside: decisions, answers, ended children, stops. The owner takes it in the
//! commit that journals it.

use jackline_model::{Fault, MessageBody, Status, ToolRunResult, Totals};

use super::absorb::user_body;
use super::error::RunError;
use super::operation::Operation;
use super::stream::Told;
use crate::journal::{InboxId, InboxItem, PostedDecision, PostedVerdict, Row, decode};
use crate::machine::{Decision, HumanVerdict, Moved, Ordinal, Place, Stands, StateKind, What};

impl Operation {
    /// Takes the first item that fits now. True if one was taken.
    pub(crate) fn take_inbox(&mut self) -> Result<bool, RunError> {
        if !self.inbox_changed {
            return Ok(false);
        }
        for (id, item) in self.core.store.inbox(self.id())? {
            if self.pending.consumed.contains(&id) || self.claimed.values().any(|claimed| *claimed == id) {
                continue;
            }
            if self.take_item(id, item)? {
                return Ok(true);
            }
        }
        self.inbox_changed = false;
        Ok(false)
    }

    fn take_item(&mut self, id: InboxId, item: InboxItem) -> Result<bool, RunError> {
        match item {
            InboxItem::Stop(request) => {
                let moved = self.offer(What::StopRequested(request))?;
                self.pending.consumed.push(id);
                Ok(matches!(moved, Moved::Row(_)))
            }
            InboxItem::Decided(decisions) if self.stands_at(StateKind::WaitingForHuman) => self.decided(id, &decisions),
            InboxItem::Answer { call, .. } if self.stands_at(StateKind::WaitingForAsyncTool) => {
                match self.turn.ordinal(&call) {
                    Some(ordinal) => self.answered(id, ordinal, None),
                    None => self.drop_item(id),
                }
            }
            InboxItem::ChildEnded { child, call } if self.stands_at(StateKind::WaitingForAsyncTool) => {
                let totals = self.core.store.header(&child)?.summary.totals;
                self.answered(id, call, Some(totals))
            }
            // An operation that has ended takes nothing more.
            InboxItem::Decided(_) | InboxItem::Answer { .. } | InboxItem::ChildEnded { .. }
                if self.stands_at(StateKind::Finished) =>
            {
                self.drop_item(id)
            }
            InboxItem::Decided(_) | InboxItem::Answer { .. } | InboxItem::ChildEnded { .. } => Ok(false),
        }
    }

    fn stands_at(&self, kind: StateKind) -> bool {
        self.machine.state().kind() == kind
    }

    fn drop_item(&mut self, id: InboxId) -> Result<bool, RunError> {
        self.pending.consumed.push(id);
        Ok(false)
    }

    fn decided(&mut self, id: InboxId, posted: &[PostedDecision]) -> Result<bool, RunError> {
        let mut decisions = Vec::new();
        let mut answers = Vec::new();
        for decision in posted {
            let call = match &decision.call {
                Some(call) => match self.turn.ordinal(call) {
                    Some(ordinal) => Some(ordinal),
                    None => return self.drop_item(id),
                },
                None => None,
            };
            let verdict = match &decision.verdict {
                PostedVerdict::Approve => HumanVerdict::Approve,
                PostedVerdict::Reject { reason } => HumanVerdict::Reject { reason: reason.clone() },
                PostedVerdict::RejectAndContinue { reason } => {
                    HumanVerdict::RejectAndContinue { reason: reason.clone() }
                }
                PostedVerdict::Answer { text } => {
                    answers.push(text.clone());
                    HumanVerdict::Answer
                }
            };
            decisions.push(Decision { call, verdict });
        }
        self.pending.consumed.push(id);
        let moved = self.offer(What::HumanDecided(decisions))?;
        if matches!(moved, Moved::Row(_)) {
            for text in answers {
                let placed = self.conversation.append(user_body(&text));
                self.pending.rows.push(Row::Message(placed));
            }
            self.tell_decided(posted);
        }
        Ok(true)
    }

    fn tell_decided(&self, posted: &[PostedDecision]) {
        for decision in posted {
            let (action, reason) = match &decision.verdict {
                PostedVerdict::Approve => ("approve", None),
                PostedVerdict::Reject { reason } => ("reject", reason.clone()),
                PostedVerdict::RejectAndContinue { reason } => ("rejectAndContinue", reason.clone()),
                PostedVerdict::Answer { .. } => ("answer", None),
            };
            let calls = decision.call.clone().into_iter().collect();
            self.tell(|| Told::ApprovalDecided { action: action.into(), calls, reason });
        }
    }

    fn answered(&mut self, id: InboxId, call: Ordinal, child: Option<Totals>) -> Result<bool, RunError> {
        let place = self.machine.shared().calls.slot(call).map(|slot| slot.place.clone());
        match place {
            Some(Place::Parked { .. }) => {
                self.claimed.insert(call, id);
                self.offer(What::AnswerArrived { call, child })?;
                Ok(true)
            }
            // The journal has the answer already; what is missing is its judgement.
            Some(Place::Judging) => {
                self.claimed.insert(call, id);
                Ok(true)
            }
            Some(
                Place::Open
                | Place::Queued
                | Place::Clearing
                | Place::Running
                | Place::Refusing
                | Place::AwaitingHuman
                | Place::Settled,
            )
            | None => self.drop_item(id),
        }
    }

    /// The answer that waits for its judgement.
    pub(crate) fn answer_for(&mut self, call: Ordinal) -> Result<Option<ToolRunResult>, RunError> {
        for (id, item) in self.core.store.inbox(self.id())? {
            match item {
                InboxItem::Answer { call: named, result } if self.turn.ordinal(&named) == Some(call) => {
                    self.claimed.insert(call, id);
                    let parsed = serde_json::from_str(&result);
                    return Ok(Some(parsed.unwrap_or_else(|_| ToolRunResult::failed("The answer cannot be read."))));
                }
                InboxItem::ChildEnded { child, call: named } if named == call => {
                    self.claimed.insert(call, id);
                    return Ok(Some(self.child_answer(&child)?));
                }
                InboxItem::Decided(_)
                | InboxItem::Answer { .. }
                | InboxItem::ChildEnded { .. }
                | InboxItem::Stop(_) => {}
            }
        }
        Ok(None)
    }

    /// What a sub-agent came to, as the result of the call that started it.
    fn child_answer(&self, child: &jackline_model::OperationId) -> Result<ToolRunResult, RunError> {
        let summary = self.core.store.header(child)?.summary;
        let messages = self.core.store.messages(child)?;
        let last = messages.iter().rev().find_map(|stored| match &stored.message.body {
            MessageBody::Assistant { content, .. } => Some(content.text()),
            MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Tool { .. } => None,
        });
        let text = last.filter(|text| !text.trim().is_empty());
        let reason = summary.reason.map_or("unknown", |reason| reason.as_str());
        let state = serde_json::json!({
            "status": if summary.status == Status::Done { "completed" } else { "error" },
            "threadId": child, "reason": reason,
            "totalCost": summary.totals.cost.dollars(), "totalTokens": summary.totals.total_tokens,
            "totalInputTokens": summary.totals.input_tokens, "totalOutputTokens": summary.totals.output_tokens,
            "totalToolCalls": summary.totals.tool_calls,
        });
        let mut result = match (summary.status, text) {
            (Status::Done, Some(text)) => ToolRunResult::ok(text),
            (Status::Done, None) => ToolRunResult::failed("The agent finished without an answer."),
            (_, text) => {
                let fault = self.child_fault(child)?;
                let cause = fault.as_ref().map(|fault| format!(": {}", shortened(&fault.message))).unwrap_or_default();
                let said = text.map(|text| format!(" Its last words: {text}")).unwrap_or_default();
                let error = fault.map(|fault| serde_json::json!(fault));
                ToolRunResult {
                    error,
                    ..ToolRunResult::failed(format!("The agent did not finish ({reason}{cause}).{said}"))
                }
            }
        };
        result.state = state.as_object().cloned();
        Ok(result)
    }

    /// What a sub-agent failed of, as its last step left it.
    fn child_fault(&self, child: &jackline_model::OperationId) -> Result<Option<Fault>, RunError> {
        let mut fault = None;
        for record in &self.core.store.load(child)?.records {
            let inputs = decode(record).map_err(|error| RunError::Journal(error.to_string()))?;
            for stands in inputs.into_iter().filter_map(|(_, boundary)| Some(boundary?.stands)) {
                fault = match stands {
                    Stands::Draining { ending, .. } | Stands::TellingStop(ending) | Stands::Completing(ending) => {
                        ending.fault
                    }
                    Stands::OpeningStep | Stands::WaitingForHuman | Stands::WaitingForAsyncTool => None,
                };
            }
        }
        Ok(fault)
    }
}

/// The beginning of a cause, for the model: the whole stands on the row.
fn shortened(cause: &str) -> String {
    match cause.char_indices().nth(CAUSE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &cause[..end]),
        None => cause.to_owned(),
    }
}

/// A few sentences; a provider's error page is longer.
const CAUSE_CHARS_MAX: usize = 300;
