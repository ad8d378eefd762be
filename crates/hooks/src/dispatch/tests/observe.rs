//! Observers.

use jackline_model::ToolRunResult;
use tracing::field::{Field, Visit};
use tracing::span;

use super::*;

#[test]
fn b01_a_handler_gets_its_event_once_and_no_other() {
    let notes = Notes::default();
    let seen = notes.clone();
    let bench = Bench::new(Hooks::new().before_step("a", move |step| {
        seen.add(format!("{} {}", step.run.operation_id, step.step_index));
        ready(())
    }));
    for kind in HookKind::ALL {
        bench.fire(kind);
    }
    assert_eq!(notes.all(), ["op_1 1"]);
}

#[test]
fn b02_two_handlers_of_a_type_run_in_order() {
    let notes = Notes::default();
    let hooks = Hooks::new().on_complete("a", notes.observer("a")).on_complete("b", notes.observer("b"));
    let delivery = Bench::new(hooks).fire(HookKind::OnComplete);
    assert_eq!(notes.all(), ["a", "b"]);
    assert_eq!(answers(&delivery), [("a", AnswerClass::Ok), ("b", AnswerClass::Ok)]);
}

#[test]
fn b03_a_failing_handler_stops_nobody_on_any_event() {
    for kind in HookKind::ALL {
        let notes = Notes::default();
        let hooks = Hooks::new()
            .observe_all("error", notes.failing("error"))
            .observe_all("panic", |_| async { panicking::<()>() })
            .observe_all("panic at once", |_| panicking::<Ready<()>>())
            .observe_all("last", notes.observer("last"));
        let delivery = Bench::new(hooks).fire(kind);
        assert_eq!(notes.all(), ["error", "last"], "{kind}");
        let expected = [
            ("error", AnswerClass::Error),
            ("panic", AnswerClass::Panic),
            ("panic at once", AnswerClass::Panic),
            ("last", AnswerClass::Ok),
        ];
        assert_eq!(answers(&delivery), expected, "{kind}");
    }
}

#[test]
fn b04_an_unknown_operation_has_nothing_to_deliver() {
    let bench = Bench::new(Hooks::new().observe_all("a", |_| ready(())));
    let rounds = Rounds::of("unknown");
    let unbuilt = || panic!("nobody wants the event");
    let delivery = at_once(bench.dispatcher.dispatch(&rounds, HookKind::BeforeStep, unbuilt));
    assert!(delivery.is_empty());
}

#[test]
fn b12_a_matcher_selects_for_observers_mocks_and_controls() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .control_before_tool_call("c", notes.handler("control", Decision::Allow))
            .matching("^fs/")
            .observe_before_tool_call("o", notes.observer("observe"))
            .matching("^fs/")
            .mock_before_tool_call("m", notes.observer("mock"))
            .matching("^fs/"),
    );
    assert!(bench.before_tool("net", "get").1.is_empty());
    assert!(notes.all().is_empty());
    let _ = bench.before_tool("fs", "readFile");
    assert_eq!(notes.all(), ["control", "observe", "mock"]);
}

#[test]
fn b15_a_mock_leaves_hooks_of_other_events_alone() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .mock_before_tool_call("m", |call| async move { assert!(call.mock(ToolRunResult::ok("x"))) })
            .after_step("s", notes.observer("step"))
            .on_complete("c", notes.observer("complete")),
    );
    let _ = bench.before();
    bench.fire(HookKind::AfterStep);
    bench.fire(HookKind::OnComplete);
    assert_eq!(notes.all(), ["step", "complete"]);
}

#[test]
fn b16_each_of_the_sixteen_reaches_its_own_method() {
    let notes = Notes::default();
    let bench = Bench::new(
        Hooks::new()
            .before_step("", notes.observer("beforeStep"))
            .after_step("", notes.observer("afterStep"))
            .on_complete("", notes.observer("onComplete"))
            .on_run_error("", notes.observer("onError"))
            .observe_before_tool_call("", notes.observer("beforeToolCall"))
            .after_tool_call("", notes.observer("afterToolCall"))
            .on_tool_call_error("", notes.observer("onToolCallError"))
            .before_human_intervention("", notes.observer("beforeHumanIntervention"))
            .after_human_intervention("", notes.observer("afterHumanIntervention"))
            .on_stop_by_human_intervention("", notes.observer("onStopByHumanIntervention"))
            .before_compact("", notes.observer("beforeCompact"))
            .after_compact("", notes.observer("afterCompact"))
            .on_compact_error("", notes.observer("onCompactError"))
            .before_call_agent("", notes.observer("beforeCallAgent"))
            .after_call_agent("", notes.observer("afterCallAgent"))
            .on_call_agent_error("", notes.observer("onCallAgentError")),
    );
    for kind in HookKind::ALL {
        bench.fire(kind);
    }
    assert_eq!(notes.all(), HookKind::ALL.map(HookKind::as_str));
}

