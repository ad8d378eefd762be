//! Plans in place of the planner's own.

use jackline_model::Reason;
use jackline_runtime::machine::{Instruction, Ordinal, Refusal};
use schemars::JsonSchema;
use serde::Deserialize;

/// What the planner does at one of its turns, in place of its own plan.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanScript {
    /// At which of its turns, from 1, sub-agents included.
    pub nth: usize,
    /// The plan.
    #[serde(default)]
    pub plan: Vec<PlanStep>,
    /// It panics instead.
    #[serde(default)]
    pub panic: bool,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "named like the instructions")]
pub enum PlanStep {
    CallLlm,
    CallTool(Ordinal),
    CallTools(Vec<Ordinal>),
    CallAgent(Ordinal),
    Approve(Vec<Ordinal>),
    Prompt(String),
    Select(Vec<String>),
    Compress(u64),
    Refuse(Vec<Ordinal>),
    Abort(Vec<Ordinal>),
    Finish(#[schemars(with = "String")] Reason),
}

impl PlanStep {
    /// The instruction.
    pub fn instruction(&self) -> Instruction {
        match self.clone() {
            Self::CallLlm => Instruction::CallLlm,
            Self::CallTool(call) => Instruction::CallTool(call),
            Self::CallTools(calls) => Instruction::CallToolsBatch(calls),
            Self::CallAgent(call) => Instruction::CallAgent(call),
            Self::Approve(calls) => Instruction::RequestHumanApprove(calls),
            Self::Prompt(prompt) => Instruction::RequestHumanPrompt { prompt },
            Self::Select(options) => Instruction::RequestHumanSelect { prompt: "Which one?".to_owned(), options },
            Self::Compress(tokens) => Instruction::CompressContext { messages: 1, tokens },
            Self::Refuse(calls) => {
                let refused = calls.into_iter().map(|call| (call, Refusal::NotAllowed)).collect();
                Instruction::ResolveBlockedTools(refused)
            }
            Self::Abort(calls) => Instruction::ResolveAbortedTools(calls),
            Self::Finish(reason) => Instruction::Finish { reason },
        }
    }
}
