//! Made-up events, to try hooks out with.

use jackline_model::{
    AgentId, ExecutorRoute, FaultAttribution, NanoDollars, OperationId, Reason, Status, ToolKey, ToolRunResult, UserId,
};

use super::{
    AfterCallAgentEvent, AfterCompactEvent, AfterHumanInterventionEvent, AfterStepEvent, AfterToolCallEvent,
    BeforeCallAgentEvent, BeforeCompactEvent, BeforeHumanInterventionEvent, BeforeStepEvent, BeforeToolCallEvent,
    CompactContext, DecidedCalls, Event, HumanAction, HumanContext, OnCallAgentErrorEvent, OnCompactErrorEvent,
    OnCompleteEvent, OnErrorEvent, OnStopByHumanInterventionEvent, OnToolCallErrorEvent, PendingTool, RunContext,
    RunEnd, StepType, ToolCallContext, ToolCalling, effective_args, summary_excerpt,
};
use crate::HookKind;

/// Who a made-up event is about.
///
/// ```
/// use jackline_hooks::{HookKind, Sample};
/// let event = Sample::new("op_try", "clerk", "ann").event(HookKind::BeforeToolCall);
/// assert_eq!(event.to_json()["userId"], "ann");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    operation: OperationId,
    agent: AgentId,
    user: UserId,
}

impl Sample {
    /// Events of this operation, agent and user.
    pub fn new(operation: impl Into<OperationId>, agent: impl Into<AgentId>, user: impl Into<UserId>) -> Self {
        Self { operation: operation.into(), agent: agent.into(), user: user.into() }
    }

    /// An event of this type, with every field that a real one always has.
    pub fn event(&self, kind: HookKind) -> Event {
        match kind {
            HookKind::BeforeStep => BeforeStepEvent { run: self.run(), step_index: 1, steps: 1 }.into(),
            HookKind::AfterStep => self.after_step().into(),
            HookKind::OnComplete => OnCompleteEvent { end: self.end() }.into(),
            HookKind::OnError => OnErrorEvent { end: self.failed_end() }.into(),
            HookKind::BeforeToolCall => BeforeToolCallEvent { context: self.call() }.into(),
            HookKind::AfterToolCall => {
                AfterToolCallEvent { context: self.call(), mocked: false, result: self.result() }.into()
            }
            HookKind::OnToolCallError => {
                OnToolCallErrorEvent { context: self.call(), error: "connection refused".to_owned() }.into()
            }
            HookKind::BeforeHumanIntervention
            | HookKind::AfterHumanIntervention
            | HookKind::OnStopByHumanIntervention => self.about_person(kind),
            HookKind::BeforeCompact | HookKind::AfterCompact | HookKind::OnCompactError => self.about_history(kind),
            HookKind::BeforeCallAgent | HookKind::AfterCallAgent | HookKind::OnCallAgentError => self.about_agent(kind),
        }
    }

    fn about_person(&self, kind: HookKind) -> Event {
        let context = HumanContext {
            agent_id: Some(self.agent.clone()),
            user_id: Some(self.user.clone()),
            ..HumanContext::new(self.operation.clone())
        };
        let calls = DecidedCalls(vec![CALL.into()]);
        if kind == HookKind::AfterHumanIntervention {
            let action = HumanAction::Approve;
            return AfterHumanInterventionEvent { context, action, calls, rejection_reason: None }.into();
        }
        if kind == HookKind::OnStopByHumanIntervention {
            let reason = Some("user_stop".to_owned());
            return OnStopByHumanInterventionEvent { context, calls, rejection_reason: None, reason }.into();
        }
        let pending = PendingTool {
            key: tool(),
            tool_call_id: Some(CALL.into()),
            arguments: Some(ARGUMENTS.to_owned()),
            args: Some(effective_args(ARGUMENTS)),
        };
        BeforeHumanInterventionEvent { context, step_index: 1, pending_tools: vec![pending] }.into()
    }

