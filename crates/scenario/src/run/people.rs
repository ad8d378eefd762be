//! What people do: deciding, answering, stopping, going on.

use std::sync::Arc;

use futures_util::poll;
use jackline_model::{MessageBody, OperationId, Status, ToolCallId};
use jackline_runtime::drive::{Clock as _, RunError, Runtime};
use jackline_runtime::journal::{
    Approval, ApprovalQuestion, InboxItem, PostedDecision, PostedVerdict, Store as _, StoreError,
};

use super::world::World;
use crate::format::{Calls, HumanAct, HumanStep};

/// What came of looking at the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Acted {
    /// There is no step, or it is not due.
    No,
    /// It was done, and the runtime will do something.
    Yes,
    /// It was done, and refused as expected or not: nothing will happen.
    Refused,
    /// The process is to end and another to go on.
    Restart,
    /// The run is to be gone on with.
    Resume,
}

/// Does the next step, if it is due. `is_resting`: nothing runs any more.
pub(crate) async fn act(world: &World, runtime: &Runtime, root: &OperationId, is_resting: bool) -> Acted {
    let Some(step) = world.story().human.front().cloned() else { return Acted::No };
    if !is_resting && !is_due(world, runtime, root, &step.act) {
        return Acted::No;
    }
    world.story().human.pop_front();
    world.let_time_pass();
    world.wait(step.after_ms).await;
    let outcome = match &step.act {
        HumanAct::Restart => return Acted::Restart,
        HumanAct::Resume => return Acted::Resume,
        HumanAct::Stop => post(world, runtime, &step, root, InboxItem::Stop(None)),
        HumanAct::Complete(call, result) => {
            let operation = owner_of(world, call).unwrap_or_else(|| root.clone());
            let result = serde_json::to_string(result).unwrap_or_default();
            post(world, runtime, &step, &operation, InboxItem::Answer { call: ToolCallId::from(call.as_str()), result })
        }
        HumanAct::Approve(_)
        | HumanAct::Reject(..)
        | HumanAct::RejectAndContinue(..)
        | HumanAct::Decide(_)
        | HumanAct::Answer(_) => {
            let (operation, decisions) = decisions(runtime, root, &step.act);
            post(world, runtime, &step, &operation, InboxItem::Decided(decisions))
        }
    };
    match (outcome, &step.refused) {
        (Ok(()), None) => Acted::Yes,
        (Err(error), Some(part)) if error.to_string().contains(part.as_str()) => Acted::Refused,
        (Ok(()), Some(part)) => {
            world.problem(format!("`human`: {:?} must be refused with {part:?} and was taken", step.act));
            Acted::Yes
        }
        (Err(error), expected) => {
            world.problem(format!("`human`: {:?} was refused: {error} (expected: {expected:?})", step.act));
            Acted::Refused
        }
    }
}

/// Stops the run after a while on the virtual clock.
pub(crate) fn stop_later(world: &Arc<World>, after_ms: u64) {
    let stop = |world: &World| {
        let (runtime, root) = {
            let story = world.story();
            (story.runtime.clone(), story.root.clone())
        };
        if let (Some(runtime), Some(root)) = (runtime, root)
            && let Err(error) = runtime.stop(&root)
        {
            world.problem(format!("`interrupts`: the stop was refused: {error}"));
        }
    };
    if after_ms == 0 {
        return stop(world);
    }
    let (world, hold) = (Arc::clone(world), world.clock.hold());
    let at = world.clock.now_ms().saturating_add(after_ms);
    let clock = world.clock.virtual_clock().clone();
    tokio::spawn(clock.run(async move {
        let mut sleep = world.clock.sleep_until(at);
        // The hold lives until the sleeper is known to the clock, or time would jump past it.
        if poll!(&mut sleep).is_pending() {
            drop(hold);
            sleep.await;
        }
        stop(&world);
    }));
}

fn post(
    world: &World,
    runtime: &Runtime,
    step: &HumanStep,
    operation: &OperationId,
    item: InboxItem,
) -> Result<(), RunError> {
    world.story().activity += 1;
    if step.elsewhere {
        world.store.another_process().post(operation, item, world.clock.now_ms())?;
        return runtime.look();
    }
    match item {
        InboxItem::Stop(_) => runtime.stop(operation),
        InboxItem::Decided(decisions) => runtime.decide(operation, decisions),
        InboxItem::Answer { call, result } => match serde_json::from_str(&result) {
            Ok(result) => runtime.complete_call(operation, &call, &result),
            Err(error) => Err(StoreError::Damaged(error.to_string()).into()),
        },
        InboxItem::ChildEnded { .. } => Ok(()),
    }
}

