//! Calls of tools and sub-agents: clearing, lanes, results, and how plans may be made of them.

use jackline_model::Reason;
use jackline_runtime::machine::{
    CallFacts, Instruction, Refusal, Reply, Route, Settings, SettledHow, State, What, limits,
};

use crate::drive::{
    Run, Say, arrives, calls, drive, fault, finish, id, plan, routed, says, settled, stops, to, tool, usage,
};

/// Begins a run whose model asks for these calls, and forgets what was asked so far.
fn asking_for<const N: usize>(settings: Settings, facts: [CallFacts; N]) -> Run {
    let mut run = drive(settings, [to("s0.step.plan", plan([Instruction::CallLlm])), to("s0.model.ask", calls(facts))]);
    run.news();
    run
}

#[test]
fn one_tool_is_cleared_run_and_noticed() {
    let mut run = asking_for(Settings::default(), [tool(1)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallTool(1)])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c1.run", settled(SettledHow::Ran)),
    ]);
    let expected = [
        "s1.c1.clear",
        "s1.c1.run",
        "s1.h2.fire afterToolCall",
        "s1.h3.fire afterStep",
        "s2.h1.fire beforeStep",
        "s2.step.plan tool_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn two_calls_of_different_lanes_run_at_once() {
    let mut run = asking_for(Settings::default(), [tool(1), tool(2)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2])])),
        to("s1.c2.clear", What::CallCleared),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c2.run", settled(SettledHow::Ran)),
        to("s1.c1.run", settled(SettledHow::Threw)),
    ]);
    let expected = [
        "s1.c1.clear",
        "s1.c2.clear",
        "s1.c2.run",
        "s1.c1.run",
        "s1.h2.fire afterToolCall",
        "s1.h3.fire onToolCallError",
        "s1.h4.fire afterStep",
        "s2.h1.fire beforeStep",
        "s2.step.plan tools_batch_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn calls_of_one_lane_run_one_after_another() {
    let mut run = asking_for(Settings::default(), [tool(1), tool(1), tool(2)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2, 3])])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c1.run", settled(SettledHow::Ran)),
    ]);
    assert_eq!(run.asked, ["s1.c1.clear", "s1.c3.clear", "s1.c1.run", "s1.h2.fire afterToolCall", "s1.c2.clear"]);
}

#[test]
fn no_more_calls_run_at_once_than_the_bound_says() {
    let facts = [tool(1), tool(2), tool(3)];
    let started = |concurrency| {
        let mut run = asking_for(Settings { concurrency, ..Settings::default() }, facts);
        run.go_on([to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2, 3])]))]);
        run.asked.len()
    };
    assert_eq!([started(1), started(2), started(8)], [1, 2, 3]);
    assert_eq!(started(0), 1, "a bound of zero would hang");
}

#[test]
fn a_denied_call_has_its_result_without_a_run() {
    let mut run = asking_for(Settings::default(), [tool(1)]);
    run.go_on([to("s1.step.plan", plan([Instruction::CallTool(1)])), to("s1.c1.clear", settled(SettledHow::Denied))]);
    let expected = [
        "s1.c1.clear",
        "s1.h2.fire afterToolCall",
        "s1.h3.fire afterStep",
        "s2.h1.fire beforeStep",
        "s2.step.plan tool_result",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.totals().tool_calls, 1);
}

#[test]
fn a_mocked_call_says_so() {
    let mut run = asking_for(Settings::default(), [tool(1)]);
    run.go_on([to("s1.step.plan", plan([Instruction::CallTool(1)])), to("s1.c1.clear", settled(SettledHow::Mocked))]);
    assert_eq!(run.asked[1], "s1.h2.fire afterToolCall mocked");
}

#[test]
fn a_call_that_nobody_can_run_is_answered_and_not_counted() {
    let mut run = asking_for(Settings::default(), [routed(1, Route::Unusable)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::ResolveBlockedTools(vec![(1, Refusal::Unusable)])])),
        to("s1.c1.refuse", settled(SettledHow::Refused)),
    ]);
    let expected =
        ["s1.c1.refuse Unusable", "s1.h2.fire afterStep", "s2.h1.fire beforeStep", "s2.step.plan tool_result"];
    assert_eq!(run.asked, expected);
    assert_eq!(run.totals().tool_calls, 0);
}

