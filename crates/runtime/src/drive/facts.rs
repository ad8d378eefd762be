//! The facts that events are built from, and the events.

use std::collections::BTreeMap;

use jackline_hooks::{
    AfterCallAgentEvent, AfterCompactEvent, AfterHumanInterventionEvent, AfterStepEvent, AfterToolCallEvent,
    Attachment, BeforeCallAgentEvent, BeforeCompactEvent, BeforeHumanInterventionEvent, BeforeStepEvent,
    CompactContext, DecidedCalls, Event, HumanContext, OnCallAgentErrorEvent, OnCompactErrorEvent, OnCompleteEvent,
    OnErrorEvent, OnStopByHumanInterventionEvent, OnToolCallErrorEvent, PendingTool, RunContext, RunEnd, StepType,
    ToolCallContext, ToolCalling, ToolOutcome, instruction_excerpt, last_content_excerpt, summary_excerpt,
};
use jackline_model::{
    AgentId, Content, MessageBody, MessageId, NanoDollars, OperationId, Reason, ThreadId, ToolCall, ToolKey,
    ToolRunResult,
};
use serde_json::{Map, Value};

use super::conversation::Conversation;
use super::turn::{Turn, TurnCall};
use crate::journal::Header;
use crate::machine::{Ending, Firing, HumanAction, Ordinal, Shared, StepSummary};

/// What stays the same for the whole of an operation.
#[derive(Clone, Debug)]
pub(crate) struct RunFacts {
    pub(crate) header: Header,
    agent_id: AgentId,
    source_message_id: MessageId,
}

/// What the steps so far have left behind, for the events that look back.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepFacts {
    pub(crate) content: Option<String>,
    pub(crate) reasoning: Option<String>,
    pub(crate) calling: Vec<ToolCalling>,
    pub(crate) results: Vec<(ToolKey, ToolRunResult)>,
    pub(crate) cost: NanoDollars,
    pub(crate) has_usage: bool,
    pub(crate) asked_calls: u64,
    pub(crate) last_content: Option<String>,
    pub(crate) last_calling: Vec<ToolCalling>,
    pub(crate) summary: String,
    pub(crate) child_problem: String,
}

impl StepFacts {
    /// What a stored operation has left behind. Only what the open step has cost is not known any more.
    pub(crate) fn restore(shared: &Shared, turn: &Turn, conversation: &Conversation, asked_calls: u64) -> Self {
        let mut facts = Self { asked_calls, ..Self::default() };
        let entries = conversation.history().entries().iter().rev();
        let mut answers = entries.filter_map(|entry| match &entry.message().body {
            MessageBody::Assistant { content, reasoning, tool_calls } => Some((content.text(), reasoning, tool_calls)),
            MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Tool { .. } => None,
        });
        if shared.called_model
            && let Some((content, reasoning, calls)) = answers.next()
        {
            facts.content = Some(content);
            facts.reasoning = reasoning.as_ref().map(|text| text.to_string());
            facts.calling = calling(calls);
        }
        for (content, _, calls) in answers {
            facts.last_content.get_or_insert_with(|| last_content_excerpt(&content));
            if !calls.is_empty() {
                facts.last_calling = calling(calls);
                break;
            }
        }
        if shared.ran_tools {
            let rows = turn.calls.iter();
            let settled = rows.filter_map(|call| Some((call.call.key.clone(), conversation.result(&call.row)?)));
            facts.results = settled.collect();
        }
        facts
    }

    /// Forgets the step, remembers what later steps look back to.
    pub(crate) fn next_step(&mut self) {
        if let Some(content) = self.content.take() {
            self.last_content = Some(last_content_excerpt(&content));
        }
        if !self.calling.is_empty() {
            self.last_calling = std::mem::take(&mut self.calling);
        }
        self.reasoning = None;
        self.results.clear();
        self.cost = NanoDollars::ZERO;
        self.has_usage = false;
    }
}

/// Everything an event can be built from.
pub(crate) struct Sight<'a> {
    pub(crate) run: &'a RunFacts,
    pub(crate) steps: &'a StepFacts,
    pub(crate) shared: &'a Shared,
    /// The step that fired.
    pub(crate) step: u32,
    pub(crate) turn: &'a Turn,
    /// Results of an earlier turn, whose rows the conversation may have folded.
    pub(crate) results: Option<&'a BTreeMap<MessageId, ToolRunResult>>,
    pub(crate) conversation: &'a Conversation,
    pub(crate) ending: Option<&'a Ending>,
}

