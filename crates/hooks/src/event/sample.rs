//! Made-up events, to try hooks out with.

use jackline_model::{AgentId, FaultAttribution, NanoDollars, OperationId, Reason, Status, ToolKey, ToolRunResult, UserId};

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
                let result = ToolRunResult { execution_time: Some(1), ..ToolRunResult::ok(RESULT) };
                AfterToolCallEvent { context: self.call(), mocked: false, result }.into()
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
        match kind {
            HookKind::AfterHumanIntervention => {
                let action = HumanAction::Approve;
                AfterHumanInterventionEvent { context, action, calls, rejection_reason: None }.into()
            }
            HookKind::OnStopByHumanIntervention => {
                let reason = Some("user_stop".to_owned());
                OnStopByHumanInterventionEvent { context, calls, rejection_reason: None, reason }.into()
            }
            HookKind::BeforeHumanIntervention
            | HookKind::BeforeStep
            | HookKind::AfterStep
            | HookKind::OnComplete
            | HookKind::OnError
            | HookKind::BeforeToolCall
            | HookKind::AfterToolCall
            | HookKind::OnToolCallError
            | HookKind::BeforeCompact
            | HookKind::AfterCompact
            | HookKind::OnCompactError
            | HookKind::BeforeCallAgent
            | HookKind::AfterCallAgent
            | HookKind::OnCallAgentError => {
                let pending = PendingTool {
                    key: tool(),
                    tool_call_id: Some(CALL.into()),
                    arguments: Some(ARGUMENTS.to_owned()),
                    args: Some(effective_args(ARGUMENTS)),
                };
                BeforeHumanInterventionEvent { context, step_index: 1, pending_tools: vec![pending] }.into()
            }
        }
    }
}