#[test]
fn a_sub_agent_is_announced_started_and_waited_for() {
    let mut run = asking_for(Settings::default(), [routed(1, Route::Agent)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallAgent(1)])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c1.start", |id| What::ChildStarted(id, "op-child".into())),
        arrives(1),
        to("s2.c1.judge", settled(SettledHow::Answered)),
    ]);
    let expected = [
        "s1.c1.clear",
        "s1.h2.fire beforeCallAgent",
        "s1.c1.start",
        "s1.h3.fire afterCallAgent op-child",
        "s1.h4.fire afterStep waiting_for_async_tool",
        "s2.c1.judge",
        "s2.h1.fire beforeStep",
        "s2.step.plan tool_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn a_sub_agent_that_does_not_start_is_an_error_of_the_call() {
    let mut run = asking_for(Settings::default(), [routed(1, Route::Agent)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallAgent(1)])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c1.start", settled(SettledHow::NotStarted)),
    ]);
    let expected = [
        "s1.c1.clear",
        "s1.h2.fire beforeCallAgent",
        "s1.c1.start",
        "s1.h3.fire onCallAgentError",
        "s1.h4.fire afterStep",
        "s2.h1.fire beforeStep",
        "s2.step.plan tool_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn what_a_sub_agent_used_is_added_once() {
    let child = jackline_model::Totals { llm_calls: 3, total_tokens: 300, ..Default::default() };
    let mut run = asking_for(Settings::default(), [routed(1, Route::Agent)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallAgent(1)])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c1.start", |id| What::ChildStarted(id, "op-child".into())),
        Say::Outside(What::AnswerArrived { call: 1, child: Some(child) }),
    ]);
    let again = run.feed(What::AnswerArrived { call: 1, child: Some(child) });
    assert_eq!(again.refused(), "call 1 does not wait for a result");
    assert_eq!(run.totals().llm_calls, 4);
}

#[test]
fn a_tool_that_asks_for_the_end_gets_it_after_all_results() {
    let mut run = asking_for(Settings::default(), [tool(1), tool(2)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2])])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c2.clear", What::CallCleared),
        to("s1.c1.run", stops()),
        to("s1.c2.run", settled(SettledHow::Ran)),
    ]);
    assert_eq!(run.asked[6..], ["s1.h4.fire afterStep done (done)", "s2.h1.fire onComplete"]);
    assert_eq!(run.stands(), "finished: done");
}

#[test]
fn the_model_is_not_asked_after_a_tool_asked_for_the_end() {
    let mut run = asking_for(Settings::default(), [tool(1)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallTool(1), Instruction::CallLlm])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c1.run", stops()),
    ]);
    assert_eq!(run.stands(), "finished: done");
}

#[test]
fn a_tool_and_the_next_turn_may_stand_in_one_plan() {
    let mut run = asking_for(Settings::default(), [tool(1)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallTool(1), Instruction::CallLlm])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c1.run", settled(SettledHow::Ran)),
        to("s1.model.ask", says()),
    ]);
    let expected = [
        "s1.c1.clear",
        "s1.c1.run",
        "s1.h2.fire afterToolCall",
        "s1.model.ask",
        "s1.h3.fire afterStep",
        "s2.h1.fire beforeStep",
        "s2.step.plan llm_result",
    ];
    assert_eq!(run.asked, expected);
}

#[test]
fn a_plan_that_leaves_calls_open_fails_the_run_and_the_calls_are_answered() {
    let mut run = asking_for(Settings::default(), [tool(1), tool(2)]);
    run.go_on([
        to("s1.step.plan", plan([Instruction::CallTool(1)])),
        to("s1.c1.refuse", settled(SettledHow::Aborted)),
        to("s1.c2.refuse", settled(SettledHow::Aborted)),
    ]);
    let expected = [
        "s1.c1.refuse Aborted",
        "s1.c2.refuse Aborted",
        "s1.h2.fire afterStep error (error)",
        "s2.h1.fire onComplete",
        "s2.h2.fire onError",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.stands(), "finished: error (plan_fault)");
}

#[test]
fn impossible_plans_are_told_apart() {
    use Instruction::{CallAgent, CallLlm, CallTool, CallToolsBatch, RequestHumanApprove};
    let says = |facts: &[CallFacts], instructions: &[Instruction]| {
        let mut run = drive(Settings::default(), [to("s0.step.plan", plan([CallLlm]))]);
        let reply = Reply { usage: Some(usage()), calls: facts.to_vec(), ..Reply::default() };
        run.feed(What::ModelReplied(id("s0.model.ask"), reply)).moved();
        run.feed(What::Planned(id("s1.step.plan"), instructions.to_vec())).moved();
        let ending = run.machine.shared().ending.clone();
        let finished = || if let State::Finished(ending) = run.machine.state() { Some(ending.clone()) } else { None };
        let fault = ending.or_else(finished).and_then(|ending| ending.fault);
        let message = fault.expect("an impossible plan is a fault").message;
        message.strip_prefix("the planner made an impossible plan: ").expect("a plan fault").to_owned()
    };
    let prompt = || Instruction::RequestHumanPrompt { prompt: "why?".to_owned() };
    let agent = routed(1, Route::Agent);
    let unusable = routed(1, Route::Unusable);
    assert_eq!(says(&[], &[]), "the plan is empty");
    assert_eq!(says(&[], &[CallLlm, CallLlm]), "`call_llm` must be the last instruction");
    assert_eq!(says(&[], &[CallTool(1)]), "`call_tool` names call 1, which does not exist");
    assert_eq!(says(&[], &[CallTool(0)]), "`call_tool` names call 0, which does not exist");
    assert_eq!(says(&[tool(1)], &[CallLlm]), "the plan covers the calls [], open are [1]");
    assert_eq!(says(&[tool(1)], &[CallTool(1), CallTool(1)]), "the plan covers the calls [1, 1], open are [1]");
    assert_eq!(says(&[tool(1)], &[CallAgent(1)]), "`call_agent` does not fit call 1");
    assert_eq!(says(&[agent], &[CallToolsBatch(vec![1])]), "`call_tools_batch` does not fit call 1");
    assert_eq!(says(&[unusable], &[RequestHumanApprove(vec![1])]), "`request_human_approve` does not fit call 1");
    assert_eq!(says(&[tool(1)], &[RequestHumanApprove(vec![1]), prompt()]), "a step asks a person one thing");
    assert_eq!(says(&[], &[RequestHumanApprove(vec![])]), "`request_human_approve` names no call");
}

