//! Several calls that wait for a person: what one decision leaves of the others.

use std::sync::{Arc, Mutex};

use jackline_hooks::HookKind;
use jackline_model::{Reason, Status};
use jackline_runtime::drive::{RunError, Told};
use jackline_runtime::journal::{ApprovalQuestion, PostedDecision, PostedVerdict, Store, StoreError};
use jackline_runtime::machine::{Instruction, Settings};
use jackline_runtime::planner::{GeneralPlanner, PlanView, Planner};

use crate::script::{calls as asks_for, drive, plan, to, tool};
use crate::support::{Fake, World, agent, calls, careful, count, heard_of, listen, says, world};

/// A run that waits for a decision about `c1` and `c2`.
fn two_waiting() -> World {
    let pay = Fake::says("pay", "paid").asks().into_tool();
    world([calls(&[("c1", "pay", "{}"), ("c2", "pay", "{}")]), says("done")]).tools([pay]).build()
}

/// The calls of the open request that nobody has decided about.
fn undecided(world: &World, id: &jackline_model::OperationId) -> (String, Vec<String>) {
    let approval = world.store.approval(id).unwrap().unwrap();
    let ApprovalQuestion::Calls(calls) = approval.question else { panic!("a request about calls") };
    let open = calls.iter().filter(|call| !call.decided).map(|call| call.call.to_string());
    (approval.id.to_string(), open.collect())
}

#[tokio::test]
async fn pln_11_pln_16_a_result_with_an_open_sibling_parks_again_on_the_same_request() {
    let world = two_waiting();
    let (heard, hooks) = listen();
    let (parked, told) = world.run_with(&careful(), "go", hooks).await;
    assert_eq!(count(&told, |told| matches!(told, Told::ApprovalRequired { .. })), 1);
    let (request, both) = undecided(&world, &parked.operation);
    assert_eq!(both, ["c1", "c2"]);

    let mut events = world.runtime.events();
    world.decide(&parked.operation, "c1", PostedVerdict::Approve);
    let rows = || world.rows(&parked.operation);
    crate::support::until(|| rows().len() == 4).await;
    crate::support::until(|| world.store.header(&parked.operation).unwrap().summary.status == Status::WaitingForHuman)
        .await;
    assert_eq!(rows()[3], "tool ok: paid", "the one new row");
    // The request stays as it is: nothing is asked again, and what is left of it is the sibling.
    assert_eq!(undecided(&world, &parked.operation), (request, vec!["c2".to_owned()]));
    let told = crate::support::drain(&mut events);
    assert_eq!(count(&told, |told| matches!(told, Told::ApprovalRequired { .. })), 0);
    assert_eq!(heard_of(&heard, HookKind::BeforeHumanIntervention), 1);
    assert_eq!(world.requests().len(), 1, "the model is not asked while a sibling is open");
}

/// Remembers which calls it was shown.
struct Shown(Arc<Mutex<Vec<Vec<String>>>>);

impl Planner for Shown {
    fn plan(&self, view: &PlanView<'_>) -> Vec<Instruction> {
        self.0.lock().unwrap().push(view.calls.iter().map(|call| call.call.id.to_string()).collect());
        GeneralPlanner.plan(view)
    }
}

#[tokio::test]
async fn pln_12_a_call_of_an_older_turn_is_out_of_sight_and_takes_nothing_more() {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let tools = [Fake::later("slow").into_tool(), Fake::says("echo", "echoed").into_tool()];
    let turns = [calls(&[("c1", "slow", "{}")]), calls(&[("c2", "echo", "{}")]), says("done")];
    let world = world(turns).tools(tools).planner(Shown(Arc::clone(&shown))).build();
    let mut agent = agent();
    agent.async_wait_ms = Some(60_000);
    let mut events = world.runtime.events();
    let run = world.start(&agent, jackline_hooks::Hooks::new());
    // Its result does not come: it is given up after a minute, and the run goes on.
    crate::support::until(|| world.store.header(run.id()).unwrap().summary.reason.is_some()).await;
    assert_eq!(run.wait().await.unwrap().reason, Some(Reason::Done));
    assert_eq!(count(&crate::support::drain(&mut events), |told| *told == Told::StepStart), 7);
    let with_calls: Vec<Vec<String>> = shown.lock().unwrap().iter().filter(|ids| !ids.is_empty()).cloned().collect();
    assert_eq!(with_calls, [["c1"], ["c2"]]);
    let late = world.runtime.complete_call(run.id(), &"c1".into(), &jackline_model::ToolRunResult::ok("late"));
    assert!(matches!(late, Err(RunError::Store(StoreError::Refused(_)))), "{late:?}");
}

