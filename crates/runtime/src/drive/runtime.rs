//! The face of the crate: start, resume, decide, stop, wait.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};

use jackline_hooks::{
    Carriers, DispatchMode, Environment, HookDispatcher, HookPorts, Hooks, NoDirectory, UserDirectory,
};
use jackline_model::{
    Content, Lineage, Message, MessageBody, MessageId, OperationId, Origin, ToolCallId, ToolRunResult, UserId,
};
use jackline_tools::Tool;
use tokio::sync::Semaphore;

use super::agent::Agent;
use super::clock::{Clock, HookTime, SystemClock};
use super::conversation::message_id;
use super::core::{Core, CounterFor, Ids, Probe, Purpose, RandomIds, RunError};
use super::open::over_for_good;
use super::outbox::{Outbox, OutboxReport, StoreRoom};
use super::stopping::StopRequest;
use super::stream::{Events, Report, Stream};
use crate::journal::{Approval, Header, InboxItem, MemoryStore, NewOperation, PlacedMessage, PostedDecision, Store};
use crate::llm::Model;
use crate::permission::Blacklist;
use crate::planner::{GeneralPlanner, Planner};
use crate::tokens::TokenCounter;

/// Runs agents.
///
/// One runtime runs many operations, each in the hands of one task while it has something to do and
/// of none while it is parked. Everything that happened is in the store; a runtime that is dropped
/// loses nothing.
#[derive(Clone, Debug)]
pub struct Runtime {
    pub(super) core: Arc<Core>,
}

impl Runtime {
    /// Starts to build a runtime.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// Starts an operation: the agent gets `prompt` as the user's first message.
    ///
    /// # Errors
    ///
    /// [`RunError::Setup`] when the agent or its tools are wrong, [`RunError::Hooks`] when a hook
    /// cannot be registered, [`RunError::Store`] when the operation cannot be written down. Nothing
    /// was started then.
    pub fn start(&self, agent: &Agent, prompt: impl Into<Prompt>, hooks: impl Into<Hooks>) -> Result<Run, RunError> {
        let hooks: Hooks = hooks.into();
        self.core.check_hooks(&hooks)?;
        let prompt: Prompt = prompt.into();
        let (config, config_hash) = agent.frozen().map_err(|error| RunError::Setup(error.to_string()))?;
        self.core.setup(agent.clone(), &config_hash)?;
        let id = self.core.ids.operation();
        let mut origin = prompt.origin;
        origin.agent_id.get_or_insert_with(|| agent.name.as_str().into());
        origin.topic_id.get_or_insert_with(|| id.to_string());
        let user = prompt.user.or_else(|| origin.user_id.clone()).unwrap_or_else(|| UserId::from("local"));
        let required = hooks.control_ids().into_iter().chain(hooks.mock_ids());
        let new = NewOperation {
            id: id.clone(),
            agent: agent.name.as_str().into(),
            config,
            config_hash,
            lineage: Lineage::default(),
            parent_call: None,
            origin,
            user,
            required_hooks: required.map(|hook| hook.to_string()).collect(),
            caller_hooks: stored_texts(&hooks),
            messages: first_messages(agent, &prompt.text),
            created_at: self.core.clock.now_ms(),
        };
        let fence = self.core.store.create(new)?;
        let run = Run::new(Arc::clone(&self.core), id.clone());
        self.core.launch(&id, Vec::new(), Purpose::Begin(fence), Some(hooks))?;
        Ok(run)
    }

    /// Goes on with an operation: one that a dead process left, one that is parked, or one that
    /// ended in a way that can be gone on with. One that ended for good, but whose process died
    /// before all hooks had heard of it, tells them. Native handlers are given again; webhooks and
    /// commands are in the store, and one that is given again takes the place of the stored one with its id. In queue
    /// mode the stored ones are all there are.
    ///
    /// # Errors
    ///
    /// [`RunError::MissingHooks`] names controls and mocks that the operation was started with and
    /// that are not among `hooks`; [`Resume::without_hooks`] lets it go on without them.
    /// [`RunError::NotResumable`] when it has ended for good.
    pub fn resume(&self, id: &OperationId, hooks: impl Into<Hooks>) -> Result<Run, RunError> {
        self.resume_with(id, hooks, &Resume::default())
    }

