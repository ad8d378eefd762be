//! One registered hook.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jackline_model::{HookId, ToolKey};

use super::answer::{Decision, HookError, MockAnswer};
use super::mockable::MockableToolCall;
use crate::kind_set::KindSet;
use crate::{AfterToolCallControl, BeforeToolCallEvent, Event, Matcher, MatcherError};

/// What happens to the call when a control fails: by an error, a panic or its deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The next control is asked, as if this one were absent.
    #[default]
    Continue,
    /// The call or its result is denied, with the reason `hook_control_error`.
    Block,
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
    /// A handler in this process.
    Native(Native),
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
            carrier: Carrier::Native(native),
            matcher: None,
            timeout: HANDLER_TIMEOUT,
            on_error: OnError::default(),
            inherit,
        }
    }

    /// Whether the hook may deny.
    pub(crate) fn is_control(&self) -> bool {
        match &self.carrier {
            Carrier::Native(Native::ControlBefore(_) | Native::ControlAfter(_)) => true,
            Carrier::Native(Native::Observe(_) | Native::Mock(_)) => false,
        }
    }

    /// Whether the hook may mock.
    pub(crate) fn is_mock(&self) -> bool {
        match &self.carrier {
            Carrier::Native(Native::Mock(_)) => true,
            Carrier::Native(Native::Observe(_) | Native::ControlBefore(_) | Native::ControlAfter(_)) => false,
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
