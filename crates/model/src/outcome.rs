//! How runs stand and how they end.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where an operation stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Created, no step run yet.
    #[default]
    Idle,
    /// May be stepped.
    Running,
    /// Parked for a human decision.
    WaitingForHuman,
    /// Parked for a result that somebody else delivers: a sub-agent, a client, `complete`.
    WaitingForAsyncTool,
    /// Stopped on request.
    Interrupted,
    /// Ended; the reason says how well.
    Done,
    /// Failed.
    Error,
}

impl Status {
    /// The name in JSON and on the terminal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::WaitingForHuman => "waiting_for_human",
            Self::WaitingForAsyncTool => "waiting_for_async_tool",
            Self::Interrupted => "interrupted",
            Self::Done => "done",
            Self::Error => "error",
        }
    }

    /// Whether nothing will happen any more unless somebody resumes.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Interrupted | Self::Done | Self::Error => true,
            Self::Idle | Self::Running | Self::WaitingForHuman | Self::WaitingForAsyncTool => false,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run ended. Each has one status, one exit code, and is resumable or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The model gave its answer, or a tool asked for the end.
    Done,
    /// Something failed for good.
    Error,
    /// Somebody stopped it.
    Interrupted,
    /// The step limit was reached.
    MaxSteps,
    /// The money ran out.
    CostLimit,
    /// The token budget ran out.
    TokenLimit,
    /// The model kept asking for the same calls.
    ToolCallRepeatLimit,
    /// The model kept asking for tools that do not exist.
    UnresolvedTools,
    /// The history does not fit the model's window and cannot be made to.
    ContextOverflow,
}

impl Reason {
    /// All reasons, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Done,
        Self::Error,
        Self::Interrupted,
        Self::MaxSteps,
        Self::CostLimit,
        Self::TokenLimit,
        Self::ToolCallRepeatLimit,
        Self::UnresolvedTools,
        Self::ContextOverflow,
    ];

    /// The name in JSON and on the terminal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
            Self::MaxSteps => "max_steps",
            Self::CostLimit => "cost_limit",
            Self::TokenLimit => "token_limit",
            Self::ToolCallRepeatLimit => "tool_call_repeat_limit",
            Self::UnresolvedTools => "unresolved_tools",
            Self::ContextOverflow => "context_overflow",
        }
    }

    /// The status that an operation with this reason has.
    pub fn status(self) -> Status {
        match self {
            Self::Done
            | Self::MaxSteps
            | Self::CostLimit
            | Self::TokenLimit
            | Self::ToolCallRepeatLimit
            | Self::UnresolvedTools => Status::Done,
            Self::Error | Self::ContextOverflow => Status::Error,
            Self::Interrupted => Status::Interrupted,
        }
    }

    /// The exit code of the command line.
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::Done,
            Self::Error | Self::ContextOverflow => ExitCode::Failed,
            Self::Interrupted => ExitCode::Interrupted,
            Self::MaxSteps | Self::CostLimit | Self::TokenLimit | Self::ToolCallRepeatLimit | Self::UnresolvedTools => {
                ExitCode::Limit
            }
        }
    }

    /// Whether `resume` may open a new episode of the operation.
    pub fn is_resumable(self) -> bool {
        match self {
            Self::Interrupted | Self::MaxSteps => true,
            Self::Done
            | Self::Error
            | Self::CostLimit
            | Self::TokenLimit
            | Self::ToolCallRepeatLimit
            | Self::UnresolvedTools
            | Self::ContextOverflow => false,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Exit codes of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// The run ended with an answer.
    Done = 0,
    /// The run failed.
    Failed = 1,
    /// Usage or configuration: nothing was started.
    Usage = 2,
    /// Parked: a human decision or an outside result is awaited.
    Waiting = 3,
    /// Stopped on request; can be resumed.
    Interrupted = 4,
    /// A limit ended the run.
    Limit = 5,
}

/// Whose doing a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultAttribution {
    /// The caller's: a key, a setting, a prompt.
    User,
    /// The model provider's.
    Provider,
    /// Jackline's or an embedder's code.
    Harness,
    /// The machine's: disk, network, memory.
    System,
}

/// What went wrong, in the form that is stored, shown and handed to `onError`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// A stable code in snake case, such as `rate_limited`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Whose doing it is.
    pub attribution: FaultAttribution,
    /// More, where there is more: an HTTP status, a body prefix, sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Value>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Fault {}

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The same call may work later.
    Retry {
        /// How long to wait first.
        after: Duration,
    },
    /// The caller must change something: a setting, a file, a key.
    Fix,
    /// Nothing helps.
    GiveUp,
}
