//! Plans and refusals.

use serde::{Deserialize, Serialize};

use super::codes::ReasonV1;
use crate::machine::{Instruction, Ordinal, Refusal};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InstructionV1 {
    Llm,
    Tool(Ordinal),
    Batch(Vec<Ordinal>),
    Agent(Ordinal),
    Approve(Vec<Ordinal>),
    Prompt(String),
    Select(String, Vec<String>),
    /// Messages to fold, tokens counted.
    Compress(u32, u64),
    Blocked(Vec<(Ordinal, RefusalV1)>),
    Aborted(Vec<Ordinal>),
    Finish(ReasonV1),
}

impl InstructionV1 {
    pub(super) fn of(instruction: &Instruction) -> Self {
        match instruction.clone() {
            Instruction::CallLlm => Self::Llm,
            Instruction::CallTool(call) => Self::Tool(call),
            Instruction::CallToolsBatch(calls) => Self::Batch(calls),
            Instruction::CallAgent(call) => Self::Agent(call),
            Instruction::RequestHumanApprove(calls) => Self::Approve(calls),
            Instruction::RequestHumanPrompt { prompt } => Self::Prompt(prompt),
            Instruction::RequestHumanSelect { prompt, options } => Self::Select(prompt, options),
            Instruction::CompressContext { messages, tokens } => Self::Compress(messages, tokens),
            Instruction::ResolveBlockedTools(calls) => {
                Self::Blocked(calls.into_iter().map(|(call, refusal)| (call, RefusalV1::of(refusal))).collect())
            }
            Instruction::ResolveAbortedTools(calls) => Self::Aborted(calls),
            Instruction::Finish { reason } => Self::Finish(ReasonV1(reason)),
        }
    }

    pub(super) fn into_instruction(self) -> Instruction {
        match self {
            Self::Llm => Instruction::CallLlm,
            Self::Tool(call) => Instruction::CallTool(call),
            Self::Batch(calls) => Instruction::CallToolsBatch(calls),
            Self::Agent(call) => Instruction::CallAgent(call),
            Self::Approve(calls) => Instruction::RequestHumanApprove(calls),
            Self::Prompt(prompt) => Instruction::RequestHumanPrompt { prompt },
            Self::Select(prompt, options) => Instruction::RequestHumanSelect { prompt, options },
            Self::Compress(messages, tokens) => Instruction::CompressContext { messages, tokens },
            Self::Blocked(calls) => Instruction::ResolveBlockedTools(
                calls.into_iter().map(|(call, refusal)| (call, refusal.into_refusal())).collect(),
            ),
            Self::Aborted(calls) => Instruction::ResolveAbortedTools(calls),
            Self::Finish(reason) => Instruction::Finish { reason: reason.0 },
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RefusalV1 {
    Unusable,
    NotAllowed,
    NobodyToApprove,
    Limit(ReasonV1),
    Aborted,
    /// In these words, if any.
    Rejected(Option<String>),
    Expired,
    TimedOut,
    InDoubt,
}

impl RefusalV1 {
    fn of(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unusable => Self::Unusable,
            Refusal::NotAllowed => Self::NotAllowed,
            Refusal::NobodyToApprove => Self::NobodyToApprove,
            Refusal::Limit(reason) => Self::Limit(ReasonV1(reason)),
            Refusal::Aborted => Self::Aborted,
            Refusal::Rejected { reason } => Self::Rejected(reason),
            Refusal::Expired => Self::Expired,
            Refusal::TimedOut => Self::TimedOut,
            Refusal::InDoubt => Self::InDoubt,
        }
    }

    fn into_refusal(self) -> Refusal {
        match self {
            Self::Unusable => Refusal::Unusable,
            Self::NotAllowed => Refusal::NotAllowed,
            Self::NobodyToApprove => Refusal::NobodyToApprove,
            Self::Limit(reason) => Refusal::Limit(reason.0),
            Self::Aborted => Refusal::Aborted,
            Self::Rejected(reason) => Refusal::Rejected { reason },
            Self::Expired => Refusal::Expired,
            Self::TimedOut => Refusal::TimedOut,
            Self::InDoubt => Refusal::InDoubt,
        }
    }
}
