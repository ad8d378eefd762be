//! What all operations of one runtime share, and the scheduler that runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::FutureExt;
use jackline_hooks::{DispatchMode, HookDispatcher, Hooks, Rounds};
use jackline_model::{ConfigHash, OperationId};
use jackline_tools::Tool;
use serde_json::Value;
use tokio::sync::{Notify, Semaphore};

use super::agent::Agent;
use super::clock::{Clock, Hold};
use super::error::RunError;
use super::operation::Operation;
use super::outbox::Outbox;
use super::setup::{Parts, Setup};
use super::spawn::{Held, spawn_held};
use super::stream::{Report, Stream};
use crate::journal::{Fence, InboxItem, Store, StoreError};
use crate::llm::Model;
use crate::machine::{Effect, EffectId, Machine, table::RowId};
use crate::permission::Blacklist;
use crate::planner::Planner;
use crate::tokens::TokenCounter;

/// Watches a runtime from inside: which transitions are taken, which effects are about to be
/// performed. For coverage and for tests that end a process between two effects.
pub trait Probe: Send + Sync {
    /// A transition was taken.
    fn transition(&self, row: RowId, machine: &Machine);

    /// An effect is about to be performed; the journal is as durable as it needs.
    fn effect(&self, operation: &OperationId, id: EffectId, effect: &Effect);
}

/// Makes ids.
pub trait Ids: Send + Sync {
    /// A new id for an operation.
    fn operation(&self) -> OperationId;

    /// A number from 0 to 999, by chance: for back-off.
    fn permille(&self) -> u16;
}

/// Ids that sort by time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn operation(&self) -> OperationId {
        OperationId::from(format!("op_{}", uuid::Uuid::now_v7().simple()))
    }

    fn permille(&self) -> u16 {
        let bytes = uuid::Uuid::now_v7().into_bytes();
        u16::from_be_bytes([bytes[14], bytes[15]]) % 1_000
    }
}

/// How tokens are counted for a model of this name.
pub(crate) type CounterFor = Arc<dyn Fn(&str) -> Arc<dyn TokenCounter> + Send + Sync>;

/// What all operations share.
pub(crate) struct Core {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) dispatcher: HookDispatcher,
    pub(crate) hooks_of: BTreeMap<String, Hooks>,
    pub(crate) outbox: Outbox,
    pub(crate) stream: Stream,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) tools_of: BTreeMap<String, Vec<Arc<dyn Tool>>>,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) models: BTreeMap<String, Arc<dyn Model>>,
    pub(crate) planner: Arc<dyn Planner>,
    pub(crate) blacklist: Arc<Blacklist>,
    pub(crate) counter: CounterFor,
    pub(crate) probe: Option<Arc<dyn Probe>>,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) live: Mutex<BTreeMap<OperationId, Live>>,
    pub(crate) setups: Mutex<BTreeMap<ConfigHash, Arc<Setup>>>,
    pub(crate) myself: Weak<Core>,
}

/// Why an operation is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To begin, owned since it was created.
    Begin(Fence),
    /// To go on with what it is doing.
    Continue,
    /// To open a new episode, if it has ended in a way that allows that.
    Resume,
    /// To tell its stop once more, if a hook that must hear of it was not reached.
    Retell,
}

/// An operation that this process knows.
#[derive(Default)]
pub(crate) struct Live {
    mailbox: Arc<Mailbox>,
    ancestors: Vec<OperationId>,
    task: Option<Held<()>>,
    alarm: Option<Held<()>>,
    /// Handles that somebody holds; an operation that has ended is forgotten with the last of them.
    handles: usize,
    report: Option<Result<Report, RunError>>,
    /// Rings when its driver, or one below it, has come to rest.
    rested: Arc<Notify>,
}

/// Tells a driver that its inbox has changed.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    notify: Notify,
    is_unread: AtomicBool,
    hold: Mutex<Option<Hold>>,
}

impl Mailbox {
    /// A virtual clock stands still until the driver has noticed.
    fn ring(&self, clock: &dyn Clock) {
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = Some(clock.hold());
        self.is_unread.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    pub(crate) async fn changed(&self) {
        self.notify.notified().await;
        self.is_unread.store(false, Ordering::Release);
        self.quiet();
    }

    /// Whether it has rung since the last look.
    pub(crate) fn take_unread(&self) -> bool {
        let is_unread = self.is_unread.swap(false, Ordering::AcqRel);
        if is_unread {
            self.quiet();
        }
        is_unread
    }

    fn quiet(&self) {
        let hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(hold);
    }
}

impl Live {
    /// Whether it has ended; only `resume` opens it again.
    fn has_ended(&self) -> bool {
        self.task.is_none() && self.report.as_ref().is_some_and(is_end)
    }

