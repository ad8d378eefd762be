//! One registered hook.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jackline_model::{HookId, ToolKey};
use serde::Serialize;
use serde_json::Number;

use super::answer::{Decision, HookError, MockAnswer};
use super::mockable::MockableToolCall;
use crate::kind_set::KindSet;
use crate::{
    AfterToolCallControl, BeforeToolCallEvent, CommandConfig, DispatchMode, Event, HookKind, Matcher, MatcherError,
    WebhookConfig,
};

/// What happens to the call when a control fails: by an error, a panic or its deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// The next control is asked, as if this one were absent.
    #[default]
    Continue,
    /// The call or its result is denied, with the reason `hook_control_error`.
    Block,
}

impl OnError {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "continue" => Some(Self::Continue),
            "block" => Some(Self::Block),
            _ => None,
        }
    }
}

/// A hook as the builder left it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) id: HookId,
    pub(crate) kinds: KindSet,
    pub(crate) carrier: Carrier,
    pub(crate) matcher: Option<Result<Matcher, MatcherError>>,
    pub(crate) timeout: Duration,
    pub(crate) on_error: OnError,
    pub(crate) inherit: bool,
}

/// How a hook is reached.
#[derive(Clone)]
pub(crate) enum Carrier {
    /// A handler in this process, and the webhook that stands in for it in queue mode.
    Native(Native, Option<Arc<WebhookConfig>>),
    /// A webhook.
    Webhook(Arc<WebhookConfig>),
    /// A program.
    Command(Arc<CommandConfig>),
}

