//! Mocks.

use jackline_model::{RawOutput, ToolRunResult};

use super::*;

fn ok(text: &str) -> ToolRunResult {
    ToolRunResult::ok(text)
}

fn mocked(ruling: Ruling<BeforeVerdict>) -> Option<(ToolRunResult, String)> {
    let (verdict, by) = ruling.into_parts();
    match verdict {
        BeforeVerdict::Mock(raw) => Some((raw.into_result(), by.unwrap().hook.to_string())),
        BeforeVerdict::Proceed | BeforeVerdict::Deny { .. } => None,
    }
}

fn returning(text: &'static str) -> impl Fn(MockableToolCall) -> Ready<MockAnswer> + Send + Sync + 'static {
    move |_| ready(MockAnswer::Mock(ok(text)))
}

#[test]
fn d01_without_before_hooks_there_is_no_mock() {
    assert_eq!(mocked(Bench::new(Hooks::new()).before().0), None);
}

#[test]
fn d02_a_mock_stands_in_whether_called_or_returned() {
    let call = Bench::new(Hooks::new().mock_before_tool_call("m", |call| async move { assert!(call.mock(ok("x"))) }));
    let returned = Bench::new(Hooks::new().mock_before_tool_call("m", returning("x")));
    for bench in [call, returned] {
        let (ruling, delivery) = bench.before();
        let by = RuledBy { hook: "m".into(), event: HookKind::BeforeToolCall, cause: RulingCause::Policy };
        assert_eq!(ruling.by(), Some(&by));
        assert_eq!(ruling.verdict(), &BeforeVerdict::Mock(RawOutput::new(ok("x"))));
        assert_eq!(answers(&delivery), [("m", AnswerClass::Mock)]);
        assert_eq!(delivery.receipts[0].decided_by, Some(RulingCause::Policy));
    }
}

#[test]
fn d03_a_handler_that_only_looks_mocks_nothing() {
    let bench = Bench::new(Hooks::new().mock_before_tool_call("m", |_| ready(())));
    let (ruling, delivery) = bench.before();
    assert_eq!(mocked(ruling), None);
    assert_eq!(answers(&delivery), [("m", AnswerClass::Ok)]);
}

#[test]
fn d04_the_event_of_a_mock_handler_has_the_fields_of_the_call() {
    let notes = Notes::default();
    let seen = notes.clone();
    let bench = Bench::new(Hooks::new().mock_before_tool_call("m", move |call| {
        let context = &call.context;
        seen.add(format!("{} {} {}", context.operation_id, context.tool_call_id, context.key));
        seen.add(format!("{}", call.mock(ok("x"))));
        ready(())
    }));
    assert!(mocked(bench.before().0).is_some());
    assert_eq!(notes.all(), ["op_1 call_abc fs/readFile", "true"]);
}

#[test]
fn d05_a_failing_handler_is_no_mock_and_no_error() {
    let notes = Notes::default();
    let (ruling, delivery) = Bench::new(Hooks::new().mock_before_tool_call("m", notes.failing("m"))).before();
    assert_eq!(mocked(ruling), None);
    assert_eq!(answers(&delivery), [("m", AnswerClass::Error)]);
    assert_eq!(delivery.receipts[0].decided_by, None);
}

#[test]
fn d06_a_failed_mock_is_kept_as_it_is() {
    let failed = ToolRunResult { error: Some(serde_json::json!({"code": 7})), ..ToolRunResult::failed("broken") };
    let answer = failed.clone();
    let bench = Bench::new(Hooks::new().mock_before_tool_call("m", move |_| ready(MockAnswer::Mock(answer.clone()))));
    assert_eq!(mocked(bench.before().0).unwrap().0, failed);
}

#[test]
fn d07_the_first_of_two_mocks_wins_and_the_second_is_not_asked() {
    let notes = Notes::default();
    let hooks = Hooks::new().mock_before_tool_call("a", returning("x")).mock_before_tool_call("b", notes.observer("b"));
    assert_eq!(mocked(Bench::new(hooks).before().0), Some((ok("x"), "a".to_owned())));
    assert!(notes.all().is_empty());
}

#[test]
fn c120_the_first_mock_ends_the_chain_of_mocks_and_observers() {
    let notes = Notes::default();
    let hooks = Hooks::new()
        .observe_before_tool_call("a", notes.observer("a"))
        .mock_before_tool_call("b", returning("x"))
        .mock_before_tool_call("c", notes.observer("c"))
        .observe_before_tool_call("d", notes.observer("d"));
    let (ruling, delivery) = Bench::new(hooks).before();
    assert_eq!(mocked(ruling), Some((ok("x"), "b".to_owned())));
    assert_eq!(answers(&delivery), [("a", AnswerClass::Ok), ("b", AnswerClass::Mock)]);
    assert_eq!(notes.all(), ["a"]);
}

#[test]
fn d08_an_observer_and_then_a_mock_are_both_asked() {
    let notes = Notes::default();
    let hooks = Hooks::new().mock_before_tool_call("a", notes.observer("a")).mock_before_tool_call("b", returning("x"));
    assert_eq!(mocked(Bench::new(hooks).before().0), Some((ok("x"), "b".to_owned())));
    assert_eq!(notes.all(), ["a"]);
}

#[test]
fn d09_a_failure_does_not_prevent_a_later_mock() {
    let hooks = Hooks::new()
        .mock_before_tool_call("a", |_| async { panicking::<()>() })
        .mock_before_tool_call("b", returning("x"));
    assert_eq!(mocked(Bench::new(hooks).before().0), Some((ok("x"), "b".to_owned())));
}

#[test]
fn d10_a_second_mock_is_refused_and_so_is_a_late_one() {
    let notes = Notes::default();
    let (seen, kept) = (notes.clone(), Arc::new(Mutex::new(None)));
    let keep = Arc::clone(&kept);
    let hooks = Hooks::new()
        .mock_before_tool_call("early", move |call| {
            *keep.lock().unwrap() = Some(call);
            ready(())
        })
        .mock_before_tool_call("twice", move |call| {
            let early = kept.lock().unwrap().take().unwrap();
            seen.add(format!("{} {} {}", early.mock(ok("late")), call.mock(ok("first")), call.mock(ok("second"))));
            ready(MockAnswer::Mock(ok("returned")))
        });
    assert_eq!(mocked(Bench::new(hooks).before().0), Some((ok("first"), "twice".to_owned())));
    assert_eq!(notes.all(), ["false true false"]);
}

#[test]
fn d11_another_operation_has_no_mock() {
    let bench = Bench::new(Hooks::new().mock_before_tool_call("m", returning("x")));
    let rounds = Rounds::of("cold");
    let (ruling, _) = at_once(bench.dispatcher.dispatch_before_tool_call(&rounds, || before_event("fs", "readFile")));
    assert_eq!(mocked(ruling), None);
}

#[test]
fn d13_each_handler_is_asked_exactly_once_per_call() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .observe_before_tool_call("o", notes.observer("o"))
            .mock_before_tool_call("m", notes.observer("m"))
            .control_before_tool_call("c", notes.handler("c", Decision::Allow)),
    );
    let _ = bench.before();
    assert_eq!(notes.all(), ["c", "o", "m"]);
}

