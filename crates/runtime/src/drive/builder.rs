//! What a runtime is made of.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use jackline_hooks::{
    Carriers, DispatchMode, Environment, HookDispatcher, HookPorts, Hooks, NoDirectory, UserDirectory,
};
use jackline_tools::Tool;
use tokio::sync::Semaphore;

use super::clock::{Clock, HookTime, SystemClock};
use super::core::{Core, CounterFor, Ids, Probe, RandomIds};
use super::error::RunError;
use super::outbox::{Outbox, StoreRoom};
use super::runtime::Runtime;
use super::stream::Stream;
use crate::journal::{MemoryStore, Store};
use crate::llm::Model;
use crate::permission::Blacklist;
use crate::planner::{GeneralPlanner, Planner};
use crate::tokens::TokenCounter;

/// Builds a [`Runtime`].
#[must_use = "a builder does nothing until it builds"]
pub struct RuntimeBuilder {
    store: Option<Arc<dyn Store>>,
    model: Option<Arc<dyn Model>>,
    models: BTreeMap<String, Arc<dyn Model>>,
    tools: Vec<Arc<dyn Tool>>,
    tools_of: BTreeMap<String, Vec<Arc<dyn Tool>>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    planner: Arc<dyn Planner>,
    blacklist: Blacklist,
    counter: CounterFor,
    probe: Option<Arc<dyn Probe>>,
    carriers: Carriers,
    hook_mode: DispatchMode,
    hook_environment: Option<Arc<dyn Environment>>,
    directory: Arc<dyn UserDirectory>,
    hooks_of: BTreeMap<String, Hooks>,
    running_max: usize,
}

