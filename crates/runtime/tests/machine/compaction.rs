//! Compression of the history.

use jackline_model::{NanoDollars, Reason};
use jackline_runtime::machine::{EffectId, FailureKind, Instruction, ModelFailure, Settings, StateKind, What};

use crate::drive::{Run, Say, drive, fails, fault, folded, plan, says, stop, to};

const FOLD: Instruction = Instruction::CompressContext { messages: 10, tokens: 90_000 };

fn no_summary(kind: FailureKind, code: &'static str) -> impl FnOnce(EffectId) -> What {
    let (retry_after_ms, jitter_permille, compaction) = (None, 0, None);
    let failure = ModelFailure { kind, fault: fault(code), retry_after_ms, jitter_permille, compaction };
    move |id| What::SummaryFailed(id, failure)
}

fn failing(run: &mut Run, plan_name: &'static str, fold_name: &'static str) {
    run.go_on([to(plan_name, plan([FOLD])), to(fold_name, no_summary(FailureKind::Permanent, "too_long"))]);
}

#[test]
fn a_compression_is_announced_made_and_closed() {
    let run = drive(Settings::default(), [to("s0.step.plan", plan([FOLD])), to("s0.compact.summarize", folded())]);
    let expected = [
        "s0.h1.fire beforeStep",
        "s0.step.plan user_input",
        "s0.h2.fire beforeCompact",
        "s0.compact.summarize",
        "s0.h3.fire afterCompact",
        "s0.h4.fire afterStep",
        "s1.h1.fire beforeStep",
        "s1.step.plan compression_result",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.totals().cost, NanoDollars(1_000), "the summary has its price");
}

#[test]
fn one_failure_goes_on_uncompressed_the_second_in_a_row_ends_the_run() {
    let mut run = drive(Settings::default(), []);
    failing(&mut run, "s0.step.plan", "s0.compact.summarize");
    assert_eq!(run.machine.state().kind(), StateKind::Planning);
    run.news();
    failing(&mut run, "s1.step.plan", "s1.compact.summarize");
    let expected = [
        "s1.h2.fire beforeCompact",
        "s1.compact.summarize",
        "s1.h3.fire onCompactError",
        "s1.h4.fire afterStep error (context_overflow)",
        "s2.h1.fire onComplete",
        "s2.h2.fire onError",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.stands(), "finished: context_overflow (context_overflow)");
}

#[test]
fn a_compression_that_works_starts_the_count_of_failures_anew() {
    let mut run = drive(Settings::default(), []);
    failing(&mut run, "s0.step.plan", "s0.compact.summarize");
    run.go_on([to("s1.step.plan", plan([FOLD])), to("s1.compact.summarize", folded())]);
    failing(&mut run, "s2.step.plan", "s2.compact.summarize");
    assert_eq!(run.machine.state().kind(), StateKind::Planning);
}

#[test]
fn a_request_that_is_too_long_is_compressed_and_asked_again_in_the_same_step() {
    let mut run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", fails(FailureKind::ContextOverflow)),
            to("s0.compact.summarize", folded()),
        ],
    );
    let expected = [
        "s0.model.ask",
        "s0.h2.fire beforeCompact",
        "s0.compact.summarize",
        "s0.h3.fire afterCompact",
        "s0.model.ask.6",
    ];
    assert_eq!(run.asked[2..], expected);
    run.go_on([to("s0.model.ask.6", says())]);
    assert_eq!(run.machine.state().kind(), StateKind::Planning);
}

#[test]
fn a_request_that_is_still_too_long_ends_the_run() {
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", fails(FailureKind::ContextOverflow)),
            to("s0.compact.summarize", folded()),
            to("s0.model.ask.6", fails(FailureKind::ContextOverflow)),
        ],
    );
    assert_eq!(run.stands(), "finished: context_overflow (provider_down)");
}

#[test]
fn a_request_that_is_too_long_and_cannot_be_compressed_ends_the_run() {
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", fails(FailureKind::ContextOverflow)),
            to("s0.compact.summarize", no_summary(FailureKind::Permanent, "nothing_to_fold")),
        ],
    );
    assert_eq!(run.stands(), "finished: context_overflow (context_overflow)");
}

#[test]
fn c079_a_request_that_is_too_long_with_nothing_to_fold_ends_the_run_at_once() {
    let failure = ModelFailure {
        kind: FailureKind::ContextOverflow,
        fault: fault("context_overflow"),
        retry_after_ms: None,
        jitter_permille: 0,
        compaction: None,
    };
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", move |id| What::ModelFailed(id, failure)),
        ],
    );
    let expected = [
        "s0.model.ask",
        "s0.h2.fire afterStep error (context_overflow)",
        "s1.h1.fire onComplete",
        "s1.h2.fire onError",
    ];
    assert_eq!(run.asked[2..], expected);
    assert_eq!(run.stands(), "finished: context_overflow (context_overflow)");
}

