//! All that can be asked of a driver.

use jackline_hooks::HookKind;
use jackline_model::{OperationId, Reason, SideEffect, Status};

use super::instruction::{Ordinal, Phase, Refusal};

/// Something to do. Every effect but `Cancel` is answered by exactly one input.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask the hooks of one type.
    FireHook(Firing),
    /// Ask the planner what this step does.
    Plan {
        /// Where the conversation stands.
        phase: Phase,
    },
    /// Ask the model.
    CallModel {
        /// Whether it may call tools; without, it must answer in words.
        with_tools: bool,
    },
    /// Ask the before-hooks about a call: proceed, mock or deny.
    Clear(Ordinal),
    /// Run a cleared call and let the after-hooks judge its output.
    Run(Ordinal, SideEffect),
    /// Let the after-hooks judge an answer that arrived later.
    Judge(Ordinal),
    /// Answer a call without running it.
    Refuse(Ordinal, Refusal),
    /// Start a sub-agent for a cleared call.
    StartChild(Ordinal),
    /// Write down a request for a decision.
    AskHuman(Question),
    /// Summarize what is to be folded.
    Summarize,
    /// Cancel whatever is under way; the answers still come.
    Cancel,
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// May these calls run?
    Approve(Vec<Ordinal>),
    /// A question to answer in words.
    Prompt {
        /// The question.
        prompt: String,
    },
    /// A choice.
    Select {
        /// The question.
        prompt: String,
        /// What can be chosen.
        options: Vec<String>,
    },
}

/// How durable the journal must be before an effect is performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// Nothing is awaited: what is lost can be asked again.
    Behind,
    /// All records so far are committed.
    Committed,
    /// All records so far survive a power cut.
    Gate,
}

impl Effect {
    /// How durable the journal must be before this effect is performed.
    pub fn durability(&self) -> Durability {
        match self {
            Self::Run(_, SideEffect::Idempotent | SideEffect::Effect) | Self::StartChild(_) => Durability::Gate,
            Self::FireHook(Firing::OnComplete | Firing::OnError | Firing::OnStopByHumanIntervention { .. }) => {
                Durability::Committed
            }
            Self::Run(_, SideEffect::Pure)
            | Self::FireHook(_)
            | Self::Plan { .. }
            | Self::CallModel { .. }
            | Self::Clear(_)
            | Self::Judge(_)
            | Self::Refuse(..)
            | Self::AskHuman(_)
            | Self::Summarize
            | Self::Cancel => Durability::Behind,
        }
    }

    /// The firing, if it is one.
    pub fn firing(&self) -> Option<&Firing> {
        match self {
            Self::FireHook(firing) => Some(firing),
            Self::Plan { .. }
            | Self::CallModel { .. }
            | Self::Clear(_)
            | Self::Run(..)
            | Self::Judge(_)
            | Self::Refuse(..)
            | Self::StartChild(_)
            | Self::AskHuman(_)
            | Self::Summarize
            | Self::Cancel => None,
        }
    }

    /// The kind, as the table of transitions names it.
    pub fn kind(&self) -> EffectKind {
        match self {
            Self::FireHook(_) => EffectKind::FireHook,
            Self::Plan { .. } => EffectKind::Plan,
            Self::CallModel { .. } => EffectKind::CallModel,
            Self::Clear(_) => EffectKind::Clear,
            Self::Run(..) => EffectKind::Run,
            Self::Judge(_) => EffectKind::Judge,
            Self::Refuse(..) => EffectKind::Refuse,
            Self::StartChild(_) => EffectKind::StartChild,
            Self::AskHuman(_) => EffectKind::AskHuman,
            Self::Summarize => EffectKind::Summarize,
            Self::Cancel => EffectKind::Cancel,
        }
    }
}

/// The kinds of effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is explained at `Effect`")]
pub enum EffectKind {
    FireHook,
    Plan,
    CallModel,
    Clear,
    Run,
    Judge,
    Refuse,
    StartChild,
    AskHuman,
    Summarize,
    Cancel,
}

impl EffectKind {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::FireHook,
        Self::Plan,
        Self::CallModel,
        Self::Clear,
        Self::Run,
        Self::Judge,
        Self::Refuse,
        Self::StartChild,
        Self::AskHuman,
        Self::Summarize,
        Self::Cancel,
    ];
}

