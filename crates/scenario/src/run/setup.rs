//! The real runtime with everything scripted around it.

use std::path::Path;
use std::sync::Arc;

use jackline_hooks::Carriers;
use jackline_runtime::drive::{Ids, RunError, Runtime};
use jackline_runtime::journal::MemoryStore;
use jackline_runtime::tokens::ByteBound;
use jackline_tools::Tool;
use jackline_tools::builtin::fs_tools;

use super::hooks::Scripted;
use super::model::ScriptedModel;
use super::planner::ScriptedPlanner;
use super::probe::Watch;
use super::tool::ScriptedTool;
use super::world::World;
use crate::format::RealTool;

/// Builds the runtime of one life.
pub(crate) fn runtime(world: &Arc<World>, process: &MemoryStore, files: Option<&Path>) -> Result<Runtime, RunError> {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for (name, script) in &world.script.tools {
        tools.push(Arc::new(ScriptedTool::new(name, script, world)));
    }
    for tool in &world.script.real_tools {
        match (tool, files) {
            (RealTool::Fs, Some(files)) => {
                tools.extend(fs_tools(files).map_err(|problem| RunError::Setup(problem.to_string()))?);
            }
            (RealTool::Fs, None) => {}
        }
    }
    let carriers = match &world.outside {
        Some(outside) => outside.carriers(world),
        None => Carriers { webhook: Some(Arc::new(Scripted(Arc::clone(world)))), ..Carriers::default() },
    };
    Runtime::builder()
        .carriers(carriers)
        .model(ScriptedModel(Arc::clone(world)))
        .tools(tools)
        .store(Arc::new(process.clone()))
        .clock(Arc::new(world.clock.clone()))
        .ids(Arc::new(CountedIds))
        .planner(Arc::new(ScriptedPlanner(Arc::clone(world))))
        .token_counter(|_model| Arc::new(ByteBound))
        .probe(Arc::new(Watch { world: Arc::clone(world), process: process.clone() }))
        .build()
}

/// The same ids each time. A scenario starts one run; its sub-agents have ids of their own making.
struct CountedIds;

impl Ids for CountedIds {
    fn operation(&self) -> jackline_model::OperationId {
        "op_1".into()
    }

    fn permille(&self) -> u16 {
        0
    }
}
