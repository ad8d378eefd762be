//! Answers in words, failures of the model, waiting and asking again.

use jackline_model::{NanoDollars, Reason};
use jackline_runtime::machine::{
    FailureKind, Input, Instruction, Machine, ModelFailure, Moved, Reply, Settings, State, What,
};

use crate::drive::{Say, calls, drive, fails, fault, finish, id, plan, says, settled, stop, to, tool};

#[test]
fn eng_14_a_plain_answer_takes_two_steps_and_ends_done() {
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", says()),
            to("s1.step.plan", plan([finish(Reason::Done)])),
        ],
    );
    let expected = [
        "s0.h1.fire beforeStep",
        "s0.step.plan user_input",
        "s0.model.ask",
        "s0.h2.fire afterStep",
        "s1.h1.fire beforeStep",
        "s1.step.plan llm_result",
        "s1.h2.fire afterStep done (done)",
        "s2.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.stands(), "finished: done");
}

#[test]
fn eng_24_a_step_that_only_ends_the_run_does_not_count() {
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", says()),
            to("s1.step.plan", plan([finish(Reason::Done)])),
        ],
    );
    assert_eq!(run.machine.shared().steps_done, 1);
}

#[test]
fn a_failure_is_tried_again_after_a_wait_that_doubles() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))]);
    run.news();
    let mut waits = Vec::new();
    for name in ["s0.model.ask", "s0.model.ask.1", "s0.model.ask.2", "s0.model.ask.3", "s0.model.ask.4"] {
        run.go_on([to(name, fails(FailureKind::Retryable))]);
        waits.push(run.machine.next_deadline().unwrap() - run.now);
        run.go_on([Say::Deadline]);
    }
    assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000]);
    run.go_on([to("s0.model.ask.5", fails(FailureKind::Retryable))]);
    let expected = [
        "s0.model.ask.1",
        "s0.model.ask.2",
        "s0.model.ask.3",
        "s0.model.ask.4",
        "s0.model.ask.5",
        "s0.h2.fire afterStep error (error)",
        "s1.h1.fire onComplete",
        "s1.h2.fire onError",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.stands(), "finished: error (provider_down)");
}

#[test]
fn c136_the_wait_that_a_provider_asks_for_wins_up_to_two_minutes() {
    let wait = |retry_after_ms, jitter_permille| {
        let mut run = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))]);
        let failure = ModelFailure {
            kind: FailureKind::Retryable,
            fault: fault("rate_limited"),
            retry_after_ms,
            jitter_permille,
            compaction: None,
        };
        run.feed(What::ModelFailed(id("s0.model.ask"), failure)).moved();
        run.machine.next_deadline().unwrap() - run.now
    };
    assert_eq!(wait(Some(7_000), 500), 7_000);
    assert_eq!(wait(Some(u64::MAX), 0), 120_000);
    assert_eq!(wait(None, 1_000), 1_100);
    assert_eq!(wait(None, u16::MAX), 1_100);
}

#[test]
fn a_permanent_failure_ends_the_run_with_a_closed_step() {
    let run = drive(
        Settings::default(),
        [to("s0.step.plan", plan([Instruction::CallLlm])), to("s0.model.ask", fails(FailureKind::Permanent))],
    );
    let expected = [
        "s0.h1.fire beforeStep",
        "s0.step.plan user_input",
        "s0.model.ask",
        "s0.h2.fire afterStep error (error)",
        "s1.h1.fire onComplete",
        "s1.h2.fire onError",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.stands(), "finished: error (provider_down)");
}

#[test]
fn a_deadline_that_has_not_come_changes_nothing() {
    let mut run = drive(
        Settings::default(),
        [to("s0.step.plan", plan([Instruction::CallLlm])), to("s0.model.ask", fails(FailureKind::Retryable))],
    );
    let before = run.machine.clone();
    assert_eq!(run.feed(What::DeadlineReached).0, Ok(Moved::Stale));
    assert_eq!(run.machine, before);
}

