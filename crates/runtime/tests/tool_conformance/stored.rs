//! What the store has is not done again, and a store that fails is not hidden.

use jackline_hooks::{Decision, HookKind, Hooks};
use jackline_model::{SideEffect, Status};
use jackline_runtime::drive::RunError;
use jackline_runtime::journal::{Store, StoreError};

use crate::stage::{Called, Prop, agent, asks, did, pairs, says, stage};

fn disk_full() -> StoreError {
    StoreError::Io { doing: "write", why: "the disk is full".to_owned() }
}

/// A tool that dies with its process when it runs for the first time.
fn dying(name: &str, side_effect: SideEffect) -> Prop {
    Prop::new(name, |called: Called| async move {
        called.note("run");
        if called.stage.notes().iter().filter(|note| **note == format!("run {}", called.call)).count() == 1 {
            called.stage.store.kill();
        }
        did(format!("did {}", called.call))
    })
    .with(|spec| spec.side_effect = side_effect)
}

#[tokio::test]
async fn tool_04_a_result_that_is_stored_is_neither_run_nor_stored_again() {
    let turns = [asks(&[("a", "look", "{}")]), asks(&[("b", "die", "{}")])];
    let stage = stage(turns, [Prop::plain("look"), dying("die", SideEffect::Pure)]);
    let run = stage.start(&agent(), Hooks::new());
    assert!(matches!(run.wait().await, Err(RunError::Store(StoreError::LostOwnership(_)))));
    let before = stage.rows(run.id());
    assert_eq!(before.len(), 1);

    let next = stage.after_a_crash([says("done")]);
    let resumed = next.runtime.resume(run.id(), next.listen()).unwrap();
    assert_eq!(resumed.wait().await.unwrap().status, Status::Done);
    assert_eq!(next.rows(run.id())[0], before[0]);
    assert_eq!(next.notes().iter().filter(|note| *note == "run a").count(), 1);
    assert_eq!(next.texts(run.id()), pairs(&[("a", "did a"), ("b", "did b")]));
}

#[tokio::test]
async fn tool_23_a_batch_with_a_stored_result_writes_nothing_twice() {
    // `a` is done and stored before `b`, the next of its lane, runs and dies.
    let ordered = |prop: Prop| prop.with(|spec| (spec.ordered, spec.serialize_by) = (true, Some("lane".into())));
    let calls = [("a", "look", r#"{"lane": "x"}"#), ("b", "die", r#"{"lane": "x"}"#), ("c", "die", r#"{"lane": "x"}"#)];
    let props = [ordered(Prop::plain("look")), ordered(dying("die", SideEffect::Idempotent))];
    let stage = stage([asks(&calls)], props);
    let run = stage.start(&agent(), Hooks::new());
    assert!(run.wait().await.is_err());
    assert_eq!(stage.texts(run.id()), pairs(&[("a", "did a")]), "the gate of `b` made it durable");

    let next = stage.after_a_crash([says("done")]);
    let resumed = next.runtime.resume(run.id(), next.listen()).unwrap();
    assert!(resumed.wait().await.is_err(), "`c` dies too");
    let last = next.after_a_crash([says("done")]);
    let resumed = last.runtime.resume(run.id(), last.listen()).unwrap();
    assert_eq!(resumed.wait().await.unwrap().status, Status::Done);
    assert_eq!(last.texts(run.id()), pairs(&[("a", "did a"), ("b", "did b"), ("c", "did c")]));
    assert_eq!(last.notes(), ["run a", "run b", "run b", "run c", "run c"]);
    let request = &last.model.requests()[0].messages;
    assert_eq!(request.len(), 6, "each result once: {request:?}");
}

#[tokio::test]
async fn tool_23_a_call_in_doubt_is_not_run_again_and_its_siblings_are_kept() {
    let ordered = |prop: Prop| prop.with(|spec| spec.serialize_by = Some("lane".into()));
    let calls = [("a", "look", r#"{"lane": "x"}"#), ("b", "die", r#"{"lane": "x"}"#)];
    let stage = stage([asks(&calls)], [ordered(Prop::plain("look")), ordered(dying("die", SideEffect::Effect))]);
    let run = stage.start(&agent(), Hooks::new());
    assert!(run.wait().await.is_err());
    let next = stage.after_a_crash([says("done")]);
    let resumed = next.runtime.resume(run.id(), next.listen()).unwrap();
    assert_eq!(resumed.wait().await.unwrap().status, Status::Done);
    assert_eq!(next.classes(run.id()), pairs(&[("a", "ok"), ("b", "in_doubt")]));
    assert_eq!(next.notes(), ["run a", "run b"]);
    assert_eq!(next.count(HookKind::AfterToolCall), 0, "what is in doubt is not told as a result");
}

#[tokio::test]
async fn tool_23_a_call_that_is_run_again_after_a_crash_is_controlled_again() {
    let stage = stage([asks(&[("a", "die", "{}")])], [dying("die", SideEffect::Idempotent)]);
    let control = |stage: &crate::stage::Stage, decision: Decision| {
        let stage = stage.clone();
        Hooks::new().control_before_tool_call("policy", move |_| {
            stage.note("control");
            std::future::ready(decision.clone())
        })
    };
    let run = stage.start(&agent(), control(&stage, Decision::Allow));
    assert!(run.wait().await.is_err());

    let next = stage.after_a_crash([says("done")]);
    let missing = next.runtime.resume(run.id(), Hooks::new()).unwrap_err();
    assert!(matches!(&missing, RunError::MissingHooks(ids) if ids == &["policy"]), "{missing}");
    let resumed = next.runtime.resume(run.id(), control(&next, Decision::deny("no longer"))).unwrap();
    assert_eq!(resumed.wait().await.unwrap().status, Status::Done);
    assert_eq!(next.notes(), ["control", "run a", "control"]);
    assert_eq!(next.texts(run.id()), pairs(&[("a", "no longer")]));
}

#[tokio::test]
async fn tool_24_a_result_that_cannot_be_written_is_reported_and_raised() {
    let prop = Prop::new("look", |called| async move {
        called.note("run");
        if called.stage.notes().len() == 1 {
            called.stage.store.fail_next(disk_full());
        }
        did("seen")
    });
    let turns = [asks(&[("a", "look", "{}")]), says("of no use"), says("done")];
    let stage = stage(turns, [prop.with(|spec| spec.side_effect = SideEffect::Idempotent)]);
    let run = stage.start(&agent(), stage.listen());
    let error = run.wait().await.unwrap_err();
    assert!(matches!(&error, RunError::Store(fault) if *fault == disk_full()), "{error:?}");
    assert!(stage.rows(run.id()).is_empty());
    assert_eq!(stage.count(HookKind::OnComplete), 0, "a run without a trustworthy end does not complete");

    let resumed = stage.runtime.resume(run.id(), stage.listen()).unwrap();
    assert_eq!(resumed.wait().await.unwrap().status, Status::Done);
    assert_eq!(stage.row(run.id()).content, "seen");
    assert_eq!(stage.store.header(run.id()).unwrap().summary.status, Status::Done);
}