/// A hook firing, with the facts that only the machine knows. The driver builds the event from it
/// and from the store, and only if some hook wants it.
///
/// `beforeToolCall` is not here: its hooks decide, so they are asked as [`Effect::Clear`].
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "named like the hook types, whose documentation says what the fields are")]
pub enum Firing {
    BeforeStep,
    AfterStep(StepSummary),
    OnComplete,
    OnError,
    AfterToolCall { call: Ordinal, mocked: bool },
    OnToolCallError { call: Ordinal },
    BeforeHumanIntervention { calls: Vec<Ordinal> },
    AfterHumanIntervention { action: HumanAction, calls: Vec<Ordinal>, reason: Option<String> },
    OnStopByHumanIntervention { calls: Vec<Ordinal>, rejected: bool, reason: Option<String> },
    BeforeCompact { messages: u32, tokens: u64 },
    AfterCompact { messages_before: u32, messages_after: u32 },
    OnCompactError { tokens: u64, error: String },
    BeforeCallAgent { call: Ordinal },
    AfterCallAgent { call: Ordinal, child: OperationId },
    OnCallAgentError { call: Ordinal },
}

impl Firing {
    /// The type of the hooks to ask.
    pub fn kind(&self) -> HookKind {
        match self {
            Self::BeforeStep => HookKind::BeforeStep,
            Self::AfterStep(_) => HookKind::AfterStep,
            Self::OnComplete => HookKind::OnComplete,
            Self::OnError => HookKind::OnError,
            Self::AfterToolCall { .. } => HookKind::AfterToolCall,
            Self::OnToolCallError { .. } => HookKind::OnToolCallError,
            Self::BeforeHumanIntervention { .. } => HookKind::BeforeHumanIntervention,
            Self::AfterHumanIntervention { .. } => HookKind::AfterHumanIntervention,
            Self::OnStopByHumanIntervention { .. } => HookKind::OnStopByHumanIntervention,
            Self::BeforeCompact { .. } => HookKind::BeforeCompact,
            Self::AfterCompact { .. } => HookKind::AfterCompact,
            Self::OnCompactError { .. } => HookKind::OnCompactError,
            Self::BeforeCallAgent { .. } => HookKind::BeforeCallAgent,
            Self::AfterCallAgent { .. } => HookKind::AfterCallAgent,
            Self::OnCallAgentError { .. } => HookKind::OnCallAgentError,
        }
    }

    /// Whether the run waits until its hooks have been asked.
    ///
    /// The other firings go into one ordered queue of the operation, drained before the end is told. Of
    /// `onStopByHumanIntervention` it depends: who stops a run hears whether that could be told, who rejects a call
    /// does not.
    pub fn is_awaited(&self) -> bool {
        match self {
            Self::BeforeStep
            | Self::AfterStep(_)
            | Self::OnComplete
            | Self::OnError
            | Self::AfterHumanIntervention { .. }
            | Self::OnStopByHumanIntervention { rejected: false, .. }
            | Self::BeforeCompact { .. }
            | Self::AfterCompact { .. }
            | Self::OnCompactError { .. } => true,
            Self::AfterToolCall { .. }
            | Self::OnToolCallError { .. }
            | Self::BeforeHumanIntervention { .. }
            | Self::OnStopByHumanIntervention { rejected: true, .. }
            | Self::BeforeCallAgent { .. }
            | Self::AfterCallAgent { .. }
            | Self::OnCallAgentError { .. } => false,
        }
    }
}

/// What `afterHumanIntervention` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "named like the decisions")]
pub enum HumanAction {
    Approve,
    Reject,
    RejectAndContinue,
}

/// What a step did, for `afterStep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepSummary {
    /// Whether tools gave results in this step.
    pub ran_tools: bool,
    /// Whether the model answered in this step.
    pub called_model: bool,
    /// Whether another step follows at once.
    pub should_continue: bool,
    /// Where the operation stands after it.
    pub status: Status,
    /// How it ends, if it does.
    pub reason: Option<Reason>,
    /// When the step was opened, in milliseconds since the epoch.
    pub opened_at: u64,
}
