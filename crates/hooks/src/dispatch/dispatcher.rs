//! Who has registered what.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jackline_model::{HookId, OperationId, RawOutput};
use serde_json::Value;

use super::handle::Bound;
use super::ports::Ports;
use super::{Delivery, DispatchMode, HookClock, HookHandle, HookPorts, Rounds};
use crate::register::entry::{Consumer, Entry};
use crate::register::store;
use crate::{
    AfterVerdict, BeforeToolCallEvent, BeforeVerdict, EnvironmentHooks, Event, HookKind, Hooks, RegistrationError,
    Ruling, ToolCallContext,
};

/// The hooks of all operations: the one way in which events reach them.
///
/// Hooks of one operation are asked in the order of their registration, each awaited before the
/// next and each isolated: an error, a panic or a missed deadline of one is logged, recorded, and
/// changes nothing for the others. Nothing is retried. Whether the run waits is up to its driver.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use futures_util::future::{BoxFuture, FutureExt};
/// use jackline_hooks::{BeforeStepEvent, Event, HookClock, HookDispatcher, HookKind, Hooks, Rounds, RunContext};
///
/// # #[derive(Debug)]
/// # struct Stopped;
/// # impl HookClock for Stopped {
/// #     fn now(&self) -> Duration { Duration::ZERO }
/// #     fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> { futures_util::future::pending().boxed() }
/// # }
/// # let clock = Arc::new(Stopped);
/// # futures_util::FutureExt::now_or_never(async move {
/// let dispatcher = HookDispatcher::new(clock);
/// let hooks = Hooks::new().before_step("log", |step| async move { println!("step {}", step.step_index) });
/// dispatcher.register(&"op_1".into(), hooks)?;
///
/// let handle = dispatcher.handle(&Rounds::of("op_1"));
/// let run = RunContext::new("op_1", "agt_1", "user_1");
/// let event = || Event::from(BeforeStepEvent { run, step_index: 0, steps: 0 });
/// let delivery = handle.dispatch(HookKind::BeforeStep, event).await;
/// assert_eq!(delivery.receipts.len(), 1);
///
/// let broken = Hooks::new().after_tool_call("log", |_call| async {}).matching("[");
/// assert!(dispatcher.register(&"op_1".into(), broken).is_err());
/// # Ok::<(), jackline_hooks::RegistrationError>(())
/// # }).unwrap().unwrap();
/// ```
#[derive(Debug)]
pub struct HookDispatcher {
    registered: RwLock<BTreeMap<OperationId, Vec<Arc<Entry>>>>,
    ports: Arc<Ports>,
}

impl HookDispatcher {
    /// A dispatcher without hooks, in local mode, without environment hooks and without a way out of the process.
    pub fn new(clock: Arc<dyn HookClock>) -> Self {
        Self::with_ports(HookPorts::new(clock))
    }

    /// A dispatcher without hooks.
    pub fn with_ports(ports: HookPorts) -> Self {
        Self { registered: RwLock::default(), ports: Arc::new(ports.into()) }
    }

    /// Adds hooks behind those that the operation has. An empty list changes nothing.
    ///
    /// # Errors
    ///
    /// [`RegistrationError`] names the first hook that cannot be registered, or the variables whose hooks cannot
    /// be read. Nothing was registered: correct that and register the list again.
    pub fn register(&self, operation: &OperationId, hooks: impl Into<Hooks>) -> Result<(), RegistrationError> {
        let hooks = hooks.into();
        self.validate(&hooks)?;
        let entries: Vec<_> = hooks.into_entries().collect();
        if !entries.is_empty() {
            self.write().entry(operation.clone()).or_default().extend(entries);
        }
        Ok(())
    }

