//! Who has registered what.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jackline_model::{HookId, OperationId, RawOutput};
use serde_json::Value;

use super::handle::Bound;
use super::{Delivery, HookClock, HookHandle, Rounds};
use crate::register::entry::{Carrier, Entry};
use crate::{
    AfterVerdict, BeforeToolCallEvent, BeforeVerdict, Event, HookKind, Hooks, RegistrationError, Ruling,
    ToolCallContext,
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
    clock: Arc<dyn HookClock>,
}

impl HookDispatcher {
    /// A dispatcher without hooks.
    pub fn new(clock: Arc<dyn HookClock>) -> Self {
        Self { registered: RwLock::default(), clock }
    }

    /// Adds hooks behind those that the operation has. An empty list changes nothing.
    ///
    /// # Errors
    ///
    /// [`RegistrationError`] names the first hook that cannot be registered. Nothing was: correct
    /// that hook and register the list again.
    pub fn register(&self, operation: &OperationId, hooks: impl Into<Hooks>) -> Result<(), RegistrationError> {
        let hooks = hooks.into();
        hooks.validate()?;
        let entries: Vec<_> = hooks.into_entries().collect();
        if !entries.is_empty() {
            self.write().entry(operation.clone()).or_default().extend(entries);
        }
        Ok(())
    }

    /// Removes all hooks of an operation. Handles that were taken before keep theirs.
    pub fn unregister(&self, operation: &OperationId) {
        self.write().remove(operation);
    }

    /// Whether the operation has hooks of its own. Inherited ones do not count.
    pub fn has_hooks(&self, operation: &OperationId) -> bool {
        self.read().contains_key(operation)
    }

    /// Whether the operation has a hook of its own with this id.
    pub fn has_hook(&self, operation: &OperationId, hook: &HookId) -> bool {
        self.any(operation, |entry| entry.id == *hook)
    }

    /// Whether the operation has a hook of its own for this type.
    pub fn can_deliver(&self, operation: &OperationId, kind: HookKind) -> bool {
        self.any(operation, |entry| entry.kinds.contains(kind))
    }

    /// The hooks of the operation that survive its process, as they are stored: native ones do not.
    ///
    /// Nothing for an operation without hooks.
    pub fn serialized(&self, operation: &OperationId) -> Option<Vec<Value>> {
        let registered = self.read();
        let entries = registered.get(operation)?;
        Some(entries.iter().filter_map(|entry| stored(entry)).collect())
    }

    /// Looks up, once, the hooks that apply to a run. Drivers keep the handle for as long as it runs.
    pub fn handle(&self, rounds: &Rounds) -> HookHandle {
        let registered = self.read();
        let of = |operation: &OperationId| registered.get(operation).into_iter().flatten();
        let bind = |operation: &OperationId, entry: &Arc<Entry>| Bound {
            operation: operation.clone(),
            entry: Arc::clone(entry),
        };
        let mut hooks = Vec::new();
        for ancestor in rounds.ancestors() {
            hooks.extend(of(ancestor).filter(|entry| entry.inherit).map(|entry| bind(ancestor, entry)));
        }
        hooks.extend(of(rounds.running()).map(|entry| bind(rounds.running(), entry)));
        HookHandle::new(hooks, rounds.running().clone(), Arc::clone(&self.clock))
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

fn stored(entry: &Entry) -> Option<Value> {
    match &entry.carrier {
        Carrier::Native(_) => None,
    }
}
