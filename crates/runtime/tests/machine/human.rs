//! People: approvals, questions, rejections, and nobody answering.

use jackline_model::{Reason, Status};
use jackline_runtime::machine::{
    Decision, HumanVerdict, Instruction, Ordinal, Place, Settings, SettledHow, StateKind, StopTold, What,
};

use crate::drive::{Run, Say, asked, calls, decide, drive, plan, settled, stop, to, tool};

const YES: HumanVerdict = HumanVerdict::Approve;

fn no(reason: &str) -> HumanVerdict {
    HumanVerdict::Reject { reason: Some(reason.to_owned()) }
}

fn no_but_go_on(reason: &str) -> HumanVerdict {
    HumanVerdict::RejectAndContinue { reason: Some(reason.to_owned()) }
}

/// A run that waits for a decision about two calls; the request expires if `expires_at` says so.
fn waiting(expires_at: Option<u64>) -> Run {
    let mut run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([tool(1), tool(2)])),
            to("s1.step.plan", plan([Instruction::RequestHumanApprove(vec![1, 2])])),
            to("s1.human.ask", asked(expires_at)),
        ],
    );
    run.news();
    run
}

fn waiting_for_words() -> Run {
    let question = Instruction::RequestHumanPrompt { prompt: "Which branch?".to_owned() };
    let mut run =
        drive(Settings::default(), [to("s0.step.plan", plan([question])), to("s0.human.ask", asked(Some(90_000)))]);
    run.news();
    run
}

fn answer() -> Say {
    Say::Outside(What::HumanDecided(vec![Decision { call: None, verdict: HumanVerdict::Answer }]))
}

fn place(run: &Run, call: Ordinal) -> &Place {
    &run.machine.shared().calls.slot(call).expect("the turn has it").place
}

#[test]
fn eng_11_a_run_asks_and_parks() {
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([tool(1)])),
            to("s1.step.plan", plan([Instruction::RequestHumanApprove(vec![1])])),
            to("s1.human.ask", asked(None)),
        ],
    );
    let expected = [
        "s1.h1.fire beforeStep",
        "s1.step.plan llm_result",
        "s1.h2.fire beforeHumanIntervention [1]",
        "s1.human.ask [1]",
        "s1.h3.fire afterStep waiting_for_human",
    ];
    assert_eq!(run.asked[4..], expected);
    assert_eq!(run.machine.state().kind(), StateKind::WaitingForHuman);
}

#[test]
fn eng_12_a_question_in_words_parks_and_the_answer_goes_on() {
    let mut run = waiting_for_words();
    assert_eq!(run.machine.state().kind(), StateKind::WaitingForHuman);
    run.go_on([answer()]);
    let expected = ["s1.h1.fire afterHumanIntervention Approve []", "s1.h2.fire beforeStep", "s1.step.plan user_input"];
    assert_eq!(run.asked, expected);
    run.go_on([to("s1.step.plan", plan([Instruction::CallLlm]))]);
    assert!(!run.machine.shared().question);
}

#[test]
fn eng_13_a_choice_parks() {
    let options = vec!["red".to_owned(), "blue".to_owned()];
    let question = Instruction::RequestHumanSelect { prompt: "Colour?".to_owned(), options };
    let run = drive(Settings::default(), [to("s0.step.plan", plan([question])), to("s0.human.ask", asked(None))]);
    let expected = [
        "s0.h1.fire beforeStep",
        "s0.step.plan user_input",
        "s0.h2.fire beforeHumanIntervention []",
        "s0.human.ask Colour?",
        "s0.h3.fire afterStep waiting_for_human",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn eng_17_what_follows_a_request_to_a_person_is_not_done() {
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([tool(1)])),
            to("s1.step.plan", plan([Instruction::RequestHumanApprove(vec![1]), Instruction::CallLlm])),
            to("s1.human.ask", asked(None)),
        ],
    );
    assert_eq!(run.asked[7..], ["s1.human.ask [1]", "s1.h3.fire afterStep waiting_for_human"]);
}

