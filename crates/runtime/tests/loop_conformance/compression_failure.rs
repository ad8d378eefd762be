//! Folding that fails: the history stays as it was.

use jackline_hooks::HookKind;
use jackline_model::{Reason, Status};
use jackline_runtime::drive::Told;
use jackline_runtime::llm::{ModelFaultKind, Turn};

use crate::compression::long_run;
use crate::support::{agent, asked, count, echo, fails, forgetful, heard_of, listen, says, world};

fn is_failure(told: &Told) -> bool {
    matches!(told, Told::CompactionEnd { error: Some(_), .. })
}

#[tokio::test]
async fn cmp_24_a_fold_that_cannot_be_made_is_told_as_an_error_and_changes_nothing() {
    // The provider says that it is too long, and there is nothing that could be folded.
    let world = world([fails(ModelFaultKind::ContextOverflow, ""), says("never")]).build();
    let (heard, hooks) = listen();
    let (report, told) = world.run_with(&agent(), "go", hooks).await;
    assert_eq!(report.reason, Some(Reason::ContextOverflow));
    assert_eq!(report.fault.unwrap().code, "context_overflow");
    assert_eq!(world.requests().len(), 1, "no summary is asked for");
    assert_eq!(count(&told, |told| matches!(told, Told::ModelError { .. })), 1);
    // A fold that does not begin has no hooks, so that each beginning has its end.
    let of_folds = [HookKind::BeforeCompact, HookKind::AfterCompact, HookKind::OnCompactError];
    assert_eq!(of_folds.map(|kind| heard_of(&heard, kind)), [0, 0, 0]);
    assert_eq!(world.rows(&report.operation), ["system: You test.", "user: go"]);
}

#[tokio::test]
async fn cmp_25_a_summary_that_fails_leaves_the_history_whole_and_the_run_goes_on() {
    for summary in [fails(ModelFaultKind::Permanent, ""), says("   "), says(&"s".repeat(9_000))] {
        let world = long_run([echo("c1"), summary, says("done")]).build();
        let (heard, hooks) = listen();
        let (report, told) = world.run_with(&forgetful(4_000), "go", hooks).await;
        assert_eq!(report.answer.as_deref(), Some("done"));
        assert_eq!(count(&told, is_failure), 1);
        assert_eq!((heard_of(&heard, HookKind::OnCompactError), heard_of(&heard, HookKind::AfterCompact)), (1, 0));
        let rows = world.rows(&report.operation);
        assert_eq!((rows.len(), rows.iter().filter(|row| row.starts_with("- ")).count()), (5, 0), "{rows:?}");
        assert_eq!(asked(&world.requests()[2]), rows[..4]);
    }
}

#[tokio::test]
async fn cmp_26_a_stop_during_the_summary_leaves_the_history_whole() {
    let world = long_run([echo("c1"), Turn::Hang]).stop_at("s2.compact.summarize").build();
    let (heard, hooks) = listen();
    let (report, told) = world.run_with(&forgetful(4_000), "go", hooks).await;
    assert_eq!((report.status, report.resumable), (Status::Interrupted, true));
    assert_eq!(count(&told, is_failure), 1);
    assert_eq!(heard_of(&heard, HookKind::AfterCompact), 0);
    let rows = world.rows(&report.operation);
    assert!(rows.len() == 4 && rows.iter().all(|row| !row.starts_with("- ")), "{rows:?}");
}
