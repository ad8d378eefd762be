//! Controls on calls.

use jackline_model::ToolRunResult;

use super::*;

fn denied(ruling: &Ruling<BeforeVerdict>) -> Option<(Option<&str>, RulingCause)> {
    match ruling.verdict() {
        BeforeVerdict::Deny { reason } => Some((reason.as_deref(), ruling.by().unwrap().cause)),
        BeforeVerdict::Proceed | BeforeVerdict::Mock(_) => None,
    }
}

#[test]
fn h01_a_denial_keeps_observers_and_mocks_out() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .mock_before_tool_call("m", notes.observer("mock"))
            .observe_before_tool_call("o", notes.observer("observer"))
            .control_before_tool_call("c", |_| ready(Decision::Deny { reason: None })),
    );
    let (ruling, _) = bench.before();
    assert_eq!(denied(&ruling), Some((None, RulingCause::Policy)));
    assert!(notes.all().is_empty());
}

#[test]
fn h06_controls_run_in_order_and_stop_at_the_first_denial() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .observe_before_tool_call("o", notes.observer("o"))
            .control_before_tool_call("1", notes.handler("1", Decision::Allow))
            .control_before_tool_call("2", notes.handler("2", Decision::deny("no")))
            .control_before_tool_call("3", notes.handler("3", Decision::Allow)),
    );
    let (ruling, delivery) = bench.before();
    assert_eq!(denied(&ruling), Some((Some("no"), RulingCause::Policy)));
    assert_eq!(ruling.by().unwrap().hook.as_str(), "2");
    assert_eq!(notes.all(), ["1", "2"]);
    assert_eq!(answers(&delivery), [("1", AnswerClass::Allow), ("2", AnswerClass::Deny)]);
    let decided: Vec<_> = delivery.receipts.iter().map(|receipt| receipt.decided_by).collect();
    assert_eq!(decided, [None, Some(RulingCause::Policy)]);
    assert_eq!(before_event("fs", "x").to_json().get("originalArgs"), None);
}

#[test]
fn h10_dropping_the_question_decides_nothing_and_asks_nobody_else() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .control_before_tool_call("hung", |_| never::<Decision>())
            .control_before_tool_call("next", notes.handler("next", Decision::Allow)),
    );
    let handle = bench.handle();
    let mut asking = Box::pin(handle.dispatch_before_tool_call(|| before_event("fs", "readFile")));
    assert!(step(&mut asking).is_pending());
    drop(asking);
    bench.clock.advance(HANDLER_TIMEOUT);
    assert!(notes.all().is_empty());
}

#[test]
fn h12_odd_call_ids_are_controlled_like_any_other() {
    for id in ["constructor", "__proto__"] {
        let bench = Bench::new(
            Hooks::new()
                .control_before_tool_call("c", move |call| ready(Decision::deny(call.context.tool_call_id.as_str()))),
        );
        let context = ToolCallContext { tool_call_id: id.into(), ..tool_context() };
        let (ruling, _) = at_once(bench.handle().dispatch_before_tool_call(|| BeforeToolCallEvent { context }));
        assert_eq!(denied(&ruling), Some((Some(id), RulingCause::Policy)));
    }
}

#[test]
fn h17_a_failing_control_follows_its_policy() {
    for (on_error, expected) in
        [(OnError::Continue, None), (OnError::Block, Some((Some(CONTROL_ERROR_REASON), RulingCause::Failure)))]
    {
        let failures = [
            Hooks::new().control_before_tool_call("c", |_| ready(Err::<Decision, _>(HookError::new("broken")))),
            Hooks::new().control_before_tool_call("c", |_| async { panicking::<Decision>() }),
            Hooks::new().control_before_tool_call("c", |_| never::<Decision>()),
        ];
        for hooks in failures {
            let bench = Bench::new(hooks.on_error(on_error));
            let handle = bench.handle();
            let mut asking = Box::pin(handle.dispatch_before_tool_call(|| before_event("fs", "readFile")));
            let mut answered = step(&mut asking);
            if answered.is_pending() {
                bench.clock.advance(HANDLER_TIMEOUT);
                answered = step(&mut asking);
            }
            let Poll::Ready((ruling, delivery)) = answered else { panic!("the chain ends") };
            assert_eq!(denied(&ruling), expected);
            assert!(delivery.receipts[0].answer.is_failure());
            assert_eq!(delivery.receipts[0].decided_by, expected.map(|(_, cause)| cause));
        }
    }
}

#[test]
fn by_default_a_failing_control_is_passed_over() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .control_before_tool_call("broken", |_| async { panicking::<Decision>() })
            .control_before_tool_call("next", notes.handler("next", Decision::deny("no"))),
    );
    assert_eq!(denied(&bench.before().0), Some((Some("no"), RulingCause::Policy)));
    assert_eq!(notes.all(), ["next"]);
}

#[test]
fn h18_the_same_call_id_is_controlled_again() {
    let notes = Notes::default();
    let bench = Bench::new(Hooks::new().control_before_tool_call("c", notes.handler("c", Decision::Allow)));
    let _ = bench.before();
    let _ = bench.before();
    assert_eq!(notes.all(), ["c", "c"]);
}

#[test]
fn h21_an_empty_reason_is_handed_on_for_the_gate_to_word() {
    let bench = Bench::new(Hooks::new().control_before_tool_call("c", |_| ready(Decision::deny(""))));
    assert_eq!(denied(&bench.before().0), Some((Some(""), RulingCause::Policy)));
}

#[test]
fn a_denial_overrules_a_mock_that_was_registered_first() {
    let bench = Bench::new(
        Hooks::new()
            .mock_before_tool_call("m", |_| ready(MockAnswer::Mock(ToolRunResult::ok("x"))))
            .control_before_tool_call("c", |_| ready(Decision::deny("no"))),
    );
    assert_eq!(denied(&bench.before().0), Some((Some("no"), RulingCause::Policy)));
}