#[test]
fn hil_10_one_approval_of_two_runs_its_call_and_parks_again() {
    let mut run = waiting(Some(90_000));
    run.go_on([decide([(2, YES)]), to("s2.c2.clear", What::CallCleared), to("s2.c2.run", settled(SettledHow::Ran))]);
    let expected = [
        "s2.h1.fire afterHumanIntervention Approve [2]",
        "s2.h2.fire beforeStep",
        "s2.c2.clear",
        "s2.c2.run",
        "s2.h3.fire afterToolCall",
        "s2.h4.fire afterStep waiting_for_human",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.machine.shared().calls.awaiting_human(), [1]);
    assert_eq!(run.machine.next_deadline(), Some(90_000), "the request is still the same");
}

#[test]
fn hil_11_the_last_approval_goes_on() {
    let mut run = waiting(None);
    run.go_on([
        decide([(1, YES), (2, YES)]),
        to("s2.c1.clear", What::CallCleared),
        to("s2.c2.clear", What::CallCleared),
        to("s2.c1.run", settled(SettledHow::Ran)),
        to("s2.c2.run", settled(SettledHow::Ran)),
    ]);
    let expected = [
        "s2.h1.fire afterHumanIntervention Approve [1, 2]",
        "s2.h2.fire beforeStep",
        "s2.c1.clear",
        "s2.c2.clear",
        "s2.c1.run",
        "s2.c2.run",
        "s2.h3.fire afterToolCall",
        "s2.h4.fire afterToolCall",
        "s2.h5.fire afterStep",
        "s3.h1.fire beforeStep",
        "s3.step.plan tools_batch_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn an_approved_call_passes_the_gate_like_any_other() {
    let mut run = waiting(None);
    run.go_on([decide([(1, YES)]), to("s2.c1.clear", settled(SettledHow::Denied))]);
    assert_eq!(place(&run, 1), &Place::Settled);
    assert_eq!(place(&run, 2), &Place::AwaitingHuman);
}

#[test]
fn hil_14_a_rejection_halts_and_all_calls_are_answered() {
    let mut run = waiting(None);
    run.go_on([
        decide([(2, no("too risky"))]),
        to("s2.c2.refuse", settled(SettledHow::Refused)),
        to("s2.c1.refuse", settled(SettledHow::Aborted)),
    ]);
    let expected = [
        "s2.h1.fire onStopByHumanIntervention [1, 2] rejected",
        "s2.h2.fire beforeStep",
        "s2.c2.refuse Rejected { reason: Some(\"too risky\") }",
        "s2.c1.refuse Aborted",
        "s2.h3.fire afterStep interrupted (interrupted)",
        "s3.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.stands(), "finished: interrupted");
    let why = run.feed(What::ResumeRequested).refused();
    assert_eq!(why, "a run that ended with reason `interrupted` cannot be resumed");
}

#[test]
fn hil_16_a_rejection_that_goes_on_parks_again_for_the_others() {
    let mut run = waiting(None);
    run.go_on([decide([(1, no_but_go_on("not now"))]), to("s2.c1.refuse", settled(SettledHow::Refused))]);
    let expected = [
        "s2.h1.fire afterHumanIntervention RejectAndContinue [1] not now",
        "s2.h2.fire beforeStep",
        "s2.c1.refuse Rejected { reason: Some(\"not now\") }",
        "s2.h3.fire afterStep waiting_for_human",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn hil_17_the_last_rejection_that_goes_on_lets_the_model_read_it() {
    let mut run = waiting(None);
    run.go_on([
        decide([(1, no_but_go_on("not now")), (2, YES)]),
        to("s2.c2.clear", What::CallCleared),
        to("s2.c2.run", settled(SettledHow::Ran)),
        to("s2.c1.refuse", settled(SettledHow::Refused)),
    ]);
    let expected = [
        "s2.h1.fire afterHumanIntervention RejectAndContinue [1] not now",
        "s2.h2.fire afterHumanIntervention Approve [2]",
        "s2.h3.fire beforeStep",
        "s2.c2.clear",
        "s2.c2.run",
        "s2.h4.fire afterToolCall",
        "s2.c1.refuse Rejected { reason: Some(\"not now\") }",
        "s2.h5.fire afterStep",
        "s3.h1.fire beforeStep",
        "s3.step.plan tools_batch_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn hil_18_a_decision_that_does_not_fit_changes_nothing() {
    let mut run = waiting(None);
    let before = run.machine.clone();
    let posts = [
        (vec![], "nothing was decided"),
        (vec![Decision { call: Some(3), verdict: YES }], "call 3 does not wait for a decision"),
        (vec![Decision { call: Some(1), verdict: HumanVerdict::Answer }], "call 1 does not wait for a decision"),
        (vec![Decision { call: None, verdict: YES }], "the question does not wait for a decision"),
        (
            vec![Decision { call: Some(1), verdict: YES }, Decision { call: Some(1), verdict: no("twice") }],
            "call 1 does not wait for a decision",
        ),
        (
            vec![Decision { call: Some(1), verdict: YES }, Decision { call: Some(9), verdict: YES }],
            "call 9 does not wait for a decision",
        ),
    ];
    for (decisions, why) in posts {
        assert_eq!(run.feed(What::HumanDecided(decisions)).refused(), why);
        assert_eq!(run.machine, before);
    }
}

#[test]
fn nobody_decides_in_time_and_the_model_reads_that() {
    let mut run = waiting(Some(90_000));
    run.go_on([
        Say::Deadline,
        to("s2.c1.refuse", settled(SettledHow::Refused)),
        to("s2.c2.refuse", settled(SettledHow::Refused)),
    ]);
    let expected = [
        "s2.h1.fire beforeStep",
        "s2.c1.refuse Expired",
        "s2.c2.refuse Expired",
        "s2.h2.fire afterStep",
        "s3.h1.fire beforeStep",
        "s3.step.plan tools_batch_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn a_question_that_expires_goes_on_without_an_answer() {
    let mut run = waiting_for_words();
    run.go_on([Say::Deadline]);
    assert_eq!(run.asked, ["s1.h1.fire beforeStep", "s1.step.plan user_input"]);
    assert!(!run.machine.shared().question);
}

#[test]
fn a_rejected_question_halts() {
    let mut run = waiting_for_words();
    run.go_on([Say::Outside(What::HumanDecided(vec![Decision { call: None, verdict: no("enough") }]))]);
    let expected = [
        "s1.h1.fire onStopByHumanIntervention [] rejected",
        "s1.h2.fire beforeStep",
        "s1.h3.fire afterStep interrupted (interrupted)",
        "s2.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn a_stop_while_a_person_is_asked_aborts_the_calls_and_can_be_resumed() {
    let mut run = waiting(None);
    run.go_on([
        stop(),
        to("s2.c1.refuse", settled(SettledHow::Aborted)),
        to("s2.c2.refuse", settled(SettledHow::Aborted)),
    ]);
    let expected = [
        "s2.h1.fire beforeStep",
        "s2.c1.refuse Aborted",
        "s2.c2.refuse Aborted",
        "s2.h2.fire afterStep interrupted (interrupted)",
        "s3.h1.fire onStopByHumanIntervention [1, 2]",
        "s3.h2.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    run.go_on([Say::Outside(What::ResumeRequested)]);
}

/// A run that was stopped while two calls waited, with the hooks of the stop being asked.
fn telling_the_stop(request: Option<&str>) -> Run {
    let mut run = waiting(None);
    run.go_on([
        Say::Outside(What::StopRequested(request.map(Into::into))),
        to("s2.c1.refuse", settled(SettledHow::Aborted)),
        Say::Hold,
        to("s2.c2.refuse", settled(SettledHow::Aborted)),
        to("s2.h2.fire", What::HookAnswered),
    ]);
    assert_eq!(run.machine.state().kind(), StateKind::TellingStop);
    run.news();
    run
}

fn told(run: &Run) -> StopTold {
    run.machine.shared().stop_notice.as_ref().expect("it was stopped").told
}

#[test]
fn l18_a_stop_that_a_critical_hook_did_not_hear_of_is_told_again_and_nothing_else_is() {
    let mut run = telling_the_stop(Some("ticket-7"));
    run.go_on([to("s3.h1.fire", What::HookFailed), Say::Deliver]);
    assert_eq!(run.news(), ["s3.h2.fire onComplete"], "the end is told all the same");
    assert_eq!(run.stands(), "finished: interrupted");
    for _ in 0..2 {
        run.go_on([Say::Hold, Say::Outside(What::RetellRequested)]);
        assert_eq!(run.news(), ["s3.h1.fire onStopByHumanIntervention [1, 2]"], "by the same name");
        assert_eq!(run.machine.state().status(), Status::Interrupted);
        run.feed(What::RetellRequested).refused();
        run.feed(What::ResumeRequested).refused();
        run.go_on([to("s3.h1.fire", What::HookFailed)]);
        assert_eq!(run.stands(), "finished: interrupted");
    }
    run.go_on([Say::Outside(What::RetellRequested), Say::Deliver]);
    assert_eq!(run.news(), ["s3.h1.fire onStopByHumanIntervention [1, 2]"]);
    assert_eq!((run.stands().as_str(), told(&run)), ("finished: interrupted", StopTold::Heard));
    assert_eq!(run.feed(What::RetellRequested).refused(), "everybody has heard of the stop who had to");
}

#[test]
fn l18_a_stop_that_an_ordinary_hook_did_not_hear_of_is_done_with() {
    let mut run = telling_the_stop(None);
    run.go_on([to("s3.h1.fire", What::HookAnswered), Say::Deliver]);
    assert_eq!((run.stands().as_str(), told(&run)), ("finished: interrupted", StopTold::Heard));
    run.feed(What::RetellRequested).refused();
}

#[test]
fn a_run_that_goes_on_tells_nobody_any_more_that_it_was_stopped() {
    let mut run = telling_the_stop(None);
    run.go_on([to("s3.h1.fire", What::HookFailed), Say::Deliver, Say::Outside(What::ResumeRequested)]);
    assert_eq!(run.machine.shared().stop_notice, None);
    run.go_on([to("s3.step.plan", plan([Instruction::Finish { reason: Reason::Done }]))]);
    assert_eq!(run.stands(), "finished: done");
    run.feed(What::RetellRequested).refused();
}

#[test]
fn only_a_stop_can_be_owed() {
    let asking = to("s0.step.plan", plan([Instruction::CallLlm]));
    let mut closing = drive(Settings::default(), [asking, Say::Hold, to("s0.model.ask", calls([tool(1)]))]);
    assert!(closing.feed(What::HookFailed(crate::drive::id("s0.h2.fire"))).0.is_err());
    // Who rejects a call does not wait for the news of it.
    let mut rejected = waiting(None);
    rejected.go_on([Say::Hold, decide([(1, no("too risky"))])]);
    assert!(rejected.feed(What::HookFailed(crate::drive::id("s2.h1.fire"))).0.is_err());
}

#[test]
fn l19_nothing_that_was_decided_is_done_before_it_is_told_group_by_group() {
    let mut run = waiting(None);
    run.go_on([Say::Hold, decide([(1, no_but_go_on("not now")), (2, YES)])]);
    assert_eq!(run.news(), ["s2.h1.fire afterHumanIntervention RejectAndContinue [1] not now"]);
    assert_eq!(run.machine.state().status(), Status::WaitingForHuman, "it is still pending");
    run.go_on([to("s2.h1.fire", What::HookAnswered)]);
    assert_eq!(run.news(), ["s2.h2.fire afterHumanIntervention Approve [2]"]);
    assert_eq!((place(&run, 1), place(&run, 2)), (&Place::AwaitingHuman, &Place::AwaitingHuman));
    run.go_on([to("s2.h2.fire", What::HookAnswered)]);
    assert_eq!(run.news(), ["s2.h3.fire beforeStep"]);
}

#[test]
fn a_stop_before_a_decision_is_told_undoes_it() {
    let mut run = waiting(None);
    run.go_on([Say::Hold, decide([(1, no_but_go_on("not now")), (2, YES)])]);
    run.news();
    run.go_on([
        stop(),
        Say::Deliver,
        to("s2.c1.refuse", settled(SettledHow::Aborted)),
        to("s2.c2.refuse", settled(SettledHow::Aborted)),
    ]);
    let expected = [
        "s2.step.cancel",
        "s2.h2.fire beforeStep",
        "s2.c1.refuse Aborted",
        "s2.c2.refuse Aborted",
        "s2.h3.fire afterStep interrupted (interrupted)",
        "s3.h1.fire onStopByHumanIntervention [1, 2]",
        "s3.h2.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn an_unanswered_question_does_not_park_the_next_episode() {
    let mut run = waiting_for_words();
    run.go_on([stop(), Say::Outside(What::ResumeRequested)]);
    run.news();
    let fold = Instruction::CompressContext { messages: 4, tokens: 9_000 };
    run.go_on([to("s2.step.plan", plan([fold])), to("s2.compact.summarize", crate::drive::folded())]);
    assert_eq!(run.machine.state().kind(), StateKind::Planning);
}
