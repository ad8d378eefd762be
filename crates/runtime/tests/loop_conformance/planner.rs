//! What the planner makes of a history that is too long, of lists of tools, and of children that end.

use std::sync::Arc;

use jackline_hooks::Hooks;
use jackline_model::{Reason, Role};
use jackline_runtime::drive::Agent;
use jackline_runtime::llm::{ModelFaultKind, ReplyBuilder, ScriptedModel, Turn};

use crate::support::{Fake, Shared, World, agent, asked, echo, fails, forgetful, says, usage, world};

/// `test/echo` with a long answer.
fn long_echo() -> Arc<dyn jackline_tools::Tool> {
    Fake::says("echo", &"x".repeat(3_000)).into_tool()
}

#[tokio::test]
async fn pln_03_with_compression_off_a_long_history_goes_to_the_model() {
    for is_on in [true, false] {
        let turns = if is_on { vec![echo("c1"), says("so far"), says("done")] } else { vec![echo("c1"), says("done")] };
        let world = world(turns).tools([long_echo()]).build();
        let mut agent = forgetful(4_000);
        agent.compression.enabled = is_on;
        let (report, _) = world.run(&agent).await;
        assert_eq!((report.reason, world.did("compact.summarize")), (Some(Reason::Done), is_on));
        let last = asked(world.requests().last().unwrap());
        assert_eq!(last.iter().any(|message| message.contains("xxx")), !is_on, "the whole history, or a summary");
    }
}

#[tokio::test]
async fn pln_37_no_list_of_tools_refuses_none() {
    for (tools, expected) in [(None, "tool ok: echoed"), (Some(vec![]), "tool no: ")] {
        let world = world([echo("c1"), says("done")]).build();
        let mut agent = agent();
        agent.tools = tools;
        let (report, _) = world.run(&agent).await;
        let rows = world.rows(&report.operation);
        assert!(rows[3].starts_with(expected), "{rows:?}");
    }
}

#[tokio::test]
async fn pln_38_the_tools_of_a_forced_last_answer_do_not_count() {
    for steps_max in [None, Some(1)] {
        let wordy = Fake::says("echo", &"x".repeat(600)).with(|spec| spec.description = "long ".repeat(500).into());
        let turns = [echo("c1"), says("the last word"), says("done")];
        let world = world(turns).tools([wordy.into_tool()]).build();
        let mut agent = forgetful(4_000);
        agent.steps_max = steps_max;
        let (report, _) = world.run(&agent).await;
        let expected = if steps_max.is_some() { Reason::MaxSteps } else { Reason::Done };
        assert_eq!(report.reason, Some(expected));
        // The description alone is over the threshold. Without it the history fits.
        assert_eq!(world.did("compact.summarize"), steps_max.is_none());
    }
}

/// A call of a child for each id.
fn call_children(ids: &[&str]) -> Turn {
    let arguments = r#"{"agentId":"child","instruction":"look"}"#;
    let reply = ids.iter().fold(ReplyBuilder::default().usage(usage()), |reply, id| {
        reply.call(Some(id), "agent____callAgent", arguments)
    });
    Turn::Reply(reply.build())
}

/// A parent whose children give these turns.
fn family(turns: impl IntoIterator<Item = Turn>, children: impl IntoIterator<Item = Turn>) -> World {
    world(turns).model_of("child", Shared(Arc::new(ScriptedModel::new(children)))).build()
}

fn parent(window: u64) -> Agent {
    let mut parent = forgetful(window);
    parent.agents = vec![Agent::new("child", "You look.")];
    parent
}

#[tokio::test]
async fn pln_20_the_end_of_a_child_goes_on_to_the_model_good_or_bad() {
    for (turn, expected) in [(says("seen"), "tool ok: seen"), (fails(ModelFaultKind::Permanent, ""), "tool no: ")] {
        let world = family([call_children(&["c1"]), says("done")], [turn]);
        let report = world.start(&parent(128_000), Hooks::new()).wait().await.unwrap();
        assert_eq!(report.answer.as_deref(), Some("done"));
        let second = asked(&world.requests()[1]);
        assert!(second.last().unwrap().starts_with(expected), "{second:?}");
    }
}

#[tokio::test]
async fn pln_21_the_end_of_a_child_that_makes_the_history_too_long_is_compressed_first() {
    let seen = "y".repeat(3_000);
    let world = family([call_children(&["c1"]), says("so far"), says("done")], [says(&seen)]);
    let report = world.start(&parent(4_000), Hooks::new()).wait().await.unwrap();
    assert_eq!(report.answer.as_deref(), Some("done"));
    let [_, summary, last] = &world.requests()[..] else { panic!("three requests") };
    assert!(asked(summary).iter().any(|message| message.contains("yyy")));
    assert!(!asked(last).iter().any(|message| message.contains("yyy")));
}

#[tokio::test]
async fn pln_22_the_ends_of_several_children_go_on_together_as_the_results_they_are() {
    let bad = fails(ModelFaultKind::Permanent, "");
    let world = family([call_children(&["c1", "c2"]), says("done")], [says("seen"), bad]);
    let report = world.start(&parent(128_000), Hooks::new()).wait().await.unwrap();
    assert_eq!(report.answer.as_deref(), Some("done"));
    assert_eq!(world.requests().len(), 2, "one more request for both of them");
    let last = &world.requests()[1];
    let roles: Vec<Role> = last.messages.iter().map(jackline_model::Message::role).collect();
    // Each is the result of its call, so nobody has to say in the user's name that they are done.
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool, Role::Tool]);
}

#[tokio::test]
async fn pln_23_the_ends_of_several_children_are_compressed_together() {
    let seen = || says(&"y".repeat(2_000));
    let world = family([call_children(&["c1", "c2"]), says("so far"), says("done")], [seen(), seen()]);
    let report = world.start(&parent(4_000), Hooks::new()).wait().await.unwrap();
    assert_eq!(report.answer.as_deref(), Some("done"));
    let [_, summary, _] = &world.requests()[..] else { panic!("three requests") };
    let material = asked(summary).concat();
    assert_eq!(material.matches("[result of agent/callAgent]").count(), 2);
}
