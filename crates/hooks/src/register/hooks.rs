//! The list of hooks of one operation, and how it is written down.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use jackline_model::HookId;
use serde_json::Value;

use super::answer::{Decision, IntoAnswer, MockAnswer};
use super::check::{check, is_reserved};
use super::entry::{Carrier, Entry, Handler, Native, OnError};
use super::mockable::MockableToolCall;
use super::registration_error::RegistrationError;
use super::stage::{Controlling, HasHandler, HasHook, HasTool, Observing, OnTool, Remote, Start};
use super::stored::{restore, store};
use crate::event::Pick;
use crate::kind_set::KindSet;
use crate::{
    AfterCallAgentEvent, AfterCompactEvent, AfterHumanInterventionEvent, AfterStepEvent, AfterToolCallControl,
    AfterToolCallEvent, BeforeCallAgentEvent, BeforeCompactEvent, BeforeHumanInterventionEvent, BeforeStepEvent,
    BeforeToolCallEvent, CommandConfig, DeliveryKind, Event, HookKind, Matcher, OnCallAgentErrorEvent,
    OnCompactErrorEvent, OnCompleteEvent, OnErrorEvent, OnStopByHumanInterventionEvent, OnToolCallErrorEvent,
    WebhookConfig,
};

/// The hooks of one operation, in the order in which they are asked.
///
/// A handler is `Fn(event) -> Future`. What it may do is declared by the method that adds it:
/// observers hear, mocks may stand in for a tool, controls may deny. Options follow the hook that
/// they are about; those that a hook does not have do not compile.
///
/// Ids need not be unique: equal ids all run. Ids that begin with `server-env-webhook:` are
/// reserved, and hooks that use one are dropped at registration.
///
/// # Example
///
/// ```
/// use std::time::Duration;
/// use jackline_hooks::{Decision, Hooks, OnError};
/// use jackline_model::ToolRunResult;
///
/// let hooks = Hooks::new()
///     .mock_before_tool_call("search-mock", |call| async move {
///         call.mock(ToolRunResult::ok("nothing found"));
///     })
///     .matching("^web/")
///     .control_before_tool_call("no-writes", |_call| async { Decision::deny("No writes today.") })
///     .matching("^fs/write")
///     .on_error(OnError::Block)
///     .timeout(Duration::from_secs(5))
///     .after_step("cost", |step| async move { println!("{}", step.total_cost) });
/// assert_eq!(hooks.control_ids(), ["no-writes".into()]);
/// ```
///
/// A step has no tool to match:
///
/// ```compile_fail,E0599
/// let hooks = jackline_hooks::Hooks::new().after_step("cost", |_step| async {}).matching("^web/");
/// ```
///
/// An observer has no say, so its failure cannot block:
///
/// ```compile_fail,E0599
/// use jackline_hooks::{Hooks, OnError};
/// let hooks = Hooks::new().after_tool_call("log", |_call| async {}).on_error(OnError::Block);
/// ```
#[derive(Clone, Debug)]
#[must_use = "hooks that nobody registers are never asked"]
pub struct Hooks<S = Start> {
    entries: Vec<Entry>,
    stage: PhantomData<fn() -> S>,
}

impl Hooks {
    /// No hooks.
    pub fn new() -> Self {
        Self { entries: Vec::new(), stage: PhantomData }
    }
}

impl Default for Hooks {
    fn default() -> Self {
        Self::new()
    }
}

