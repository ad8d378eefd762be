//! Why an input did not move the machine.

use jackline_model::Reason;

use super::id::EffectId;
use super::input::InputKind;
use super::instruction::Ordinal;
use super::state::StateKind;

/// What became of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It moved the machine, by this row of the table. Append it to the journal.
    Row(super::table::RowId),
    /// It answers an effect that is answered already, or that the machine no longer waits for. Nothing changed.
    Stale,
    /// A request from outside that does not fit. Nothing changed.
    Refused(Problem),
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The operation is in a state in which the request means nothing.
    #[error("the operation is {state:?}: {request:?} means nothing now")]
    NotNow {
        /// The state.
        state: StateKind,
        /// The request.
        request: InputKind,
    },
    /// The call, or the question, does not wait for a decision.
    #[error("{} does not wait for a decision", called(*.0))]
    NotWaitingFor(Option<Ordinal>),
    /// No such call.
    #[error("the turn has no call {0} that can run")]
    UnknownCall(Ordinal),
    /// The call does not wait for a result from outside.
    #[error("call {0} does not wait for a result")]
    NotParked(Ordinal),
    /// A decision without content.
    #[error("nothing was decided")]
    NothingDecided,
    /// Nobody is owed the news of a stop.
    #[error("everybody has heard of the stop who had to")]
    NothingOwed,
    /// The run ended in a way that cannot be gone on with.
    #[error("a run that ended with reason `{0}` cannot be resumed")]
    NotResumable(Reason),
}

fn called(call: Option<Ordinal>) -> String {
    match call {
        Some(call) => format!("call {call}"),
        None => "the question".to_owned(),
    }
}

/// An impossible input. The machine is poisoned: append nothing, let go of the operation. A build
/// without the mistake can resume it from its journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("impossible: {input:?} (answering {}) while {state:?}: {why}", .answers.map_or("nothing".to_owned(), |id| id.to_string()))]
pub struct MachineFault {
    /// The state that the input met.
    pub state: StateKind,
    /// The input.
    pub input: InputKind,
    /// The effect that it answers.
    pub answers: Option<EffectId>,
    /// More.
    pub why: String,
}