#[test]
fn pln_14_a_call_that_is_not_of_the_open_turn_cannot_be_asked_about() {
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", asks_for([tool(1)])),
            to("s1.step.plan", plan([Instruction::RequestHumanApprove(vec![1, 2])])),
        ],
    );
    assert!(run.asked.iter().any(|asked| asked.starts_with("s1.c1.refuse")), "{:?}", run.asked);
    assert!(!run.asked.iter().any(|asked| asked.contains("human.ask")), "{:?}", run.asked);
    let ending = run.machine.shared().ending.clone().unwrap();
    assert!(ending.fault.unwrap().message.contains("call 2, which does not exist"));
}

#[test]
fn pln_15_two_requests_at_once_are_an_error() {
    let two = plan([Instruction::RequestHumanApprove(vec![1]), Instruction::RequestHumanApprove(vec![2])]);
    let run = drive(
        Settings::default(),
        [
            to("s0.step.plan", plan([Instruction::CallLlm])),
            to("s0.model.ask", asks_for([tool(1), tool(2)])),
            to("s1.step.plan", two),
        ],
    );
    assert!(!run.asked.iter().any(|asked| asked.contains("human.ask")), "{:?}", run.asked);
    let ending = run.machine.shared().ending.clone().unwrap();
    assert!(ending.fault.unwrap().message.contains("a step asks a person one thing"));
}

#[tokio::test]
async fn pln_14_a_decision_about_calls_of_two_turns_is_refused_whole() {
    let world = two_waiting();
    let (parked, _) = world.run(&careful()).await;
    let about = |call: &str| PostedDecision { call: Some(call.into()), verdict: PostedVerdict::Approve };
    let refused = world.runtime.decide(&parked.operation, vec![about("c1"), about("c0")]).unwrap_err();
    assert!(matches!(refused, RunError::Store(StoreError::Refused(_))), "{refused}");
    assert_eq!(undecided(&world, &parked.operation).1, ["c1", "c2"]);
}

#[tokio::test]
async fn sub_18_the_turn_behind_a_late_result_and_a_deferred_approval_leaves_no_empty_row() {
    let tools = [Fake::later("slow").into_tool(), Fake::says("pay", "paid").asks().into_tool()];
    let turns = [calls(&[("c1", "slow", "{}"), ("c2", "pay", "{}")]), says("done")];
    let world = world(turns).tools(tools).build();
    let (parked, _) = world.run(&careful()).await;
    assert_eq!(parked.status, Status::WaitingForAsyncTool);
    assert_eq!(world.rows(&parked.operation).len(), 3, "nothing is written ahead for what comes");

    world.runtime.complete_call(&parked.operation, &"c1".into(), &jackline_model::ToolRunResult::ok("late")).unwrap();
    let (asking, _) = world.resume(&parked.operation).await;
    assert_eq!(asking.status, Status::WaitingForHuman, "the deferred approval is asked before the model");
    world.decide(&parked.operation, "c2", PostedVerdict::Approve);
    let (report, _) = world.resume(&parked.operation).await;
    assert_eq!(report.reason, Some(Reason::Done));
    let rows = world.store.messages(&parked.operation).unwrap();
    assert_eq!(rows.iter().map(|row| row.place).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    let expected = ["assistant:  +slow {} +pay {}", "tool ok: late", "tool ok: paid", "assistant: done"];
    assert_eq!(world.rows(&parked.operation)[2..], expected);
}