/// One method per event: its observers.
macro_rules! observers {
    ($($(#[$doc:meta])* $method:ident: $payload:ident => $kind:ident, $stage:ident;)+) => {
        impl<S> Hooks<S> {$(
            $(#[$doc])*
            pub fn $method<F, Fut>(self, id: impl Into<HookId>, handler: F) -> Hooks<$stage>
            where
                F: Fn(Arc<$payload>) -> Fut + Send + Sync + 'static,
                Fut: Future + Send + 'static,
                Fut::Output: IntoAnswer<()>,
            {
                self.push(id.into(), KindSet::of(HookKind::$kind), Native::Observe(observer(handler)))
            }
        )+}
    };
}

observers! {
    /// Hears that a step is about to run.
    before_step: BeforeStepEvent => BeforeStep, Observing;
    /// Hears that a step ran.
    after_step: AfterStepEvent => AfterStep, Observing;
    /// Hears that the operation entered a terminal state.
    on_complete: OnCompleteEvent => OnComplete, Observing;
    /// Hears that the operation failed: the event `onError`. (`on_error` is the option of controls.)
    on_run_error: OnErrorEvent => OnError, Observing;
    /// Hears that a tool is about to run. Not asked once a mock was accepted.
    observe_before_tool_call: BeforeToolCallEvent => BeforeToolCall, OnTool;
    /// Hears what was published for a call.
    after_tool_call: AfterToolCallEvent => AfterToolCall, OnTool;
    /// Hears that a tool broke.
    on_tool_call_error: OnToolCallErrorEvent => OnToolCallError, OnTool;
    /// Hears that the run is about to park for a person.
    before_human_intervention: BeforeHumanInterventionEvent => BeforeHumanIntervention, Observing;
    /// Hears that a person decided and the run goes on.
    after_human_intervention: AfterHumanInterventionEvent => AfterHumanIntervention, Observing;
    /// Hears that a person's decision ended the run.
    on_stop_by_human_intervention: OnStopByHumanInterventionEvent => OnStopByHumanIntervention, Observing;
    /// Hears that the history is about to be folded.
    before_compact: BeforeCompactEvent => BeforeCompact, Observing;
    /// Hears that the history was folded.
    after_compact: AfterCompactEvent => AfterCompact, Observing;
    /// Hears that folding failed.
    on_compact_error: OnCompactErrorEvent => OnCompactError, Observing;
    /// Hears that a sub-agent is about to start.
    before_call_agent: BeforeCallAgentEvent => BeforeCallAgent, Observing;
    /// Hears that a sub-agent was started.
    after_call_agent: AfterCallAgentEvent => AfterCallAgent, Observing;
    /// Hears that a sub-agent could not be started.
    on_call_agent_error: OnCallAgentErrorEvent => OnCallAgentError, Observing;
}

impl<S> Hooks<S> {
    /// Hears all sixteen events, as one hook.
    pub fn observe_all<F, Fut>(self, id: impl Into<HookId>, handler: F) -> Hooks<Observing>
    where
        F: Fn(Event) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoAnswer<()>,
    {
        let handler: Handler<Event, ()> = Arc::new(move |event| handler(event).map(IntoAnswer::into_answer).boxed());
        self.push(id.into(), KindSet::ALL, Native::Observe(handler))
    }

    /// May stand in for a tool: by `mock` on the event or by returning [`MockAnswer::Mock`].
    ///
    /// The first accepted mock of a call ends the chain: no later mock or observer is asked.
    pub fn mock_before_tool_call<F, Fut>(self, id: impl Into<HookId>, handler: F) -> Hooks<OnTool>
    where
        F: Fn(MockableToolCall) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoAnswer<MockAnswer>,
    {
        let handler: Handler<MockableToolCall, MockAnswer> =
            Arc::new(move |event| handler(event).map(IntoAnswer::into_answer).boxed());
        self.push(id.into(), KindSet::of(HookKind::BeforeToolCall), Native::Mock(handler))
    }

    /// May deny a call. All controls are asked before any observer or mock.
    pub fn control_before_tool_call<F, Fut>(self, id: impl Into<HookId>, handler: F) -> Hooks<Controlling>
    where
        F: Fn(Arc<BeforeToolCallEvent>) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoAnswer<Decision>,
    {
        let handler: Handler<Arc<BeforeToolCallEvent>, Decision> =
            Arc::new(move |event| handler(event).map(IntoAnswer::into_answer).boxed());
        self.push(id.into(), KindSet::of(HookKind::BeforeToolCall), Native::ControlBefore(handler))
    }

    /// May deny a result. It sees the whole of it, before anybody else does.
    pub fn control_after_tool_call<F, Fut>(self, id: impl Into<HookId>, handler: F) -> Hooks<Controlling>
    where
        F: Fn(Arc<AfterToolCallControl>) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoAnswer<Decision>,
    {
        let handler: Handler<Arc<AfterToolCallControl>, Decision> =
            Arc::new(move |event| handler(event).map(IntoAnswer::into_answer).boxed());
        self.push(id.into(), KindSet::of(HookKind::AfterToolCall), Native::ControlAfter(handler))
    }

    /// Adds all hooks of another list behind those of this one.
    pub fn and(mut self, more: impl Into<Hooks>) -> Hooks {
        self.entries.extend(more.into().entries);
        self.restage()
    }

    /// Tells a webhook of one event, or asks it about tool calls: see [`WebhookConfig`].
    ///
    /// Its stored form keeps templates unexpanded.
    ///
    /// ```
    /// use jackline_hooks::{HookKind, Hooks, WebhookConfig};
    /// let hooks = Hooks::new()
    ///     .webhook("policy", HookKind::BeforeToolCall, WebhookConfig::control("https://policy.example.test/check"))
    ///     .matching("^fs/write");
    /// assert!(hooks.validate().is_ok());
    ///
    /// let wrong = Hooks::new().webhook("done", HookKind::OnComplete, WebhookConfig::new("ftp://example.test"));
    /// assert!(wrong.validate().unwrap_err().to_string().starts_with("hook `done`: Webhook URL must be HTTP(S)"));
    /// ```
    pub fn webhook(self, id: impl Into<HookId>, kind: HookKind, config: WebhookConfig) -> Hooks<Remote> {
        self.add(Entry::webhook(id.into(), kind, config))
    }

    /// Tells a program of one event, or asks it about tool calls: see [`CommandConfig`].
    ///
    /// Its stored form names variables and holds no value of one; arguments are stored as they stand.
    pub fn command(self, id: impl Into<HookId>, kind: HookKind, config: CommandConfig) -> Hooks<Remote> {
        self.add(Entry::command(id.into(), kind, config))
    }

    /// Whether there is no hook.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The ids of the handlers that may deny, in order. A resumed operation must be given them all.
    ///
    /// Webhooks and commands are stored, so nobody needs to give them again.
    pub fn control_ids(&self) -> Vec<HookId> {
        self.ids_of(Entry::is_native_control)
    }

    /// The ids of the handlers that may mock, in order. A resumed operation must be given them all.
    pub fn mock_ids(&self) -> Vec<HookId> {
        self.ids_of(Entry::is_native_mock)
    }

    /// The ids of all hooks, in order.
    pub fn ids(&self) -> Vec<HookId> {
        self.ids_of(|_| true)
    }

    /// The ids of the hooks that are delivered by way of a store, in order. A host without an outbox refuses them.
    pub fn outbox_ids(&self) -> Vec<HookId> {
        self.ids_of(|entry| entry.webhook_config().is_some_and(|config| config.delivery == DeliveryKind::Outbox))
    }

    /// The hooks that survive their process, as they are stored: native ones do not. [`stored`](Self::stored) takes
    /// them back.
    ///
    /// ```
    /// use jackline_hooks::{HookKind, Hooks, WebhookConfig};
    /// let hooks = Hooks::new().webhook("done", HookKind::OnComplete, WebhookConfig::new("https://example.test/done"));
    /// let stored = hooks.and(Hooks::new().before_step("log", |_step| async {})).to_stored();
    /// assert_eq!(stored.len(), 1);
    /// assert_eq!(Hooks::new().stored(&stored).unwrap().ids()[0].as_str(), "done");
    /// ```
    pub fn to_stored(&self) -> Vec<Value> {
        self.entries.iter().filter(|entry| !is_reserved(&entry.id)).filter_map(store).collect()
    }

    /// Adds the hooks that [`HookDispatcher::serialized`](crate::HookDispatcher::serialized) wrote, or that
    /// a file lists: `{id, type, matcher?, webhook}` or `{id, type, matcher?, command}`, strict.
    ///
    /// Entries with a reserved id are dropped.
    ///
    /// # Errors
    ///
    /// [`RegistrationError`] names the hook, the field and the remedy. A corrupt entry is an error and
    /// never left out.
    pub fn stored<'a>(mut self, entries: impl IntoIterator<Item = &'a Value>) -> Result<Hooks, RegistrationError> {
        for (index, value) in entries.into_iter().enumerate() {
            let entry = restore(index, value)?;
            self.entries.extend(Some(entry).filter(|entry| !is_reserved(&entry.id)));
        }
        Ok(self.restage())
    }

    /// Checks what the builder could not refuse. Registration does so too.
    ///
    /// # Errors
    ///
    /// - [`RegistrationError::Matcher`]: a matcher does not compile. Correct it.
    /// - [`RegistrationError::Timeout`]: a deadline is zero or too long. Change it.
    /// - [`RegistrationError::Field`]: a rule about a webhook or a command. It names the remedy.
    pub fn validate(&self) -> Result<(), RegistrationError> {
        self.entries.iter().filter(|entry| !is_reserved(&entry.id)).try_for_each(check)
    }

    /// The hooks that registration keeps.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = Arc<Entry>> {
        self.entries.into_iter().filter(|entry| !is_reserved(&entry.id)).map(Arc::new)
    }

    fn push<T>(self, id: HookId, kinds: KindSet, native: Native) -> Hooks<T> {
        self.add(Entry::new(id, kinds, native))
    }

    fn add<T>(mut self, entry: Entry) -> Hooks<T> {
        self.entries.push(entry);
        self.restage()
    }

    fn restage<T>(self) -> Hooks<T> {
        Hooks { entries: self.entries, stage: PhantomData }
    }

    fn ids_of(&self, wanted: impl Fn(&Entry) -> bool) -> Vec<HookId> {
        let kept = self.entries.iter().filter(|entry| !is_reserved(&entry.id));
        kept.filter(|entry| wanted(entry)).map(|entry| entry.id.clone()).collect()
    }
}

impl<S: HasHook> Hooks<S> {
    /// How long the last hook may take. Default: [`HANDLER_TIMEOUT`](crate::HANDLER_TIMEOUT).
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with_last(|entry| entry.set_timeout(timeout))
    }

    /// Whether the last hook also applies to the operation's children.
    ///
    /// Default: controls and mocks in this process or by command do, so that a policy cannot be escaped
    /// by calling an agent; observers and webhooks do not.
    pub fn inherit(self, inherit: bool) -> Self {
        self.with_last(|entry| entry.set_inherit(inherit))
    }

    fn with_last(mut self, change: impl FnOnce(&mut Entry)) -> Self {
        if let Some(entry) = self.entries.last_mut() {
            change(entry);
        }
        self
    }
}

