//! What a planner can ask for, and where the conversation stands when it is asked.

use jackline_model::Reason;

/// A call of the open turn, by its place in the model's answer, from 1.
pub type Ordinal = u16;

/// One thing to do in a step. A plan is a list of them, done in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Ask the model for the next turn.
    CallLlm,
    /// Run one call.
    CallTool(Ordinal),
    /// Run several calls at once, lanes permitting.
    CallToolsBatch(Vec<Ordinal>),
    /// Start a sub-agent and wait for it.
    CallAgent(Ordinal),
    /// Park until a person has decided about these calls.
    RequestHumanApprove(Vec<Ordinal>),
    /// Park until a person has answered a question in words.
    RequestHumanPrompt {
        /// The question.
        prompt: String,
    },
    /// Park until a person has chosen.
    RequestHumanSelect {
        /// The question.
        prompt: String,
        /// What can be chosen.
        options: Vec<String>,
    },
    /// Fold old messages into a summary.
    CompressContext {
        /// How many messages will be folded.
        messages: u32,
        /// The token count that makes it necessary.
        tokens: u64,
    },
    /// Answer these calls without running them.
    ResolveBlockedTools(Vec<(Ordinal, Refusal)>),
    /// Answer these calls: the user stopped the run.
    ResolveAbortedTools(Vec<Ordinal>),
    /// End the run.
    Finish {
        /// Why.
        reason: Reason,
    },
}

impl Instruction {
    /// The name, as planners and documents use it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CallLlm => "call_llm",
            Self::CallTool(_) => "call_tool",
            Self::CallToolsBatch(_) => "call_tools_batch",
            Self::CallAgent(_) => "call_agent",
            Self::RequestHumanApprove(_) => "request_human_approve",
            Self::RequestHumanPrompt { .. } => "request_human_prompt",
            Self::RequestHumanSelect { .. } => "request_human_select",
            Self::CompressContext { .. } => "compress_context",
            Self::ResolveBlockedTools(_) => "resolve_blocked_tools",
            Self::ResolveAbortedTools(_) => "resolve_aborted_tools",
            Self::Finish { .. } => "finish",
        }
    }

    /// The calls that it covers.
    pub fn calls(&self) -> Vec<Ordinal> {
        match self {
            Self::CallTool(call) | Self::CallAgent(call) => vec![*call],
            Self::CallToolsBatch(calls) | Self::RequestHumanApprove(calls) | Self::ResolveAbortedTools(calls) => {
                calls.clone()
            }
            Self::ResolveBlockedTools(calls) => calls.iter().map(|(call, _)| *call).collect(),
            Self::CallLlm
            | Self::RequestHumanPrompt { .. }
            | Self::RequestHumanSelect { .. }
            | Self::CompressContext { .. }
            | Self::Finish { .. } => Vec::new(),
        }
    }
}

/// Why a call is answered without being run. The gate words it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The call itself cannot be used: an unknown tool, bad arguments, cut off. The driver knows
    /// which and says so to the model.
    Unusable,
    /// The agent's tool list does not have it.
    NotAllowed,
    /// A person must approve and the run has none.
    NobodyToApprove,
    /// A limit stands against it.
    Limit(Reason),
    /// The user stopped the run.
    Aborted,
    /// A person said no.
    Rejected {
        /// In these words.
        reason: Option<String>,
    },
    /// Nobody decided in time.
    Expired,
    /// The result that somebody else was to deliver did not come in time.
    TimedOut,
    /// The process died while the call ran.
    InDoubt,
}

/// What the last step left behind: the input of a planner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// A user message waits for an answer.
    UserInput,
    /// The model has answered.
    LlmResult,
    /// One call has its result.
    ToolResult,
    /// All calls of the turn have their results.
    ToolsBatchResult,
    /// The history was compressed, or could not be.
    CompressionResult,
    /// A person decided about calls.
    HumanApprovedTool,
    /// The user stopped the run.
    HumanAbort,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 7] = [
        Self::UserInput,
        Self::LlmResult,
        Self::ToolResult,
        Self::ToolsBatchResult,
        Self::CompressionResult,
        Self::HumanApprovedTool,
        Self::HumanAbort,
    ];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserInput => "user_input",
            Self::LlmResult => "llm_result",
            Self::ToolResult => "tool_result",
            Self::ToolsBatchResult => "tools_batch_result",
            Self::CompressionResult => "compression_result",
            Self::HumanApprovedTool => "human_approved_tool",
            Self::HumanAbort => "human_abort",
        }
    }
}
