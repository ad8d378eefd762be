//! Folding old messages into a summary: asks the model, checks the result, changes nothing itself.

use std::sync::Arc;

use jackline_model::{Content, Fault, FaultAttribution, Message, MessageBody, MessageId, ModelUsage};

use super::ask::ask;
use super::conversation::{Conversation, Measure};
use super::model_calls::model_fault;
use super::setup::Setup;
use crate::compress::{FoldPlan, Proposal, accept, overflow_fault, sizes, summary_prompt};
use crate::llm::{Delta, DeltaSink, History, HistoryEntry, ModelFault, ModelFaultKind, ModelRequest};
use crate::tokens::{count_message, count_tools};

/// A compression that has been prepared: what to fold, and the request for the summary.
pub(crate) struct Job {
    plan: FoldPlan,
    request: History,
    /// With the tools, as all counts here.
    tokens_before: u64,
    has_summary: bool,
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
    /// What there is to fold, if anything. `all`: the provider has refused the history as too long, so
    /// the window that we know is wrong, and of the end of the history only the latest request stays.
    pub(crate) fn prepare(conversation: &mut Conversation, setup: &Setup, all: bool) -> Result<Self, Fault> {
        let settings = &setup.agent.compression;
        let measure = conversation.measure(settings, &setup.menu, setup.counter.as_ref(), all);
        let Measure { tokens: tokens_before, has_summary, need: _ } = measure;
        let plan = conversation
            .fold_plan(settings, setup.counter.as_ref(), all)
            .ok_or_else(|| overflow_fault(tokens_before, settings, has_summary))?;
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
        let tokens_tools = count_tools(counter, setup.menu.tools());
        let kept = plan.keep.iter().map(|index| count_message(counter, entries[*index].message()));
        let tokens_kept = kept.sum::<u64>() + tokens_tools;
        let request = [
            message("summary-instructions", MessageBody::System { content: Content::from(prompt.instructions) }),
            message("summary-material", MessageBody::User { content: Content::from(prompt.material) }),
        ];
        let kept = u32::try_from(plan.keep.len()).unwrap_or(u32::MAX);
        Ok(Self { plan, request: request.into_iter().collect(), tokens_before, has_summary, tokens_kept, kept })
    }

    /// Asks the model for the summary and checks it.
    pub(crate) async fn run(self, setup: Arc<Setup>) -> Result<Done, ModelFault> {
        let request = ModelRequest {
            model: &setup.agent.model,
            agent: &setup.agent.name,
            history: &self.request,
            tools: &setup.no_tools,
            instruction: None,
            output_tokens_max: setup.agent.output_tokens_max,
        };
        let reply = ask(setup.model.as_ref(), request, &mut Silent).await?;
        let summary = reply.content.text();
        let row = message("summary", MessageBody::System { content: Content::from(summary.as_str()) });
        let tokens_after = self.tokens_kept + count_message(setup.counter.as_ref(), row.message());
        let proposal = Proposal { summary: &summary, tokens_before: self.tokens_before, tokens_after };
        let settings = &setup.agent.compression;
        accept(&proposal, settings).map_err(|rejection| {
            let fault = Fault {
                code: "compression_rejected".to_owned(),
                message: rejection.to_string(),
                attribution: FaultAttribution::Harness,
                detail: Some(sizes(self.tokens_before, settings, self.has_summary)),
            };
            // The next summary would be one like it.
            model_fault(ModelFaultKind::Permanent, fault)
        })?;
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

struct Silent;

impl DeltaSink for Silent {
    fn wants_deltas(&self) -> bool {
        false
    }

    fn delta(&mut self, _delta: Delta<'_>) {}
}

const SUMMARY_TITLE: &str = "Summary of the conversation so far:";
