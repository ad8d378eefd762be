//! The planner, which the script can overrule.

use std::sync::Arc;

use jackline_runtime::machine::Instruction;
use jackline_runtime::planner::{GeneralPlanner, PlanView, Planner};

use super::world::World;
use crate::format::PlanStep;

/// The general planner, except where the script has a plan.
pub(crate) struct ScriptedPlanner(pub(crate) Arc<World>);

impl Planner for ScriptedPlanner {
    fn plan(&self, view: &PlanView<'_>) -> Vec<Instruction> {
        let nth = {
            let mut story = self.0.story();
            story.plans_asked += 1;
            story.plans_asked
        };
        match self.0.script.plans.iter().find(|plan| plan.nth == nth) {
            // Without the panic hook: its words would stand in the output of a test that passes.
            Some(plan) if plan.panic => std::panic::resume_unwind(Box::new("scripted")),
            Some(plan) => plan.plan.iter().map(PlanStep::instruction).collect(),
            None => GeneralPlanner.plan(view),
        }
    }
}