/// What is called in one mode.
#[derive(Clone, Copy)]
pub(crate) enum Consumer<'a> {
    /// A handler.
    Native(&'a Native),
    /// A webhook.
    Webhook(&'a Arc<WebhookConfig>),
    /// A program.
    Command(&'a Arc<CommandConfig>),
}

/// A handler in this process, by the say it has.
#[derive(Clone)]
pub(crate) enum Native {
    /// Hears, and has no say.
    Observe(Handler<Event, ()>),
    /// May stand in for the tool.
    Mock(Handler<MockableToolCall, MockAnswer>),
    /// May deny a call.
    ControlBefore(Handler<Arc<BeforeToolCallEvent>, Decision>),
    /// May deny a result.
    ControlAfter(Handler<Arc<AfterToolCallControl>, Decision>),
}

pub(crate) type Handler<E, A> = Arc<dyn Fn(E) -> Answering<A> + Send + Sync>;

pub(crate) type Answering<A> = BoxFuture<'static, Result<A, HookError>>;

impl Entry {
    pub(crate) fn new(id: HookId, kinds: KindSet, native: Native) -> Self {
        let inherit = match native {
            Native::Observe(_) => false,
            Native::Mock(_) | Native::ControlBefore(_) | Native::ControlAfter(_) => true,
        };
        Self {
            id,
            kinds,
            carrier: Carrier::Native(native, None),
            matcher: None,
            timeout: HANDLER_TIMEOUT,
            on_error: OnError::default(),
            inherit,
        }
    }

    pub(crate) fn webhook(id: HookId, kind: HookKind, config: WebhookConfig) -> Self {
        Self {
            id,
            kinds: KindSet::of(kind),
            matcher: None,
            timeout: HANDLER_TIMEOUT,
            on_error: config.on_error,
            inherit: config.inherit,
            carrier: Carrier::Webhook(Arc::new(config)),
        }
    }

    pub(crate) fn command(id: HookId, kind: HookKind, config: CommandConfig) -> Self {
        Self {
            id,
            kinds: KindSet::of(kind),
            matcher: None,
            timeout: HANDLER_TIMEOUT,
            on_error: config.on_error,
            inherit: config.is_inherited(),
            carrier: Carrier::Command(Arc::new(config)),
        }
    }

    /// Changes the deadline, wherever it is kept.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) {
        let seconds = Number::from_f64(timeout.as_secs_f64());
        match &mut self.carrier {
            Carrier::Native(_, None) => {}
            Carrier::Native(_, Some(webhook)) | Carrier::Webhook(webhook) => Arc::make_mut(webhook).timeout = seconds,
            Carrier::Command(command) => Arc::make_mut(command).timeout = seconds,
        }
        self.timeout = timeout;
    }

    /// Changes whether children take the hook over, wherever that is kept.
    pub(crate) fn set_inherit(&mut self, inherit: bool) {
        match &mut self.carrier {
            Carrier::Native(_, None) => {}
            Carrier::Native(_, Some(webhook)) | Carrier::Webhook(webhook) => Arc::make_mut(webhook).inherit = inherit,
            Carrier::Command(command) => Arc::make_mut(command).inherit = Some(inherit),
        }
        self.inherit = inherit;
    }

    /// What is called in a mode, if anything.
    pub(crate) fn consumer(&self, mode: DispatchMode) -> Option<Consumer<'_>> {
        match (&self.carrier, mode) {
            (Carrier::Native(native, _), DispatchMode::Local) => Some(Consumer::Native(native)),
            (Carrier::Native(_, webhook), DispatchMode::Queue) => webhook.as_ref().map(Consumer::Webhook),
            (Carrier::Webhook(webhook), DispatchMode::Local | DispatchMode::Queue) => Some(Consumer::Webhook(webhook)),
            (Carrier::Command(command), DispatchMode::Local | DispatchMode::Queue) => Some(Consumer::Command(command)),
        }
    }

    /// Whether children take over what is called in a mode.
    pub(crate) fn is_inherited(&self, mode: DispatchMode) -> bool {
        match self.consumer(mode) {
            Some(Consumer::Native(_) | Consumer::Command(_)) => self.inherit,
            Some(Consumer::Webhook(webhook)) => webhook.inherit,
            None => false,
        }
    }

    /// Its webhook, if it has one.
    pub(crate) fn webhook_config(&self) -> Option<&WebhookConfig> {
        match &self.carrier {
            Carrier::Native(_, webhook) => webhook.as_deref(),
            Carrier::Webhook(webhook) => Some(webhook),
            Carrier::Command(_) => None,
        }
    }

    /// Whether the hook may deny.
    pub(crate) fn is_control(&self) -> bool {
        match &self.carrier {
            Carrier::Native(Native::ControlBefore(_) | Native::ControlAfter(_), _) => true,
            Carrier::Native(Native::Observe(_) | Native::Mock(_), _) => false,
            Carrier::Webhook(webhook) => webhook.is_control(),
            Carrier::Command(command) => command.is_control(),
        }
    }

    /// Whether the hook may mock, and is lost with its process.
    pub(crate) fn is_native_mock(&self) -> bool {
        match &self.carrier {
            Carrier::Native(Native::Mock(_), _) => true,
            Carrier::Native(Native::Observe(_) | Native::ControlBefore(_) | Native::ControlAfter(_), _)
            | Carrier::Webhook(_)
            | Carrier::Command(_) => false,
        }
    }

    /// Whether nothing of the hook is stored.
    pub(crate) fn is_lost_with_process(&self) -> bool {
        match &self.carrier {
            Carrier::Native(_, None) => true,
            Carrier::Native(_, Some(_)) | Carrier::Webhook(_) | Carrier::Command(_) => false,
        }
    }

    /// Whether the hook may deny, and is lost with its process.
    pub(crate) fn is_native_control(&self) -> bool {
        match &self.carrier {
            Carrier::Native(..) => self.is_control(),
            Carrier::Webhook(_) | Carrier::Command(_) => false,
        }
    }

    /// Whether the hook is about this tool. An invalid matcher never gets past registration.
    pub(crate) fn accepts(&self, tool: Option<&ToolKey>) -> bool {
        match (&self.matcher, tool) {
            (None, _) => true,
            (Some(Ok(matcher)), Some(tool)) => matcher.matches(&tool.identifier, &tool.api_name),
            (Some(Ok(_)), None) | (Some(Err(_)), _) => false,
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("id", &self.id)
            .field("kinds", &self.kinds)
            .field("timeout", &self.timeout)
            .field("on_error", &self.on_error)
            .field("inherit", &self.inherit)
            .finish_non_exhaustive()
    }
}

/// How long a handler may take: as long as a webhook, long enough for a policy service behind it.
pub const HANDLER_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest deadline: the longest that a timer of 31 bits of milliseconds can hold.
pub const HANDLER_TIMEOUT_MAX: Duration = Duration::from_millis(2_147_483_647);