impl RuntimeBuilder {
    /// The model of all agents that have none of their own.
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(Arc::new(model));
        self
    }

    /// The model of one agent.
    pub fn model_of(mut self, agent: impl Into<String>, model: Arc<dyn Model>) -> Self {
        self.models.insert(agent.into(), model);
        self
    }

    /// The store; without one everything is in memory and gone with the runtime.
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// The tools of one agent, in place of those of all agents.
    pub fn tools_of(mut self, agent: impl Into<String>, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools_of.entry(agent.into()).or_default().extend(tools);
        self
    }

    /// Another clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Another source of ids.
    pub fn ids(mut self, ids: Arc<dyn Ids>) -> Self {
        self.ids = ids;
        self
    }

    /// Another planner.
    pub fn planner(mut self, planner: Arc<dyn Planner>) -> Self {
        self.planner = planner;
        self
    }

    /// Other rules for what must never run unasked.
    pub fn blacklist(mut self, blacklist: Blacklist) -> Self {
        self.blacklist = blacklist;
        self
    }

    /// How tokens are counted for a model, where bytes do not settle the question.
    pub fn token_counter(mut self, counter: impl Fn(&str) -> Arc<dyn TokenCounter> + Send + Sync + 'static) -> Self {
        self.counter = Arc::new(counter);
        self
    }

    /// What carries webhooks and command hooks. Without a carrier such a hook fails as if it were
    /// misconfigured, which for a control means what its `onError` says.
    pub fn carriers(mut self, carriers: Carriers) -> Self {
        self.carriers = carriers;
        self
    }

    /// Which carriers take part; [`DispatchMode::Local`] unless set.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use jackline_hooks::{DispatchMode, ProcessEnvironment};
    /// use jackline_runtime::drive::Runtime;
    /// use jackline_runtime::llm::ScriptedModel;
    ///
    /// // As the command line does: the mode and the hooks for all operations come from the environment.
    /// let runtime = Runtime::builder()
    ///     .model(ScriptedModel::new([]))
    ///     .hook_mode(DispatchMode::from_environment(&ProcessEnvironment))
    ///     .hook_environment(Arc::new(ProcessEnvironment))
    ///     .build()
    ///     .unwrap();
    /// assert!(!runtime.hooks().has_hooks(&"op_1".into()));
    /// ```
    pub fn hook_mode(mut self, mode: DispatchMode) -> Self {
        self.hook_mode = mode;
        self
    }

    /// Where hooks are declared that apply to every operation (`AGENT_HOOK_WEBHOOK_*`). They are read at every use
    /// and never stored. Without it there are none.
    pub fn hook_environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.hook_environment = Some(environment);
        self
    }

    /// Who knows the e-mail address of a user, for hooks that ask for it; nobody unless set.
    pub fn user_directory(mut self, directory: Arc<dyn UserDirectory>) -> Self {
        self.directory = directory;
        self
    }

    /// The hooks of one agent when another agent calls it. They come after those that it inherits.
    pub fn hooks_of(mut self, agent: impl Into<String>, hooks: impl Into<Hooks>) -> Self {
        self.hooks_of.insert(agent.into(), hooks.into());
        self
    }

    /// Watches transitions and effects.
    pub fn probe(mut self, probe: Arc<dyn Probe>) -> Self {
        self.probe = Some(probe);
        self
    }

    /// Operations that run at once; others wait for their turn. Parked ones do not count.
    pub fn running_max(mut self, operations: usize) -> Self {
        self.running_max = operations.max(1);
        self
    }

    /// Builds the runtime.
    ///
    /// # Errors
    ///
    /// [`RunError::Setup`] when there is no model, [`RunError::Hooks`] when a hook of a sub-agent is wrong.
    pub fn build(self) -> Result<Runtime, RunError> {
        self.hooks_of.values().try_for_each(Hooks::validate)?;
        let model = self.model.ok_or_else(|| RunError::Setup("a runtime needs a model".to_owned()))?;
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        let core = Arc::new_cyclic(|myself| Core {
            store: Arc::clone(&store),
            outbox: Outbox::new(self.carriers.webhook.clone()),
            dispatcher: HookDispatcher::with_ports(HookPorts {
                carriers: self.carriers,
                mode: self.hook_mode,
                environment: self.hook_environment,
                directory: self.directory,
                outbox: Arc::new(StoreRoom(store)),
                ..HookPorts::new(Arc::new(HookTime(Arc::clone(&self.clock))))
            }),
            hooks_of: self.hooks_of,
            clock: self.clock,
            stream: Stream::new(),
            ids: self.ids,
            tools: self.tools,
            tools_of: self.tools_of,
            model,
            models: self.models,
            planner: self.planner,
            blacklist: Arc::new(self.blacklist),
            counter: self.counter,
            probe: self.probe,
            slots: Arc::new(Semaphore::new(self.running_max)),
            live: Mutex::new(BTreeMap::new()),
            setups: Mutex::new(BTreeMap::new()),
            myself: myself.clone(),
        });
        Ok(Runtime { core })
    }
}

impl Default for RuntimeBuilder {
    fn default() -> Self {
        Self {
            store: None,
            model: None,
            models: BTreeMap::new(),
            tools: Vec::new(),
            tools_of: BTreeMap::new(),
            clock: Arc::new(SystemClock::new()),
            ids: Arc::new(RandomIds),
            planner: Arc::new(GeneralPlanner),
            blacklist: Blacklist::standard(),
            counter: default_counter(),
            probe: None,
            carriers: Carriers::default(),
            hook_mode: DispatchMode::default(),
            hook_environment: None,
            directory: Arc::new(NoDirectory),
            hooks_of: BTreeMap::new(),
            running_max: RUNNING_MAX,
        }
    }
}

impl fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeBuilder").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

#[cfg(feature = "tokens")]
fn default_counter() -> CounterFor {
    Arc::new(|model| Arc::new(crate::tokens::TiktokenCounter::for_model(model)))
}

#[cfg(not(feature = "tokens"))]
fn default_counter() -> CounterFor {
    Arc::new(|_| Arc::new(crate::tokens::ByteBound))
}

/// Operations that run at once: as many as keep two cores and one disk busy.
const RUNNING_MAX: usize = 256;
