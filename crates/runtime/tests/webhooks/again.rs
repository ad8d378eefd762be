//! What a dead process has not delivered is delivered by the next, under the same id and about the same calls.

use jackline_hooks::{DispatchMode, HookKind, Hooks};
use jackline_model::{Reason, Status, ToolRunResult};
use jackline_runtime::drive::Told;
use jackline_runtime::journal::{PostedDecision, PostedVerdict, Store};
use jackline_runtime::llm::{ReplyBuilder, Turn};
use jackline_runtime::machine::Durability;

use super::{RAW, Way, World, agent, notice};

const WAYS: [Way; 2] = [Way { mode: DispatchMode::Local, cold: true }, Way { mode: DispatchMode::Queue, cold: true }];

fn note(id: &'static str, kind: HookKind) -> Hooks {
    Hooks::new().webhook(id, kind, notice("http://x.test/note")).into()
}

#[tokio::test]
async fn a_notice_of_an_earlier_turn_names_its_own_call_after_a_crash() {
    for way in WAYS {
        let world = World::new(way);
        let turns = vec![
            Turn::Reply(ReplyBuilder::default().call(Some("first"), "desk____look", "{}").build()),
            Turn::Reply(ReplyBuilder::default().call(Some("second"), "desk____ask", "{}").build()),
        ];
        let runtime = world.runtime(world.store.clone(), turns);
        let mut events = runtime.events();
        world.receiver.hold(|_| true, || {});
        let run = runtime.start(&agent(), "go", note("note", HookKind::AfterToolCall)).unwrap();
        while !matches!(events.next().await.unwrap().what, Told::ToolParked { .. }) {}
        // The receiver has not answered about the first call, and the run waits for the second already.
        world.store.flush(run.id(), Durability::Committed).await.unwrap();
        let next = world.store.another_process();
        world.store.kill();
        let runtime = world.runtime(next, vec![Turn::text("done")]);
        let resumed = runtime.resume(run.id(), Hooks::new()).unwrap();
        assert_eq!(resumed.wait().await.unwrap().status, Status::WaitingForAsyncTool);
        let told = world.receiver.told.lock().unwrap().clone();
        assert_eq!(told.len(), 2, "{way:?}");
        for told in &told {
            assert_eq!((&told.payload["toolCallId"], &told.payload["apiName"]), (&"first".into(), &"look".into()));
            assert_eq!(told.payload["result"]["content"], "did look", "{way:?}");
        }
        assert_eq!(told[0].payload, told[1].payload, "{way:?}");
        assert_eq!(told[0].delivery_id, told[1].delivery_id, "{way:?}");
        runtime.complete_call(run.id(), &"second".into(), &ToolRunResult::ok(RAW)).unwrap();
        assert_eq!(resumed.wait().await.unwrap().reason, Some(Reason::Done));
    }
}

#[tokio::test]
async fn l19_decisions_are_told_by_group_and_one_that_was_told_is_not_told_again() {
    for way in WAYS {
        let world = World::new(way);
        let two = ReplyBuilder::default().call(Some("a"), "desk____open", "{}").call(Some("b"), "desk____open", "{}");
        let third = two.call(Some("c"), "desk____open", "{}").build();
        let warm = world.runtime(world.store.clone(), vec![Turn::Reply(third)]);
        let run = warm.start(&agent(), "go", note("decided", HookKind::AfterHumanIntervention)).unwrap();
        assert_eq!(run.wait().await.unwrap().status, Status::WaitingForHuman);
        let decide = |call: &str, verdict| PostedDecision { call: Some(call.into()), verdict };
        let no = || PostedVerdict::RejectAndContinue { reason: Some("no".to_owned()) };
        let (next, store) = (world.store.another_process(), world.store.clone());
        // The process dies while the second group is told.
        let (died, death) = tokio::sync::oneshot::channel();
        world.receiver.hold(
            |told| told.payload["action"] == "rejectAndContinue",
            move || {
                store.kill();
                died.send(()).unwrap();
            },
        );
        let decisions =
            vec![decide("a", PostedVerdict::Approve), decide("b", no()), decide("c", PostedVerdict::Approve)];
        warm.decide(run.id(), decisions).unwrap();
        death.await.unwrap();
        let runtime = world.runtime(next, vec![Turn::text("done")]);
        let report = runtime.resume(run.id(), Hooks::new()).unwrap().wait().await.unwrap();
        assert_eq!(report.reason, Some(Reason::Done));
        let told = world.receiver.told.lock().unwrap().clone();
        let actions: Vec<_> = told.iter().map(|told| told.payload["action"].clone()).collect();
        assert_eq!(actions, ["approve", "rejectAndContinue", "rejectAndContinue"], "{way:?}");
        assert_eq!(told[1].delivery_id, told[2].delivery_id, "{way:?}");
        assert_ne!(told[0].delivery_id, told[1].delivery_id, "{way:?}");
    }
}
