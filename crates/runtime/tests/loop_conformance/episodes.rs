//! Interrupting, resuming, and running out of money.

use jackline_hooks::Hooks;
use jackline_model::{NanoDollars, Reason, Status};
use jackline_runtime::drive::{RunError, Told};
use jackline_runtime::journal::{PostedVerdict, Store};
use jackline_runtime::llm::ModelFaultKind;

use crate::support::{Fake, agent, calls, careful, count, echo, fails, is_end, is_free, says, world};

#[tokio::test]
async fn eng_29_an_interrupt_keeps_its_reason_and_can_be_resumed() {
    let world = world([echo("c1"), says("done")]).stop_at("s1.c1.clear").build();
    let (report, told) = world.run(&agent()).await;
    assert_eq!((report.status, report.reason), (Status::Interrupted, Some(Reason::Interrupted)));
    assert!(report.resumable);
    let ended = |told: &Told| matches!(told, Told::OperationEnd { reason: Reason::Interrupted, resumable: true, .. });
    assert_eq!(count(&told, ended), 1);
    let header = world.store.header(&report.operation).unwrap();
    assert_eq!(header.summary.reason, Some(Reason::Interrupted), "another process can see why");
}

#[tokio::test]
async fn eng_30_what_is_done_or_failed_cannot_be_resumed() {
    for (turn, reason) in [(says("done"), Reason::Done), (fails(ModelFaultKind::Permanent, ""), Reason::Error)] {
        let world = world([turn]).build();
        let (report, _) = world.run(&agent()).await;
        let records = world.store.records(&report.operation).unwrap();
        let refused = world.runtime.resume(&report.operation, Hooks::new()).unwrap_err();
        assert!(matches!(&refused, RunError::NotResumable { reason: named, .. } if *named == reason), "{refused}");
        assert_eq!(world.store.records(&report.operation).unwrap(), records);
    }
}

#[tokio::test]
async fn eng_31_what_a_rejection_ended_cannot_be_resumed() {
    let pay = Fake::says("pay", "paid").asks().into_tool();
    let world = world([calls(&[("c1", "pay", "{}")]), says("done")]).tools([pay]).build();
    let (parked, _) = world.run(&careful()).await;
    world.decide(&parked.operation, "c1", PostedVerdict::Reject { reason: Some("too dear".to_owned()) });
    let (report, _) = world.resume(&parked.operation).await;
    assert_eq!((report.reason, report.resumable), (Some(Reason::Interrupted), false));

    let rows = world.rows(&report.operation);
    let again = world.runtime.resume(&report.operation, Hooks::new()).unwrap_err();
    assert!(matches!(&again, RunError::NotResumable { reason: Reason::Interrupted, .. }), "{again}");
    assert_eq!(world.rows(&report.operation), rows);
    assert_eq!(world.requests().len(), 1);
    assert!(is_free(&world.store, &report.operation), "a refused resume owns nothing");
}

#[tokio::test]
async fn eng_32_a_resume_says_so_first_and_then_steps() {
    let world = world([echo("c1"), says("done")]).stop_at("s1.c1.clear").build();
    let (stopped, _) = world.run(&agent()).await;
    let (report, told) = world.resume(&stopped.operation).await;
    assert_eq!(report.reason, Some(Reason::Done));
    assert!(matches!(told[0].what, Told::OperationStart { resumed: true, .. }), "{:?}", told[0]);
    assert_eq!(told[1].what, Told::StepStart);
    assert_eq!((told[1].step, report.steps), (2, stopped.steps + 1), "the count goes on");
}

#[tokio::test]
async fn eng_33_a_resume_with_nothing_to_go_on_with_says_so_and_does_not_step() {
    let pay = Fake::says("pay", "paid").asks().into_tool();
    let world = world([calls(&[("c1", "pay", "{}")])]).tools([pay]).build();
    let (parked, _) = world.run(&careful()).await;
    let (report, told) = world.resume(&parked.operation).await;
    assert_eq!(report, parked);
    assert!(matches!(told[0].what, Told::OperationStart { resumed: true, .. }));
    assert_eq!(count(&told, |told| *told == Told::StepStart), 0);
}

#[tokio::test]
async fn eng_34_eng_35_money_that_is_spent_ends_the_run_as_done_with_both_sums_in_sight() {
    let world = world([echo("c1"), says("never")]).build();
    let mut agent = agent();
    agent.cost_max = Some(NanoDollars(1_000));
    let (report, told) = world.run(&agent).await;
    assert_eq!((report.status, report.reason), (Status::Done, Some(Reason::CostLimit)));
    assert_eq!(world.requests().len(), 1, "no call is made that the money does not reach for");
    // The sum that was spent is in the report; the sum that was allowed is frozen with the operation.
    assert_eq!(report.totals.cost, NanoDollars(1_000));
    let loaded = world.store.load(&report.operation).unwrap();
    assert!(loaded.config.contains(r#""costMax":1000"#), "{}", loaded.config);
    assert_eq!(count(&told, is_end), 1);
    // One limit, one way to end: raising it is a new run, which has the history.
    let refused = world.runtime.resume(&report.operation, Hooks::new()).unwrap_err();
    assert!(matches!(refused, RunError::NotResumable { reason: Reason::CostLimit, .. }));
}