impl RunFacts {
    /// `prompt` is the message that started the run, unless its origin names another.
    pub(crate) fn new(header: Header, prompt: MessageId) -> Self {
        let agent_id = header.origin.agent_id.clone().unwrap_or_else(|| AgentId::from(&*header.agent));
        let source_message_id = header.origin.source_message_id.clone().unwrap_or(prompt);
        Self { header, agent_id, source_message_id }
    }

    /// The operation.
    pub(crate) fn id(&self) -> &OperationId {
        &self.header.id
    }

    fn context(&self) -> RunContext {
        let header = &self.header;
        let mut context = RunContext::new(header.id.clone(), self.agent_id.clone(), header.user.clone());
        context.topic_id = header.origin.topic_id.clone();
        context.group_id = header.origin.group_id.clone();
        context.thread_id = self.thread();
        context.workspace_id = header.origin.workspace_id.clone();
        context.parent_operation_id = header.lineage.parent_operation_id.clone();
        context.lineage = header.lineage.is_sub_agent.then(|| header.lineage.clone());
        context
    }

    fn thread(&self) -> Option<ThreadId> {
        self.header.origin.thread_id.clone()
    }

    fn human(&self, turn: &Turn) -> HumanContext {
        let header = &self.header;
        let mut context = HumanContext::new(header.id.clone());
        context.agent_id = Some(self.agent_id.clone());
        context.assistant_message_id = turn.assistant.clone();
        context.document_id = header.origin.document_id.clone();
        context.group_id = header.origin.group_id.clone();
        context.parent_operation_id = header.lineage.parent_operation_id.clone();
        context.session_id = header.origin.session_id.clone();
        context.source_message_id = Some(self.source_message_id.clone());
        context.task_id = header.origin.task_id.clone();
        context.thread_id = self.thread();
        context.topic_id = header.origin.topic_id.clone();
        context.user_id = Some(header.user.clone());
        context.workspace_id = header.origin.workspace_id.clone();
        context
    }

    fn compact(&self, step: u32) -> CompactContext {
        let header = &self.header;
        let mut context = CompactContext::new(header.id.clone(), step);
        context.agent_id = Some(self.agent_id.clone());
        context.lineage = header.lineage.is_sub_agent.then(|| header.lineage.clone());
        context.parent_operation_id = header.lineage.parent_operation_id.clone();
        context.thread_id = self.thread();
        context.topic_id = header.origin.topic_id.clone();
        context.user_id = Some(header.user.clone());
        context.workspace_id = header.origin.workspace_id.clone();
        context
    }

    /// The shared context of the three tool events: the one builder.
    pub(crate) fn tool(&self, step: u32, assistant: Option<&MessageId>, call: &TurnCall) -> ToolCallContext {
        let header = &self.header;
        let spec = call.entry().map(|entry| entry.spec());
        ToolCallContext {
            operation_id: header.id.clone(),
            step_index: step,
            tool_call_id: call.call.id.clone(),
            assistant_message_id: assistant.cloned().unwrap_or_else(|| MessageId::from("")),
            key: call.call.key.clone(),
            args: call.arguments.clone(),
            call_index: call.index,
            executor: spec.map(|spec| spec.executor).unwrap_or_default(),
            user_id: Some(header.user.clone()),
            agent_id: Some(self.agent_id.clone()),
            topic_id: header.origin.topic_id.clone(),
            session_id: header.origin.session_id.clone(),
            thread_id: self.thread(),
            group_id: header.origin.group_id.clone(),
            task_id: header.origin.task_id.clone(),
            workspace_id: header.origin.workspace_id.clone(),
            document_id: header.origin.document_id.clone(),
            source_message_id: Some(self.source_message_id.clone()),
            tool_message_id: None,
            parent_operation_id: header.lineage.parent_operation_id.clone(),
            tool_source: spec.map(|spec| spec.source),
            execution_target: Some("local".to_owned()),
            active_device_id: None,
        }
    }
}

