//! The sixteen lifecycle hooks: their events, their answers, and the chain that asks them.
//!
//! There is no tool here and no state machine: this crate knows what an event says, who wants to
//! hear it, and what an answer means. Without the feature `dispatch` only the words remain: nothing
//! can be registered and nothing runs.

#[cfg(feature = "dispatch")]
mod command;
#[cfg(feature = "dispatch")]
mod dispatch;
#[cfg(feature = "dispatch")]
mod environment;
mod event;
mod kind;
#[cfg(feature = "dispatch")]
mod kind_set;
mod matcher;
#[cfg(feature = "dispatch")]
mod payload;
#[cfg(feature = "dispatch")]
mod register;
#[cfg(feature = "dispatch")]
mod reply;
#[cfg(any(feature = "http", feature = "command"))]
pub mod transport;
mod verdict;
#[cfg(feature = "dispatch")]
mod webhook;

#[cfg(feature = "dispatch")]
pub use command::CommandConfig;
#[cfg(feature = "dispatch")]
pub use dispatch::{
    AnswerClass, CarrierKind, Carriers, CommandCarrier, CommandRequest, CriticalHookDeliveryError, Delivery,
    DeliveryId, DispatchError, DispatchMode, EndlessOutbox, HookClock, HookDispatcher, HookHandle, HookPorts,
    OutboxItem, OutboxRoom, Receipt, Rounds, Spawn, WebhookCarrier, WebhookRequest,
};
#[cfg(feature = "dispatch")]
pub use environment::{
    ENVIRONMENT_HOOK_PREFIX, Environment, EnvironmentError, EnvironmentHooks, ProcessEnvironment, Variables,
};
pub use event::*;
pub use kind::{HookKind, UnknownHookKind};
pub use matcher::{Matcher, MatcherError};
#[cfg(feature = "dispatch")]
pub use payload::{Draft, NoDirectory, Purpose, UserDirectory, build_payload};
#[cfg(feature = "dispatch")]
pub use register::{
    Decision, FieldFault, HANDLER_TIMEOUT, HANDLER_TIMEOUT_MAX, HookError, Hooks, IntoAnswer, MockAnswer,
    MockableToolCall, OnError, RegistrationError, Rule, stage,
};
#[cfg(feature = "dispatch")]
pub use reply::{
    CommandReply, ControlReply, FaultCode, HookFault, REPLY_BYTES_MAX, parse_command_reply, parse_reply,
    parse_reply_body,
};
pub use verdict::{AfterVerdict, BeforeVerdict, CONTROL_ERROR_REASON, DENIED_ERROR, RuledBy, Ruling, RulingCause};
#[cfg(feature = "dispatch")]
pub use webhook::{
    Delay, DeliveryKind, Fallback, HeaderFault, NetworkPolicy, ResolvedHeaders, ResponseHandling, UrlFault,
    WebhookConfig, resolve_url,
};
