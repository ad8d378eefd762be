//! A stop in every state: what is under way is cancelled and answers, nothing new starts, calls get
//! their results, and the end is `interrupted`.

use jackline_runtime::machine::{FailureKind, Instruction, Settings, SettledHow, StateKind, What};

use crate::drive::{Run, Say, asked, calls, drive, fails, fault, plan, says, settled, stop, to, tool};

fn asking() -> Run {
    drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))])
}

/// A turn with three calls, of which two share a lane.
fn turn() -> Run {
    let mut run = asking();
    run.go_on([to("s0.model.ask", calls([tool(1), tool(1), tool(2)]))]);
    run
}

fn ends_interrupted(run: &Run) {
    assert_eq!(run.stands(), "finished: interrupted");
    assert!(run.machine.shared().calls.unsettled().is_empty());
    assert_eq!(run.machine.shared().open.len(), 0);
}

#[test]
fn while_a_step_opens() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm])), Say::Hold]);
    run.go_on([to("s0.model.ask", calls([tool(1)])), to("s0.h2.fire", What::HookAnswered)]);
    assert_eq!(run.machine.state().kind(), StateKind::OpeningStep);
    run.news();
    run.go_on([stop(), Say::Deliver, to("s1.c1.refuse", settled(SettledHow::Aborted))]);
    let expected = [
        "s1.step.cancel",
        "s1.c1.refuse Aborted",
        "s1.h2.fire afterStep interrupted (interrupted)",
        "s2.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    ends_interrupted(&run);
}

#[test]
fn while_the_planner_plans() {
    let mut run = turn();
    run.news();
    run.go_on([stop(), to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2, 3])]))]);
    assert_eq!(run.asked, ["s1.step.cancel", "s1.c1.refuse Aborted", "s1.c2.refuse Aborted", "s1.c3.refuse Aborted"]);
}

#[test]
fn a_planner_that_a_stop_cancelled_has_not_failed() {
    let mut run = drive(Settings::default(), [stop()]);
    run.go_on([to("s0.step.plan", |id| What::PlanFailed(id, fault("cancelled")))]);
    ends_interrupted(&run);
}

#[test]
fn while_the_model_is_asked() {
    let mut run = asking();
    run.news();
    run.go_on([stop(), to("s0.model.ask", fails(FailureKind::Cancelled))]);
    let expected = ["s0.step.cancel", "s0.h2.fire afterStep interrupted (interrupted)", "s1.h1.fire onComplete"];
    assert_eq!(run.asked, expected);
    ends_interrupted(&run);
}

#[test]
fn res_03_calls_of_an_answer_that_came_anyway_are_answered_as_aborted() {
    let mut run = asking();
    run.news();
    run.go_on([stop(), to("s0.model.ask", calls([tool(1), tool(2)]))]);
    run.go_on([to("s1.c1.refuse", settled(SettledHow::Aborted)), to("s1.c2.refuse", settled(SettledHow::Aborted))]);
    let expected = [
        "s0.step.cancel",
        "s0.h2.fire afterStep",
        "s1.h1.fire beforeStep",
        "s1.c1.refuse Aborted",
        "s1.c2.refuse Aborted",
        "s1.h2.fire afterStep interrupted (interrupted)",
        "s2.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    ends_interrupted(&run);
}

#[test]
fn while_waiting_to_ask_the_model_again() {
    let mut run = asking();
    run.go_on([to("s0.model.ask", fails(FailureKind::Retryable)), stop()]);
    ends_interrupted(&run);
}

#[test]
fn while_calls_run_those_under_way_answer_and_the_others_are_refused() {
    let mut run = turn();
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2, 3])])),
        to("s1.c1.clear", What::CallCleared),
    ]);
    run.news();
    run.go_on([
        stop(),
        to("s1.c2.refuse", settled(SettledHow::Aborted)),
        to("s1.c1.run", settled(SettledHow::Aborted)),
        to("s1.c3.clear", What::CallCleared),
        to("s1.c3.refuse", settled(SettledHow::Aborted)),
    ]);
    let expected = [
        "s1.step.cancel",
        "s1.c2.refuse Aborted",
        "s1.c3.refuse Aborted",
        "s1.h2.fire afterStep interrupted (interrupted)",
        "s2.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    ends_interrupted(&run);
}

