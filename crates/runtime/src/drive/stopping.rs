//! Stopping a run by a request that can be made again.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackline_model::{MessageBody, OperationId, StopRequestId, ToolCallId};

use super::core::{Core, Purpose};
use super::error::RunError;
use super::open::{agent_of, calls_of, replay};
use super::runtime::{Run, Runtime};
use crate::journal::{ApprovalQuestion, InboxItem, Loaded, Store, StoreError};
use crate::machine::{Machine, Ordinal, StateKind, StopNotice, StopTold};

/// A request to stop a run. Made again, it is the same request if its name is the same and its calls are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopRequest {
    /// Its name: no request of another name can repeat what it has left undone. Up to 256 bytes.
    pub id: Option<StopRequestId>,
    /// The run is stopped only if exactly these calls wait for a decision.
    pub calls: Option<Vec<ToolCallId>>,
}

/// What came of a request to stop a run.
#[derive(Debug)]
pub enum Stopping {
    /// It is written down; whoever runs the operation ends it.
    Requested,
    /// The same request has stopped the run before, and not everybody has heard of it who must. Now they are told, and
    /// nothing else happens; [`Run::wait`] says whether they have been.
    Retelling(Run),
    /// The same request has stopped the run before, and everybody has heard.
    Heard,
}

impl Runtime {
    /// Stops an operation and everything below it, by a request that can be made again. What has happened stays; the
    /// run can be resumed.
    ///
    /// A run that waits for a person tells its hooks of `onStopByHumanIntervention` that it was stopped. If one of them
    /// must hear of it and was not reached, [`Run::wait`] gives [`RunError::StopNotTold`]. The run is stopped all the
    /// same. The same request, made again in any process, repeats that notification under its delivery ids and nothing
    /// else; webhooks and commands of that event that have heard hear it once more. When everybody has heard it does
    /// nothing. Resuming the run ends this.
    ///
    /// # Errors
    ///
    /// [`RunError::Store`] with a refusal, and nothing was done: the operation has ended otherwise, another request has
    /// stopped it, or the calls are not those that wait. Other errors: the operation cannot be read.
    ///
    /// ```
    /// # use jackline_runtime::drive::{Agent, Runtime, StopRequest, Stopping};
    /// # use jackline_runtime::llm::{ScriptedModel, Turn};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let runtime = Runtime::builder().model(ScriptedModel::new([Turn::text("done")])).build().unwrap();
    /// # let run = runtime.start(&Agent::new("clerk", ""), "go", jackline_hooks::Hooks::new()).unwrap();
    /// let request = StopRequest { id: Some("ticket-7".into()), ..StopRequest::default() };
    /// assert!(matches!(runtime.stop_as(run.id(), &request), Ok(Stopping::Requested)));
    /// run.wait().await.unwrap();
    /// // It had not waited for a person, so there is nothing to repeat.
    /// assert!(runtime.stop_as(run.id(), &request).is_err());
    /// # });
    /// ```
    pub fn stop_as(&self, id: &OperationId, request: &StopRequest) -> Result<Stopping, RunError> {
        if request.id.as_ref().is_some_and(|name| name.as_str().is_empty() || name.as_str().len() > NAME_BYTES_MAX) {
            return refuse(format!("the name of a stop request has 1 to {NAME_BYTES_MAX} bytes"));
        }
        let status = self.core.store.header(id)?.summary.status;
        if !status.is_terminal() {
            if let Some(calls) = &request.calls {
                check_batch(calls, &self.waiting_calls(id)?)?;
            }
            self.post(id, InboxItem::Stop(request.id.clone()))?;
            return Ok(Stopping::Requested);
        }
        let loaded = self.core.store.load(id)?;
        let (machine, _) = replay(&agent_of(&loaded)?, &loaded)?;
        let Some(notice) = &machine.shared().stop_notice else {
            return refuse(format!("the operation has ended ({status})"));
        };
        check_same(request, notice, &loaded)?;
        match purpose(&machine, notice.told) {
            None => Ok(Stopping::Heard),
            Some(purpose) => {
                let run = Run::new(Arc::clone(&self.core), id.clone());
                self.core.launch(id, self.core.ancestors_of(id)?, purpose, None)?;
                Ok(Stopping::Retelling(run))
            }
        }
    }

    /// The calls of the open request for a decision.
    fn waiting_calls(&self, id: &OperationId) -> Result<Vec<ToolCallId>, RunError> {
        Ok(match self.core.store.approval(id)?.map(|approval| approval.question) {
            Some(ApprovalQuestion::Calls(pending)) => pending.into_iter().map(|pending| pending.call).collect(),
            Some(ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. }) | None => Vec::new(),
        })
    }
}

