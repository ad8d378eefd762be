//! Firings that wait to be delivered.

use jackline_model::OperationId;
use serde::{Deserialize, Serialize};

use super::codes::{HumanActionV1, ReasonV1, StatusV1};
use super::is_default;
use crate::machine::{Firing, Ordinal, StepSummary};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FiringV1 {
    BeforeStep,
    AfterStep(StepSummaryV1),
    OnComplete,
    OnError,
    AfterTool(Ordinal),
    AfterMock(Ordinal),
    ToolError(Ordinal),
    BeforeHuman(Vec<Ordinal>),
    AfterHuman(HumanActionV1, Vec<Ordinal>, Option<String>),
    /// Calls, whether a decision did it, the words.
    HumanStop(Vec<Ordinal>, bool, Option<String>),
    BeforeCompact(u32, u64),
    AfterCompact(u32, u32),
    CompactError(u64, String),
    BeforeAgent(Ordinal),
    AfterAgent(Ordinal, OperationId),
    AgentError(Ordinal),
}

impl FiringV1 {
    pub(super) fn of(firing: &Firing) -> Self {
        match firing.clone() {
            Firing::BeforeStep => Self::BeforeStep,
            Firing::AfterStep(summary) => Self::AfterStep(StepSummaryV1::of(&summary)),
            Firing::OnComplete => Self::OnComplete,
            Firing::OnError => Self::OnError,
            Firing::AfterToolCall { call, mocked: false } => Self::AfterTool(call),
            Firing::AfterToolCall { call, mocked: true } => Self::AfterMock(call),
            Firing::OnToolCallError { call } => Self::ToolError(call),
            Firing::BeforeHumanIntervention { calls } => Self::BeforeHuman(calls),
            Firing::AfterHumanIntervention { action, calls, reason } => {
                Self::AfterHuman(HumanActionV1(action), calls, reason)
            }
            Firing::OnStopByHumanIntervention { calls, rejected, reason } => Self::HumanStop(calls, rejected, reason),
            Firing::BeforeCompact { messages, tokens } => Self::BeforeCompact(messages, tokens),
            Firing::AfterCompact { messages_before, messages_after } => {
                Self::AfterCompact(messages_before, messages_after)
            }
            Firing::OnCompactError { tokens, error } => Self::CompactError(tokens, error),
            Firing::BeforeCallAgent { call } => Self::BeforeAgent(call),
            Firing::AfterCallAgent { call, child } => Self::AfterAgent(call, child),
            Firing::OnCallAgentError { call } => Self::AgentError(call),
        }
    }

    pub(super) fn into_firing(self) -> Firing {
        match self {
            Self::BeforeStep => Firing::BeforeStep,
            Self::AfterStep(summary) => Firing::AfterStep(summary.into_summary()),
            Self::OnComplete => Firing::OnComplete,
            Self::OnError => Firing::OnError,
            Self::AfterTool(call) => Firing::AfterToolCall { call, mocked: false },
            Self::AfterMock(call) => Firing::AfterToolCall { call, mocked: true },
            Self::ToolError(call) => Firing::OnToolCallError { call },
            Self::BeforeHuman(calls) => Firing::BeforeHumanIntervention { calls },
            Self::AfterHuman(action, calls, reason) => {
                Firing::AfterHumanIntervention { action: action.0, calls, reason }
            }
            Self::HumanStop(calls, rejected, reason) => Firing::OnStopByHumanIntervention { calls, rejected, reason },
            Self::BeforeCompact(messages, tokens) => Firing::BeforeCompact { messages, tokens },
            Self::AfterCompact(messages_before, messages_after) => {
                Firing::AfterCompact { messages_before, messages_after }
            }
            Self::CompactError(tokens, error) => Firing::OnCompactError { tokens, error },
            Self::BeforeAgent(call) => Firing::BeforeCallAgent { call },
            Self::AfterAgent(call, child) => Firing::AfterCallAgent { call, child },
            Self::AgentError(call) => Firing::OnCallAgentError { call },
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepSummaryV1 {
    #[serde(default, skip_serializing_if = "is_default")]
    tools: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    model: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    more: bool,
    status: StatusV1,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<ReasonV1>,
    opened: u64,
}

impl StepSummaryV1 {
    fn of(summary: &StepSummary) -> Self {
        let StepSummary { ran_tools, called_model, should_continue, status, reason, opened_at } = *summary;
        Self {
            tools: ran_tools,
            model: called_model,
            more: should_continue,
            status: StatusV1(status),
            reason: reason.map(ReasonV1),
            opened: opened_at,
        }
    }

    fn into_summary(self) -> StepSummary {
        StepSummary {
            ran_tools: self.tools,
            called_model: self.model,
            should_continue: self.more,
            status: self.status.0,
            reason: self.reason.map(|reason| reason.0),
            opened_at: self.opened,
        }
    }
}
