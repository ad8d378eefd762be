//! The sixteen types of hook.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What happened, or is about to: the closed set of sixteen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[repr(u8)]
pub enum HookKind {
    /// Before a step runs.
    BeforeStep,
    /// After a step ran.
    AfterStep,
    /// The operation entered a terminal state.
    OnComplete,
    /// The operation failed; fires after `onComplete`.
    OnError,
    /// Before a tool runs.
    BeforeToolCall,
    /// After a tool ran.
    AfterToolCall,
    /// A tool threw.
    OnToolCallError,
    /// Before the run parks for a person.
    BeforeHumanIntervention,
    /// A person decided and the run goes on.
    AfterHumanIntervention,
    /// A person's decision ended the run.
    OnStopByHumanIntervention,
    /// Before the history is compressed.
    BeforeCompact,
    /// The history was compressed.
    AfterCompact,
    /// Compression failed and was rolled back.
    OnCompactError,
    /// Before a sub-agent starts.
    BeforeCallAgent,
    /// A sub-agent was started.
    AfterCallAgent,
    /// A sub-agent could not be started.
    OnCallAgentError,
}

impl HookKind {
    /// All sixteen, in the order of the documentation.
    pub const ALL: [Self; 16] = [
        Self::BeforeStep,
        Self::AfterStep,
        Self::OnComplete,
        Self::OnError,
        Self::BeforeToolCall,
        Self::AfterToolCall,
        Self::OnToolCallError,
        Self::BeforeHumanIntervention,
        Self::AfterHumanIntervention,
        Self::OnStopByHumanIntervention,
        Self::BeforeCompact,
        Self::AfterCompact,
        Self::OnCompactError,
        Self::BeforeCallAgent,
        Self::AfterCallAgent,
        Self::OnCallAgentError,
    ];

    /// The name in JSON, in agent files and on the terminal.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeStep => "beforeStep",
            Self::AfterStep => "afterStep",
            Self::OnComplete => "onComplete",
            Self::OnError => "onError",
            Self::BeforeToolCall => "beforeToolCall",
            Self::AfterToolCall => "afterToolCall",
            Self::OnToolCallError => "onToolCallError",
            Self::BeforeHumanIntervention => "beforeHumanIntervention",
            Self::AfterHumanIntervention => "afterHumanIntervention",
            Self::OnStopByHumanIntervention => "onStopByHumanIntervention",
            Self::BeforeCompact => "beforeCompact",
            Self::AfterCompact => "afterCompact",
            Self::OnCompactError => "onCompactError",
            Self::BeforeCallAgent => "beforeCallAgent",
            Self::AfterCallAgent => "afterCallAgent",
            Self::OnCallAgentError => "onCallAgentError",
        }
    }

    /// Whether a matcher on the tool's name applies.
    pub fn is_tool_event(self) -> bool {
        match self {
            Self::BeforeToolCall | Self::AfterToolCall | Self::OnToolCallError => true,
            Self::BeforeStep
            | Self::AfterStep
            | Self::OnComplete
            | Self::OnError
            | Self::BeforeHumanIntervention
            | Self::AfterHumanIntervention
            | Self::OnStopByHumanIntervention
            | Self::BeforeCompact
            | Self::AfterCompact
            | Self::OnCompactError
            | Self::BeforeCallAgent
            | Self::AfterCallAgent
            | Self::OnCallAgentError => false,
        }
    }

    /// Whether a hook of this type can have a say.
    pub fn is_controllable(self) -> bool {
        match self {
            Self::BeforeToolCall | Self::AfterToolCall => true,
            Self::BeforeStep
            | Self::AfterStep
            | Self::OnComplete
            | Self::OnError
            | Self::OnToolCallError
            | Self::BeforeHumanIntervention
            | Self::AfterHumanIntervention
            | Self::OnStopByHumanIntervention
            | Self::BeforeCompact
            | Self::AfterCompact
            | Self::OnCompactError
            | Self::BeforeCallAgent
            | Self::AfterCallAgent
            | Self::OnCallAgentError => false,
        }
    }
}

impl fmt::Display for HookKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HookKind {
    type Err = UnknownHookKind;

    fn from_str(text: &str) -> Result<Self, UnknownHookKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| UnknownHookKind(text.to_owned()))
    }
}

/// A name that is none of the sixteen. Names are case-sensitive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no hook type")]
pub struct UnknownHookKind(pub String);
