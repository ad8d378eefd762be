//! Folding old messages into a summary: asks the model, checks the result, changes nothing itself.

use std::sync::Arc;

use jackline_model::{Content, Fault, FaultAttribution, Message, MessageBody, MessageId, ModelUsage};

use super::ask::ask;
use super::conversation::Conversation;
use super::setup::Setup;
use crate::compress::{FoldPlan, Proposal, accept, summary_prompt};
use crate::llm::{Delta, DeltaSink, History, HistoryEntry, ModelRequest};
use crate::tokens::count_message;

/// A compression that has been prepared: what to fold, and the request for the summary.
pub(crate) struct Job {
    plan: FoldPlan,
    request: History,
    tokens_before: u64,
    tokens_kept: u64,
    kept: u32,
}

/// A compression that was done and accepted.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) plan: FoldPlan,
    pub(crate) summary: String,
    pub(crate) messages_before: u32,
    pub(crate) messages_after: u32,
    pub(crate) usage: Option<ModelUsage>,
}

impl Job {
    /// What there is to fold, if anything.
    pub(crate) fn prepare(conversation: &mut Conversation, setup: &Setup) -> Result<Self, Fault> {
        let settings = &setup.agent.compression;
        let tokens_before = conversation.count(setup.counter.as_ref());
        let plan = conversation
            .fold_plan(settings, setup.counter.as_ref())
            .ok_or_else(|| fault("nothing_to_fold", "there is nothing that could be folded".to_owned()))?;
        let entries = conversation.history().entries();
        let earlier: Vec<String> = plan
            .fold
            .iter()
            .filter(|index| conversation.is_summary(**index))
            .map(|index| text_of(entries[*index].message()))
            .collect();
        let folded = plan.fold.iter().filter(|index| !conversation.is_summary(**index));
        let prompt = summary_prompt(earlier.iter().map(String::as_str), folded.map(|index| entries[*index].message()));
        let counter = setup.counter.as_ref();
        let tokens_kept = plan.keep.iter().map(|index| count_message(counter, entries[*index].message())).sum();
        let request = [
            message("summary-instructions", MessageBody::System { content: Content::from(prompt.instructions) }),
            message("summary-material", MessageBody::User { content: Content::from(prompt.material) }),
        ];
        let kept = u32::try_from(plan.keep.len()).unwrap_or(u32::MAX);
        Ok(Self { plan, request: request.into_iter().collect(), tokens_before, tokens_kept, kept })
    }

    /// Asks the model for the summary and checks it.
    pub(crate) async fn run(self, setup: Arc<Setup>) -> Result<Done, Fault> {
        let request = ModelRequest {
            model: &setup.agent.model,
            agent: &setup.agent.name,
            history: &self.request,
            tools: &setup.no_tools,
            instruction: None,
            output_tokens_max: setup.agent.output_tokens_max,
        };
        let reply = ask(setup.model.as_ref(), request, &mut Silent).await.map_err(|failed| failed.fault)?;
        let summary = reply.content.text();
        let row = message("summary", MessageBody::System { content: Content::from(summary.as_str()) });
        let tokens_after = self.tokens_kept + count_message(setup.counter.as_ref(), row.message());
        let proposal = Proposal { summary: &summary, tokens_before: self.tokens_before, tokens_after };
        accept(&proposal, &setup.agent.compression)
            .map_err(|rejection| fault("compression_rejected", rejection.to_string()))?;
        let messages_before = u32::try_from(self.plan.fold.len()).unwrap_or(u32::MAX);
        Ok(Done { plan: self.plan, summary, messages_before, messages_after: self.kept + 1, usage: reply.usage })
    }
}

/// The text of a summary, as the model reads it.
pub(crate) fn summary_body(summary: &str) -> MessageBody {
    MessageBody::System { content: Content::from(format!("{SUMMARY_TITLE}\n{summary}")) }
}

fn text_of(message: &Message) -> String {
    match &message.body {
        MessageBody::System { content } => {
            let text = content.text();
            text.strip_prefix(SUMMARY_TITLE).map_or_else(|| text.clone(), |rest| rest.trim_start().to_owned())
        }
        MessageBody::User { .. } | MessageBody::Assistant { .. } | MessageBody::Tool { .. } => String::new(),
    }
}

fn message(id: &str, body: MessageBody) -> Arc<HistoryEntry> {
    HistoryEntry::new(Message { id: MessageId::from(id), body })
}

fn fault(code: &str, message: String) -> Fault {
    Fault { code: code.to_owned(), message, attribution: FaultAttribution::Harness, detail: None }
}

struct Silent;

impl DeltaSink for Silent {
    fn wants_deltas(&self) -> bool {
        false
    }

    fn delta(&mut self, _delta: Delta<'_>) {}
}

const SUMMARY_TITLE: &str = "Summary of the conversation so far:";
