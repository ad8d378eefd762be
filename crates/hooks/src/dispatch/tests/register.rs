//! Registration.

use super::*;
use crate::stage::Observing;

#[test]
fn a01_one_valid_hook_is_had() {
    let bench = Bench::new(Hooks::new().after_step("a", |_| ready(())));
    assert!(bench.dispatcher.has_hooks(&"op_1".into()));
    assert!(bench.dispatcher.has_hook(&"op_1".into(), &"a".into()));
    assert!(!bench.dispatcher.has_hook(&"op_1".into(), &"b".into()));
    assert!(!bench.dispatcher.has_hooks(&"op_2".into()));
}

#[test]
fn a02_two_registrations_both_run_in_order() {
    let notes = Notes::default();
    let bench = Bench::new(Hooks::new().after_step("a", notes.observer("a")));
    bench.dispatcher.register(&"op_1".into(), Hooks::new().after_step("b", notes.observer("b"))).unwrap();
    bench.fire(HookKind::AfterStep);
    assert_eq!(notes.all(), ["a", "b"]);
}

#[test]
fn a03_an_empty_list_registers_nothing() {
    let bench = Bench::new(Hooks::new());
    assert!(!bench.dispatcher.has_hooks(&"op_1".into()));
    assert_eq!(bench.dispatcher.serialized(&"op_1".into()), None);
}

#[test]
fn a06_matchers_are_accepted_on_each_tool_event() {
    for pattern in ["", "*", "^fs/readFile$"] {
        let hooks = Hooks::new()
            .observe_before_tool_call("o", |_| ready(()))
            .matching(pattern)
            .mock_before_tool_call("m", |_| ready(()))
            .matching(pattern)
            .control_before_tool_call("c", |_| ready(Decision::Allow))
            .matching(pattern)
            .after_tool_call("a", |_| ready(()))
            .matching(pattern)
            .control_after_tool_call("ac", |_| ready(Decision::Allow))
            .matching(pattern)
            .on_tool_call_error("e", |_| ready(()))
            .matching(pattern);
        assert_eq!(hooks.validate(), Ok(()), "{pattern}");
        let bench = Bench::new(hooks);
        assert_eq!(bench.fire(HookKind::AfterToolCall).receipts.len(), 1);
        assert_eq!(bench.fire(HookKind::OnToolCallError).receipts.len(), 1);
        assert_eq!(bench.before().1.receipts.len(), 3);
    }
}

/// The documentation of `Hooks` proves that `Hooks<Observing>` has no `matching`; this, that the other
/// thirteen methods all lead there.
#[test]
fn a07_no_other_event_has_a_matcher() {
    let stages: [Hooks<Observing>; 14] = [
        Hooks::new().before_step("", |_| ready(())),
        Hooks::new().after_step("", |_| ready(())),
        Hooks::new().on_complete("", |_| ready(())),
        Hooks::new().on_run_error("", |_| ready(())),
        Hooks::new().before_human_intervention("", |_| ready(())),
        Hooks::new().after_human_intervention("", |_| ready(())),
        Hooks::new().on_stop_by_human_intervention("", |_| ready(())),
        Hooks::new().before_compact("", |_| ready(())),
        Hooks::new().after_compact("", |_| ready(())),
        Hooks::new().on_compact_error("", |_| ready(())),
        Hooks::new().before_call_agent("", |_| ready(())),
        Hooks::new().after_call_agent("", |_| ready(())),
        Hooks::new().on_call_agent_error("", |_| ready(())),
        Hooks::new().observe_all("", |_| ready(())),
    ];
    assert!(stages.iter().all(|hooks| hooks.validate().is_ok()));
}

#[test]
fn a08_a_broken_matcher_is_refused_and_names_its_hook() {
    let hooks = Hooks::new().after_tool_call("log", |_| ready(())).matching("[");
    let error = hooks.validate().unwrap_err();
    assert_eq!(error.to_string(), "hook `log`: Invalid hook matcher regular expression `[`");
}

#[test]
fn a13_a_deadline_of_zero_or_beyond_the_timer_is_refused() {
    let with = |timeout| Hooks::new().after_step("slow", |_| ready(())).timeout(timeout).validate();
    let refused = Err(RegistrationError::Timeout { hook: "slow".into() });
    assert_eq!(with(Duration::ZERO), refused);
    assert_eq!(with(Duration::from_secs(2_147_484)), refused);
    assert_eq!(with(Duration::from_millis(2_147_483_647)), Ok(()));
    assert_eq!(with(Duration::from_millis(10)), Ok(()));
}

#[test]
fn a18_one_bad_hook_leaves_earlier_registrations_as_they_were() {
    let notes = Notes::default();
    let bench = Bench::new(Hooks::new().after_tool_call("a", notes.observer("a")));
    let batch = Hooks::new()
        .after_tool_call("good", notes.observer("good"))
        .after_tool_call("bad", notes.observer("bad"))
        .matching("(");
    assert!(bench.dispatcher.register(&"op_1".into(), batch).is_err());
    bench.fire(HookKind::AfterToolCall);
    assert_eq!(notes.all(), ["a"]);
}

#[test]
fn a20_unregistered_hooks_are_gone() {
    let bench = Bench::new(Hooks::new().after_step("a", |_| ready(())));
    bench.dispatcher.unregister(&"op_1".into());
    assert!(!bench.dispatcher.has_hooks(&"op_1".into()));
    assert!(bench.fire(HookKind::AfterStep).is_empty());
}

#[test]
fn a21_native_hooks_are_not_serialized() {
    let bench = Bench::new(Hooks::new().after_step("a", |_| ready(())));
    assert_eq!(bench.dispatcher.serialized(&"op_1".into()), Some(Vec::new()));
    assert_eq!(bench.dispatcher.serialized(&"unknown".into()), None);
}

#[test]
fn a23_a_reserved_id_is_dropped_without_a_word_and_its_options_with_it() {
    let notes = Notes::default();
    let hooks = Hooks::new()
        .control_before_tool_call("server-env-webhook:beforeToolCall", notes.handler("no", Decision::Allow))
        .matching("[")
        .observe_before_tool_call("mine", notes.observer("mine"));
    assert!(hooks.control_ids().is_empty());
    let bench = Bench::new(hooks);
    let _ = bench.before();
    assert_eq!(notes.all(), ["mine"]);
}

#[test]
fn a25_equal_ids_all_run() {
    let notes = Notes::default();
    let hooks = Hooks::new().after_step("x", notes.observer("1")).after_step("x", notes.observer("2"));
    Bench::new(hooks).fire(HookKind::AfterStep);
    assert_eq!(notes.all(), ["1", "2"]);
}

#[test]
fn controls_and_mocks_are_listed_in_order() {
    let hooks = Hooks::new()
        .control_after_tool_call("late", |_| ready(Decision::Allow))
        .mock_before_tool_call("mock", |_| ready(()))
        .observe_before_tool_call("seen", |_| ready(()))
        .and(Hooks::new().control_before_tool_call("early", |_| ready(Decision::Allow)));
    assert_eq!(hooks.control_ids(), ["late".into(), "early".into()]);
    assert_eq!(hooks.mock_ids(), ["mock".into()]);
}

#[test]
fn what_can_be_delivered_depends_on_the_type() {
    let bench = Bench::new(Hooks::new().after_step("a", |_| ready(())));
    let can = |kind| bench.dispatcher.can_deliver(&"op_1".into(), kind);
    assert_eq!(HookKind::ALL.into_iter().filter(|kind| can(*kind)).collect::<Vec<_>>(), [HookKind::AfterStep]);
}
