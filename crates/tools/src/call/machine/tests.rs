use std::collections::VecDeque;

use jackline_hooks::{AfterVerdict, BeforeVerdict, DENIED_ERROR, HookKind, RuledBy, RulingCause};
use jackline_model::{RawOutput, ToolCall, ToolKey, ToolRunResult};

use super::{Apart, Call, CallFault, Effect, In, Told};
use crate::gate::{self, Gated, Receipt};

const BYTES_MAX: usize = 1000;

fn call() -> ToolCall {
    ToolCall { id: "call_1".into(), key: ToolKey::parse("notes/add"), arguments: r#"{"text":"milk"}"#.into() }
}

fn raw(text: &str) -> RawOutput {
    RawOutput::new(ToolRunResult::ok(text))
}

fn hook(event: HookKind) -> RuledBy {
    RuledBy { hook: "guard".into(), event, cause: RulingCause::Policy }
}

fn clearance() -> gate::Clearance {
    match gate::gated(call(), BeforeVerdict::Proceed) {
        Gated::Run(clearance) => clearance,
        other @ (Gated::Judge(_) | Gated::Publish(_)) => panic!("{other:?}"),
    }
}

fn deny(reason: &str) -> Option<String> {
    Some(reason.to_owned())
}

fn published(result: RawOutput, verdict: AfterVerdict, told: Told, denied_by: Option<RuledBy>) -> Effect {
    Effect::Publish { published: Box::new(gate::judged(result, verdict, BYTES_MAX)), told, denied_by }
}

#[track_caller]
fn check(state: Call, input: Apart, next: Call, effects: impl IntoIterator<Item = Effect>) {
    let mut out = VecDeque::new();
    let moved = state.moved(input, &mut out).unwrap();
    assert_eq!(moved, next);
    assert_eq!(out, effects.into_iter().collect::<VecDeque<_>>());
}

#[test]
fn a_call_that_may_proceed_tells_the_operation_before_it_runs() {
    check(
        Call::new(call()),
        In::BeforeRuled((BeforeVerdict::Proceed, None)),
        Call::Cleared { clearance: clearance() },
        [Effect::Tell],
    );
}

#[test]
fn a_mock_is_judged_like_any_output() {
    let by = hook(HookKind::BeforeToolCall);
    check(
        Call::new(call()),
        In::BeforeRuled((BeforeVerdict::Mock(raw("from the hook")), Some(by.clone()))),
        Call::Judging { raw: raw("from the hook"), told: Told::Mocked(by) },
        [Effect::AskAfter],
    );
}

#[test]
fn a_mock_that_no_hook_answers_for_is_a_fault() {
    let mut out = VecDeque::new();
    let fault = Call::new(call()).moved(In::BeforeRuled((BeforeVerdict::Mock(raw("x")), None)), &mut out);
    assert_eq!(fault, Err(CallFault { state: "asking", input: "mock without a hook" }));
    assert_eq!(out, []);
}

#[test]
fn a_denied_call_publishes_the_reason_and_never_runs() {
    let by = hook(HookKind::BeforeToolCall);
    let verdict = BeforeVerdict::Deny { reason: deny("not on Fridays") };
    let mut out = VecDeque::new();

    let next = Call::new(call()).moved(In::BeforeRuled((verdict, Some(by.clone()))), &mut out).unwrap();

    assert_eq!(next, Call::Done);
    let Some(Effect::Publish { published, told: Told::Receipt, denied_by }) = out.pop_front() else {
        panic!("{out:?}");
    };
    assert_eq!(published.result().content, "not on Fridays");
    assert_eq!(published.result().error, Some(DENIED_ERROR.into()));
    assert_eq!(denied_by, Some(by));
    assert_eq!(out, []);
}

#[test]
fn go_hands_the_clearance_out() {
    check(Call::Cleared { clearance: clearance() }, In::Go, Call::Running, [Effect::RunTool(clearance())]);
}

#[test]
fn what_a_tool_gives_back_is_judged() {
    let judging = |told| Call::Judging { raw: raw("text"), told };
    check(Call::Running, In::Finished(raw("text")), judging(Told::Ran), [Effect::AskAfter]);
    check(Call::Running, In::Threw(raw("text")), judging(Told::Threw), [Effect::AskAfter]);
    check(Call::Parked, In::Answered(raw("text")), judging(Told::Answered), [Effect::AskAfter]);
}

#[test]
fn an_answer_from_another_process_is_judged() {
    let mut out = VecDeque::new();
    assert_eq!(Call::answered(raw("text"), &mut out), Call::Judging { raw: raw("text"), told: Told::Answered });
    assert_eq!(out, [Effect::AskAfter]);
}

#[test]
fn a_tool_that_answers_later_parks() {
    check(Call::Running, In::Deferred, Call::Parked, [Effect::Park]);
}

#[test]
fn a_kept_result_is_published_with_how_it_came_about() {
    for told in [Told::Ran, Told::Threw, Told::Answered, Told::Mocked(hook(HookKind::BeforeToolCall))] {
        check(
            Call::Judging { raw: raw("text"), told: told.clone() },
            In::AfterRuled((AfterVerdict::Keep, None), BYTES_MAX),
            Call::Done,
            [published(raw("text"), AfterVerdict::Keep, told, None)],
        );
    }
}

#[test]
fn a_denied_result_is_published_as_its_reason() {
    let by = hook(HookKind::AfterToolCall);
    let verdict = AfterVerdict::Deny { reason: deny("blocked") };
    check(
        Call::Judging { raw: raw("secret"), told: Told::Ran },
        In::AfterRuled((verdict.clone(), Some(by.clone())), BYTES_MAX),
        Call::Done,
        [published(raw("secret"), verdict, Told::Ran, Some(by))],
    );
}

#[test]
fn every_open_call_can_be_ended_and_its_raw_output_is_dropped() {
    for state in states().into_iter().filter(|state| *state != Call::Done) {
        check(
            state,
            In::Ended(Receipt::Aborted),
            Call::Done,
            [Effect::Publish {
                published: Box::new(gate::receipt(&Receipt::Aborted)),
                told: Told::Receipt,
                denied_by: None,
            }],
        );
    }
}

#[test]
fn every_other_pair_is_a_fault_and_asks_for_nothing() {
    let fits = [
        ("asking", "before ruled"),
        ("cleared", "go"),
        ("running", "finished"),
        ("running", "threw"),
        ("running", "deferred"),
        ("parked", "answered"),
        ("judging", "after ruled"),
        ("asking", "ended"),
        ("cleared", "ended"),
        ("running", "ended"),
        ("parked", "ended"),
        ("judging", "ended"),
    ];
    let mut faults = 0;
    for position in 0..states().len() {
        for input in inputs() {
            let state = states().swap_remove(position);
            let pair = (state.name(), input.name());
            let mut out = VecDeque::new();
            let moved = state.moved(input, &mut out);
            assert_eq!(moved.is_ok(), fits.contains(&pair), "{pair:?}");
            if let Err(fault) = moved {
                assert_eq!(fault, CallFault { state: pair.0, input: pair.1 });
                assert_eq!(out, []);
                faults += 1;
            }
        }
    }
    assert_eq!(faults, states().len() * inputs().len() - fits.len());
}

fn states() -> Vec<Call> {
    vec![
        Call::new(call()),
        Call::Cleared { clearance: clearance() },
        Call::Running,
        Call::Parked,
        Call::Judging { raw: raw("secret"), told: Told::Ran },
        Call::Done,
    ]
}

fn inputs() -> Vec<Apart> {
    vec![
        In::BeforeRuled((BeforeVerdict::Proceed, None)),
        In::Go,
        In::Finished(raw("text")),
        In::Threw(raw("text")),
        In::Deferred,
        In::Answered(raw("text")),
        In::AfterRuled((AfterVerdict::Keep, None), BYTES_MAX),
        In::Ended(Receipt::InDoubt),
    ]
}
