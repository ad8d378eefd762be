//! Steps: what counts as one, what one leaves to the next, and what a repeat of one changes.

use std::sync::{Arc, Mutex};

use jackline_hooks::Hooks;
use jackline_model::{MessageBody, Reason};
use jackline_runtime::drive::Clock;
use jackline_runtime::journal::Store;
use jackline_runtime::llm::ModelFaultKind;
use jackline_runtime::machine::{FailureKind, Instruction, Machine, Settings, SettledHow, What};
use jackline_runtime::planner::{GeneralPlanner, PlanView, Planner};

use crate::script::{
    Run, Say, asked, calls, decide, drive, fails, finish, folded, id, plan, says, settled, stop, to, tool,
};
use crate::support::{self, agent, echo, forgetful, world};

/// The phases that the planner was asked in.
fn phases(run: &Run) -> Vec<&str> {
    run.asked.iter().filter_map(|asked| asked.split_once(".step.plan ").map(|(_, phase)| phase)).collect()
}

#[test]
fn eng_22_the_last_of_several_instructions_says_where_the_next_step_stands() {
    let script = [
        to("s0.step.plan", plan([Instruction::CallLlm])),
        to("s0.model.ask", calls([tool(1)])),
        to("s1.step.plan", plan([Instruction::CallTool(1), Instruction::CallLlm])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c1.run", settled(SettledHow::Ran)),
        to("s1.model.ask", says()),
    ];
    // Behind the call alone it would be `tool_result`.
    assert_eq!(phases(&drive(Settings::default(), script)), ["user_input", "llm_result", "llm_result"]);
}

/// Feeds a script line by line; after each, the count may have grown by one, and only if a step closed.
fn only_steps_count(script: impl IntoIterator<Item = Say>) -> Run {
    let mut run = drive(Settings::default(), []);
    for line in script {
        let (before, step) = (run.machine.shared().steps_done, run.machine.shared().step);
        run.go_on([line]);
        let grown = run.machine.shared().steps_done - before;
        let closed = run.machine.shared().step - step;
        assert!(grown <= closed, "{grown} counted, {closed} closed: {:?}", run.asked.last());
    }
    run
}

#[test]
fn eng_23_nothing_but_the_end_of_a_step_moves_the_count() {
    let run = only_steps_count([
        to("s0.step.plan", plan([Instruction::CallLlm])),
        to("s0.model.ask", fails(FailureKind::Retryable)),
        Say::Deadline,
        to("s0.model.ask.1", fails(FailureKind::ContextOverflow)),
        to("s0.compact.summarize", folded()),
        to("s0.model.ask.6", calls([tool(1), tool(2), tool(3)])),
        to("s1.step.plan", plan([Instruction::CallToolsBatch(vec![1, 2]), Instruction::RequestHumanApprove(vec![3])])),
        to("s1.c1.clear", What::CallCleared),
        to("s1.c2.clear", What::CallCleared),
        to("s1.c1.run", settled(SettledHow::Ran)),
        to("s1.c2.run", settled(SettledHow::Threw)),
        to("s1.human.ask", asked(None)),
        decide([(3, jackline_runtime::machine::HumanVerdict::Approve)]),
        to("s2.c3.clear", What::CallCleared),
        to("s2.c3.run", settled(SettledHow::Ran)),
        to("s3.step.plan", plan([Instruction::CallLlm])),
        to("s3.model.ask", says()),
        to("s4.step.plan", plan([finish(Reason::Done)])),
    ]);
    assert_eq!(run.machine.shared().steps_done, 4, "two for the model, two for calls, none for the end");
}

/// Plans like the general planner and remembers what it was shown.
struct Spy(Arc<Mutex<Vec<String>>>);

impl Planner for Spy {
    fn plan(&self, view: &PlanView<'_>) -> Vec<Instruction> {
        let history: Vec<String> =
            view.history.entries().iter().map(|entry| support::words(&entry.message().body)).collect();
        let calls: Vec<&str> = view.calls.iter().map(|call| call.call.id.as_str()).collect();
        self.0.lock().unwrap().push(format!("{:?} {calls:?} {history:?}", view.phase));
        GeneralPlanner.plan(view)
    }
}

#[tokio::test]
async fn eng_27_a_step_that_is_done_again_starts_from_the_same_context() {
    let [shown_first, shown_again] = [Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new()))];
    // A hook that takes its time lets the answer be stored. The process dies when the call is about to
    // be cleared: the plan is not stored yet.
    let slow = Hooks::new().before_step("slow", |_| async {
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    });
    let first = world([echo("c1")]).planner(Spy(Arc::clone(&shown_first))).kill_at("s1.c1.clear").build();
    let _hold = first.clock.hold();
    let run = first.start(&agent(), slow);
    run.wait().await.unwrap_err();
    let second = world([support::says("done")]).planner(Spy(Arc::clone(&shown_again)));
    let second = second.store(first.store.another_process()).build();
    let (report, _) = second.resume(run.id()).await;
    assert_eq!(report.reason, Some(Reason::Done));
    assert_eq!(shown_again.lock().unwrap()[0], *shown_first.lock().unwrap().last().unwrap());
}

#[tokio::test]
async fn eng_28_pln_19_an_answer_takes_one_row_however_often_the_model_was_asked() {
    let down = || support::fails(ModelFaultKind::Retryable, "half an ans");
    let world = world([down(), down(), echo("c1"), down(), support::says("done")]).build();
    let (report, _) = world.run(&agent()).await;
    let rows = world.store.messages(&report.operation).unwrap();
    // No place is set aside for a try that fails, and none is left over.
    assert_eq!(rows.iter().map(|row| row.place).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(world.rows(&report.operation)[2..], ["assistant:  +echo {}", "tool ok: echoed", "assistant: done"]);
}

#[tokio::test]
async fn pln_26_the_answer_behind_a_compression_takes_one_row_as_well() {
    let mut agent = forgetful(4_000);
    agent.instructions = String::new();
    let long = support::Fake::says("echo", &"x".repeat(3_000)).into_tool();
    let world = world([echo("c1"), support::says("summary"), support::says("done")]).tools([long]).build();
    let (report, _) = world.run(&agent).await;
    assert!(world.did("compact.summarize"));
    let rows = world.store.messages(&report.operation).unwrap();
    let answers = rows.iter().filter(|row| matches!(row.message.body, MessageBody::Assistant { .. })).count();
    let empty = rows.iter().filter(|row| support::words(&row.message.body) == "assistant: ").count();
    assert_eq!((answers, empty), (2, 0), "{rows:?}");
    assert_eq!(world.rows(&report.operation).last().unwrap(), "assistant: done");
}

#[test]
fn an_answer_that_is_stale_changes_neither_state_nor_what_is_open() {
    let mut run = drive(Settings::default(), [to("s0.step.plan", plan([Instruction::CallLlm]))]);
    run.go_on([to("s0.model.ask", says())]);
    let before: Machine = run.machine.clone();
    run.feed(calls([tool(1)])(id("s0.model.ask"))).0.unwrap();
    assert_eq!(run.machine, before);
    run.go_on([stop()]);
}
