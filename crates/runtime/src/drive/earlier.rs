//! Firings of earlier turns that a dead process has left unanswered: they are about the calls of then, not of now.

use std::collections::{BTreeMap, BTreeSet};

use jackline_model::{MessageBody, MessageId, OperationId, ToolRunResult};

use super::error::RunError;
use super::open::{calls_of, counts};
use super::setup::Setup;
use super::turn::Turn;
use crate::journal::{Store, StoredMessage, decode};
use crate::machine::{Firing, Machine, Route, What};

/// An earlier turn and its results.
#[derive(Debug)]
pub(crate) struct Earlier {
    pub(crate) turn: Turn,
    pub(crate) results: BTreeMap<MessageId, ToolRunResult>,
}

/// The turns that unanswered firings are about, by the step that fired them, where that is not the open turn.
///
/// The whole journal is read, and only if there is such a firing.
pub(crate) fn restore(
    store: &dyn Store,
    id: &OperationId,
    machine: &Machine,
    open: &Turn,
    setup: &Setup,
) -> Result<BTreeMap<u32, Earlier>, RunError> {
    let effects = machine.shared().open.iter();
    let steps: BTreeSet<u32> =
        effects.filter(|(_, effect)| effect.firing().is_some_and(is_about_calls)).map(|(id, _)| id.step).collect();
    if steps.is_empty() {
        return Ok(BTreeMap::new());
    }
    let replies = reply_steps(&store.records(id)?)?;
    let messages = store.messages(id)?;
    let is_reply = |stored: &StoredMessage| matches!(stored.message.body, MessageBody::Assistant { .. });
    let answers: Vec<usize> =
        messages.iter().enumerate().filter(|(_, stored)| is_reply(stored)).map(|(index, _)| index).collect();
    if answers.len() != replies.len() {
        return Err(RunError::Journal(format!(
            "the model replied {} times, and {} of its messages are in the store",
            replies.len(),
            answers.len()
        )));
    }
    let mut turns = BTreeMap::new();
    for step in steps {
        // A reply closes its step, so whatever a step fires about calls is about those of an earlier one.
        let before = replies.partition_point(|reply| *reply < step);
        let Some(index) = before.checked_sub(1).map(|last| answers[last]) else { continue };
        if open.assistant.as_ref() != Some(&messages[index].message.id) {
            turns.insert(step, earlier(&messages, index, setup));
        }
    }
    Ok(turns)
}

fn earlier(messages: &[StoredMessage], index: usize, setup: &Setup) -> Earlier {
    let asked = &messages[index];
    let calls = calls_of(&asked.message.body);
    let routes = vec![Route::Tool; calls.len()];
    let counts = counts(&messages[..=index]);
    let turn = Turn::restore(asked.message.id.clone(), asked.place + 1, calls, &routes, setup, &counts);
    let rows = turn.calls.iter().filter_map(|call| {
        let stored = messages.iter().find(|stored| stored.message.id == call.row)?;
        Some((call.row.clone(), stored.message.body.tool_result()?))
    });
    let results = rows.collect();
    Earlier { turn, results }
}

/// The steps in which the model replied, in order.
fn reply_steps(records: &[String]) -> Result<Vec<u32>, RunError> {
    let mut steps = Vec::new();
    for record in records {
        let inputs = decode(record).map_err(|error| RunError::Journal(error.to_string()))?;
        steps.extend(inputs.iter().filter_map(|(input, _)| {
            let What::ModelReplied(id, _) = &input.what else { return None };
            Some(id.step)
        }));
    }
    Ok(steps)
}

fn is_about_calls(firing: &Firing) -> bool {
    match firing {
        Firing::AfterToolCall { .. }
        | Firing::OnToolCallError { .. }
        | Firing::BeforeHumanIntervention { .. }
        | Firing::AfterHumanIntervention { .. }
        | Firing::OnStopByHumanIntervention { .. }
        | Firing::BeforeCallAgent { .. }
        | Firing::AfterCallAgent { .. }
        | Firing::OnCallAgentError { .. } => true,
        Firing::BeforeStep
        | Firing::AfterStep(_)
        | Firing::OnComplete
        | Firing::OnError
        | Firing::BeforeCompact { .. }
        | Firing::AfterCompact { .. }
        | Firing::OnCompactError { .. } => false,
    }
}
