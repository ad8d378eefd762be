//! Limits, the end of a run, and what comes after it.

use jackline_model::{NanoDollars, Reason};
use jackline_runtime::machine::{
    Boundary, FailureKind, Input, Instruction, Machine, Moved, Reply, Settings, SettledHow, StateKind, What, limits,
};

use crate::drive::{Run, Say, calls, drive, fails, finish, id, plan, says, settled, stop, to, tool, usage};

fn steps(max: u32) -> Settings {
    Settings { steps_max: Some(max), ..Settings::default() }
}

/// One turn of the model with a call, and the call.
fn one_round(settings: Settings) -> Run {
    let mut run = drive(
        settings,
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", calls([tool(1)])),
            to("s1.step.plan", plan([Instruction::CallTool(1)])),
            to("s1.c1.clear", What::CallCleared),
            to("s1.c1.run", settled(SettledHow::Ran)),
        ],
    );
    run.news();
    run
}

#[test]
fn eng_25_out_of_steps_the_model_must_answer_without_tools() {
    let mut run = one_round(steps(2));
    run.go_on([to("s2.step.plan", plan([Instruction::CallLlm]))]);
    assert_eq!(run.asked, ["s2.model.ask without tools"]);
    run.go_on([to("s2.model.ask", says())]);
    assert!(run.machine.shared().force_finish);
}

#[test]
fn eng_25_calls_after_the_last_step_are_refused_and_the_run_ends() {
    let mut run = one_round(steps(2));
    run.go_on([
        to("s2.step.plan", plan([Instruction::CallLlm])),
        to("s2.model.ask", calls([tool(1), tool(2)])),
        to("s3.c1.refuse", settled(SettledHow::Refused)),
        to("s3.c2.refuse", settled(SettledHow::Refused)),
    ]);
    let expected = [
        "s2.model.ask without tools",
        "s2.h2.fire afterStep",
        "s3.h1.fire beforeStep",
        "s3.c1.refuse Limit(MaxSteps)",
        "s3.c2.refuse Limit(MaxSteps)",
        "s3.h2.fire afterStep done (max_steps)",
        "s4.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.stands(), "finished: max_steps");
}

#[test]
fn eng_26_no_limit_or_zero_never_forces_an_answer() {
    for settings in [steps(0), Settings::default()] {
        let mut run = one_round(settings);
        run.go_on([to("s2.step.plan", plan([Instruction::CallLlm]))]);
        assert_eq!(run.asked, ["s2.model.ask"]);
    }
}

#[test]
fn the_money_is_counted_before_each_call_of_the_model() {
    let with = |cost_max| {
        let mut run = one_round(Settings { cost_max: Some(NanoDollars(cost_max)), ..Settings::default() });
        run.go_on([to("s2.step.plan", plan([Instruction::CallLlm]))]);
        run.asked
    };
    assert_eq!(with(1_006), ["s2.model.ask"]);
    assert_eq!(with(1_005), ["s2.h2.fire afterStep done (cost_limit)", "s3.h1.fire onComplete"]);
}

#[test]
fn no_money_means_no_call_at_all() {
    let run = drive(
        Settings { cost_max: Some(NanoDollars::ZERO), ..Settings::default() },
        [to("s0.step.plan", plan([Instruction::CallLlm]))],
    );
    let expected = [
        "s0.h1.fire beforeStep",
        "s0.step.plan user_input",
        "s0.h2.fire afterStep done (cost_limit)",
        "s1.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.machine.shared().steps_done, 0);
}

#[test]
fn tokens_have_a_limit_too() {
    let mut run = one_round(Settings { tokens_max: Some(110), ..Settings::default() });
    run.go_on([to("s2.step.plan", plan([Instruction::CallLlm]))]);
    assert_eq!(run.stands(), "finished: token_limit");
}

#[test]
fn a_run_that_used_up_its_steps_can_be_resumed_with_new_ones() {
    let mut run = one_round(steps(2));
    run.go_on([
        to("s2.step.plan", plan([Instruction::CallLlm])),
        to("s2.model.ask", says()),
        to("s3.step.plan", plan([finish(Reason::MaxSteps)])),
        Say::Outside(What::ResumeRequested),
        to("s4.step.plan", plan([Instruction::CallLlm])),
    ]);
    let expected = [
        "s3.h2.fire afterStep done (max_steps)",
        "s4.h1.fire onComplete",
        "s4.h2.fire beforeStep",
        "s4.step.plan user_input",
        "s4.model.ask",
    ];
    assert_eq!(run.asked[4..], expected);
}

#[test]
fn a_run_that_is_done_cannot_be_resumed() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([finish(Reason::Done)]))]);
    let before = run.machine.clone();
    let why = run.feed(What::ResumeRequested).refused();
    assert_eq!(why, "a run that ended with reason `done` cannot be resumed");
    assert_eq!(run.machine, before);
}

#[test]
fn an_interrupted_run_opens_a_new_episode() {
    let mut run = one_round(steps(3));
    run.go_on([stop(), to("s2.step.plan", plan([Instruction::CallLlm]))]);
    assert_eq!(run.stands(), "finished: interrupted");
    run.news();
    run.go_on([Say::Outside(What::ResumeRequested), to("s3.step.plan", plan([Instruction::CallLlm]))]);
    assert_eq!(run.asked, ["s3.h2.fire beforeStep", "s3.step.plan user_input", "s3.model.ask"]);
    assert_eq!(run.machine.shared().episode_base, run.machine.shared().steps_done);
}