    /// Whether nothing more will come of it in this process.
    fn is_over(&self) -> bool {
        self.has_ended() || (self.task.is_none() && self.report.is_none())
    }

    /// The operations above, from the root.
    pub(crate) fn ancestors(&self) -> &[OperationId] {
        &self.ancestors
    }
}

impl Core {
    pub(crate) fn live(&self) -> MutexGuard<'_, BTreeMap<OperationId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn jitter_permille(&self) -> u16 {
        self.ids.permille()
    }

    pub(crate) fn note_row(&self, row: RowId, machine: &Machine) {
        if let Some(probe) = &self.probe {
            probe.transition(row, machine);
        }
    }

    pub(crate) fn before_effect(&self, operation: &OperationId, id: EffectId, effect: &Effect) {
        if let Some(probe) = &self.probe {
            probe.effect(operation, id, effect);
        }
    }

    /// The agent, made ready; once for all its operations.
    pub(crate) fn setup(&self, agent: Agent, hash: &ConfigHash) -> Result<Arc<Setup>, RunError> {
        let mut setups = self.setups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(setup) = setups.get(hash) {
            return Ok(Arc::clone(setup));
        }
        let parts = Parts {
            tools: self.tools_of.get(&agent.name).unwrap_or(&self.tools),
            model: Arc::clone(self.models.get(&agent.name).unwrap_or(&self.model)),
            planner: Arc::clone(&self.planner),
            blacklist: Arc::clone(&self.blacklist),
            counter: (self.counter)(&agent.model),
        };
        let setup = Setup::new(Arc::new(agent), parts).map_err(|error| RunError::Setup(error.to_string()))?;
        let setup = Arc::new(setup);
        if setups.len() >= SETUPS_KEPT_MAX {
            setups.clear();
        }
        setups.insert(hash.clone(), Arc::clone(&setup));
        Ok(setup)
    }

    /// Whether these hooks can be fired here.
    pub(crate) fn check_hooks(&self, hooks: &Hooks) -> Result<(), RunError> {
        self.dispatcher.validate(hooks)?;
        self.check_reach(hooks)
    }

    /// Whether their controls can be asked. One that nobody can ask would let everything pass.
    fn check_reach(&self, hooks: &Hooks) -> Result<(), RunError> {
        match self.dispatcher.out_of_reach(hooks) {
            Some(hook) => Err(RunError::Setup(format!(
                "control `{hook}` is outside this process, and nothing here can ask it; give the runtime carriers"
            ))),
            None => Ok(()),
        }
    }

    /// These hooks, behind the stored ones that they do not replace; in queue mode the stored ones alone, because any
    /// process may go on and none is to have a policy of its own. A store that cannot be read is an error: what was
    /// to guard the operation is then not known.
    pub(crate) fn with_stored(&self, id: &OperationId, hooks: Hooks) -> Result<Hooks, RunError> {
        let hooks = match self.dispatcher.mode() {
            DispatchMode::Local => hooks,
            DispatchMode::Queue => Hooks::default(),
        };
        let given: BTreeSet<String> = hooks.ids().iter().map(ToString::to_string).collect();
        let mut stored: Vec<Value> = Vec::new();
        for text in self.store.caller_hooks(id)? {
            let hook: Value = serde_json::from_str(&text).map_err(|error| RunError::Journal(error.to_string()))?;
            if !hook["id"].as_str().is_some_and(|id| given.contains(id)) {
                stored.push(hook);
            }
        }
        let hooks: Hooks = Hooks::new().stored(&stored)?.and(hooks);
        self.check_reach(&hooks)?;
        Ok(hooks)
    }

    /// Registers the hooks of an operation that this process has not begun: a sub-agent, or one below a resumed run.
    pub(crate) fn bring_back_hooks(&self, id: &OperationId) -> Result<(), RunError> {
        if self.dispatcher.has_hooks(id) {
            return Ok(());
        }
        let header = self.store.header(id)?;
        let own = self.hooks_of.get(&*header.agent).filter(|_| header.lineage.is_sub_agent).cloned();
        let hooks = self.with_stored(id, own.unwrap_or_default())?;
        self.dispatcher.register(id, hooks)?;
        Ok(())
    }