impl<S: HasTool> Hooks<S> {
    /// Limits the last hook to the tools whose `identifier/apiName` the pattern is found in: see [`Matcher`].
    ///
    /// A pattern that does not compile is refused at registration.
    pub fn matching(self, pattern: &str) -> Self {
        self.with_last(|entry| entry.matcher = Some(Matcher::new(pattern)))
    }
}

impl Hooks<Controlling> {
    /// What a failure of the last hook means for the call. Default: [`OnError::Continue`].
    pub fn on_error(self, on_error: OnError) -> Self {
        self.with_last(|entry| entry.on_error = on_error)
    }
}

impl<S: HasHandler> Hooks<S> {
    /// Gives the last hook a webhook, which stands in for its handler in queue mode.
    ///
    /// In local mode the handler is called and the webhook is not; in queue mode it is the other way
    /// round. Only the webhook survives the process.
    ///
    /// ```
    /// use jackline_hooks::{Hooks, WebhookConfig};
    /// let hooks = Hooks::new()
    ///     .on_complete("done", |end| async move { println!("{}", end.end.steps) })
    ///     .with_webhook(WebhookConfig::new("https://example.test/done"));
    /// assert!(hooks.validate().is_ok());
    ///
    /// let control = Hooks::new()
    ///     .after_tool_call("log", |_call| async {})
    ///     .with_webhook(WebhookConfig::control("https://example.test/policy"));
    /// assert!(control.validate().unwrap_err().to_string().contains("Control hooks cannot have a handler"));
    /// ```
    pub fn with_webhook(self, config: WebhookConfig) -> Self {
        self.with_last(|entry| match &mut entry.carrier {
            Carrier::Native(_, webhook) => *webhook = Some(Arc::new(config)),
            Carrier::Webhook(_) | Carrier::Command(_) => {}
        })
    }
}

impl From<Hooks<Observing>> for Hooks {
    fn from(hooks: Hooks<Observing>) -> Self {
        hooks.restage()
    }
}

impl From<Hooks<Remote>> for Hooks {
    fn from(hooks: Hooks<Remote>) -> Self {
        hooks.restage()
    }
}

impl From<Hooks<OnTool>> for Hooks {
    fn from(hooks: Hooks<OnTool>) -> Self {
        hooks.restage()
    }
}

impl From<Hooks<Controlling>> for Hooks {
    fn from(hooks: Hooks<Controlling>) -> Self {
        hooks.restage()
    }
}

/// A handler of one payload as a handler of all events. The dispatcher hands it that payload only.
fn observer<P, F, Fut>(handler: F) -> Handler<Event, ()>
where
    P: Pick,
    F: Fn(Arc<P>) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: IntoAnswer<()>,
{
    Arc::new(move |event| match P::pick(event) {
        Some(payload) => handler(payload).map(IntoAnswer::into_answer).boxed(),
        None => std::future::ready(Ok(())).boxed(),
    })
}