#[test]
fn the_end_waits_for_the_notices_before_it() {
    let mut run = one_round(Settings::default());
    run.go_on([to("s2.step.plan", plan([Instruction::CallLlm])), to("s2.model.ask", calls([tool(1)])), Say::Hold]);
    run.go_on([to("s3.step.plan", plan([Instruction::CallTool(1)])), to("s3.c1.clear", What::CallCleared)]);
    run.news();
    run.go_on([to("s3.c1.run", crate::drive::stops()), to("s3.h3.fire", What::HookAnswered)]);
    assert_eq!(run.asked, ["s3.h2.fire afterToolCall", "s3.h3.fire afterStep done (done)"]);
    assert_eq!(run.machine.state().kind(), StateKind::Draining);
    run.go_on([to("s3.h2.fire", What::NoticeDelivered)]);
    assert_eq!(run.asked[2..], ["s4.h1.fire onComplete"]);
}

#[test]
fn notices_that_do_not_arrive_in_time_are_dropped_and_counted() {
    let mut run = one_round(Settings::default());
    run.go_on([to("s2.step.plan", plan([Instruction::CallLlm])), to("s2.model.ask", calls([tool(1)])), Say::Hold]);
    run.go_on([
        to("s3.step.plan", plan([Instruction::CallTool(1)])),
        to("s3.c1.clear", What::CallCleared),
        to("s3.c1.run", crate::drive::stops()),
        to("s3.h3.fire", What::HookAnswered),
    ]);
    run.news();
    assert_eq!(run.machine.next_deadline(), Some(run.now + limits::DRAIN_MS));
    run.go_on([Say::Deadline]);
    assert_eq!(run.asked, ["s4.step.cancel", "s4.h1.fire onComplete"]);
    assert_eq!(run.machine.shared().notices_dropped, 1);
    assert_eq!(run.feed(What::NoticeDelivered(id("s3.h2.fire"))).0, Ok(Moved::Stale), "late is late");
    run.go_on([to("s4.h1.fire", What::HookAnswered)]);
    assert_eq!(run.stands(), "finished: done");
}

#[test]
fn on_complete_is_asked_once_for_each_end() {
    let mut run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            stop(),
            to("s0.model.ask", fails(FailureKind::Cancelled)),
            Say::Outside(What::ResumeRequested),
            to("s1.step.plan", plan([finish(Reason::Done)])),
        ],
    );
    let completed = |run: &Run| run.asked.iter().filter(|asked| asked.ends_with("onComplete")).count();
    assert_eq!(completed(&run), 2);
    run.feed(What::StopRequested(None)).refused();
    assert_eq!(completed(&run), 2);
}

#[test]
fn a_run_goes_on_from_any_boundary_as_if_nothing_had_happened() {
    let inputs = recorded();
    let mut original = Machine::new(Settings::default());
    let mut boundaries: Vec<(usize, Boundary)> = Vec::new();
    for (index, input) in inputs.iter().enumerate() {
        assert!(matches!(original.handle(input.clone()), Ok(Moved::Row(_))), "{input:?}");
        boundaries.extend(original.boundary().map(|boundary| (index + 1, boundary)));
    }
    assert_eq!(boundaries.len(), 3);
    for (from, boundary) in boundaries {
        let mut restored = Machine::restore(Settings::default(), boundary);
        for input in &inputs[from..] {
            restored.handle(input.clone()).unwrap();
        }
        assert_eq!(restored.state(), original.state());
        let carried = |machine: &Machine| {
            let mut shared = machine.shared().clone();
            shared.out.clear();
            shared.emitted = Default::default();
            shared
        };
        assert_eq!(carried(&restored), carried(&original));
    }
}

#[test]
fn a_restored_run_asks_again_for_what_has_no_answer() {
    let inputs = recorded();
    let mut machine = Machine::new(Settings::default());
    for input in &inputs[..8] {
        machine.handle(input.clone()).unwrap();
    }
    machine.reopen();
    let asked: Vec<String> = std::iter::from_fn(|| machine.next_effect()).map(|(id, _)| id.to_string()).collect();
    assert_eq!(asked, ["s1.c1.run"]);
}

/// The inputs of a run with one call and an answer.
fn recorded() -> Vec<Input> {
    let reply = |calls| Reply { usage: Some(usage()), calls, ..Reply::default() };
    let all = [
        What::BeginRequested,
        What::HookAnswered(id("s0.h1.fire")),
        What::Planned(id("s0.step.plan"), vec![Instruction::CallLlm]),
        What::ModelReplied(id("s0.model.ask"), reply(vec![tool(1)])),
        What::HookAnswered(id("s0.h2.fire")),
        What::HookAnswered(id("s1.h1.fire")),
        What::Planned(id("s1.step.plan"), vec![Instruction::CallTool(1), Instruction::CallLlm]),
        What::CallCleared(id("s1.c1.clear")),
        settled(SettledHow::Ran)(id("s1.c1.run")),
        What::ModelReplied(id("s1.model.ask"), reply(Vec::new())),
        What::HookAnswered(id("s1.h3.fire")),
        What::HookAnswered(id("s2.h1.fire")),
        What::NoticeDelivered(id("s1.h2.fire")),
        What::Planned(id("s2.step.plan"), vec![finish(Reason::Done)]),
        What::HookAnswered(id("s2.h2.fire")),
    ];
    all.into_iter().zip(1_000..).map(|(what, at)| Input { at, what }).collect()
}
