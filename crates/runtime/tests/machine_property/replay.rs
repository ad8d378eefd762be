//! A journal in memory, and the law of recovery: the last boundary and what came after it make an
//! equal machine.

use jackline_runtime::journal::{decode, encode};
use jackline_runtime::machine::{Boundary, Emitted, Input, Machine, Moved, Settings, Shared};

/// What a resume would read.
pub(crate) struct Journal {
    settings: Settings,
    /// The input that closed the last step, with its boundary, and the inputs after it.
    records: Vec<(Input, Option<Boundary>)>,
}

impl Journal {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, records: Vec::new() }
    }

    /// Records an input that has moved the machine.
    pub(crate) fn append(&mut self, input: &Input, machine: &Machine) {
        let boundary = machine.boundary();
        if boundary.is_some() {
            self.records.clear();
        }
        self.records.push((input.clone(), boundary));
    }

    /// Reads the journal back and compares.
    pub(crate) fn check(&self, machine: &Machine) {
        let read = decode(&encode(&self.records)).expect("what was written can be read");
        assert_eq!(read, self.records);
        let mut records = read.into_iter();
        let first = records.next();
        let mut restored = match first {
            Some((_, Some(boundary))) => Machine::restore(self.settings.clone(), boundary),
            Some((input, None)) => replayed(Machine::new(self.settings.clone()), input),
            None => Machine::new(self.settings.clone()),
        };
        for (input, _) in records {
            restored = replayed(restored, input);
        }
        restored.reopen();
        assert_eq!(restored.state(), machine.state());
        assert_eq!(carried(&restored), carried(machine));
        let asked: Vec<_> = std::iter::from_fn(|| restored.next_effect()).map(|(id, _)| id).collect();
        assert_eq!(asked, machine.shared().open.keys().copied().collect::<Vec<_>>(), "all that is open is asked again");
    }
}

fn replayed(mut machine: Machine, input: Input) -> Machine {
    let moved = machine.handle(input.clone());
    assert!(matches!(moved, Ok(Moved::Row(_))), "{input:?}: {moved:?}");
    machine
}

/// What the driver has taken already is no part of the state.
fn carried(machine: &Machine) -> Shared {
    let mut shared = machine.shared().clone();
    shared.out.clear();
    shared.emitted = Emitted::default();
    shared
}