    /// Runs an operation, unless it is running; its hooks stay registered until it has ended.
    pub(crate) fn launch(
        &self,
        id: &OperationId,
        ancestors: Vec<OperationId>,
        purpose: Purpose,
        hooks: Option<Hooks>,
    ) -> Result<(), RunError> {
        if let Some(hooks) = hooks {
            self.dispatcher.unregister(id);
            self.dispatcher.register(id, hooks)?;
        }
        let mut live = self.live();
        let entry = live.entry(id.clone()).or_default();
        if !ancestors.is_empty() {
            entry.ancestors = ancestors;
        }
        if entry.task.is_some() {
            entry.mailbox.ring(self.clock.as_ref());
            return Ok(());
        }
        // What came of it is not forgotten for a wake-up that was late.
        if purpose == Purpose::Continue && entry.has_ended() {
            return Ok(());
        }
        entry.report = None;
        let Some(core) = self.myself.upgrade() else { return Ok(()) };
        let (mailbox, ancestors) = (Arc::clone(&entry.mailbox), entry.ancestors.clone());
        entry.task = Some(spawn_held(&self.clock, false, core.run_one(id.clone(), ancestors, purpose, mailbox)));
        Ok(())
    }

    /// Tells the driver of an operation that its inbox has changed; starts one if none runs and the
    /// operation is this process's.
    pub(crate) fn wake(&self, id: &OperationId) -> Result<(), RunError> {
        let known = self.live().get(id).filter(|live| !live.has_ended()).map(|live| live.ancestors.clone());
        match known {
            Some(ancestors) => self.launch(id, ancestors, Purpose::Continue, None),
            None => Ok(()),
        }
    }

    /// Tells all drivers of this process to look into their inboxes.
    pub(crate) fn wake_all(&self) -> Result<(), RunError> {
        let ids: Vec<OperationId> = self.live().keys().cloned().collect();
        ids.iter().try_for_each(|id| self.wake(id))
    }

    /// Stops the sub-agents below an operation.
    pub(crate) fn stop_children(&self, parent: &OperationId) -> Result<(), RunError> {
        let children: Vec<OperationId> = {
            let live = self.live();
            let below = live.iter().filter(|(_, live)| live.ancestors.last() == Some(parent));
            below.map(|(id, _)| id.clone()).collect()
        };
        children.iter().try_for_each(|child| self.stop_child(child, Vec::new()))
    }