#[test]
fn a_planner_that_fails_ends_the_run() {
    let mut run = asking_for(Settings::default(), [tool(1)]);
    run.go_on([
        to("s1.step.plan", |id| What::PlanFailed(id, fault("resolver_broke"))),
        to("s1.c1.refuse", settled(SettledHow::Aborted)),
    ]);
    assert_eq!(run.stands(), "finished: error (resolver_broke)");
}

#[test]
fn three_turns_of_unknown_tools_end_the_run() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))]);
    let unknown = |name: &str| {
        let calls = vec![routed(1, Route::Unusable)];
        What::ModelReplied(id(name), Reply { calls, unresolved: true, ..Reply::default() })
    };
    let refuse = || plan([Instruction::ResolveBlockedTools(vec![(1, Refusal::Unusable)]), Instruction::CallLlm]);
    run.feed(unknown("s0.model.ask")).moved();
    run.go_on([to("s1.step.plan", refuse()), to("s1.c1.refuse", settled(SettledHow::Refused))]);
    run.feed(unknown("s1.model.ask")).moved();
    run.go_on([to("s2.step.plan", refuse()), to("s2.c1.refuse", settled(SettledHow::Refused))]);
    run.news();
    run.feed(unknown("s2.model.ask")).moved();
    run.go_on([to("s3.c1.refuse", settled(SettledHow::Refused))]);
    let expected = [
        "s2.h2.fire afterStep",
        "s3.h1.fire beforeStep",
        "s3.c1.refuse Unusable",
        "s3.h2.fire afterStep done (unresolved_tools)",
        "s4.h1.fire onComplete",
    ];
    assert_eq!(run.asked, expected);
    assert_eq!(run.stands(), "finished: unresolved_tools");
}

#[test]
fn a_turn_that_resolves_starts_the_count_anew() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))]);
    let reply = Reply { calls: vec![routed(1, Route::Unusable)], unresolved: true, ..Reply::default() };
    run.feed(What::ModelReplied(id("s0.model.ask"), reply)).moved();
    assert_eq!(run.machine.shared().unresolved_rounds, 1);
    run.go_on([
        to(
            "s1.step.plan",
            plan([Instruction::ResolveBlockedTools(vec![(1, Refusal::Unusable)]), Instruction::CallLlm]),
        ),
        to("s1.c1.refuse", settled(SettledHow::Refused)),
        to("s1.model.ask", says()),
    ]);
    assert_eq!(run.machine.shared().unresolved_rounds, 0);
}

#[test]
fn a_turn_has_at_most_as_many_calls_as_the_limit() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))]);
    let reply = Reply { calls: vec![tool(1); limits::CALLS_PER_TURN_MAX + 1], ..Reply::default() };
    run.feed(What::ModelReplied(id("s0.model.ask"), reply)).moved();
    assert_eq!(run.machine.shared().calls.len(), limits::CALLS_PER_TURN_MAX);
}

#[test]
fn notices_beyond_the_cap_are_dropped_and_counted() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))]);
    let all: Vec<u16> = (1..=100).collect();
    let reply = Reply { calls: all.iter().map(|lane| tool(*lane)).collect(), ..Reply::default() };
    run.feed(What::ModelReplied(id("s0.model.ask"), reply)).moved();
    let settings_room = Instruction::CallToolsBatch(all.clone());
    run.feed(What::Planned(id("s1.step.plan"), vec![settings_room])).moved();
    run.go_on([Say::Hold]);
    for call in &all {
        run.feed(settled(SettledHow::Mocked)(id(&format!("s1.c{call}.clear")))).moved();
    }
    assert_eq!(run.machine.shared().notices().count(), limits::NOTICES_MAX);
    assert_eq!(run.machine.shared().notices_dropped, 36);
    assert_eq!(run.asked.last().unwrap(), "s1.h66.fire afterStep", "awaited hooks are never dropped");
    run.go_on([Say::Deliver, to("s2.step.plan", plan([finish(Reason::Done)]))]);
    assert_eq!(run.stands(), "finished: done");
}