#[test]
fn an_answer_that_comes_again_changes_nothing() {
    let mut run = drive(
        Settings::default(),
        [to("s0.step.plan", plan([Instruction::CallLlm])), to("s0.model.ask", calls([tool(1)]))],
    );
    let before = run.machine.clone();
    let repeats = [
        What::HookAnswered(id("s0.h1.fire")),
        What::Planned(id("s0.step.plan"), Vec::new()),
        What::ModelReplied(id("s0.model.ask"), Reply::default()),
        What::CallCleared(id("s7.c9.clear")),
    ];
    for repeat in repeats {
        assert_eq!(run.feed(repeat).0, Ok(Moved::Stale));
        assert_eq!(run.machine, before);
    }
}

#[test]
fn an_impossible_answer_poisons_the_machine() {
    let mut run = drive(Settings::default(), []);
    let fault = run.feed(What::ModelReplied(id("s0.step.plan"), Reply::default())).0.unwrap_err();
    assert_eq!(
        fault.to_string(),
        "impossible: ModelReplied (answering s0.step.plan) while Planning: Plan cannot be answered so"
    );
    assert_eq!(run.machine.state(), &State::Failed);
    let again = run.feed(What::StopRequested(None)).0.unwrap_err();
    assert_eq!(again.why, "the machine has failed before");
}

#[test]
fn a_result_that_its_effect_cannot_have_poisons_the_machine() {
    use jackline_runtime::machine::SettledHow::{Answered, Mocked, NotStarted, Ran};
    let clearing = || {
        drive(
            Settings::default(),
            [
                to("s0.step.plan", plan([Instruction::CallLlm])),
                to("s0.model.ask", calls([tool(1)])),
                to("s1.step.plan", plan([Instruction::CallTool(1)])),
            ],
        )
    };
    for how in [Ran, Answered, NotStarted] {
        assert!(clearing().feed(settled(how)(id("s1.c1.clear"))).0.is_err(), "{how:?}");
    }
    clearing().feed(settled(Mocked)(id("s1.c1.clear"))).moved();
}

#[test]
fn a_refused_request_changes_nothing() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))]);
    let before = run.machine.clone();
    let requests = [
        (What::BeginRequested, "the operation is CallingModel: BeginRequested means nothing now"),
        (What::ResumeRequested, "the operation is CallingModel: ResumeRequested means nothing now"),
        (What::HumanDecided(Vec::new()), "the operation is CallingModel: HumanDecided means nothing now"),
        (
            What::AnswerArrived { call: 1, child: None },
            "the operation is CallingModel: AnswerArrived means nothing now",
        ),
    ];
    for (request, why) in requests {
        assert_eq!(run.feed(request).refused(), why);
        assert_eq!(run.machine, before);
    }
}

#[test]
fn time_does_not_run_backwards() {
    let mut machine = Machine::new(Settings::default());
    machine.handle(Input { at: 500, what: What::BeginRequested }).unwrap();
    machine.handle(Input { at: 400, what: What::HookAnswered(id("s0.h1.fire")) }).unwrap();
    assert_eq!(machine.shared().now, 500);
}

#[test]
fn a_stop_before_the_beginning_ends_the_run_and_it_can_begin_later() {
    let mut machine = Machine::new(Settings::default());
    machine.handle(Input { at: 500, what: What::StopRequested(None) }).unwrap();
    machine.handle(Input { at: 501, what: What::HookAnswered(id("s0.h1.fire")) }).unwrap();
    assert_eq!(machine.shared().began_at, 500);
    assert!(matches!(machine.state(), State::Finished(ending) if ending.resumable));
    let resumed = machine.handle(Input { at: 600, what: What::ResumeRequested }).unwrap();
    assert!(matches!(resumed, Moved::Row(_)));
    assert_eq!(machine.state(), &State::OpeningStep);
}

#[test]
fn prices_add_up() {
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([tool(1)])),
            to("s1.step.plan", plan([Instruction::CallTool(1)])),
            to("s1.c1.clear", What::CallCleared),
            to("s1.c1.run", settled(jackline_runtime::machine::SettledHow::Ran)),
            stop(),
        ],
    );
    assert_eq!((run.totals().llm_calls, run.totals().tool_calls), (1, 1));
    assert_eq!(run.totals().cost, NanoDollars(1_005));
}
