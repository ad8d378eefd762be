//! Calls whose results come later.

use jackline_runtime::machine::{Instruction, Refusal, Route, Settings, SettledHow, StateKind, What};

use crate::drive::{Run, Say, arrives, asked, calls, drive, id, plan, routed, settled, stop, to, tool};

/// A run that waits for the results of calls 1 and 2, with a wait of a minute.
fn parked_on_two() -> Run {
    let mut run = drive(
        Settings { async_wait_ms: Some(60_000), ..Settings::default() },
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([tool(1), tool(2)])),
            to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2])])),
            to("s1.c1.clear", What::CallCleared),
            to("s1.c2.clear", What::CallCleared),
            to("s1.c1.run", What::CallParked),
            to("s1.c2.run", What::CallParked),
        ],
    );
    assert_eq!(run.machine.state().kind(), StateKind::WaitingForAsyncTool);
    run.news();
    run
}

/// A run whose first call parked while the second needs an approval.
fn deferred(settings: Settings) -> Run {
    let mut run = drive(
        settings,
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([tool(1), tool(2)])),
            to("s1.step.plan", plan([Instruction::CallTool(1), Instruction::RequestHumanApprove(vec![2])])),
            to("s1.c1.clear", What::CallCleared),
        ],
    );
    run.news();
    run
}

#[test]
fn eng_18_an_approval_behind_a_parked_call_is_deferred() {
    let mut run = deferred(Settings::default());
    run.go_on([to("s1.c1.run", What::CallParked)]);
    assert_eq!(run.asked, ["s1.h2.fire afterStep waiting_for_async_tool"]);
    assert_eq!(run.machine.shared().deferred_approval, [2]);
    assert_eq!(run.machine.shared().calls.awaiting_human(), [2]);
}

#[test]
fn eng_19_the_deferred_approval_is_asked_when_the_result_is_in() {
    let mut run = deferred(Settings::default());
    run.go_on([to("s1.c1.run", What::CallParked)]);
    run.news();
    run.go_on([arrives(1), to("s2.c1.judge", settled(SettledHow::Answered)), to("s2.human.ask", asked(None))]);
    let expected = [
        "s2.c1.judge",
        "s2.h1.fire beforeStep",
        "s2.h2.fire beforeHumanIntervention [2]",
        "s2.human.ask [2]",
        "s2.h3.fire afterStep waiting_for_human",
    ];
    assert_eq!(run.asked, expected);
    assert!(run.machine.shared().deferred_approval.is_empty());
    assert_eq!(run.machine.state().kind(), StateKind::WaitingForHuman);
}

#[test]
fn eng_20_nothing_is_asked_of_a_person_when_nothing_was_deferred() {
    let mut run = parked_on_two();
    run.go_on([
        arrives(1),
        to("s2.c1.judge", settled(SettledHow::Answered)),
        arrives(2),
        to("s2.c2.judge", settled(SettledHow::Answered)),
        to("s2.step.plan", plan([Instruction::CallLlm])),
    ]);
    let expected =
        ["s2.c1.judge", "s2.c2.judge", "s2.h1.fire beforeStep", "s2.step.plan tools_batch_result", "s2.model.ask"];
    assert_eq!(run.asked, expected);
}

#[test]
fn eng_21_blocked_calls_behind_a_parked_one_are_answered_at_once() {
    let mut run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([tool(1), tool(2)])),
            to(
                "s1.step.plan",
                plan([Instruction::CallTool(1), Instruction::ResolveBlockedTools(vec![(2, Refusal::NobodyToApprove)])]),
            ),
            to("s1.c1.clear", What::CallCleared),
        ],
    );
    run.news();
    run.go_on([to("s1.c1.run", What::CallParked), to("s1.c2.refuse", settled(SettledHow::Refused))]);
    assert_eq!(run.asked, ["s1.c2.refuse NobodyToApprove", "s1.h2.fire afterStep waiting_for_async_tool"]);
}

#[test]
fn a_call_of_the_client_parks_once_it_is_cleared() {
    let mut run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([routed(1, Route::Client)])),
            to("s1.step.plan", plan([Instruction::CallTool(1)])),
        ],
    );
    run.news();
    run.go_on([to("s1.c1.clear", What::CallCleared)]);
    assert_eq!(run.asked, ["s1.h2.fire afterStep waiting_for_async_tool"]);
}

