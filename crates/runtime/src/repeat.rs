//! Whether a model goes round in circles.
//!
//! The guard sees turns of calls and digests of results, and nothing else. It is constant in size
//! and part of each step boundary.

use jackline_model::ToolCall;
use jackline_tools::arguments;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A call, whatever its id: the tool and the arguments, keys in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Signature(pub u32);

impl Signature {
    /// The signature of a call. Arguments that are not JSON count as they stand.
    pub fn of(call: &ToolCall) -> Self {
        let mut hash = Sha256::new();
        hash.update(call.key.to_string().as_bytes());
        hash.update([0]);
        hash.update(arguments::digest(&call.arguments));
        Self(first_word(&hash.finalize()))
    }
}

/// The digest of a published result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultDigest(pub u32);

impl ResultDigest {
    /// The digest of the text that the model reads.
    pub fn of(content: &str) -> Self {
        Self(first_word(&Sha256::digest(content.as_bytes())))
    }
}

/// What a turn means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatVerdict {
    /// Go on.
    Fine,
    /// The same again and again: tell the model. Said once on the way to the limit.
    Warn,
    /// The limit: run nothing more.
    Stop,
}

/// Counts turns that repeat.
///
/// Two things are counted: for how many turns on end a call was asked for, and for how many turns
/// on end the turns repeat with a period of one, two or three. A result that differs from the one
/// before shows progress, and what it belongs to starts anew.
///
/// ```
/// use jackline_runtime::repeat::{RepeatGuard, RepeatVerdict, Signature};
///
/// let mut guard = RepeatGuard::default();
/// let verdicts: Vec<_> = (0..10).map(|_| guard.note_turn(&[Signature(7)])).collect();
/// assert_eq!(verdicts[6], RepeatVerdict::Warn);
/// assert_eq!(verdicts[9], RepeatVerdict::Stop);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RepeatGuard {
    turn: u64,
    /// The latest turns, the newest first.
    recent: [u32; PERIOD_MAX],
    /// For each period, how many turns on end equal the one that many turns before.
    runs: [u32; PERIOD_MAX],
    seen: Vec<Seen>,
}

/// What is remembered of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Seen {
    signature: Signature,
    last_turn: u64,
    turns_in_row: u32,
    result: Option<ResultDigest>,
}

/// The guard as a journal keeps it: the turn, the latest turns, how often they repeat, and the
/// signatures of the latest turns with their last turn, their length and their result.
pub type RepeatParts = (u64, [u32; PERIOD_MAX], [u32; PERIOD_MAX], Vec<(u32, u64, u32, Option<u32>)>);

impl RepeatGuard {
    /// What a journal keeps.
    pub fn to_parts(&self) -> RepeatParts {
        let seen =
            |seen: &Seen| (seen.signature.0, seen.last_turn, seen.turns_in_row, seen.result.map(|digest| digest.0));
        (self.turn, self.recent, self.runs, self.seen.iter().map(seen).collect())
    }

    /// The guard that a journal kept.
    pub fn from_parts((turn, recent, runs, seen): RepeatParts) -> Self {
        let seen = seen.into_iter().map(|(signature, last_turn, turns_in_row, result)| Seen {
            signature: Signature(signature),
            last_turn,
            turns_in_row,
            result: result.map(ResultDigest),
        });
        Self { turn, recent, runs, seen: seen.collect() }
    }

    /// Notes the calls of one turn. Equal calls of a turn count once; a turn without calls makes
    /// everything start anew.
    pub fn note_turn(&mut self, calls: &[Signature]) -> RepeatVerdict {
        if calls.is_empty() {
            *self = Self::default();
            return RepeatVerdict::Fine;
        }
        let mut calls = calls.to_vec();
        calls.sort_unstable();
        calls.dedup();
        self.turn += 1;
        let longest_call = self.note_calls(&calls);
        let longest_pattern = self.note_pattern(turn_digest(&calls));
        match longest_call.max(longest_pattern) {
            length if length >= REPEATED_TURNS_MAX => RepeatVerdict::Stop,
            REPEATED_TURNS_WARN => RepeatVerdict::Warn,
            _fewer => RepeatVerdict::Fine,
        }
    }