    fn about_history(&self, kind: HookKind) -> Event {
        let context = CompactContext {
            agent_id: Some(self.agent.clone()),
            user_id: Some(self.user.clone()),
            ..CompactContext::new(self.operation.clone(), 1)
        };
        if kind == HookKind::AfterCompact {
            let (group_id, summary) = ("try".to_owned(), summary_excerpt("They tried a hook."));
            return AfterCompactEvent { context, group_id, messages_before: 40, messages_after: 12, summary }.into();
        }
        if kind == HookKind::OnCompactError {
            return OnCompactErrorEvent { context, error: "the summary is empty".to_owned(), token_count: 90_000 }
                .into();
        }
        BeforeCompactEvent { context, message_count: 40, token_count: 90_000 }.into()
    }

    fn about_agent(&self, kind: HookKind) -> Event {
        let (operation_id, user_id) = (self.operation.clone(), Some(self.user.clone()));
        let agent_id = AgentId::from("helper");
        if kind == HookKind::AfterCallAgent {
            let sub_operation_id = OperationId::from(format!("{}_child", self.operation));
            let (success, thread_id) = (true, None);
            return AfterCallAgentEvent { operation_id, agent_id, sub_operation_id, success, thread_id, user_id }
                .into();
        }
        if kind == HookKind::OnCallAgentError {
            let error = "there is no agent `helper`".to_owned();
            return OnCallAgentErrorEvent { operation_id, agent_id, error, user_id }.into();
        }
        BeforeCallAgentEvent { operation_id, agent_id, instruction: "Try a hook.".to_owned(), user_id }.into()
    }

    fn run(&self) -> RunContext {
        RunContext::new(self.operation.clone(), self.agent.clone(), self.user.clone())
    }

    /// The call that made-up tool events are about.
    pub fn call(&self) -> ToolCallContext {
        ToolCallContext {
            operation_id: self.operation.clone(),
            step_index: 1,
            tool_call_id: CALL.into(),
            assistant_message_id: "msg_try".into(),
            key: tool(),
            args: effective_args(ARGUMENTS),
            call_index: 1,
            executor: ExecutorRoute::default(),
            user_id: Some(self.user.clone()),
            agent_id: Some(self.agent.clone()),
            topic_id: None,
            session_id: None,
            thread_id: None,
            group_id: None,
            task_id: None,
            workspace_id: None,
            document_id: None,
            source_message_id: None,
            tool_message_id: None,
            parent_operation_id: None,
            tool_source: None,
            execution_target: None,
            active_device_id: None,
        }
    }

    /// The result that made-up events about results carry.
    pub fn result(&self) -> ToolRunResult {
        ToolRunResult { execution_time: Some(1), ..ToolRunResult::ok(RESULT) }
    }

    fn end(&self) -> RunEnd {
        RunEnd { last_assistant_content: Some("Tried.".to_owned()), ..RunEnd::new(self.run(), Reason::Done, 3) }
    }

    fn failed_end(&self) -> RunEnd {
        RunEnd {
            error_message: "the provider answered 500".to_owned(),
            error_type: Some("provider_unavailable".to_owned()),
            error_attribution: Some(FaultAttribution::Provider),
            ..RunEnd::new(self.run(), Reason::Error, 3)
        }
    }

    fn after_step(&self) -> AfterStepEvent {
        AfterStepEvent {
            run: self.run(),
            step_index: 1,
            steps: 1,
            step_type: StepType::CallLlm,
            step_label: None,
            content: Some("Let me look.".to_owned()),
            reasoning: None,
            tools_calling: vec![ToolCalling { key: tool(), arguments: ARGUMENTS.to_owned() }],
            tools_result: Vec::new(),
            should_continue: true,
            status: Status::Running,
            execution_time_ms: 1,
            elapsed_ms: Some(1),
            step_cost: None,
            total_cost: NanoDollars::ZERO,
            total_tokens: 26,
            total_input_tokens: 20,
            total_output_tokens: 6,
            total_steps: 1,
            tool_calls: 0,
            total_tool_calls: 0,
            last_llm_content: None,
            last_tools_calling: Vec::new(),
        }
    }
}

fn tool() -> ToolKey {
    ToolKey::new("fs", "read")
}

const CALL: &str = "call_try";
const ARGUMENTS: &str = r#"{"path":"README.md"}"#;
const RESULT: &str = "the text of the file";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_an_event_of_every_type() {
        for kind in HookKind::ALL {
            let event = Sample::new("op_try", "clerk", "ann").event(kind);
            assert_eq!(event.kind(), kind);
            assert_eq!(event.operation_id().as_str(), "op_try", "{kind}");
        }
    }
}