#[test]
fn a_mock_survives_the_error_the_panic_and_the_timeout_of_its_handler() {
    let error = Hooks::new().mock_before_tool_call("m", |call| async move {
        call.mock(ok("x"));
        Err::<(), _>(HookError::new("afterwards"))
    });
    let panic = Hooks::new().mock_before_tool_call("m", |call| async move {
        call.mock(ok("x"));
        panicking::<()>()
    });
    let timeout = Hooks::new().mock_before_tool_call("m", |call| async move {
        call.mock(ok("x"));
        never::<()>().await
    });
    let classes = [AnswerClass::Error, AnswerClass::Panic, AnswerClass::Timeout];
    for (hooks, class) in [error, panic, timeout].into_iter().zip(classes) {
        let bench = Bench::new(hooks);
        let handle = bench.handle();
        let mut asking = Box::pin(handle.dispatch_before_tool_call(|| before_event("fs", "readFile")));
        let answered = match step(&mut asking) {
            Poll::Ready(answered) => Poll::Ready(answered),
            Poll::Pending => {
                bench.clock.advance(HANDLER_TIMEOUT);
                step(&mut asking)
            }
        };
        let Poll::Ready((ruling, delivery)) = answered else { panic!("the chain ends") };
        assert_eq!(mocked(ruling), Some((ok("x"), "m".to_owned())));
        assert_eq!(answers(&delivery), [("m", class)]);
        assert_eq!(delivery.receipts[0].decided_by, Some(RulingCause::Policy));
    }
}

#[test]
fn ordinary_dispatch_asks_no_mock_and_no_control() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .control_before_tool_call("c", notes.handler("c", Decision::Allow))
            .mock_before_tool_call("m", notes.observer("m"))
            .observe_before_tool_call("o", notes.observer("o")),
    );
    bench.fire(HookKind::BeforeToolCall);
    assert_eq!(notes.all(), ["o"]);
}