    /// Notes the result of a call of the latest turn. If it differs from the one before, the call
    /// is not stuck, and neither is the pattern that it is part of.
    pub fn note_result(&mut self, signature: Signature, digest: ResultDigest) {
        let Some(seen) = self.seen.iter_mut().find(|seen| seen.signature == signature) else { return };
        let before = seen.result.replace(digest);
        if before.is_some_and(|before| before != digest) {
            seen.turns_in_row = 1;
            self.runs = [0; PERIOD_MAX];
        }
    }

    /// For how many turns on end the most stubborn of these calls was asked for.
    fn note_calls(&mut self, calls: &[Signature]) -> u32 {
        let turn = self.turn;
        let mut longest = 0;
        for signature in calls {
            let Some(seen) = self.seen.iter_mut().find(|seen| seen.signature == *signature) else {
                longest = longest.max(1);
                if self.seen.len() < SIGNATURES_MAX {
                    self.seen.push(Seen { signature: *signature, last_turn: turn, turns_in_row: 1, result: None });
                }
                continue;
            };
            seen.turns_in_row = if seen.last_turn + 1 == turn { seen.turns_in_row.saturating_add(1) } else { 1 };
            seen.last_turn = turn;
            longest = longest.max(seen.turns_in_row);
        }
        // Results of one period back must be known, those of older turns need not.
        self.seen.retain(|seen| seen.last_turn + PERIOD_MAX as u64 > turn);
        longest
    }

    /// For how many turns on end the turns repeat, by the period for which that is longest.
    fn note_pattern(&mut self, digest: u32) -> u32 {
        let mut longest = 0;
        for period in 1..=PERIOD_MAX {
            let is_same = self.turn > period as u64 && self.recent[period - 1] == digest;
            let run = &mut self.runs[period - 1];
            *run = if is_same { run.saturating_add(1) } else { 0 };
            if is_same {
                longest = longest.max(run.saturating_add(period as u32));
            }
        }
        self.recent.rotate_right(1);
        self.recent[0] = digest;
        longest
    }
}

fn turn_digest(calls: &[Signature]) -> u32 {
    let mut hash = Sha256::new();
    for Signature(word) in calls {
        hash.update(word.to_be_bytes());
    }
    first_word(&hash.finalize())
}