impl Core {
    /// The operations above one, from the root, with their hooks: some apply below them.
    fn ancestors_of(&self, id: &OperationId) -> Result<Vec<OperationId>, RunError> {
        let mut ancestors = Vec::new();
        let mut lineage = self.store.header(id)?.lineage;
        while let Some(parent) = lineage.parent_operation_id {
            if ancestors.contains(&parent) {
                return Err(RunError::Journal(format!("operation `{parent}` stands above itself")));
            }
            self.bring_back_hooks(&parent)?;
            lineage = self.store.header(&parent)?.lineage;
            ancestors.insert(0, parent);
        }
        Ok(ancestors)
    }
}

/// A stop that not everybody has heard of who must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntoldStop {
    /// The request that can tell it again.
    pub request: Option<StopRequestId>,
    /// The calls that waited.
    pub calls: Vec<ToolCallId>,
}

/// Whether an operation was stopped and a hook that must hear of it has not. It reads only.
///
/// # Errors
///
/// [`RunError::Store`] and [`RunError::Journal`] when the operation cannot be read.
///
/// ```
/// use jackline_runtime::drive::{Runtime, untold_stop};
/// # use jackline_runtime::drive::Agent;
/// # use jackline_runtime::llm::{ScriptedModel, Turn};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let runtime = Runtime::builder().model(ScriptedModel::new([Turn::text("done")])).build().unwrap();
/// let run = runtime.start(&Agent::new("clerk", ""), "go", jackline_hooks::Hooks::new()).unwrap();
/// run.wait().await.unwrap();
/// assert_eq!(untold_stop(runtime.store().as_ref(), run.id()).unwrap(), None);
/// assert!(untold_stop(runtime.store().as_ref(), &"op_none".into()).is_err());
/// # });
/// ```
pub fn untold_stop(store: &dyn Store, id: &OperationId) -> Result<Option<UntoldStop>, RunError> {
    let loaded = store.load(id)?;
    let (machine, _) = replay(&agent_of(&loaded)?, &loaded)?;
    let is_terminal = machine.state().status().is_terminal();
    let notice = machine.shared().stop_notice.as_ref();
    Ok(notice
        .filter(|notice| is_terminal && notice.told != StopTold::Heard)
        .map(|notice| UntoldStop { request: notice.request.clone(), calls: stopped_calls(&notice.calls, &loaded) }))
}

/// Why the operation is opened once more; `None` if nobody waits for anything.
fn purpose(machine: &Machine, told: StopTold) -> Option<Purpose> {
    match (machine.state().kind(), told) {
        (StateKind::Finished, StopTold::Owed(_)) => Some(Purpose::Retell),
        (StateKind::Finished, StopTold::Due | StopTold::Asked | StopTold::Heard) => None,
        // Somebody is telling it now, or died of it.
        (_, _) => Some(Purpose::Continue),
    }
}

/// Checks that it is the request that stopped the run.
fn check_same(request: &StopRequest, notice: &StopNotice, loaded: &Loaded) -> Result<(), RunError> {
    if request.id != notice.request {
        return refuse(match &notice.request {
            Some(name) => format!("the operation was stopped by the request `{name}`, and only that can repeat it"),
            None => {
                "the operation was stopped by a request without a name, and only such a one can repeat it".to_owned()
            }
        });
    }
    match &request.calls {
        Some(calls) => check_batch(calls, &stopped_calls(&notice.calls, loaded)),
        None => Ok(()),
    }
}

fn check_batch(named: &[ToolCallId], waiting: &[ToolCallId]) -> Result<(), RunError> {
    let set = |calls: &[ToolCallId]| calls.iter().cloned().collect::<BTreeSet<_>>();
    if named.len() == waiting.len() && set(named) == set(waiting) {
        return Ok(());
    }
    let names: Vec<&str> = waiting.iter().map(ToolCallId::as_str).collect();
    refuse(match names.as_slice() {
        [] => "no call waits for a decision; stop the run without naming calls".to_owned(),
        names => format!("a stop is about all calls that wait, and those are {}", names.join(", ")),
    })
}

/// The calls that waited, by the ids that the model gave them.
fn stopped_calls(ordinals: &[Ordinal], loaded: &Loaded) -> Vec<ToolCallId> {
    let asked = loaded.messages.iter().rev().map(|stored| &stored.message.body);
    let calls = asked.filter(|body| matches!(body, MessageBody::Assistant { .. })).map(calls_of).next().unwrap_or(&[]);
    let call = |ordinal: &Ordinal| calls.get(usize::from(*ordinal).checked_sub(1)?).map(|call| call.id.clone());
    ordinals.iter().filter_map(call).collect()
}

fn refuse<T>(why: impl Into<String>) -> Result<T, RunError> {
    Err(StoreError::Refused(why.into()).into())
}

/// Bytes of the name of a request: more than any id that programs make up.
const NAME_BYTES_MAX: usize = 256;