#[test]
fn a_call_that_parks_after_the_stop_is_answered_as_aborted() {
    let mut run = turn();
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2, 3])])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c3.clear", settled(SettledHow::Denied)),
        stop(),
        to("s1.c2.refuse", settled(SettledHow::Aborted)),
        to("s1.c1.run", What::CallParked),
        to("s1.c1.refuse", settled(SettledHow::Aborted)),
    ]);
    ends_interrupted(&run);
}

#[test]
fn while_a_request_to_a_person_is_written() {
    let mut run = turn();
    run.go_on([to("s1.step.plan", plan([Instruction::RequestHumanApprove(vec![1, 2, 3])]))]);
    run.news();
    run.go_on([
        stop(),
        to("s1.human.ask", asked(None)),
        to("s1.c1.refuse", settled(SettledHow::Aborted)),
        to("s1.c2.refuse", settled(SettledHow::Aborted)),
        to("s1.c3.refuse", settled(SettledHow::Aborted)),
    ]);
    assert_eq!(run.asked[0], "s1.step.cancel");
    ends_interrupted(&run);
}

#[test]
fn while_a_compression_is_announced_and_closed() {
    let fold = || to("s0.step.plan", plan([Instruction::CompressContext { messages: 9, tokens: 90_000 }]));
    let mut announcing = drive(Settings::default(), [Say::Hold, fold()]);
    assert_eq!(announcing.machine.state().kind(), StateKind::AnnouncingCompaction);
    announcing.news();
    announcing.go_on([stop(), Say::Deliver]);
    let expected = [
        "s0.step.cancel",
        "s0.h3.fire onCompactError",
        "s0.h4.fire afterStep interrupted (interrupted)",
        "s1.h1.fire onComplete",
    ];
    assert_eq!(announcing.asked, expected);
    ends_interrupted(&announcing);

    let mut closing = drive(Settings::default(), [fold(), Say::Hold]);
    closing.go_on([to("s0.compact.summarize", crate::drive::folded())]);
    assert_eq!(closing.machine.state().kind(), StateKind::ClosingCompaction);
    closing.go_on([stop(), Say::Deliver]);
    ends_interrupted(&closing);
}

#[test]
fn while_a_step_closes_the_next_step_aborts_what_is_open() {
    let mut run = asking();
    run.go_on([Say::Hold, to("s0.model.ask", calls([tool(1)]))]);
    assert_eq!(run.machine.state().kind(), StateKind::ClosingStep);
    run.news();
    run.go_on([stop(), Say::Deliver, to("s1.c1.refuse", settled(SettledHow::Aborted))]);
    let expected = [
        "s0.step.cancel",
        "s1.h1.fire beforeStep",
        "s1.c1.refuse Aborted",
        "s1.h2.fire afterStep interrupted (interrupted)",
        "s2.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    ends_interrupted(&run);
}

#[test]
fn while_a_step_that_parks_closes() {
    let mut run = turn();
    run.go_on([to("s1.step.plan", plan([Instruction::RequestHumanApprove(vec![1, 2, 3])])), Say::Hold]);
    run.go_on([to("s1.human.ask", asked(None)), stop(), Say::Deliver]);
    assert_eq!(run.machine.state().kind(), StateKind::RunningCalls);
    for name in ["s2.c1.refuse", "s2.c2.refuse", "s2.c3.refuse"] {
        run.go_on([to(name, settled(SettledHow::Aborted))]);
    }
    ends_interrupted(&run);
}

#[test]
fn a_second_stop_changes_nothing_more() {
    let mut run = turn();
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2, 3])])),
        to("s1.c1.clear", What::CallCleared),
        stop(),
    ]);
    run.news();
    run.go_on([stop()]);
    assert_eq!(run.asked, ["s1.step.cancel"]);
}

#[test]
fn an_ended_run_cannot_be_stopped() {
    let mut run = asking();
    run.go_on([to("s0.model.ask", says()), stop(), to("s1.step.plan", plan([]))]);
    let why = run.feed(What::StopRequested(None)).refused();
    assert_eq!(why, "the operation is Finished: StopRequested means nothing now");
}