fn is_due(world: &World, runtime: &Runtime, root: &OperationId, act: &HumanAct) -> bool {
    let is_asked = || runtime.approvals(root).is_ok_and(|approvals| !approvals.is_empty());
    match act {
        HumanAct::Approve(_)
        | HumanAct::Reject(..)
        | HumanAct::RejectAndContinue(..)
        | HumanAct::Decide(_)
        | HumanAct::Answer(_) => is_asked(),
        HumanAct::Complete(call, _) => owner_of(world, call).is_some_and(|operation| {
            world.store.header(&operation).is_ok_and(|header| header.summary.status == Status::WaitingForAsyncTool)
        }),
        HumanAct::Stop => is_asked(),
        HumanAct::Resume | HumanAct::Restart => false,
    }
}

fn decisions(runtime: &Runtime, root: &OperationId, act: &HumanAct) -> (OperationId, Vec<PostedDecision>) {
    let approvals = runtime.approvals(root).unwrap_or_default();
    let named = first_named(act);
    let asked = approvals.iter().find(|(_, approval)| {
        named.is_none_or(|call| undecided(approval).iter().any(|pending| pending.as_str() == call))
    });
    let operation = asked.map_or_else(|| root.clone(), |(header, _)| header.id.clone());
    let pending = asked.map(|(_, approval)| undecided(approval)).unwrap_or_default();
    (operation, posted(act, &pending))
}

fn posted(act: &HumanAct, pending: &[ToolCallId]) -> Vec<PostedDecision> {
    let each = |calls: &Calls, verdict: PostedVerdict| -> Vec<PostedDecision> {
        let calls = match calls {
            Calls::All => pending.to_vec(),
            Calls::These(calls) => calls.iter().map(|call| ToolCallId::from(call.as_str())).collect(),
        };
        calls.into_iter().map(|call| PostedDecision { call: Some(call), verdict: verdict.clone() }).collect()
    };
    match act {
        HumanAct::Approve(calls) => each(calls, PostedVerdict::Approve),
        HumanAct::Reject(calls, reason) => each(calls, PostedVerdict::Reject { reason: reason.clone() }),
        HumanAct::RejectAndContinue(calls, reason) => {
            each(calls, PostedVerdict::RejectAndContinue { reason: reason.clone() })
        }
        HumanAct::Decide(acts) => acts.iter().flat_map(|act| posted(act, pending)).collect(),
        HumanAct::Answer(text) => {
            vec![PostedDecision { call: None, verdict: PostedVerdict::Answer { text: text.clone() } }]
        }
        HumanAct::Complete(..) | HumanAct::Stop | HumanAct::Resume | HumanAct::Restart => Vec::new(),
    }
}

fn first_named(act: &HumanAct) -> Option<&str> {
    match act {
        HumanAct::Approve(calls) | HumanAct::Reject(calls, _) | HumanAct::RejectAndContinue(calls, _) => match calls {
            Calls::All => None,
            Calls::These(calls) => calls.first().map(String::as_str),
        },
        HumanAct::Decide(acts) => acts.iter().find_map(first_named),
        HumanAct::Answer(_) | HumanAct::Complete(..) | HumanAct::Stop | HumanAct::Resume | HumanAct::Restart => None,
    }
}

fn undecided(approval: &Approval) -> Vec<ToolCallId> {
    match &approval.question {
        ApprovalQuestion::Calls(calls) => {
            calls.iter().filter(|call| !call.decided).map(|call| call.call.clone()).collect()
        }
        ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. } => Vec::new(),
    }
}

/// The operation whose model asked for a call.
fn owner_of(world: &World, call: &str) -> Option<OperationId> {
    let headers = world.store.list(OPERATIONS_MAX).ok()?;
    headers.into_iter().map(|header| header.id).find(|operation| {
        let messages = world.store.messages(operation).unwrap_or_default();
        messages.iter().any(|stored| match &stored.message.body {
            MessageBody::Assistant { tool_calls, .. } => tool_calls.iter().any(|asked| asked.id.as_str() == call),
            MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Tool { .. } => false,
        })
    })
}

/// More than any scenario has.
pub(crate) const OPERATIONS_MAX: usize = 1_000;