#[test]
fn b19_each_handler_is_awaited_before_the_next() {
    let notes = Notes::default();
    let (release, released) = futures_util::future::abortable(never::<()>());
    let (slow, wait) = (notes.clone(), Mutex::new(Some(release)));
    let hooks = Hooks::new()
        .after_step("slow", move |_| {
            let (slow, wait) = (slow.clone(), wait.lock().unwrap().take().unwrap());
            async move {
                let _ = wait.await;
                slow.add("slow");
            }
        })
        .after_step("fast", notes.observer("fast"));
    let bench = Bench::new(hooks);
    let handle = bench.handle();
    let mut firing = Box::pin(handle.dispatch(HookKind::AfterStep, || example(HookKind::AfterStep)));
    assert!(step(&mut firing).is_pending());
    bench.clock.advance(Duration::from_secs(3));
    assert!(step(&mut firing).is_pending());
    assert!(notes.all().is_empty());
    released.abort();
    let Poll::Ready(delivery) = step(&mut firing) else { panic!("the slow handler was released") };
    assert_eq!(notes.all(), ["slow", "fast"]);
    assert_eq!(delivery.receipts[0].latency, Duration::from_secs(3));
    assert_eq!(delivery.receipts[1].latency, Duration::ZERO);
}

#[test]
fn a_handler_that_never_answers_costs_exactly_its_timeout() {
    let notes = Notes::default();
    let hooks = Hooks::new()
        .after_step("hung", |_| never::<()>())
        .timeout(Duration::from_millis(20))
        .after_step("next", notes.observer("next"));
    let bench = Bench::new(hooks);
    let handle = bench.handle();
    let mut firing = Box::pin(handle.dispatch(HookKind::AfterStep, || example(HookKind::AfterStep)));
    bench.clock.advance(Duration::ZERO);
    assert!(step(&mut firing).is_pending());
    bench.clock.advance(Duration::from_millis(19));
    assert!(step(&mut firing).is_pending());
    bench.clock.advance(Duration::from_millis(1));
    let Poll::Ready(delivery) = step(&mut firing) else { panic!("the deadline passed") };
    assert_eq!(answers(&delivery), [("hung", AnswerClass::Timeout), ("next", AnswerClass::Ok)]);
    assert_eq!(delivery.receipts[0].latency, Duration::from_millis(20));
    assert_eq!(bench.clock.timers(), 1, "a handler that answers at once arms no timer");
}

#[test]
fn a_late_handler_that_panics_as_it_is_dropped_stops_nobody() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panicking()
        }
    }
    let notes = Notes::default();
    let hooks = Hooks::new()
        .after_step("bomb", |_| async {
            let _bomb = Bomb;
            never::<()>().await
        })
        .after_step("next", notes.observer("next"));
    let bench = Bench::new(hooks);
    let handle = bench.handle();
    let mut firing = Box::pin(handle.dispatch(HookKind::AfterStep, || example(HookKind::AfterStep)));
    assert!(step(&mut firing).is_pending());
    bench.clock.advance(HANDLER_TIMEOUT);
    assert!(step(&mut firing).is_ready());
    assert_eq!(notes.all(), ["next"]);
}

#[test]
fn an_event_is_built_only_if_somebody_wants_it() {
    let bench = Bench::new(Hooks::new().control_after_tool_call("c", |_| ready(Decision::Allow)));
    let handle = bench.handle();
    for kind in HookKind::ALL {
        assert!(!handle.wants(kind));
        assert!(at_once(handle.dispatch(kind, || panic!("nobody wants {kind}"))).is_empty());
    }
    let (ruling, delivery) = at_once(handle.dispatch_before_tool_call(|| panic!("nobody wants the event")));
    assert_eq!((ruling.verdict(), ruling.by()), (&BeforeVerdict::Proceed, None));
    assert!(delivery.is_empty());
}

#[test]
fn a_handle_is_a_snapshot() {
    let notes = Notes::default();
    let bench = Bench::new(Hooks::new().after_step("a", notes.observer("a")));
    let handle = bench.handle();
    bench.dispatcher.register(&"op_1".into(), Hooks::new().after_step("b", notes.observer("b"))).unwrap();
    at_once(handle.dispatch(HookKind::AfterStep, || example(HookKind::AfterStep)));
    assert_eq!(notes.all(), ["a"]);
    bench.fire(HookKind::AfterStep);
    assert_eq!(notes.all(), ["a", "a", "b"]);
}

#[test]
fn the_log_names_the_hook_that_failed_and_quotes_nothing() {
    let hooks = Hooks::new()
        .after_tool_call("the-panic", |_| async { panicking::<()>() })
        .after_tool_call("the-error", |_| ready("the secret".parse::<u8>().map(drop)));
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || Bench::new(hooks).fire(HookKind::AfterToolCall));
    let lines = log.0.lock().unwrap().clone();
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, parts) in lines.iter().zip([["the-panic", "panic"], ["the-error", "error"]]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
        assert!(line.contains("op_1") && line.contains("afterToolCall"), "{line}");
        assert!(!line.contains("secret") && !line.contains("file text") && !line.contains("digit"), "{line}");
    }
}

/// Keeps every event as one line of its fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{field}={value:?} "));
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