#[test]
fn results_that_do_not_come_in_time_are_given_up() {
    let mut run = parked_on_two();
    run.go_on([
        Say::Deadline,
        to("s2.c1.refuse", settled(SettledHow::Refused)),
        to("s2.c2.refuse", settled(SettledHow::Refused)),
    ]);
    let expected = [
        "s2.step.cancel",
        "s2.h1.fire beforeStep",
        "s2.c1.refuse TimedOut",
        "s2.c2.refuse TimedOut",
        "s2.h2.fire afterStep",
        "s3.h1.fire beforeStep",
        "s3.step.plan tools_batch_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn a_result_that_is_being_judged_when_time_is_up_has_come() {
    let mut run = parked_on_two();
    run.go_on([arrives(1), Say::Deadline]);
    assert_eq!(run.feed(What::AnswerArrived { call: 2, child: None }).refused(), "call 2 does not wait for a result");
    run.go_on([to("s2.c1.judge", settled(SettledHow::Answered)), to("s2.c2.refuse", settled(SettledHow::Refused))]);
    let expected = [
        "s2.c1.judge",
        "s2.step.cancel",
        "s2.h1.fire beforeStep",
        "s2.c2.refuse TimedOut",
        "s2.h2.fire afterStep",
        "s3.h1.fire beforeStep",
        "s3.step.plan tools_batch_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn a_deferred_approval_is_asked_when_the_parked_call_is_given_up() {
    let mut run = deferred(Settings { async_wait_ms: Some(60_000), ..Settings::default() });
    run.go_on([to("s1.c1.run", What::CallParked)]);
    run.news();
    run.go_on([Say::Deadline, to("s2.c1.refuse", settled(SettledHow::Refused)), to("s2.human.ask", asked(None))]);
    let expected = [
        "s2.step.cancel",
        "s2.h1.fire beforeStep",
        "s2.c1.refuse TimedOut",
        "s2.h2.fire beforeHumanIntervention [2]",
        "s2.human.ask [2]",
        "s2.h3.fire afterStep waiting_for_human",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn a_stop_of_a_parked_run_waits_for_what_is_being_judged() {
    let mut run = parked_on_two();
    run.go_on([arrives(1), stop()]);
    assert_eq!(run.machine.state().kind(), StateKind::WaitingForAsyncTool);
    run.go_on([to("s2.c1.judge", settled(SettledHow::Answered)), to("s2.c2.refuse", settled(SettledHow::Aborted))]);
    let expected = [
        "s2.c1.judge",
        "s2.step.cancel",
        "s2.h1.fire beforeStep",
        "s2.c2.refuse Aborted",
        "s2.h2.fire afterStep interrupted (interrupted)",
        "s3.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn a_plan_that_aborts_calls_ends_the_run_and_no_call_stays_parked() {
    let mut run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([tool(1), tool(2)])),
            to("s1.step.plan", plan([Instruction::CallTool(1), Instruction::ResolveAbortedTools(vec![2])])),
            to("s1.c1.clear", What::CallCleared),
        ],
    );
    run.news();
    run.go_on([
        to("s1.c1.run", What::CallParked),
        to("s1.c2.refuse", settled(SettledHow::Aborted)),
        to("s1.c1.refuse", settled(SettledHow::Aborted)),
    ]);
    let expected = [
        "s1.c2.refuse Aborted",
        "s1.c1.refuse Aborted",
        "s1.h2.fire afterStep interrupted (interrupted)",
        "s2.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn an_answer_for_a_call_that_is_not_parked_is_refused() {
    let mut run = parked_on_two();
    let before = run.machine.clone();
    for call in [0, 3, u16::MAX] {
        let why = run.feed(What::AnswerArrived { call, child: None }).refused();
        assert_eq!(why, format!("call {call} does not wait for a result"));
        assert_eq!(run.machine, before);
    }
}

#[test]
fn a_late_judgement_after_the_run_went_on_is_stale() {
    let mut run = parked_on_two();
    run.go_on([arrives(1), to("s2.c1.judge", settled(SettledHow::Answered))]);
    let again = run.feed(settled(SettledHow::Answered)(id("s2.c1.judge")));
    assert_eq!(again.0, Ok(jackline_runtime::machine::Moved::Stale));
}
