//! The face of the crate: start, resume, decide, stop, wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackline_hooks::{HookDispatcher, Hooks};
use jackline_model::{
    Content, Lineage, Message, MessageBody, MessageId, OperationId, Origin, ToolCallId, ToolRunResult, UserId,
};

use super::agent::Agent;
use super::builder::RuntimeBuilder;
use super::conversation::message_id;
use super::core::{Core, Purpose};
use super::error::RunError;
use super::open::over_for_good;
use super::outbox::OutboxReport;
use super::stopping::StopRequest;
use super::stream::{Events, Report};
use crate::journal::{Approval, Header, InboxItem, NewOperation, PlacedMessage, PostedDecision, Store};

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

/// Operations looked at for open requests.
const OPERATIONS_LISTED_MAX: usize = 10_000;
