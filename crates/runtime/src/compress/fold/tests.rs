use proptest::prelude::*;

use super::*;
use EntryKind::{Assistant, Summary, System, Tool, User};

fn ones(kinds: &[EntryKind]) -> Vec<Entry> {
    kinds.iter().map(|kind| Entry { kind: *kind, tokens: 1 }).collect()
}

fn plan(kinds: &[EntryKind], budget: u64) -> (Vec<usize>, Vec<usize>) {
    let plan = select_fold(&ones(kinds), budget).unwrap();
    (plan.fold, plan.keep)
}

/// Every result that stays has its answer, and every answer that stays has its results.
fn assert_pairs_whole(entries: &[Entry], plan: &FoldPlan) {
    for (place, entry) in entries.iter().enumerate() {
        if let Tool { assistant } = entry.kind {
            assert_eq!(plan.keep.contains(&place), plan.keep.contains(&assistant), "pair {assistant}, {place}");
        }
    }
}

/// System, a request, and three answers with one, three and one calls: the history of case C077.
const CLERK: [EntryKind; 10] = [
    System,
    User,
    Assistant,
    Tool { assistant: 2 },
    Assistant,
    Tool { assistant: 4 },
    Tool { assistant: 4 },
    Tool { assistant: 4 },
    Assistant,
    Tool { assistant: 8 },
];

#[test]
fn c077_no_length_of_the_tail_tears_a_pair() {
    let entries = ones(&CLERK);
    assert_eq!(select_fold(&entries, 8), None, "eight entries behind the request: all fit");
    for budget in 0..8 {
        let plan = select_fold(&entries, budget).unwrap();
        assert_pairs_whole(&entries, &plan);
        assert!(plan.keep.starts_with(&[0, 1]), "instructions and request stay");
    }
}

#[test]
fn c076_instructions_and_the_latest_request_stay() {
    assert_eq!(plan(&[System, User, Assistant, User, Assistant, Assistant], 1), (vec![1, 2, 4], vec![0, 3, 5]));
}

#[test]
fn trailing_request_stays_outside_the_fold() {
    assert_eq!(plan(&[User, Assistant, User], 1), (vec![0, 1], vec![2]));
}

#[test]
fn earlier_summaries_are_folded_in() {
    assert_eq!(plan(&[System, Summary, User, Assistant, User], 1), (vec![1, 2, 3], vec![0, 4]));
}

#[test]
fn summaries_alone_are_folded_again() {
    assert_eq!(plan(&[System, Summary, Summary], 9), (vec![1, 2], vec![0]));
}

#[test]
fn cmp_28_without_budget_only_the_latest_request_stays() {
    assert_eq!(plan(&[User, Assistant, User], 0), (vec![0, 1], vec![2]));
}

#[test]
fn cmp_29_tail_never_begins_with_a_result() {
    let kinds = [User, Assistant, Tool { assistant: 1 }, Assistant];
    assert_eq!(plan(&kinds, 2), (vec![1, 2], vec![0, 3]));
    assert_eq!(select_fold(&ones(&kinds), 3), None, "the request stays, and the pair fits");
}

#[test]
fn cmp_30_first_entry_is_folded_even_if_all_fits() {
    assert_eq!(plan(&[User, Assistant, User, Assistant], 99), (vec![0], vec![1, 2, 3]));
}

#[test]
fn c079_nothing_to_fold_is_said() {
    for kinds in [&[][..], &[System], &[User], &[System, User], &[System, User, Assistant]] {
        assert_eq!(select_fold(&ones(kinds), 99), None, "{kinds:?}");
    }
}

#[test]
fn huge_sizes_do_not_overflow() {
    let entries = [u64::MAX - 1; 3].map(|tokens| Entry { kind: Assistant, tokens });
    assert_eq!(select_fold(&entries, u64::MAX - 1).unwrap().fold, [0, 1]);
}

#[test]
fn results_find_the_nearest_answer_of_their_call() {
    let message = |body| Message { id: "m".into(), body };
    let call = jackline_model::ToolCall {
        id: "c1".into(),
        key: jackline_model::ToolKey::new("a", "b"),
        arguments: "{}".into(),
    };
    let answer =
        || message(MessageBody::Assistant { content: "".into(), reasoning: None, tool_calls: vec![call.clone()] });
    let result = |id: &str| {
        message(MessageBody::Tool {
            call_id: id.into(),
            key: call.key.clone(),
            content: "".into(),
            success: true,
            error: None,
            state: None,
            execution_time: None,
            device_execution_time: None,
            work_registration: None,
        })
    };
    let messages = [answer(), result("c1"), answer(), result("c1"), result("lost")];
    let entries = entries_of(messages.iter().map(|message| (message, 1, false)));
    let kinds: Vec<_> = entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [Assistant, Tool { assistant: 0 }, Assistant, Tool { assistant: 2 }, Tool { assistant: 4 }]);
}

/// Histories as runs make them: turns of a request, or of an answer with its results behind it.
fn history() -> impl Strategy<Value = Vec<Entry>> {
    let turn = prop_oneof![Just(None), (0_usize..5).prop_map(Some)];
    let turns = prop::collection::vec((turn, 0_u64..50), 0..20);
    (any::<bool>(), 0_usize..3, turns).prop_map(|(has_system, summaries, turns)| {
        let mut entries = Vec::new();
        entries.extend(has_system.then_some(Entry { kind: System, tokens: 5 }));
        entries.extend(vec![Entry { kind: Summary, tokens: 5 }; summaries]);
        for (calls, tokens) in turns {
            let assistant = entries.len();
            let kind = if calls.is_some() { Assistant } else { User };
            entries.push(Entry { kind, tokens });
            entries.extend(vec![Entry { kind: Tool { assistant }, tokens }; calls.unwrap_or_default()]);
        }
        entries
    })
}

proptest! {
    #[test]
    fn every_plan_keeps_what_it_must_and_tears_nothing(entries in history(), budget in 0_u64..500) {
        let Some(plan) = select_fold(&entries, budget) else {
            let foldable = entries.iter().filter(|entry| entry.kind == Summary).count();
            prop_assert_eq!(foldable, 0, "a summary can always be folded");
            return Ok(());
        };
        let mut all: Vec<usize> = plan.fold.iter().chain(&plan.keep).copied().collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..entries.len()).collect::<Vec<_>>());
        assert_pairs_whole(&entries, &plan);

        let latest = entries.iter().rposition(|entry| entry.kind == User);
        prop_assert!(latest.is_none_or(|place| plan.keep.contains(&place)));
        for (place, entry) in entries.iter().enumerate() {
            prop_assert!(entry.kind != System || plan.keep.contains(&place));
            prop_assert!(entry.kind != Summary || plan.fold.contains(&place));
        }
        let is_tail = |place: &&usize| entries[**place].kind != System && Some(**place) != latest;
        let tail: u64 = plan.keep.iter().filter(is_tail).map(|place| entries[*place].tokens).sum();
        prop_assert!(tail <= budget);
    }
}
