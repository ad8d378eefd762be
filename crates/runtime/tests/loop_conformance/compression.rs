//! Folding a history that is too long.

use std::sync::Arc;

use jackline_hooks::{Event, HookKind, Hooks};
use jackline_model::{Reason, Status};
use jackline_runtime::compress::{Entry, EntryKind, select_fold};
use jackline_runtime::drive::{Agent, Told};
use jackline_runtime::llm::{ReplyBuilder, ScriptedModel, Turn};

use crate::support::{Fake, Shared, World, WorldBuilder, asked, count, echo, forgetful, listen, says, usage, world};

/// A run whose first call answers with 3000 bytes, more than a window of 4000 leaves room for.
pub(crate) fn long_run(turns: impl IntoIterator<Item = Turn>) -> WorldBuilder {
    world(turns).tools([Fake::says("echo", &"x".repeat(3_000)).into_tool()])
}

fn folding(summary: &str) -> World {
    long_run([echo("c1"), says(summary), says("done")]).build()
}

#[tokio::test]
async fn cmp_15_the_last_user_message_stays_and_the_rest_becomes_a_summary() {
    let world = folding("what was");
    let (heard, hooks) = listen();
    let (report, told) = world.run_with(&forgetful(4_000), "go", hooks).await;
    assert_eq!((report.status, report.answer.as_deref()), (Status::Done, Some("done")));
    let folded = format!("- tool ok: {}", "x".repeat(3_000));
    let rows = world.rows(&report.operation);
    let [system, user, call, summary, result, answer] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((system.as_str(), user.as_str()), ("system: You test.", "user: go"));
    assert_eq!((call.as_str(), result), ("- assistant:  +echo {}", &folded));
    assert!(summary.starts_with("system: ") && summary.ends_with("what was"), "{summary}");
    assert_eq!(answer, "assistant: done");

    let material = asked(&world.requests()[1]).concat();
    assert!(material.contains("called test/echo") && material.contains("[result of test/echo]"));
    assert!(world.requests()[1].tools.is_empty());
    assert_eq!(report.totals.llm_calls, 3, "the summary has its price");
    assert_eq!(count(&told, |told| matches!(told, Told::CompactionStart { messages: 2, .. })), 1);
    let end = |told: &Told| matches!(told, Told::CompactionEnd { messages_before: 2, messages_after: 3, error: None });
    assert_eq!(count(&told, end), 1);
    let kinds: Vec<HookKind> = heard.lock().unwrap().iter().map(Event::kind).collect();
    let before = kinds.iter().position(|kind| *kind == HookKind::BeforeCompact).unwrap();
    assert_eq!(kinds[before + 1], HookKind::AfterCompact);
}

#[tokio::test]
async fn cmp_16_observers_see_whose_child_it_is_and_cannot_change_it() {
    let child_turns = [echo("c1"), says("what was"), says("seen")];
    let call = ReplyBuilder::default().usage(usage()).call(
        Some("p1"),
        "agent____callAgent",
        r#"{"agentId":"child","instruction":"look"}"#,
    );
    let world = long_run([Turn::Reply(call.build()), says("done")])
        .model_of("child", Shared(Arc::new(ScriptedModel::new(child_turns))))
        .build();
    let mut parent = forgetful(128_000);
    parent.agents = vec![Agent { name: "child".to_owned(), ..forgetful(4_000) }];
    let (sender, seen) = std::sync::mpsc::channel();
    let hooks = Hooks::new().before_compact("ear", move |event| {
        let mut mine = event.context.clone();
        // An observer has the event, and what it does to its copy is its own affair.
        mine.parent_operation_id = None;
        let _ = sender.send((*event).clone());
        std::future::ready(())
    });
    let (report, _) = world.run_with(&parent, "go", hooks.inherit(true)).await;
    assert_eq!(report.answer.as_deref(), Some("done"));
    let event = seen.try_recv().unwrap();
    assert_eq!(event.context.parent_operation_id.as_ref(), Some(&report.operation));
    let lineage = event.context.lineage.unwrap();
    assert_eq!((lineage.is_sub_agent, lineage.depth), (true, 1));
    assert_eq!(event.context.thread_id.unwrap().as_str(), event.context.operation_id.as_str());
}

