//! The messages of an operation, as its driver holds them: appended once, read by every request.

use std::sync::Arc;

use jackline_model::{Content, Fault, Message, MessageBody, MessageId, ToolRunResult};

use crate::compress::{
    Entry, FoldPlan, Sizing, ThresholdSettings, entries_of, overflow_fault, select_fold, tail_budget,
};
use crate::journal::{PlacedMessage, StoredMessage};
use crate::llm::{History, HistoryEntry, ToolMenu};
use crate::machine::CompactionNeed;
use crate::tokens::{TokenCounter, count_message, count_tools};

/// The messages that a model sees, with their places and sizes.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    history: Arc<History>,
    facts: Vec<Facts>,
    bytes: u64,
    next_place: u32,
}

/// How long a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) tokens: u64,
    pub(crate) has_summary: bool,
    /// What could be folded, whether or not it must be.
    pub(crate) need: Option<CompactionNeed>,
}

#[derive(Clone, Copy, Debug)]
struct Facts {
    place: u32,
    bytes: u64,
    tokens: Option<u64>,
    is_summary: bool,
}

impl Conversation {
    /// The messages of a stored operation.
    pub(crate) fn restore(messages: Vec<StoredMessage>, next_place: u32) -> Self {
        let mut conversation = Self::default();
        let mut seen_user = false;
        for stored in messages {
            // The first system message is the agent's; a later one is a summary.
            let is_system = matches!(stored.message.body, MessageBody::System { .. });
            let is_summary = is_system && (seen_user || !conversation.facts.is_empty());
            seen_user |= matches!(stored.message.body, MessageBody::User { .. });
            conversation.insert(stored.place, stored.message, is_summary);
        }
        conversation.next_place = next_place;
        conversation
    }

    /// Takes a place that will be filled later.
    pub(crate) fn reserve(&mut self) -> u32 {
        let place = self.next_place;
        self.next_place += 1;
        place
    }

    /// Leaves places free that are taken although nothing is there yet.
    pub(crate) fn reserve_up_to(&mut self, place: u32) {
        self.next_place = self.next_place.max(place);
    }

    /// Appends a message at the next place.
    pub(crate) fn append(&mut self, body: MessageBody) -> PlacedMessage {
        let place = self.reserve();
        let message = Message { id: message_id(place), body };
        self.insert(place, message.clone(), false);
        PlacedMessage { place, message }
    }

    /// Puts a message into its reserved place.
    pub(crate) fn insert(&mut self, place: u32, message: Message, is_summary: bool) {
        let bytes = bytes_of(&message);
        self.bytes += bytes;
        let at = self.facts.partition_point(|facts| facts.place < place);
        self.facts.insert(at, Facts { place, bytes, tokens: None, is_summary });
        Arc::make_mut(&mut self.history).insert(at, HistoryEntry::new(message));
    }

    /// The history of a request; no copy is made.
    pub(crate) fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// The last assistant message.
    pub(crate) fn last_assistant(&self) -> Option<&Message> {
        self.last_assistant_placed().map(|(_, message)| message)
    }

    /// The last assistant message and its place.
    pub(crate) fn last_assistant_placed(&self) -> Option<(u32, &Message)> {
        let placed = self.facts.iter().zip(self.history.entries()).rev();
        let mut newest = placed.map(|(facts, entry)| (facts.place, entry.message()));
        newest.find(|(_, message)| matches!(message.body, MessageBody::Assistant { .. }))
    }

    /// The published result in this row.
    pub(crate) fn result(&self, row: &MessageId) -> Option<ToolRunResult> {
        let mut newest = self.history.entries().iter().rev().map(|entry| entry.message());
        newest.find(|message| message.id == *row)?.body.tool_result()
    }

    /// Whether the history is too long and could be folded. Tokens are counted only when the bytes
    /// do not settle it: a text never has more tokens than bytes.
    pub(crate) fn compaction_need(
        &mut self,
        settings: &ThresholdSettings,
        menu: &ToolMenu,
        counter: &dyn TokenCounter,
    ) -> Option<CompactionNeed> {
        if settings.size_bytes(self.bytes_bound(menu), self.has_summary()) == Sizing::Fits {
            return None;
        }
        let measure = self.measure(settings, menu, counter, false);
        settings.exceeds(measure.tokens, measure.has_summary).then_some(measure.need)?
    }

