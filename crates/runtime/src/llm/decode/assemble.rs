//! Folds what a server sends into one reply or one fault.
#![expect(clippy::result_large_err, reason = "the reply is as large, so boxing the fault would save nothing")]

use std::sync::Arc;

use serde_json::Value;

use crate::llm::fault::{FaultClass, provider_fault};
use crate::llm::provider_error::ProviderError;
use crate::llm::{Delta, DeltaSink, FinishReason, ModelFault, ModelReply};

use super::calls::CallAssembler;
use super::chunk::{Choice, Chunk, Delta as WireDelta, count, text};
use super::content::{ContentAssembler, joined_text};
use super::finish::read_finish;
use super::sse::SseLimit;
use super::usage::UsageReport;

/// How an answer came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerEnd {
    /// The end marker arrived, or a whole body did.
    Complete,
    /// The connection ended without a marker.
    Closed,
}

/// One answer in the making.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    choice: Option<u64>,
    content: ContentAssembler,
    reasoning: String,
    refusal: String,
    calls: CallAssembler,
    finish: Option<(FinishReason, Option<String>)>,
    usage: UsageReport,
    fault: Option<ModelFault>,
}

impl Assembler {
    /// Takes a whole body.
    pub(crate) fn handle_body(&mut self, body: &str, sink: &mut dyn DeltaSink) {
        match Chunk::parse(body.as_bytes()) {
            Some(chunk) => self.handle_chunk(chunk, body, false, sink),
            None => self.fault = Some(unreadable(body)),
        }
    }

    /// Takes the data of one event of a stream.
    pub(crate) fn handle_data(&mut self, data: &str, is_error: bool, sink: &mut dyn DeltaSink) {
        if self.fault.is_some() {
            return;
        }
        match Chunk::parse(data.as_bytes()) {
            Some(chunk) => self.handle_chunk(chunk, data, is_error, sink),
            None if is_error => self.fail_with(&Value::String(data.to_owned())),
            None if data.trim_start().starts_with('{') => self.handle_lines(data, sink),
            // A word such as `ping`, sent to keep the connection alive.
            None => {}
        }
    }

    /// Whether the answer is known to be lost, so that reading on is of no use.
    pub(crate) fn is_lost(&self) -> bool {
        self.fault.is_some()
    }

    /// The connection failed. An answer that had its last word is not lost by that.
    pub(crate) fn handle_broken(&mut self, fault: ModelFault) {
        if self.finish.is_none() {
            self.fault.get_or_insert(fault);
        }
    }

    /// More came than is read.
    pub(crate) fn handle_limit(&mut self, limit: SseLimit) {
        self.fault = Some(FaultClass::TooLarge.fault(limit.to_string()));
    }

    /// The reply, or why there is none.
    ///
    /// # Errors
    ///
    /// A fault whose `partial` is the text that had arrived: the server's own error, an answer that
    /// was cut off, refused or withheld, or one with nothing in it.
    pub(crate) fn into_reply(mut self, end: AnswerEnd) -> Result<ModelReply, ModelFault> {
        let partial = self.content.text();
        let fault = self.fault.take().or_else(|| self.end_fault(end));
        match fault {
            Some(fault) => Err(ModelFault { partial, ..fault }),
            None => self.compose().map_err(|fault| ModelFault { partial, ..fault }),
        }
    }