    /// Stops one sub-agent. With its `ancestors` it is launched if it does not run: only running can
    /// it end.
    pub(crate) fn stop_child(&self, child: &OperationId, ancestors: Vec<OperationId>) -> Result<(), RunError> {
        match self.store.post(child, InboxItem::Stop(None), self.clock.now_ms()) {
            Ok(_) if ancestors.is_empty() => self.wake(child),
            Ok(_) => self.launch(child, ancestors, Purpose::Continue, None),
            // It has ended already.
            Err(StoreError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Somebody holds a handle from now on.
    pub(crate) fn hold_handle(&self, id: &OperationId) {
        self.live().entry(id.clone()).or_default().handles += 1;
    }

    /// Somebody holds one handle less.
    pub(crate) fn drop_handle(&self, id: &OperationId) {
        if let Some(live) = self.live().get_mut(id) {
            live.handles = live.handles.saturating_sub(1);
        }
        self.forget_ended(id);
    }

    /// Forgets an operation that has ended and nobody asks about, with everything below it.
    fn forget_ended(&self, id: &OperationId) {
        let mut live = self.live();
        if live.get(id).is_some_and(|live| live.is_over() && live.handles == 0) {
            live.retain(|other, entry| other != id && !(entry.has_ended() && entry.ancestors.contains(id)));
        }
    }

    /// Whether nothing of the tree below this operation is running.
    pub(crate) fn is_quiet(&self, root: &OperationId) -> bool {
        let live = self.live();
        let is_running = |live: &Live| live.task.is_some();
        let below = |other: &&Live| other.ancestors.contains(root);
        !live.get(root).is_some_and(is_running) && !live.values().filter(below).any(is_running)
    }

    /// Rings when an operation, or one below it, has come to rest.
    pub(crate) fn rested(&self, id: &OperationId) -> Arc<Notify> {
        Arc::clone(&self.live().entry(id.clone()).or_default().rested)
    }

    pub(crate) fn report(&self, id: &OperationId) -> Option<Result<Report, RunError>> {
        self.live().get(id)?.report.clone()
    }

    /// What a hook that must hear was not told about an operation below this one.
    pub(crate) fn untold_below(&self, root: &OperationId) -> Option<RunError> {
        let live = self.live();
        let below = live.values().filter(|live| live.ancestors.contains(root));
        below.filter_map(|live| live.report.as_ref()?.as_ref().err()).find(|error| error.may_be_made_good()).cloned()
    }

    async fn run_one(
        self: Arc<Self>,
        id: OperationId,
        ancestors: Vec<OperationId>,
        purpose: Purpose,
        mailbox: Arc<Mailbox>,
    ) {
        let permit = self.slots.acquire().await;
        let parent = ancestors.last().cloned();
        let rounds = Rounds::under(ancestors.iter().cloned(), id.clone());
        let drive = async {
            let operation = Operation::open(&self, &id, &rounds, purpose, Arc::clone(&mailbox))?;
            operation.drive().await
        };
        let outcome = AssertUnwindSafe(drive).catch_unwind().await.unwrap_or(Err(RunError::Panicked));
        drop(permit);
        let (outcome, wake_at) = match outcome {
            Ok(rest) => {
                let wake_at = rest.wake_at;
                (rest.outcome(), wake_at)
            }
            Err(error) => (Err(error), None),
        };
        let ended = is_end(&outcome);
        if ended {
            self.forget_hooks(&id, &outcome);
        }
        if let Some(live) = self.live().get_mut(&id) {
            live.task = None;
            live.report = Some(outcome);
            live.alarm = wake_at.map(|at| self.alarm(id.clone(), at));
        }
        self.unregister_ended(ancestors.iter().chain([&id]));
        mailbox.quiet();
        // Whoever rang while we were leaving found a task that no longer listened.
        if mailbox.take_unread() && !ended {
            let _ = self.wake(&id);
        }
        if ended && let Some(parent) = &parent {
            // Its inbox holds our end since the commit that ended us.
            let _ = self.wake(parent);
        }
        if parent.is_none() {
            self.forget_ended(&id);
        }
        self.tell_rested(ancestors.iter().chain([&id]));
    }

    /// Lets go of the hooks of operations that have ended; not before those below have ended as well, which may have
    /// inherited them.
    fn unregister_ended<'a>(&self, operations: impl Iterator<Item = &'a OperationId>) {
        let live = self.live();
        for id in operations {
            let is_over = live.get(id).is_none_or(Live::has_ended);
            let is_needed = live.values().any(|other| other.task.is_some() && other.ancestors.contains(id));
            if is_over && !is_needed {
                self.dispatcher.unregister(id);
            }
        }
    }

    /// The stored hooks of an operation that has ended stay where a new episode may need them.
    fn forget_hooks(&self, id: &OperationId, outcome: &Result<Report, RunError>) {
        let has_stored = self.dispatcher.serialized(id).is_some_and(|stored| !stored.is_empty());
        let may_go_on = match outcome {
            Ok(report) => report.resumable,
            Err(RunError::CriticalHook { report, .. }) => report.resumable,
            Err(_) => true,
        };
        if has_stored
            && !may_go_on
            && let Err(error) = self.store.forget_hooks(id)
        {
            tracing::warn!(operation = %id, %error, "the stored hooks of an ended operation stay");
        }
    }

    /// Wakes a parked operation when its deadline comes.
    fn alarm(self: &Arc<Self>, id: OperationId, at: u64) -> Held<()> {
        let core = Arc::downgrade(self);
        let sleep = self.clock.sleep_until(at);
        spawn_held(&self.clock, false, async move {
            sleep.await;
            if let Some(core) = core.upgrade() {
                // A failure to start shows in the next `wait`.
                let _ = core.wake(&id);
            }
        })
    }

    /// Tells whoever waits for one of these operations that a driver has come to rest.
    fn tell_rested<'a>(&self, operations: impl Iterator<Item = &'a OperationId>) {
        let live = self.live();
        operations.filter_map(|id| live.get(id)).for_each(|live| live.rested.notify_waiters());
    }
}

/// Whether this is how a run has ended for now, rather than where it waits or why it could not go on.
fn is_end(outcome: &Result<Report, RunError>) -> bool {
    match outcome {
        Ok(report) => report.status.is_terminal(),
        Err(RunError::CriticalHook { report, .. } | RunError::StopNotTold { report, .. }) => {
            report.status.is_terminal()
        }
        Err(_) => false,
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// Agents kept ready: more differ only in what their hosts made up for one run each.
const SETUPS_KEPT_MAX: usize = 256;