    /// The fault of a history that is over the window and cannot be made shorter: no request is sent.
    /// Only where the window is known and the count is a tokeniser's; else the provider must say it.
    pub(crate) fn overflow(
        &mut self,
        settings: &ThresholdSettings,
        menu: &ToolMenu,
        counter: &dyn TokenCounter,
    ) -> Option<Fault> {
        let window = settings.window.filter(|_| settings.enabled && counter.is_exact())?;
        if self.bytes_bound(menu) <= window {
            return None;
        }
        let measure = self.measure(settings, menu, counter, false);
        let is_hopeless = measure.tokens > window && measure.need.is_none();
        is_hopeless.then(|| overflow_fault(measure.tokens, settings, measure.has_summary))
    }

    /// How long the history is, with the tools, and what of it could be folded: `all` but the latest
    /// request, or all but the end.
    pub(crate) fn measure(
        &mut self,
        settings: &ThresholdSettings,
        menu: &ToolMenu,
        counter: &dyn TokenCounter,
        all: bool,
    ) -> Measure {
        let tokens = self.count(counter) + count_tools(counter, menu.tools());
        let plan = self.fold_plan(settings, counter, all).filter(|_| settings.enabled);
        let need = plan.map(|plan| {
            let user_kept = plan.keep.iter().any(|kept| self.is_user(*kept));
            let messages = plan.fold.len() + usize::from(!user_kept);
            CompactionNeed { messages: u32::try_from(messages).unwrap_or(u32::MAX), tokens }
        });
        Measure { tokens, has_summary: self.has_summary(), need }
    }

    /// What would be folded: all but the end of the history, or all but the latest request.
    pub(crate) fn fold_plan(
        &mut self,
        settings: &ThresholdSettings,
        counter: &dyn TokenCounter,
        all: bool,
    ) -> Option<FoldPlan> {
        self.count(counter);
        let budget = if all { 0 } else { tail_budget(settings.threshold(self.has_summary())) };
        select_fold(&self.entries(), budget)
    }

    /// The token count of all messages.
    pub(crate) fn count(&mut self, counter: &dyn TokenCounter) -> u64 {
        let entries = self.history.entries();
        let mut total = 0;
        for (facts, entry) in self.facts.iter_mut().zip(entries) {
            total += *facts.tokens.get_or_insert_with(|| count_message(counter, entry.message()));
        }
        total
    }

    /// The place of the message at this index.
    pub(crate) fn place(&self, index: usize) -> u32 {
        self.facts[index].place
    }

    /// Whether the message at this index is a summary.
    pub(crate) fn is_summary(&self, index: usize) -> bool {
        self.facts[index].is_summary
    }

    /// Takes folded messages out and puts the summary in the place of the first.
    pub(crate) fn fold(&mut self, plan: &FoldPlan, summary: Message) {
        let Some(first) = plan.fold.first().map(|index| self.place(*index)) else { return };
        let history = Arc::make_mut(&mut self.history);
        for index in plan.fold.iter().rev() {
            self.bytes -= self.facts[*index].bytes;
            self.facts.remove(*index);
            history.remove(*index);
        }
        self.insert(first, summary, true);
    }

    pub(crate) fn has_summary(&self) -> bool {
        self.facts.iter().any(|facts| facts.is_summary)
    }

    /// At least as many bytes as the request has tokens.
    fn bytes_bound(&self, menu: &ToolMenu) -> u64 {
        let overhead = BYTES_PER_MESSAGE * self.facts.len() as u64;
        let tools: u64 = menu.tools().iter().map(|tool| tool.description.len() as u64 + 256).sum();
        self.bytes + overhead + tools
    }

    fn entries(&self) -> Vec<Entry> {
        let facts = self.facts.iter().zip(self.history.entries());
        entries_of(facts.map(|(facts, entry)| (entry.message(), facts.tokens.unwrap_or(0), facts.is_summary)))
    }

    fn is_user(&self, index: usize) -> bool {
        matches!(self.history.entries()[index].message().body, MessageBody::User { .. })
    }
}

/// The id of the message at a place, unique within its operation.
pub(crate) fn message_id(place: u32) -> MessageId {
    MessageId::from(format!("m{place}"))
}

fn bytes_of(message: &Message) -> u64 {
    let bytes = match &message.body {
        MessageBody::System { content } | MessageBody::User { content } => content_bytes(content),
        MessageBody::Assistant { content, reasoning, tool_calls } => {
            let calls: usize = tool_calls.iter().map(|call| call.arguments.len() + 96).sum();
            content_bytes(content) + reasoning.as_deref().map_or(0, str::len) + calls
        }
        MessageBody::Tool { content, .. } => content.len() + 48,
    };
    bytes as u64
}

fn content_bytes(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        // A picture is counted by the counter; here a bound that no provider exceeds.
        Content::Parts(parts) => parts.len() * 4096 + content.text().len(),
    }
}

/// What a message costs beyond its text, generously.
const BYTES_PER_MESSAGE: u64 = 16;