#[test]
fn the_price_of_a_summary_counts_before_the_model_is_asked_again() {
    let run = drive(
        Settings { cost_max: Some(NanoDollars(1_000)), ..Settings::default() },
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", fails(FailureKind::ContextOverflow)),
            to("s0.compact.summarize", folded()),
        ],
    );
    assert_eq!(run.stands(), format!("finished: {}", Reason::CostLimit));
}

#[test]
fn a_limit_stands_against_a_compression_too() {
    let run = drive(
        Settings { cost_max: Some(NanoDollars::ZERO), ..Settings::default() },
        [to("s0.step.plan", plan([FOLD]))],
    );
    let expected = [
        "s0.h1.fire beforeStep",
        "s0.step.plan user_input",
        "s0.h2.fire afterStep done (cost_limit)",
        "s1.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn a_stop_during_a_compression_closes_it_first() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([FOLD])), stop()]);
    run.news();
    run.go_on([to("s0.compact.summarize", no_summary(FailureKind::Cancelled, "cancelled"))]);
    let expected =
        ["s0.h3.fire onCompactError", "s0.h4.fire afterStep interrupted (interrupted)", "s1.h1.fire onComplete"];
    assert_eq!(run.asked, expected);
    assert_eq!(run.machine.shared().compression, Default::default(), "a stop is no failure");
}

#[test]
fn a_summary_is_asked_for_again_with_the_waits_of_any_model_call() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([FOLD]))]);
    run.news();
    let down = || no_summary(FailureKind::Retryable, "provider_down");
    let mut waits = Vec::new();
    for name in ["s0.compact.summarize", "s0.compact.summarize.1", "s0.compact.summarize.2"] {
        run.go_on([to(name, down())]);
        assert_eq!(run.machine.state().kind(), StateKind::WaitingToSummarize);
        waits.push(run.machine.next_deadline().unwrap() - run.machine.shared().now);
        run.go_on([Say::Deadline]);
    }
    assert_eq!(waits, [1_000, 2_000, 4_000]);
    let expected = ["s0.compact.summarize.1", "s0.compact.summarize.2", "s0.compact.summarize.3"];
    assert_eq!(run.news(), expected, "nobody is told that it failed: it has not");
    run.go_on([to("s0.compact.summarize.3", folded())]);
    assert_eq!(run.asked[0], "s0.h3.fire afterCompact");
    assert_eq!(run.machine.shared().compression, Default::default());
}

#[test]
fn a_summary_that_all_tries_have_failed_is_one_failure() {
    let mut run = drive(
        Settings { model_attempts_max: 2, ..Settings::default() },
        [
            to("s0.step.plan", plan([FOLD])),
            to("s0.compact.summarize", no_summary(FailureKind::Retryable, "provider_down")),
            Say::Deadline,
        ],
    );
    run.news();
    run.go_on([to("s0.compact.summarize.1", no_summary(FailureKind::Retryable, "provider_down"))]);
    assert_eq!(run.asked[0], "s0.h3.fire onCompactError");
    assert_eq!(run.machine.shared().compression.failures_in_row, 1);
    assert_eq!(run.machine.state().kind(), StateKind::Planning, "it goes on uncompressed");
}

#[test]
fn a_summary_after_an_overflow_that_comes_late_lets_the_model_be_asked_again() {
    let mut run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", fails(FailureKind::ContextOverflow)),
            to("s0.compact.summarize", no_summary(FailureKind::Retryable, "provider_down")),
            Say::Deadline,
            to("s0.compact.summarize.1", folded()),
        ],
    );
    assert_eq!(run.asked.last().unwrap(), "s0.model.ask.6");
    run.go_on([to("s0.model.ask.6", says())]);
    assert_eq!(run.machine.state().kind(), StateKind::Planning);
}

#[test]
fn a_stop_ends_the_wait_for_a_summary_and_is_no_failure() {
    let mut run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([FOLD])),
            to("s0.compact.summarize", no_summary(FailureKind::Retryable, "provider_down")),
        ],
    );
    run.news();
    run.go_on([stop()]);
    let expected =
        ["s0.h3.fire onCompactError", "s0.h4.fire afterStep interrupted (interrupted)", "s1.h1.fire onComplete"];
    assert_eq!(run.asked, expected);
    assert_eq!(run.machine.shared().compression, Default::default());
}

#[test]
fn a_summary_that_fails_while_the_run_is_stopped_is_not_asked_for_again() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([FOLD])), stop()]);
    run.go_on([to("s0.compact.summarize", no_summary(FailureKind::Retryable, "provider_down"))]);
    assert_eq!(run.stands(), "finished: interrupted");
}
