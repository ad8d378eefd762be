//! Sub-agents that nobody waits for any more.

use std::sync::Arc;
use std::time::Duration;

use jackline_model::{Reason, Status};
use jackline_runtime::machine::{Instruction, Phase};
use jackline_runtime::planner::{GeneralPlanner, PlanView, Planner};

use crate::support::{Turns, agent, builder, says};

/// Starts the sub-agent of the first call and gives up on the second.
struct StartsAndGivesUp;

impl Planner for StartsAndGivesUp {
    fn plan(&self, view: &PlanView<'_>) -> Vec<Instruction> {
        match (view.phase, view.calls) {
            (Phase::LlmResult, [agent, other]) => {
                vec![Instruction::CallAgent(agent.ordinal), Instruction::ResolveAbortedTools(vec![other.ordinal])]
            }
            _ => GeneralPlanner.plan(view),
        }
    }
}

#[tokio::test]
async fn a_sub_agent_whose_call_is_refused_is_stopped() {
    let task = r#"{"agentId":"helper","instruction":"think"}"#;
    let turns = Turns::new([says("", &[("agent____callAgent", task), ("agent____callAgent", task)])]);
    // The helper's model never answers: only a stop can end it.
    let runtime = builder(&turns)
        .model_of("helper", Arc::new(Turns::new([])))
        .planner(Arc::new(StartsAndGivesUp))
        .build()
        .unwrap();
    let mut helper = agent();
    helper.name = "helper".to_owned();
    let run = runtime.start(&agent().with_agent(helper), "go", jackline_hooks::Hooks::new()).unwrap();

    let report = tokio::time::timeout(Duration::from_secs(10), run.wait()).await.expect("the sub-agent ends").unwrap();

    assert_eq!(report.reason, Some(Reason::Interrupted));
    let headers = runtime.store().list(10).unwrap();
    let child = headers.iter().find(|header| header.lineage.is_sub_agent).unwrap();
    assert_eq!(child.summary.status, Status::Interrupted);
}
