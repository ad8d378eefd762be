//! Hooks that must hear: what it means when one of them could not be told.

use super::error::RunError;
use super::operation::{Delivered, Operation};
use crate::machine::{Effect, EffectId, Firing, StopTold, What};

/// What follows when a hook that must hear of a firing was not reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unheard {
    /// Nothing: who watches a run does not hold it up.
    Ignored,
    /// Whoever waits for the run is told.
    Raised,
    /// So they are, and the firing stays owed.
    Owed,
    /// The run goes no further before it is told; whoever goes on with it tells it again.
    Holds,
}

impl Operation {
    /// The hooks of a firing that the run waits for have been asked.
    pub(crate) fn hook_answered(&mut self, id: EffectId, delivered: Delivered) -> Result<(), RunError> {
        self.pending.heard.extend(delivered.heard);
        let unheard = delivered.critical.map(|error| (self.unheard(id), error));
        if let Some((Unheard::Holds, error)) = unheard {
            // The firing has no answer, so the next process asks for it again; that it was tried is written down.
            self.pending.append(self.core.store.as_ref(), self.run.id(), self.fence)?;
            return Err(RunError::DecisionNotTold { operation: self.id().clone(), error });
        }
        self.enqueue(&delivered.outbox)?;
        match unheard {
            None | Some((Unheard::Ignored | Unheard::Holds, _)) => self.take(What::HookAnswered(id)),
            Some((Unheard::Raised, error)) => {
                self.critical.get_or_insert(error);
                self.take(What::HookAnswered(id))
            }
            Some((Unheard::Owed, error)) => {
                self.critical.get_or_insert(error);
                self.take(What::HookFailed(id))
            }
        }
    }

    /// Whether a hook is still to be told that the run was stopped.
    pub(crate) fn is_stop_owed(&self) -> bool {
        let notice = self.machine.shared().stop_notice.as_ref();
        notice.is_some_and(|notice| matches!(notice.told, StopTold::Owed(_)))
    }

    fn unheard(&self, id: EffectId) -> Unheard {
        let shared = self.machine.shared();
        match shared.open.get(&id).and_then(Effect::firing) {
            // What was decided is not done any more.
            Some(Firing::AfterHumanIntervention { .. }) if shared.stop_requested => Unheard::Ignored,
            Some(firing) => unheard(firing),
            None => Unheard::Ignored,
        }
    }
}

fn unheard(firing: &Firing) -> Unheard {
    match firing {
        Firing::OnComplete | Firing::OnError => Unheard::Raised,
        Firing::OnStopByHumanIntervention { .. } => Unheard::Owed,
        Firing::AfterHumanIntervention { .. } => Unheard::Holds,
        Firing::BeforeStep
        | Firing::AfterStep(_)
        | Firing::AfterToolCall { .. }
        | Firing::OnToolCallError { .. }
        | Firing::BeforeHumanIntervention { .. }
        | Firing::BeforeCompact { .. }
        | Firing::AfterCompact { .. }
        | Firing::OnCompactError { .. }
        | Firing::BeforeCallAgent { .. }
        | Firing::AfterCallAgent { .. }
        | Firing::OnCallAgentError { .. } => Unheard::Ignored,
    }
}