impl Sight<'_> {
    /// The event of a firing. `None` when the call that it is about is gone, which no journal allows.
    pub(crate) fn event(&self, firing: &Firing) -> Option<Event> {
        let run = self.run;
        Some(match firing {
            Firing::BeforeStep => {
                BeforeStepEvent { run: run.context(), step_index: self.shared.step, steps: self.shared.steps_done }
                    .into()
            }
            Firing::AfterStep(summary) => self.after_step(*summary).into(),
            Firing::OnComplete => OnCompleteEvent { end: self.end() }.into(),
            Firing::OnError => OnErrorEvent { end: self.end() }.into(),
            Firing::AfterToolCall { call, mocked } => {
                AfterToolCallEvent { context: self.tool(*call)?, mocked: *mocked, result: self.result(*call)? }.into()
            }
            Firing::OnToolCallError { call } => {
                OnToolCallErrorEvent { context: self.tool(*call)?, error: self.result(*call)?.content }.into()
            }
            Firing::BeforeHumanIntervention { calls } => BeforeHumanInterventionEvent {
                context: run.human(self.turn),
                step_index: self.shared.step,
                pending_tools: calls.iter().filter_map(|call| self.pending(*call)).collect(),
            }
            .into(),
            Firing::AfterHumanIntervention { action, calls, reason } => AfterHumanInterventionEvent {
                context: run.human(self.turn),
                action: action_of(*action),
                calls: self.decided(calls),
                rejection_reason: reason.clone(),
            }
            .into(),
            Firing::OnStopByHumanIntervention { calls, rejected, reason } => OnStopByHumanInterventionEvent {
                context: run.human(self.turn),
                calls: self.decided(calls),
                rejection_reason: reason.clone(),
                reason: Some(if *rejected { "human_rejected" } else { STOPPED_BY_USER }.to_owned()),
            }
            .into(),
            Firing::BeforeCompact { messages, tokens } => BeforeCompactEvent {
                context: run.compact(self.shared.step),
                message_count: u64::from(*messages),
                token_count: *tokens,
            }
            .into(),
            Firing::AfterCompact { messages_before, messages_after } => AfterCompactEvent {
                context: run.compact(self.shared.step),
                group_id: format!("{}:{}", run.header.id, self.shared.step),
                messages_before: u64::from(*messages_before),
                messages_after: u64::from(*messages_after),
                summary: summary_excerpt(&self.steps.summary),
            }
            .into(),
            Firing::OnCompactError { tokens, error } => OnCompactErrorEvent {
                context: run.compact(self.shared.step),
                token_count: *tokens,
                error: error.clone(),
            }
            .into(),
            Firing::BeforeCallAgent { call } => self.before_call_agent(*call).into(),
            Firing::AfterCallAgent { call, child } => self.after_call_agent(*call, child).into(),
            Firing::OnCallAgentError { call } => self.call_agent_error(*call).into(),
        })
    }

    fn before_call_agent(&self, call: Ordinal) -> BeforeCallAgentEvent {
        BeforeCallAgentEvent {
            operation_id: self.run.header.id.clone(),
            agent_id: self.called_agent(call),
            instruction: instruction_excerpt(&self.argument(call, "instruction")),
            user_id: Some(self.run.header.user.clone()),
        }
    }

    fn after_call_agent(&self, call: Ordinal, child: &OperationId) -> AfterCallAgentEvent {
        AfterCallAgentEvent {
            operation_id: self.run.header.id.clone(),
            agent_id: self.called_agent(call),
            sub_operation_id: child.clone(),
            success: true,
            thread_id: Some(ThreadId::from(child.as_str())),
            user_id: Some(self.run.header.user.clone()),
        }
    }

    fn call_agent_error(&self, call: Ordinal) -> OnCallAgentErrorEvent {
        OnCallAgentErrorEvent {
            operation_id: self.run.header.id.clone(),
            agent_id: self.called_agent(call),
            error: self.child_problem(call),
            user_id: Some(self.run.header.user.clone()),
        }
    }

    /// Why a sub-agent did not start; in another process its row tells that.
    fn child_problem(&self, call: Ordinal) -> String {
        match self.steps.child_problem.as_str() {
            "" => self.result(call).map(|result| result.content).unwrap_or_default(),
            problem => problem.to_owned(),
        }
    }

    fn tool(&self, call: Ordinal) -> Option<ToolCallContext> {
        Some(self.run.tool(self.step, self.turn.assistant.as_ref(), self.turn.call(call)?))
    }

    /// The published result of a call, from its row: all that anybody may see of it.
    fn result(&self, call: Ordinal) -> Option<ToolRunResult> {
        let row = &self.turn.call(call)?.row;
        let earlier = self.results.and_then(|results| results.get(row)).cloned();
        let mut result = earlier.or_else(|| self.conversation.result(row))?;
        result.execution_time.get_or_insert(0);
        Some(result)
    }

    fn after_step(&self, summary: StepSummary) -> AfterStepEvent {
        let (steps, shared) = (self.steps, self.shared);
        let totals = &shared.totals;
        // Results that were awaited between two steps belong to neither.
        let is_llm = !summary.ran_tools;
        AfterStepEvent {
            run: self.run.context(),
            step_index: shared.step,
            steps: shared.steps_done,
            step_type: if is_llm { StepType::CallLlm } else { StepType::CallTool },
            step_label: None,
            content: steps.content.clone().filter(|content| is_llm && !content.is_empty()),
            reasoning: steps.reasoning.clone().filter(|reasoning| is_llm && !reasoning.is_empty()),
            tools_calling: if is_llm { steps.calling.clone() } else { Vec::new() },
            tools_result: if is_llm { Vec::new() } else { steps.results.iter().map(outcome).collect() },
            should_continue: summary.should_continue,
            status: summary.status,
            execution_time_ms: shared.now.saturating_sub(shared.opened_at),
            elapsed_ms: Some(shared.now.saturating_sub(self.run.header.created_at)),
            step_cost: steps.has_usage.then_some(steps.cost),
            total_cost: totals.cost,
            total_tokens: totals.total_tokens,
            total_input_tokens: totals.input_tokens,
            total_output_tokens: totals.output_tokens,
            total_steps: shared.steps_done,
            tool_calls: totals.tool_calls,
            total_tool_calls: steps.asked_calls,
            last_llm_content: steps.last_content.clone(),
            last_tools_calling: steps.last_calling.clone(),
        }
    }

    fn end(&self) -> RunEnd {
        let reason = self.ending.map_or(Reason::Error, |ending| ending.reason);
        let mut end = RunEnd::new(self.run.context(), reason, self.shared.steps_done);
        let totals = &self.shared.totals;
        end.cost = Some(totals.cost);
        end.duration = Some(self.shared.now.saturating_sub(self.run.header.created_at));
        end.llm_calls = Some(totals.llm_calls);
        end.tool_calls = Some(totals.tool_calls);
        end.total_tokens = Some(totals.total_tokens);
        if let Some(MessageBody::Assistant { content, .. }) =
            self.conversation.last_assistant().map(|message| &message.body)
        {
            end.last_assistant_content = Some(content.text()).filter(|text| !text.is_empty());
            if let Content::Parts(parts) = content {
                end.attachments = parts.iter().filter_map(Attachment::from_part).collect();
            }
        }
        if let Some(fault) = self.ending.and_then(|ending| ending.fault.as_ref()) {
            end.error_message.clone_from(&fault.message);
            end.error_type = Some(fault.code.clone());
            end.error_attribution = Some(fault.attribution);
            end.error_detail.clone_from(&fault.detail);
        }
        end
    }

    fn pending(&self, call: Ordinal) -> Option<PendingTool> {
        let call = &self.turn.call(call)?.call;
        Some(PendingTool {
            key: call.key.clone(),
            tool_call_id: Some(call.id.clone()),
            arguments: Some(call.arguments.to_string()),
            args: serde_json::from_str::<Map<String, Value>>(&call.arguments).ok(),
        })
    }

    fn decided(&self, calls: &[Ordinal]) -> DecidedCalls {
        DecidedCalls(calls.iter().filter_map(|call| Some(self.turn.call(*call)?.call.id.clone())).collect())
    }

    fn called_agent(&self, call: Ordinal) -> AgentId {
        AgentId::from(self.argument(call, "agentId"))
    }

    fn argument(&self, call: Ordinal, name: &str) -> String {
        let value = self.turn.call(call).and_then(|call| call.arguments.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// Calls, as events show them.
pub(crate) fn calling(calls: &[ToolCall]) -> Vec<ToolCalling> {
    calls.iter().map(|call| ToolCalling { key: call.key.clone(), arguments: call.arguments.to_string() }).collect()
}

fn outcome((key, result): &(ToolKey, ToolRunResult)) -> ToolOutcome {
    ToolOutcome {
        key: key.clone(),
        is_success: result.success,
        output: Some(result.content.clone()),
        execution_time_ms: result.execution_time,
        device_execution_time_ms: result.device_execution_time,
    }
}

/// Why a run stopped that somebody stopped by hand while it waited for a decision.
pub(crate) const STOPPED_BY_USER: &str = "user_stop";

fn action_of(action: HumanAction) -> jackline_hooks::HumanAction {
    match action {
        HumanAction::Approve => jackline_hooks::HumanAction::Approve,
        HumanAction::Reject => jackline_hooks::HumanAction::Reject,
        HumanAction::RejectAndContinue => jackline_hooks::HumanAction::RejectAndContinue,
    }
}