async fn breaks() {
    panic!("the hook has a bug");
}

#[tokio::test]
async fn cmp_17_a_panicking_hook_changes_nothing() {
    let world = folding("what was");
    let hooks = Hooks::new().before_compact("breaks", |_| breaks()).after_compact("breaks too", |_| breaks());
    let (report, _) = world.run_with(&forgetful(4_000), "go", hooks).await;
    assert_eq!(report.answer.as_deref(), Some("done"));
    assert!(world.rows(&report.operation).iter().any(|row| row.ends_with("what was")));
}

#[tokio::test]
async fn cmp_18_the_latest_user_message_survives_with_turns_behind_it() {
    let world = folding("what was");
    let (_, _) = world.run(&forgetful(4_000)).await;
    let last = asked(&world.requests()[2]);
    assert_eq!(last[..2], ["system: You test.", "user: go"]);
    assert!(last.len() == 3 && last[2].ends_with("what was"), "{last:?}");
}

#[tokio::test]
async fn cmp_19_where_there_is_nothing_to_fold_nothing_is_compressed() {
    let world = world([says("done")]).build();
    let (heard, hooks) = listen();
    let (report, told) = world.run_with(&forgetful(1_000), &"long ".repeat(500), hooks).await;
    assert_eq!((report.reason, world.requests().len()), (Some(Reason::Done), 1));
    assert_eq!(count(&told, |told| matches!(told, Told::CompactionStart { .. })), 0);
    assert!(!heard.lock().unwrap().iter().any(|event| event.kind() == HookKind::BeforeCompact));
}

#[tokio::test]
async fn cmp_20_neither_a_user_nor_hooks_are_needed() {
    let world = folding("what was");
    let (report, _) = world.run(&forgetful(4_000)).await;
    assert_eq!(report.operation.as_str(), "op1");
    assert!(world.did("compact.summarize"));
    assert!(world.rows(&report.operation).iter().any(|row| row.ends_with("what was")));
}

#[tokio::test]
async fn cmp_21_an_earlier_summary_goes_into_the_new_one_and_is_replaced() {
    let turns = [echo("c1"), says("first things"), echo("c2"), says("first and second things"), says("done")];
    let world = long_run(turns).build();
    let (report, _) = world.run(&forgetful(4_000)).await;
    assert_eq!(report.answer.as_deref(), Some("done"));
    let material = asked(&world.requests()[3]).concat();
    assert!(material.contains("[earlier summary]\nfirst things"), "{material}");
    let rows = world.rows(&report.operation);
    let summaries: Vec<&String> = rows.iter().filter(|row| row.contains("things")).collect();
    assert!(summaries[0].starts_with("- system: ") && summaries[0].ends_with("first things"), "{summaries:?}");
    assert!(summaries[1].starts_with("system: ") && summaries.len() == 2, "{summaries:?}");
    let last = asked(&world.requests()[4]);
    assert_eq!(last.iter().filter(|message| message.contains("things")).count(), 1);
}

#[test]
fn cmp_22_summaries_alone_can_be_folded_again() {
    let entry = |kind| Entry { kind, tokens: 1_000 };
    let entries = [EntryKind::System, EntryKind::Summary, EntryKind::Summary, EntryKind::User].map(entry);
    let plan = select_fold(&entries, 0).unwrap();
    assert_eq!((plan.fold, plan.keep), (vec![1, 2], vec![0, 3]));
}

#[tokio::test]
async fn cmp_27_hooks_get_a_cut_summary_and_the_history_the_whole() {
    let whole = "s".repeat(900);
    let world = folding(&whole);
    let (heard, hooks) = listen();
    let (report, _) = world.run_with(&forgetful(4_000), "go", hooks).await;
    let shown = heard.lock().unwrap().iter().find_map(|event| {
        let Event::AfterCompact(event) = event else { return None };
        Some(event.summary.clone())
    });
    assert_eq!(shown.unwrap(), "s".repeat(500));
    assert!(world.rows(&report.operation).iter().any(|row| row.ends_with(&whole)));
}