    /// Checks what [`register`](Self::register) checks, and registers nothing.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub fn validate(&self, hooks: &Hooks) -> Result<(), RegistrationError> {
        if let Some(environment) = &self.ports.environment {
            EnvironmentHooks::read(environment.as_ref())?;
        }
        hooks.validate()?;
        match hooks.control_ids().into_iter().next() {
            Some(hook) if self.ports.mode == DispatchMode::Queue => Err(RegistrationError::ControlInQueue { hook }),
            Some(_) | None => Ok(()),
        }
    }

    /// Which carriers take part.
    pub fn mode(&self) -> DispatchMode {
        self.ports.mode
    }

    /// The first control that could not be asked here: there is nothing that carries its question.
    pub fn out_of_reach(&self, hooks: &Hooks) -> Option<HookId> {
        let carriers = &self.ports.carriers;
        let is_out_of_reach = |entry: &Entry| match entry.consumer(self.ports.mode) {
            Some(Consumer::Webhook(_)) => carriers.webhook.is_none(),
            Some(Consumer::Command(_)) => carriers.command.is_none(),
            Some(Consumer::Native(_)) | None => false,
        };
        hooks
            .clone()
            .into_entries()
            .find(|entry| entry.is_control() && is_out_of_reach(entry))
            .map(|entry| entry.id.clone())
    }

    /// Removes all hooks of an operation. Handles that were taken before keep theirs.
    pub fn unregister(&self, operation: &OperationId) {
        self.write().remove(operation);
    }

    /// Whether the operation has hooks of its own. Inherited ones do not count, nor do those of the environment.
    pub fn has_hooks(&self, operation: &OperationId) -> bool {
        self.read().contains_key(operation)
    }

    /// Whether the operation has a hook of its own with this id.
    pub fn has_hook(&self, operation: &OperationId, hook: &HookId) -> bool {
        self.any(operation, |entry| entry.id == *hook)
    }

    /// Whether an event of this type would reach a hook of the operation, or one of the environment.
    ///
    /// True if the environment's hooks cannot be read: the dispatch then says so.
    pub fn can_deliver(&self, operation: &OperationId, kind: HookKind) -> bool {
        let mode = self.ports.mode;
        let own = self.any(operation, |entry| entry.kinds.contains(kind) && entry.consumer(mode).is_some());
        own || self.ports.environment.as_ref().is_some_and(|environment| {
            match EnvironmentHooks::read(environment.as_ref()) {
                Ok(hooks) => hooks.is_some_and(|hooks| hooks.events().contains(&kind)),
                Err(_) => true,
            }
        })
    }

    /// The hooks of the operation that survive its process, as they are stored: native ones do not.
    ///
    /// Nothing for an operation without hooks. [`Hooks::stored`] and [`Rounds::with_stored`] take them back.
    pub fn serialized(&self, operation: &OperationId) -> Option<Vec<Value>> {
        let registered = self.read();
        let entries = registered.get(operation)?;
        Some(entries.iter().filter_map(|entry| store(entry)).collect())
    }

    /// Looks up, once, the hooks that apply to a run. Drivers keep the handle for as long as it runs.
    ///
    /// If a stored hook is corrupt, every dispatch of the handle fails, and every ruling denies.
    pub fn handle(&self, rounds: &Rounds) -> HookHandle {
        let found = self.find(rounds);
        let (hooks, broken) = match found {
            Ok(hooks) => (hooks, None),
            Err(error) => (Vec::new(), Some(error.into())),
        };
        HookHandle::new(hooks, broken, rounds.running().clone(), Arc::clone(&self.ports))
    }

    fn find(&self, rounds: &Rounds) -> Result<Vec<Bound>, RegistrationError> {
        let mode = self.ports.mode;
        let mut hooks = Vec::new();
        for ancestor in rounds.ancestors() {
            let entries = self.entries(ancestor, rounds)?.into_iter();
            hooks.extend(entries.filter(|entry| entry.is_inherited(mode)).map(|entry| Bound::new(ancestor, entry)));
        }
        if let Some(asking) = rounds.asking() {
            let controls = self.entries(asking, rounds)?.into_iter().filter(|entry| entry.is_control());
            hooks.extend(controls.map(|entry| Bound { speaks_for: true, ..Bound::new(asking, entry) }));
        }
        let own = self.entries(rounds.running(), rounds)?.into_iter();
        hooks.extend(own.map(|entry| Bound::new(rounds.running(), entry)));
        hooks.retain(|bound| bound.entry.consumer(mode).is_some());
        count_twins(&mut hooks);
        Ok(hooks)
    }

    /// The hooks of one operation: those of this process or those that were stored, whichever count.
    fn entries(&self, operation: &OperationId, rounds: &Rounds) -> Result<Vec<Arc<Entry>>, RegistrationError> {
        let registered = self.read().get(operation).cloned();
        let live = registered.filter(|entries| !entries.is_empty());
        match (live, rounds.stored(operation), self.ports.mode) {
            (Some(live), None, DispatchMode::Local | DispatchMode::Queue) => Ok(live),
            (Some(live), Some(_), DispatchMode::Local) => Ok(live),
            (None, None, DispatchMode::Local | DispatchMode::Queue) => Ok(Vec::new()),
            (Some(_), Some(stored), DispatchMode::Queue)
            | (None, Some(stored), DispatchMode::Local | DispatchMode::Queue) => {
                Ok(Hooks::new().stored(stored.iter())?.into_entries().collect())
            }
        }
    }

    /// Looks the hooks up and lets observers hear an event: see [`HookHandle::dispatch`].
    pub async fn dispatch(&self, rounds: &Rounds, kind: HookKind, make_event: impl FnOnce() -> Event) -> Delivery {
        self.handle(rounds).dispatch(kind, make_event).await
    }

    /// Looks the hooks up and asks about a call: see [`HookHandle::dispatch_before_tool_call`].
    pub async fn dispatch_before_tool_call(
        &self,
        rounds: &Rounds,
        make_event: impl FnOnce() -> BeforeToolCallEvent,
    ) -> (Ruling<BeforeVerdict>, Delivery) {
        self.handle(rounds).dispatch_before_tool_call(make_event).await
    }

    /// Looks the hooks up and asks about a result: see [`HookHandle::evaluate_after_tool_call`].
    pub async fn evaluate_after_tool_call(
        &self,
        rounds: &Rounds,
        raw: &RawOutput,
        mocked: bool,
        make_context: impl FnOnce() -> ToolCallContext,
    ) -> (Ruling<AfterVerdict>, Delivery) {
        self.handle(rounds).evaluate_after_tool_call(raw, mocked, make_context).await
    }

    fn any(&self, operation: &OperationId, wanted: impl Fn(&Entry) -> bool) -> bool {
        self.read().get(operation).is_some_and(|entries| entries.iter().any(|entry| wanted(entry)))
    }

    /// A panic cannot leave the map half changed, so a poisoned lock is as good as another.
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<OperationId, Vec<Arc<Entry>>>> {
        self.registered.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<OperationId, Vec<Arc<Entry>>>> {
        self.registered.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells equal ids of one operation apart, by their order among what survives the process.
fn count_twins(hooks: &mut [Bound]) {
    let mut seen = BTreeMap::<(OperationId, HookId), usize>::new();
    for bound in hooks.iter_mut().filter(|bound| !bound.entry.is_lost_with_process()) {
        let count = seen.entry((bound.operation.clone(), bound.entry.id.clone())).or_default();
        bound.twin = *count;
        *count += 1;
    }
}