    fn handle_chunk(&mut self, chunk: Chunk, data: &str, is_error: bool, sink: &mut dyn DeltaSink) {
        let is_flat_error = text(&chunk.object) == Some("error") || text(&chunk.r#type) == Some("error");
        if is_error || (is_flat_error && !chunk.message.is_null()) {
            return self.fail_with(&Value::String(data.to_owned()));
        }
        if says_something(&chunk.error) {
            return self.fail_with(&chunk.error);
        }
        self.usage.handle(&chunk.usage);
        for choice in chunk.choices {
            self.handle_choice(choice, sink);
        }
    }

    /// Some servers end no event: then each line is one.
    fn handle_lines(&mut self, data: &str, sink: &mut dyn DeltaSink) {
        let chunks: Option<Vec<(Chunk, &str)>> =
            data.lines().map(|line| Chunk::parse(line.as_bytes()).map(|chunk| (chunk, line))).collect();
        match chunks {
            Some(chunks) => {
                chunks.into_iter().for_each(|(chunk, line)| self.handle_chunk(chunk, line, false, sink));
            }
            None => self.fault = Some(unreadable(data)),
        }
    }

    fn handle_choice(&mut self, choice: Choice, sink: &mut dyn DeltaSink) {
        // One answer is asked for; if a server sends more, the first that it names is the one.
        let index = count(&choice.index).unwrap_or(0);
        if *self.choice.get_or_insert(index) != index {
            return;
        }
        if says_something(&choice.error) {
            return self.fail_with(&choice.error);
        }
        self.usage.handle(&choice.usage);
        for delta in choice.delta.into_iter().chain(choice.message) {
            self.handle_delta(delta, sink);
        }
        match text(&choice.finish_reason).map(read_finish) {
            Some((_, Some(word))) if word.eq_ignore_ascii_case("error") => {
                self.fault = Some(FaultClass::Provider.fault("the provider ended the answer with an error"));
            }
            Some(finish) => self.finish = Some(finish),
            None => {}
        }
    }

    fn handle_delta(&mut self, delta: WireDelta, sink: &mut dyn DeltaSink) {
        let words = self.content.handle(&delta.content) + &self.content.handle(&delta.images);
        // Where both names stand, they say the same.
        let mut thoughts = joined_text(&delta.reasoning_content);
        if thoughts.is_empty() {
            thoughts = joined_text(&delta.reasoning);
        }
        thoughts.push_str(&std::mem::take(&mut self.content.thinking));
        if !thoughts.is_empty() {
            sink.delta(Delta::Reasoning(&thoughts));
            self.reasoning.push_str(&thoughts);
        }
        if !words.is_empty() {
            sink.delta(Delta::Text(&words));
        }
        self.refusal.push_str(text(&delta.refusal).unwrap_or_default());
        let mut calls = delta.tool_calls.into_iter();
        let mut folded = calls.try_for_each(|call| self.calls.handle_delta(call));
        if folded.is_ok() {
            folded = delta.function_call.into_iter().try_for_each(|call| self.calls.handle_function(call));
        }
        if let Err(limit) = folded {
            self.fault = Some(FaultClass::TooLarge.fault(limit.to_string()));
        }
    }

    fn fail_with(&mut self, error: &Value) {
        self.fault = Some(provider_fault(&ProviderError::from_value(error)));
    }

    fn end_fault(&self, end: AnswerEnd) -> Option<ModelFault> {
        match (end, &self.finish) {
            (AnswerEnd::Complete, _) | (AnswerEnd::Closed, Some(_)) => None,
            (AnswerEnd::Closed, None) => {
                Some(FaultClass::Truncated.fault("the connection ended in the middle of the answer"))
            }
        }
    }

    fn compose(self) -> Result<ModelReply, ModelFault> {
        let had_calls = !self.calls.is_empty();
        let calls = self.calls.into_calls();
        let (finish, finish_raw) = self.finish.unwrap_or((FinishReason::Stop, None));
        let refusal = Some(self.refusal).filter(|words| !words.trim().is_empty());
        let has_answer = !self.content.is_blank() || !calls.is_empty();
        let has_reasoning = !self.reasoning.trim().is_empty();
        if !has_answer && let Some(fault) = fault_of_silence(refusal.as_deref(), finish, has_reasoning, had_calls) {
            return Err(fault);
        }
        let is_salvaged = !has_answer && has_reasoning;
        let reasoning: Option<Arc<str>> = Some(self.reasoning).filter(|thoughts| !thoughts.is_empty()).map(Into::into);
        let content = match &reasoning {
            Some(thoughts) if is_salvaged => jackline_model::Content::Text(thoughts.clone()),
            Some(_) | None => self.content.into_content(),
        };
        Ok(ModelReply {
            content,
            reasoning: reasoning.filter(|_| !is_salvaged),
            refusal,
            finish: settle(finish, !calls.is_empty()),
            calls,
            finish_raw,
            usage: self.usage.usage(),
            salvaged_from_reasoning: is_salvaged,
        })
    }
}

/// Why an answer without text, media and calls is none; `None` if it is one all the same.
fn fault_of_silence(
    refusal: Option<&str>,
    finish: FinishReason,
    has_reasoning: bool,
    had_calls: bool,
) -> Option<ModelFault> {
    if let Some(words) = refusal {
        return Some(FaultClass::Refusal.fault(format!("the model refused to answer: {words}")));
    }
    match finish {
        FinishReason::Abort => None,
        FinishReason::ContentFilter => {
            Some(FaultClass::ContentFilter.fault("the provider withheld the answer (content filter)"))
        }
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Length if has_reasoning => None,
        FinishReason::Length => {
            Some(FaultClass::EmptyAnswer.fault("the output limit was reached before the first word of the answer"))
        }
        FinishReason::Stop | FinishReason::ToolCalls if had_calls => {
            Some(FaultClass::EmptyAnswer.fault("the answer holds nothing but calls without a name"))
        }
        FinishReason::Stop | FinishReason::ToolCalls => Some(FaultClass::EmptyAnswer.fault("the answer is empty")),
    }
}

fn unreadable(data: &str) -> ModelFault {
    let start: String = data.chars().take(UNREADABLE_CHARS_SHOWN).collect();
    FaultClass::Unreadable.fault(format!("the answer is not JSON: {start}"))
}

/// What the answer holds decides between "done" and "asks for tools"; servers mix the two up.
fn settle(finish: FinishReason, has_calls: bool) -> FinishReason {
    match (finish, has_calls) {
        (FinishReason::Stop | FinishReason::ToolCalls, true) => FinishReason::ToolCalls,
        (FinishReason::Stop | FinishReason::ToolCalls, false) => FinishReason::Stop,
        (FinishReason::Length | FinishReason::ContentFilter | FinishReason::Abort, _) => finish,
    }
}

/// Whether an `error` member is one. Some servers send it empty with every answer.
fn says_something(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(words) => !words.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.values().any(|field| !field.is_null()),
    }
}

const UNREADABLE_CHARS_SHOWN: usize = 200;

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
