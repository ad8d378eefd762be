//! Controls on results.

use jackline_model::{RawOutput, ToolRunResult};

use super::*;

fn judge(bench: &Bench, result: ToolRunResult, mocked: bool) -> (Ruling<AfterVerdict>, Delivery) {
    let raw = RawOutput::new(result);
    at_once(bench.handle().evaluate_after_tool_call(&raw, mocked, tool_context))
}

fn secret() -> ToolRunResult {
    ToolRunResult { stop: true, ..ToolRunResult::ok("the secret") }
}

fn reason(ruling: &Ruling<AfterVerdict>) -> Option<&str> {
    match ruling.verdict() {
        AfterVerdict::Keep => None,
        AfterVerdict::Deny { reason } => reason.as_deref(),
    }
}

#[test]
fn i02_a_control_sees_the_whole_result_and_the_call() {
    let notes = Notes::default();
    let seen = notes.clone();
    let bench = Bench::new(Hooks::new().control_after_tool_call("c", move |call| {
        assert_eq!(call.result, secret());
        seen.add(format!("{} {} {}", call.context.tool_call_id, call.context.args["path"], call.mocked));
        ready(Decision::Allow)
    }));
    assert_eq!(judge(&bench, secret(), false).0.verdict(), &AfterVerdict::Keep);
    let _ = judge(&bench, secret(), true);
    assert_eq!(notes.all(), ["call_abc \"a\" false", "call_abc \"a\" true"]);
}

#[test]
fn i06_i07_a_failing_control_keeps_the_result_or_blocks_it() {
    for (on_error, expected) in [(OnError::Continue, None), (OnError::Block, Some(CONTROL_ERROR_REASON))] {
        let failures = [
            Hooks::new().control_after_tool_call("c", |_| ready(Err::<Decision, _>(HookError::new("broken")))),
            Hooks::new().control_after_tool_call("c", |_| async { panicking::<Decision>() }),
            Hooks::new().control_after_tool_call("c", |_| never::<Decision>()),
        ];
        for hooks in failures {
            let bench = Bench::new(hooks.on_error(on_error).timeout(Duration::from_millis(20)));
            let (handle, raw) = (bench.handle(), RawOutput::new(secret()));
            let mut judging = Box::pin(handle.evaluate_after_tool_call(&raw, false, tool_context));
            let mut answered = step(&mut judging);
            if answered.is_pending() {
                bench.clock.advance(Duration::from_millis(20));
                answered = step(&mut judging);
            }
            let Poll::Ready((ruling, delivery)) = answered else { panic!("the chain ends") };
            assert_eq!(reason(&ruling), expected);
            assert_eq!(ruling.by().map(|by| by.cause), expected.map(|_| RulingCause::Failure));
            assert!(delivery.receipts[0].answer.is_failure());
        }
    }
}

#[test]
fn i08_order_matcher_and_the_stop_at_a_denial() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .control_after_tool_call("1", notes.handler("1", Decision::Allow))
            .control_after_tool_call("other", notes.handler("other", Decision::deny("never")))
            .matching("^net/")
            .control_after_tool_call("2", notes.handler("2", Decision::deny("no")))
            .control_after_tool_call("3", notes.handler("3", Decision::Allow)),
    );
    let (ruling, delivery) = judge(&bench, secret(), false);
    assert_eq!(reason(&ruling), Some("no"));
    let by = RuledBy { hook: "2".into(), event: HookKind::AfterToolCall, cause: RulingCause::Policy };
    assert_eq!(ruling.by(), Some(&by));
    assert_eq!(notes.all(), ["1", "2"]);
    assert_eq!(answers(&delivery), [("1", AnswerClass::Keep), ("2", AnswerClass::Deny)]);
}

#[test]
fn i09_a_reason_is_verbatim_even_if_it_is_the_secret() {
    for text in ["  padded \n lines\t", "\"quoted\" 'too'", "禁止执行该操作", "the secret"] {
        let bench = Bench::new(Hooks::new().control_after_tool_call("c", move |_| ready(Decision::deny(text))));
        assert_eq!(reason(&judge(&bench, secret(), false).0), Some(text));
    }
}

#[test]
fn i10_an_empty_reason_and_none_are_handed_on_for_the_gate_to_word() {
    let empty = Bench::new(Hooks::new().control_after_tool_call("c", |_| ready(Decision::deny(""))));
    assert_eq!(judge(&empty, secret(), false).0.verdict(), &AfterVerdict::Deny { reason: Some(String::new()) });
    let none = Bench::new(Hooks::new().control_after_tool_call("c", |_| ready(Decision::Deny { reason: None })));
    assert_eq!(judge(&none, secret(), false).0.verdict(), &AfterVerdict::Deny { reason: None });
}

#[test]
fn i14_a_result_that_calls_itself_blocked_is_judged_like_any_other() {
    let notes = Notes::default();
    let bench = Bench::new(Hooks::new().control_after_tool_call("c", notes.handler("c", Decision::Allow)));
    let state = serde_json::json!({"type": "blocked", "phase": "afterToolCall"}).as_object().cloned();
    let (ruling, _) = judge(&bench, ToolRunResult { state, ..secret() }, false);
    assert_eq!(ruling.verdict(), &AfterVerdict::Keep);
    assert_eq!(notes.all(), ["c"]);
}

#[test]
fn i23_a_question_that_is_dropped_rules_nothing() {
    let bench = Bench::new(Hooks::new().control_after_tool_call("hung", |_| never::<Decision>()));
    let (handle, raw) = (bench.handle(), RawOutput::new(secret()));
    let mut judging = Box::pin(handle.evaluate_after_tool_call(&raw, false, tool_context));
    assert!(step(&mut judging).is_pending());
    drop(judging);
}

#[test]
fn without_controls_the_result_is_kept_and_the_context_is_never_built() {
    let bench = Bench::new(Hooks::new().after_tool_call("o", |_| ready(())));
    let raw = RawOutput::new(secret());
    let unbuilt = || panic!("nobody judges");
    let (ruling, delivery) = at_once(bench.handle().evaluate_after_tool_call(&raw, false, unbuilt));
    assert_eq!((ruling.verdict(), ruling.by()), (&AfterVerdict::Keep, None));
    assert!(delivery.is_empty());
}

#[test]
fn observers_of_a_result_are_not_asked_before_it_is_published() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .after_tool_call("o", notes.observer("o"))
            .control_after_tool_call("c", notes.handler("c", Decision::Allow)),
    );
    let _ = judge(&bench, secret(), false);
    assert_eq!(notes.all(), ["c"]);
    bench.fire(HookKind::AfterToolCall);
    assert_eq!(notes.all(), ["c", "o"]);
}
