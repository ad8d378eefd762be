use std::collections::BTreeMap;

use super::lists::{Closure, ClosureKind, Lists, Promise};
use super::problem::Problem;
use super::proofs::Proof;

/// Every promise with its state, and all that does not add up.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) entries: Vec<Entry>,
    pub(super) problems: Vec<Problem>,
}

/// One promise, what was said about it, and its proofs.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) promise: Promise,
    pub(super) closure: Option<Closure>,
    pub(super) proofs: Vec<Proof>,
}

/// What is known about a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Proven,
    NotYet,
    Changed,
    Later,
    NotOurs,
}

impl State {
    /// All states, in the order in which they are counted.
    pub(super) const ALL: [State; 5] = [State::Proven, State::NotYet, State::Changed, State::Later, State::NotOurs];

    /// The word for people and programs.
    pub(super) fn word(self) -> &'static str {
        match self {
            State::Proven => "proven",
            State::NotYet => "not yet",
            State::Changed => ClosureKind::Changed.word(),
            State::Later => ClosureKind::Later.word(),
            State::NotOurs => ClosureKind::NotOurs.word(),
        }
    }
}

impl Entry {
    /// A proof counts more than a closure: what was changed can be proven in its new form.
    pub(super) fn state(&self) -> State {
        match &self.closure {
            _ if !self.proofs.is_empty() => State::Proven,
            None => State::NotYet,
            Some(closure) => match closure.kind {
                ClosureKind::Changed => State::Changed,
                ClosureKind::Later => State::Later,
                ClosureKind::NotOurs => State::NotOurs,
            },
        }
    }
}

impl Ledger {
    /// Puts promises and proofs together.
    pub(super) fn new(lists: Lists, proofs: Vec<Proof>, found: Vec<Problem>) -> Ledger {
        let mut problems = stray(&lists, &proofs);
        let Lists { promises, mut closed, required, problems: misread, named: _ } = lists;
        let mut by_id: BTreeMap<String, Vec<Proof>> = BTreeMap::new();
        for proof in proofs {
            by_id.entry(proof.id.clone()).or_default().push(proof);
        }
        let mut entries = Vec::new();
        for promise in promises {
            let proofs = by_id.remove(&promise.id).unwrap_or_default();
            let closure = closed.remove(&promise.id);
            entries.push(Entry { promise, closure, proofs });
        }
        for entry in &entries {
            problems.extend(contradiction(entry));
            if required.contains(&entry.promise.id) && entry.proofs.is_empty() {
                problems.push(Problem::RequiredNotProven { id: entry.promise.id.clone() });
            }
        }
        problems.splice(0..0, misread.into_iter().chain(found));
        Ledger { entries, problems }
    }
}

/// Ids that are used somewhere but promised nowhere.
fn stray(lists: &Lists, proofs: &[Proof]) -> Vec<Problem> {
    let in_proofs = proofs.iter().map(|proof| (proof.id.as_str(), proof.place()));
    let in_closed = lists.closed.keys().map(|id| (id.as_str(), "closed.tsv".to_owned()));
    let in_required = lists.required.iter().map(|id| (id.as_str(), "required.tsv".to_owned()));
    let used = in_proofs.chain(in_closed).chain(in_required);
    let unknown = used.filter(|(id, _)| !lists.knows(id));
    unknown.map(|(id, place)| Problem::Unknown { id: id.to_owned(), place }).collect()
}

fn contradiction(entry: &Entry) -> Option<Problem> {
    let is_not_ours = entry.closure.as_ref().is_some_and(|closure| closure.kind == ClosureKind::NotOurs);
    let proof = entry.proofs.first().filter(|_| is_not_ours)?;
    Some(Problem::ProvenButNotOurs { id: proof.id.clone(), place: proof.place() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(ids: &[&str]) -> Lists {
        let promise = |id: &&str| Promise {
            id: id.to_string(),
            page: "hooks",
            evidence: "T".to_owned(),
            text: "holds".to_owned(),
        };
        Lists { promises: ids.iter().map(promise).collect(), ..Lists::default() }
    }

    fn proof(id: &str) -> Proof {
        Proof { id: id.to_owned(), path: "tests/x.rs".to_owned(), line: 7, name: Some("t".to_owned()) }
    }

    fn closure(kind: ClosureKind) -> Closure {
        Closure { kind, decision: "27".to_owned(), reason: "why".to_owned() }
    }

    #[test]
    fn a_proof_wins_over_a_change() {
        let mut lists = lists(&["A01", "A02", "A03"]);
        lists.closed.insert("A01".to_owned(), closure(ClosureKind::Changed));
        lists.closed.insert("A02".to_owned(), closure(ClosureKind::Changed));
        let ledger = Ledger::new(lists, vec![proof("A01")], Vec::new());
        let states: Vec<State> = ledger.entries.iter().map(Entry::state).collect();
        assert_eq!(states, [State::Proven, State::Changed, State::NotYet]);
        assert_eq!(ledger.problems, []);
    }

    #[test]
    fn unknown_ids_are_problems_wherever_they_stand() {
        let mut lists = lists(&["A01"]);
        lists.closed.insert("A98".to_owned(), closure(ClosureKind::Later));
        lists.required.insert("A97".to_owned());
        let ledger = Ledger::new(lists, vec![proof("A99")], Vec::new());
        let unknown = |id: &str, place: &str| Problem::Unknown { id: id.to_owned(), place: place.to_owned() };
        assert_eq!(
            ledger.problems,
            [unknown("A99", "tests/x.rs:7 t"), unknown("A98", "closed.tsv"), unknown("A97", "required.tsv")]
        );
    }

    #[test]
    fn a_proof_of_what_is_not_ours_contradicts_the_list() {
        let mut lists = lists(&["A01"]);
        lists.closed.insert("A01".to_owned(), closure(ClosureKind::NotOurs));
        let ledger = Ledger::new(lists, vec![proof("A01")], Vec::new());
        let place = "tests/x.rs:7 t".to_owned();
        assert_eq!(ledger.problems, [Problem::ProvenButNotOurs { id: "A01".to_owned(), place }]);
    }

    #[test]
    fn a_required_promise_needs_a_proof() {
        let mut lists = lists(&["A01", "A02"]);
        lists.required.extend(["A01".to_owned(), "A02".to_owned()]);
        let ledger = Ledger::new(lists, vec![proof("A02")], Vec::new());
        assert_eq!(ledger.problems, [Problem::RequiredNotProven { id: "A01".to_owned() }]);
    }
}