    /// Like [`resume`](Self::resume), with options.
    ///
    /// # Errors
    ///
    /// As [`resume`](Self::resume).
    pub fn resume_with(&self, id: &OperationId, hooks: impl Into<Hooks>, options: &Resume) -> Result<Run, RunError> {
        let hooks: Hooks = hooks.into();
        self.core.check_hooks(&hooks)?;
        let header = self.core.store.header(id)?;
        if header.summary.reason.is_some()
            && let Some(reason) = over_for_good(&self.core, id)?
        {
            return Err(RunError::NotResumable { operation: id.clone(), reason });
        }
        let here: BTreeSet<String> =
            hooks.control_ids().into_iter().chain(hooks.mock_ids()).map(|hook| hook.to_string()).collect();
        let missing: Vec<String> = header
            .required_hooks
            .into_iter()
            .filter(|hook| !here.contains(hook) && !options.without_hooks.contains(hook))
            .collect();
        if !missing.is_empty() {
            return Err(RunError::MissingHooks(missing));
        }
        let hooks = self.core.with_stored(id, hooks)?;
        let run = Run::new(Arc::clone(&self.core), id.clone());
        self.core.launch(id, Vec::new(), Purpose::Resume, Some(hooks))?;
        Ok(run)
    }

    /// Decides about calls that wait for a person, from any process. The decision is written down;
    /// whoever runs the operation acts on it.
    ///
    /// # Errors
    ///
    /// [`RunError::Store`] with a refusal when a call does not wait, is decided already, or the
    /// request has expired. Nothing is written then.
    pub fn decide(&self, id: &OperationId, decisions: Vec<PostedDecision>) -> Result<(), RunError> {
        self.post(id, InboxItem::Decided(decisions))
    }

    /// Gives the result of a call that answers later, once.
    ///
    /// # Errors
    ///
    /// [`RunError::Store`] with a refusal when the call does not wait for a result or has one.
    pub fn complete_call(&self, id: &OperationId, call: &ToolCallId, result: &ToolRunResult) -> Result<(), RunError> {
        let result = serde_json::to_string(result).map_err(|error| RunError::Journal(error.to_string()))?;
        self.post(id, InboxItem::Answer { call: call.clone(), result })
    }

    /// Stops an operation and everything below it. What has happened stays; the run can be resumed.
    ///
    /// As [`stop_as`](Self::stop_as) with a request that has no name.
    ///
    /// # Errors
    ///
    /// [`RunError::Store`] with a refusal when it has ended otherwise.
    pub fn stop(&self, id: &OperationId) -> Result<(), RunError> {
        self.stop_as(id, &StopRequest::default()).map(drop)
    }

    /// What all operations of this runtime tell while they run.
    pub fn events(&self) -> Events {
        self.core.stream.subscribe()
    }

    /// The dispatcher that fires the hooks.
    pub fn hooks(&self) -> &HookDispatcher {
        &self.core.dispatcher
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.core.store
    }

    /// Tries every webhook delivery of the store that is due, whoever left it there, until none is.
    ///
    /// While a run goes on its own deliveries are tried without this. Call it where a process begins or ends, or with
    /// the help of a timer, to deliver what others have left.
    ///
    /// # Errors
    ///
    /// [`RunError::Store`] when the store cannot be read or written. Failed tries are no errors: they are counted, and
    /// tried again later.
    ///
    /// ```
    /// # use jackline_runtime::{drive::Runtime, llm::ScriptedModel};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let runtime = Runtime::builder().model(ScriptedModel::new([])).build().unwrap();
    /// assert_eq!(runtime.deliver_outbox().await.unwrap().delivered, 0);
    /// # });
    /// ```
    pub async fn deliver_outbox(&self) -> Result<OutboxReport, RunError> {
        Ok(self.core.deliver_due().await?)
    }

