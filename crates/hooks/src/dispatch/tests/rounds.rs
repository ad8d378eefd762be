//! Rounds: what a child takes over from its ancestors.

use jackline_model::{RawOutput, ToolRunResult};

use super::*;

/// Registers for `root`, `parent` and `op_1`, and looks up the hooks of the last.
fn family(root: impl Into<Hooks>, parent: impl Into<Hooks>, child: impl Into<Hooks>) -> Bench {
    let bench = Bench::new(child);
    bench.dispatcher.register(&"root".into(), root).unwrap();
    bench.dispatcher.register(&"parent".into(), parent).unwrap();
    bench
}

fn handle(bench: &Bench) -> HookHandle {
    bench.dispatcher.handle(&Rounds::under(["root".into(), "parent".into()], "op_1"))
}

#[test]
fn controls_of_ancestors_are_asked_first_from_the_root() {
    let notes = Notes::default();
    let control = |name| Hooks::new().control_before_tool_call("same", notes.handler(name, Decision::Allow));
    let bench = family(control("root"), control("parent"), control("child"));
    let (_, delivery) = at_once(handle(&bench).dispatch_before_tool_call(|| before_event("fs", "readFile")));
    assert_eq!(notes.all(), ["root", "parent", "child"]);
    let operations: Vec<_> = delivery.receipts.iter().map(|receipt| receipt.operation.as_str()).collect();
    assert_eq!(operations, ["root", "parent", "op_1"]);
}

#[test]
fn all_controls_of_all_rounds_come_before_any_mock() {
    let notes = Notes::default();
    let bench = family(
        Hooks::new().mock_before_tool_call("m", |_| ready(MockAnswer::Mock(ToolRunResult::ok("x")))),
        Hooks::new(),
        Hooks::new().control_before_tool_call("c", notes.handler("c", Decision::deny("no"))),
    );
    let (ruling, _) = at_once(handle(&bench).dispatch_before_tool_call(|| before_event("fs", "readFile")));
    assert_eq!(ruling.verdict(), &BeforeVerdict::Deny { reason: Some("no".to_owned()) });
}

#[test]
fn observers_are_inherited_only_if_they_say_so() {
    let notes = Notes::default();
    let bench = family(
        Hooks::new().after_step("silent", notes.observer("silent")),
        Hooks::new().after_step("heard", notes.observer("heard")).inherit(true),
        Hooks::new().after_step("own", notes.observer("own")),
    );
    at_once(handle(&bench).dispatch(HookKind::AfterStep, || example(HookKind::AfterStep)));
    assert_eq!(notes.all(), ["heard", "own"]);
}

#[test]
fn a_control_can_be_kept_from_children() {
    let bench = family(
        Hooks::new().control_after_tool_call("c", |_| ready(Decision::deny("no"))).inherit(false),
        Hooks::new(),
        Hooks::new(),
    );
    let raw = RawOutput::new(ToolRunResult::ok("x"));
    let (ruling, _) = at_once(handle(&bench).evaluate_after_tool_call(&raw, false, tool_context));
    assert_eq!(ruling.verdict(), &AfterVerdict::Keep);
}

#[test]
fn having_hooks_ignores_inherited_ones_but_the_handle_does_not() {
    let bench =
        family(Hooks::new().control_before_tool_call("c", |_| ready(Decision::Allow)), Hooks::new(), Hooks::new());
    assert!(!bench.dispatcher.has_hooks(&"op_1".into()));
    assert!(!bench.dispatcher.can_deliver(&"op_1".into(), HookKind::BeforeToolCall));
    assert!(handle(&bench).controls(HookKind::BeforeToolCall));
    assert!(!handle(&bench).wants(HookKind::BeforeToolCall));
}

#[test]
fn every_evaluation_can_move_between_threads() {
    fn assert_send<T: Send>(value: T) -> T {
        value
    }
    let bench = Bench::new(Hooks::new().observe_all("o", |_| ready(())));
    let (handle, raw) = (bench.handle(), RawOutput::new(ToolRunResult::ok("x")));
    drop(assert_send(handle.dispatch(HookKind::AfterStep, || example(HookKind::AfterStep))));
    drop(assert_send(handle.dispatch_before_tool_call(|| before_event("fs", "readFile"))));
    drop(assert_send(handle.evaluate_after_tool_call(&raw, false, tool_context)));
    drop(assert_send(bench.dispatcher.dispatch(&Rounds::of("op_1"), HookKind::AfterStep, || panic!("not polled"))));
}
