//! From an agent file to a running agent: its tools, its model, and what is frozen of both.
//!
//! An operation keeps the whole configuration that it was started with, so `resume` needs neither
//! the agent file nor the script.

mod archive;
mod files;
mod frozen;
mod hooks;
mod model;
mod script;
mod summaries;
mod tools;

use std::path::Path;
use std::sync::Arc;

use jackline_hooks::{DispatchMode, ProcessEnvironment};
use jackline_model::Origin;
use jackline_runtime::drive::{Agent, Runtime};
use jackline_runtime::journal::Store;
use jackline_runtime::llm::Model;

pub(crate) use files::{builtin, read};
pub(crate) use frozen::Frozen;
pub(crate) use hooks::{Users, carriers, deliver_due, hooks_of};
pub(crate) use model::{ModelNeed, NoModel, check_model, model_of};
pub(crate) use script::{Call, Script, Turn};
pub(crate) use tools::tools_of;

use crate::problem::Problem;

/// A runtime that can run this agent and all agents below it.
pub(crate) fn runtime(agent: &Agent, store: Arc<dyn Store>, need: ModelNeed) -> Result<Runtime, Problem> {
    let mut builder = Runtime::builder()
        .store(Arc::clone(&store))
        .model(NoModel)
        .carriers(carriers()?)
        .hook_mode(DispatchMode::from_environment(&ProcessEnvironment))
        .hook_environment(Arc::new(ProcessEnvironment))
        .user_directory(Arc::new(users(agent)?));
    for below in tree(agent).into_iter().skip(1) {
        builder = builder.hooks_of(&below.name, hooks_of(below)?);
    }
    for agent in tree(agent) {
        let frozen = Frozen::of(agent)?;
        let model: Arc<dyn Model> = match need {
            ModelNeed::Asked => model_of(&frozen)?,
            ModelNeed::NeverAsked => Arc::new(NoModel),
        };
        let tools = match tools_of(&frozen, &store) {
            // A run is ended although the files that it worked on are gone.
            Err(_) if need == ModelNeed::NeverAsked => Vec::new(),
            tools => tools?,
        };
        builder = builder.model_of(&agent.name, model).tools_of(&agent.name, tools);
    }
    Ok(builder.build()?)
}

/// Finds out, before anything is started, whether all models of an agent can be asked.
pub(crate) fn check(agent: &Agent) -> Result<(), Problem> {
    tree(agent).into_iter().try_for_each(|agent| check_model(&Frozen::of(agent)?))
}

/// The agent in a file; without one, the built-in agent.
pub(crate) fn read_or_builtin(file: Option<&Path>) -> Result<Agent, Problem> {
    match file {
        Some(file) => read(file),
        None => builtin(None),
    }
}

/// The addresses that the files of an agent and of those below it list.
pub(crate) fn users(agent: &Agent) -> Result<Users, Problem> {
    hooks::directory(tree(agent))
}

/// Where runs of this agent come from, as its file says.
pub(crate) fn origin(agent: &Agent) -> Result<Origin, Problem> {
    Ok(Origin::from(&Frozen::of(agent)?.config.origin))
}

/// The agent and all below it.
fn tree(agent: &Agent) -> Vec<&Agent> {
    let mut found = vec![agent];
    for below in &agent.agents {
        found.extend(tree(below));
    }
    found
}