    /// The open requests for decisions of an operation and of the agents below it, with the header
    /// of the operation that asks.
    ///
    /// # Errors
    ///
    /// [`RunError::Store`] when the store cannot be read.
    pub fn approvals(&self, root: &OperationId) -> Result<Vec<(Header, Approval)>, RunError> {
        let mut found = Vec::new();
        let mut tree = BTreeSet::from([root.clone()]);
        let mut headers = self.core.store.list(OPERATIONS_LISTED_MAX)?;
        headers.reverse();
        for header in headers {
            let parent = header.lineage.parent_operation_id.as_ref();
            if header.id != *root && !parent.is_some_and(|parent| tree.contains(parent)) {
                continue;
            }
            tree.insert(header.id.clone());
            if let Some(approval) = self.core.store.approval(&header.id)? {
                found.push((header, approval));
            }
        }
        Ok(found)
    }

    /// Looks into all inboxes: after another process may have written to the store.
    ///
    /// # Errors
    ///
    /// As for starting an operation.
    pub fn look(&self) -> Result<(), RunError> {
        self.core.wake_all()
    }

    pub(super) fn post(&self, id: &OperationId, item: InboxItem) -> Result<(), RunError> {
        self.core.store.post(id, item, self.core.clock.now_ms())?;
        self.core.wake(id)
    }
}

/// How to resume.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// Hooks that the operation may go on without.
    pub without_hooks: BTreeSet<String>,
}

/// What a person asks, and where the question comes from.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Whom the run executes as; otherwise the origin's user, or `local`.
    pub user: Option<UserId>,
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// A run that this process looks after.
///
/// Dropping the handle does not stop the run; it only gives up the right to wait for it.
#[derive(Debug)]
pub struct Run {
    core: Arc<Core>,
    id: OperationId,
}

impl Clone for Run {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.core), self.id.clone())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.core.drop_handle(&self.id);
    }
}

impl Run {
    pub(super) fn new(core: Arc<Core>, id: OperationId) -> Self {
        core.hold_handle(&id);
        Self { core, id }
    }

    /// The operation.
    pub fn id(&self) -> &OperationId {
        &self.id
    }

    /// What the runtime tells from now on, about this and all its other operations.
    pub fn events(&self) -> Events {
        self.core.stream.subscribe()
    }

    /// Waits until the run has ended, or waits for somebody outside this process.
    ///
    /// # Errors
    ///
    /// [`RunError`] when there is no trustworthy end, or when a hook that must hear of a stop or a decision was not told,
    /// of this run or of one below it. A run that failed is `Ok` with reason `error`.
    pub async fn wait(&self) -> Result<Report, RunError> {
        let rested = self.core.rested(&self.id);
        loop {
            // Listens before it looks, so that nothing falls between the two.
            let mut next = std::pin::pin!(rested.notified());
            next.as_mut().enable();
            if self.core.is_quiet(&self.id)
                && let Some(report) = self.core.report(&self.id)
            {
                return report.and_then(|report| self.core.untold_below(&self.id).map_or(Ok(report), Err));
            }
            next.await;
        }
    }

    /// Stops the run and everything below it.
    ///
    /// # Errors
    ///
    /// [`RunError::Store`] with a refusal when it has ended.
    pub fn interrupt(&self) -> Result<(), RunError> {
        self.core.store.post(&self.id, InboxItem::Stop(None), self.core.clock.now_ms())?;
        self.core.wake(&self.id)
    }
}

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

/// The stored form of hooks, as texts.
pub(crate) fn stored_texts(hooks: &Hooks) -> Vec<String> {
    hooks.to_stored().iter().map(ToString::to_string).collect()
}

/// The messages that a new operation begins with.
pub(crate) fn first_messages(agent: &Agent, prompt: &str) -> Vec<PlacedMessage> {
    let system = MessageBody::System { content: Content::from(agent.instructions.as_str()) };
    let user = MessageBody::User { content: Content::from(prompt) };
    let bodies = if agent.instructions.is_empty() { vec![user] } else { vec![system, user] };
    let placed =
        |(place, body): (u32, MessageBody)| PlacedMessage { place, message: Message { id: message_id(place), body } };
    (0..).zip(bodies).map(placed).collect()
}

/// The id of the user's message among the first messages.
pub(crate) fn prompt_id(agent: &Agent) -> MessageId {
    message_id(u32::from(!agent.instructions.is_empty()))
}

/// Operations that run at once: as many as keep two cores and one disk busy.
const RUNNING_MAX: usize = 256;

/// Operations looked at for open requests.
const OPERATIONS_LISTED_MAX: usize = 10_000;
