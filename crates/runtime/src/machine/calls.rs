//! The calls of the open turn: who waits, who runs, who is done.

use jackline_model::OperationId;

use super::input::{CallFacts, Route};
use super::instruction::Ordinal;

/// The calls that the model's last answer asked for, in emission order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    slots: Vec<CallSlot>,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSlot {
    /// What is known about it.
    pub facts: CallFacts,
    /// Where it stands.
    pub place: Place,
}

/// Where a call stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// No plan covers it yet.
    Open,
    /// Waits for its lane or for room.
    Queued,
    /// The before-hooks are asked.
    Clearing,
    /// The tool runs, or the sub-agent is being started.
    Running,
    /// It is being answered without being run.
    Refusing,
    /// A person must decide.
    AwaitingHuman,
    /// Somebody else delivers the result.
    Parked {
        /// The sub-agent that does, if one.
        child: Option<OperationId>,
    },
    /// The after-hooks judge a result that was delivered.
    Judging,
    /// Its result is written.
    Settled,
}

impl Calls {
    /// A new turn with these calls.
    pub fn open(facts: &[CallFacts]) -> Self {
        Self { slots: facts.iter().map(|facts| CallSlot { facts: *facts, place: Place::Open }).collect() }
    }

    /// Restores a turn.
    pub fn from_slots(slots: Vec<CallSlot>) -> Self {
        Self { slots }
    }

    /// All calls, in emission order.
    pub fn slots(&self) -> &[CallSlot] {
        &self.slots
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the turn has none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The call at this place, counted from 1.
    pub fn slot(&self, call: Ordinal) -> Option<&CallSlot> {
        self.slots.get(usize::from(call).checked_sub(1)?)
    }

    /// The calls that stand where `is` says, in emission order.
    pub fn which(&self, is: impl Fn(&Place) -> bool) -> Vec<Ordinal> {
        self.numbered().filter(|(_, slot)| is(&slot.place)).map(|(call, _)| call).collect()
    }

    /// The calls without a result.
    pub fn unsettled(&self) -> Vec<Ordinal> {
        self.which(|place| *place != Place::Settled)
    }

    /// The calls that a person must decide about.
    pub fn awaiting_human(&self) -> Vec<Ordinal> {
        self.which(|place| *place == Place::AwaitingHuman)
    }

    /// Whether an answer of the driver is awaited for some call, or some call waits for its turn.
    pub fn is_busy(&self) -> bool {
        self.slots.iter().any(|slot| match slot.place {
            Place::Queued | Place::Clearing | Place::Running | Place::Refusing | Place::Judging => true,
            Place::Open | Place::AwaitingHuman | Place::Parked { .. } | Place::Settled => false,
        })
    }

    /// Whether somebody else is to deliver a result.
    pub fn any_parked(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.place, Place::Parked { .. }))
    }

    pub(super) fn put(&mut self, call: Ordinal, place: Place) {
        if let Some(slot) = usize::from(call).checked_sub(1).and_then(|index| self.slots.get_mut(index)) {
            slot.place = place;
        }
    }

    /// Moves the heads of free lanes to `Clearing`, up to the bound, and says which.
    pub(super) fn start_heads(&mut self, concurrency: u16) -> Vec<Ordinal> {
        let mut started = Vec::new();
        let mut running = self.slots.iter().filter(|slot| is_active(&slot.place)).count();
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            // A bound of zero would never start anything.
            if running >= usize::from(concurrency.max(1)) {
                break;
            }
            if slot.place != Place::Queued || self.lane_is_taken(index) {
                continue;
            }
            self.slots[index].place = Place::Clearing;
            running += 1;
            started.push(ordinal(index));
        }
        started
    }

    /// Whether an earlier call of the same lane is not done, or any is under way.
    fn lane_is_taken(&self, index: usize) -> bool {
        let lane = self.slots[index].facts.lane;
        self.slots.iter().enumerate().any(|(other, slot)| {
            slot.facts.lane == lane
                && other != index
                && (is_active(&slot.place) || (other < index && slot.place == Place::Queued))
        })
    }

    fn numbered(&self) -> impl Iterator<Item = (Ordinal, &CallSlot)> {
        self.slots.iter().enumerate().map(|(index, slot)| (ordinal(index), slot))
    }
}

impl CallSlot {
    /// Whether a sub-agent answers it.
    pub fn is_agent(&self) -> bool {
        self.facts.route == Route::Agent
    }
}

fn is_active(place: &Place) -> bool {
    match place {
        Place::Clearing | Place::Running => true,
        Place::Open
        | Place::Queued
        | Place::Refusing
        | Place::AwaitingHuman
        | Place::Parked { .. }
        | Place::Judging
        | Place::Settled => false,
    }
}

/// Answers hold at most [`CALLS_PER_TURN_MAX`](super::limits::CALLS_PER_TURN_MAX) calls, so the number fits.
fn ordinal(index: usize) -> Ordinal {
    u16::try_from(index + 1).unwrap_or(Ordinal::MAX)
}