fn first_word(digest: &[u8]) -> u32 {
    digest.iter().take(4).fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// Turns of a repetition that are tolerated: enough for a model to notice by itself, few enough
/// not to burn a budget.
const REPEATED_TURNS_MAX: u32 = 10;

/// The turn of a repetition at which the model is told, with some turns left to do better.
const REPEATED_TURNS_WARN: u32 = 7;

/// Longest pattern that is looked for: A, B and A, B, C are seen in practice.
pub const PERIOD_MAX: usize = 3;

/// Most calls that are remembered at a time, to keep the state constant in size: the turns of one
/// period with twenty calls each. Of calls beyond it only the pattern of the turns is seen.
const SIGNATURES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use RepeatVerdict::{Fine, Stop, Warn};
    use jackline_model::ToolKey;

    const A: Signature = Signature(1);
    const B: Signature = Signature(2);
    const C: Signature = Signature(3);

    /// The turn, from 1, at which the guard warns and at which it stops.
    fn run(turns: impl IntoIterator<Item = Vec<Signature>>) -> (Option<usize>, Option<usize>) {
        let mut guard = RepeatGuard::default();
        let (mut warned, mut stopped) = (None, None);
        for (at, turn) in turns.into_iter().enumerate().take(100) {
            match guard.note_turn(&turn) {
                Fine => {}
                Warn => warned = warned.or(Some(at + 1)),
                Stop => stopped = stopped.or(Some(at + 1)),
            }
        }
        (warned, stopped)
    }

    fn cycle(turns: &[&[Signature]]) -> Vec<Vec<Signature>> {
        turns.iter().cycle().take(40).map(|turn| turn.to_vec()).collect()
    }

    fn call(key: &str, arguments: &str) -> ToolCall {
        ToolCall { id: "c".into(), key: ToolKey::parse(key), arguments: arguments.into() }
    }

    #[test]
    fn c098_tenth_identical_turn_stops_and_the_seventh_warns() {
        assert_eq!(run(cycle(&[&[A]])), (Some(7), Some(10)));
    }

    #[test]
    fn call_that_is_always_among_others_stops_too() {
        let turns = (0..40).map(|at| vec![A, Signature(100 + at)]);
        assert_eq!(run(turns), (Some(7), Some(10)));
    }

    #[test]
    fn llm_20_and_c098_order_of_keys_and_blanks_do_not_matter() {
        let one = Signature::of(&call("fs/read", r#"{"path":"a","n":1}"#));
        assert_eq!(one, Signature::of(&call("fs/read", r#" {"n": 1, "path": "a"} "#)));
        assert_ne!(one, Signature::of(&call("fs/read", r#"{"path":"b","n":1}"#)));
        assert_ne!(one, Signature::of(&call("fs/stat", r#"{"path":"a","n":1}"#)));
        assert_eq!(Signature::of(&call("a/b", " {oops ")), Signature::of(&call("a/b", "{oops")));
    }

    #[test]
    fn llm_21_turn_without_the_call_restarts_the_count() {
        let turns = [vec![vec![A]; 9], vec![vec![C]], vec![vec![A]; 9]].concat();
        assert_eq!(run(turns), (Some(7), None));
    }

    #[test]
    fn turn_without_calls_restarts_everything() {
        let turns = [vec![vec![A]; 6], vec![vec![]], vec![vec![A]; 6]].concat();
        assert_eq!(run(turns), (None, None));
    }

    #[test]
    fn llm_22_equal_calls_of_a_turn_count_once() {
        assert_eq!(run(cycle(&[&[A, A, A]])), (Some(7), Some(10)));
    }

    #[test]
    fn alternating_turns_stop_as_soon_as_identical_ones() {
        assert_eq!(run(cycle(&[&[A], &[B]])), (Some(7), Some(10)));
        assert_eq!(run(cycle(&[&[A], &[B], &[C]])), (Some(7), Some(10)));
        assert_eq!(run(cycle(&[&[A, B], &[C, B], &[A]])), (Some(7), Some(10)));
    }

    #[test]
    fn different_calls_never_warn() {
        assert_eq!(run((0..90).map(|at| vec![Signature(at)])), (None, None));
    }

    #[test]
    fn changed_results_are_progress_and_equal_ones_are_not() {
        for (is_changing, expected) in [(true, None), (false, Some(10))] {
            let mut guard = RepeatGuard::default();
            let mut stopped = None;
            for turn in 1..=40 {
                if guard.note_turn(&[A]) == Stop {
                    stopped = stopped.or(Some(turn));
                }
                guard.note_result(A, ResultDigest(if is_changing { turn } else { 0 }));
            }
            assert_eq!(stopped, expected);
        }
    }

    #[test]
    fn changed_result_of_one_call_frees_the_pattern_that_it_is_part_of() {
        let mut guard = RepeatGuard::default();
        for turn in 1..=40 {
            let call = if turn % 2 == 0 { A } else { B };
            assert_ne!(guard.note_turn(&[call]), Stop);
            guard.note_result(call, ResultDigest(if call == A { turn } else { 0 }));
        }
    }

    #[test]
    fn state_stays_small_and_survives_serialisation() {
        let mut guard = RepeatGuard::default();
        for turn in 0..50 {
            let calls: Vec<_> = (0..100).map(|at| Signature(turn * 1_000 + at)).collect();
            guard.note_turn(&calls);
            assert!(guard.seen.len() <= SIGNATURES_MAX);
        }
        let text = serde_json::to_string(&guard).unwrap();
        assert_eq!(serde_json::from_str::<RepeatGuard>(&text).unwrap(), guard);
    }
}
