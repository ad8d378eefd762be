//! Reading an agent file with all files that it names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jackline_runtime::agent::{AgentConfig, AgentFile, ModelConfig, SubAgentConfig, ToolGroup, ToolsSection};
use jackline_runtime::drive::Agent;

use super::frozen::Frozen;
use super::script::Script;
use crate::problem::Problem;
use crate::text::{read_bytes, read_structured, read_text};

/// Reads the agent in a file, and the agents below it.
pub(crate) fn read(path: &Path) -> Result<Agent, Problem> {
    let mut reader = Reader::default();
    reader.agent(path, None)
}

/// The agent of a run that names none.
pub(crate) fn builtin(model: Option<&str>) -> Result<Agent, Problem> {
    let named = model.map(str::to_owned).or_else(|| std::env::var("JACKLINE_MODEL").ok());
    let mut config = AgentFile::parse("name = \"jackline\"", "the built-in agent")?;
    config.instructions = Some(INSTRUCTIONS.to_owned());
    config.model = Some(ModelConfig::named(named.unwrap_or_else(|| MODEL.to_owned())));
    config.tools = ToolsSection { builtin: vec![ToolGroup::Fs, ToolGroup::Shell, ToolGroup::Archive], root: None };
    let directory = std::env::current_dir()
        .map_err(|error| Problem::failed(format!("cannot tell the current directory: {error}")))?;
    let mut agent = Agent::new(config.name.clone(), INSTRUCTIONS);
    settle(&mut agent, &config)?;
    freeze(agent, Frozen { v: Frozen::VERSION, directory, config, script: None })
}

#[derive(Default)]
struct Reader {
    /// Files that are being read, outermost first.
    open: Vec<PathBuf>,
    /// Which file each name stands for.
    names: BTreeMap<String, PathBuf>,
}

impl Reader {
    fn agent(&mut self, path: &Path, called: Option<(&str, &SubAgentConfig)>) -> Result<Agent, Problem> {
        let shown = path.display().to_string();
        let mut config = AgentFile::parse_bytes(&read_bytes(path)?, &shown)?;
        let file = path.canonicalize().map_err(|error| Problem::usage(format!("cannot find `{shown}`: {error}")))?;
        if self.open.contains(&file) {
            return Err(Problem::usage(format!("{shown}: the agent would call itself through the agents below it")));
        }
        let name = called.map_or(config.name.as_str(), |(name, _)| name).to_owned();
        if let Some(other) = self.names.insert(name.clone(), file.clone())
            && other != file
        {
            let message = format!("two agents are called `{name}`: `{}` and `{}`", other.display(), file.display());
            return Err(Problem::usage(message).hint("Give one of them another name."));
        }
        let directory = file.parent().map(Path::to_path_buf).unwrap_or_default();
        let instructions = match (&config.instructions, &config.instructions_file) {
            (Some(text), _) => text.clone(),
            (None, Some(named)) => read_text(&beside(path, named))?,
            (None, None) => String::new(),
        };
        let script = match &config.script {
            Some(named) => Some(read_structured::<Script>(&beside(path, named))?),
            None => None,
        };
        let mut agent = Agent::new(name, instructions);
        self.open.push(file);
        for (name, sub) in &config.agents {
            agent.agents.push(self.agent(&beside(path, &sub.file), Some((name, sub)))?);
        }
        self.open.pop();
        let described = called.and_then(|(_, sub)| sub.description.clone());
        agent.description = described.or_else(|| config.description.clone()).unwrap_or_default();
        settle(&mut agent, &config)?;
        config.name.clone_from(&agent.name);
        freeze(agent, Frozen { v: Frozen::VERSION, directory, config, script })
    }
}

/// Copies the settings that the runtime itself keeps.
fn settle(agent: &mut Agent, config: &AgentConfig) -> Result<(), Problem> {
    let limits = &config.limits;
    agent.model = config.model.as_ref().map(|model| model.name.clone()).unwrap_or_default();
    if agent.model.is_empty() && config.script.is_some() {
        SCRIPTED.clone_into(&mut agent.model);
    }
    agent.approval_mode = config.approval.mode;
    agent.allow_list = config.approval.allow_list.clone();
    agent.steps_max = Some(limits.max_steps.get());
    agent.cost_max = limits.cost_limit();
    agent.tokens_max = limits.max_tokens.map(std::num::NonZeroU64::get);
    agent.concurrency = u16::try_from(limits.tool_concurrency.get()).unwrap_or(u16::MAX);
    agent.depth_max = limits.depth;
    agent.compression = config.threshold_settings();
    agent.output_tokens_max = config.model.as_ref().and_then(|model| model.output_tokens_max);
    if agent.cost_max.is_some() && config.model.as_ref().is_none_or(|model| model.prices.is_none()) {
        let message = format!("agent `{}` has `limits.max_cost`, but its model has no `prices`", agent.name);
        return Err(
            Problem::usage(message).hint("Without prices a cost limit cannot be kept. Add `prices` to [model].")
        );
    }
    Ok(())
}

fn freeze(mut agent: Agent, frozen: Frozen) -> Result<Agent, Problem> {
    let host = serde_json::to_value(&frozen)
        .map_err(|error| Problem::failed(format!("the agent `{}` cannot be stored: {error}", agent.name)))?;
    agent.host = Some(host);
    Ok(agent)
}

fn beside(path: &Path, named: &str) -> PathBuf {
    path.parent().map_or_else(|| PathBuf::from(named), |directory| directory.join(named))
}

/// Stands where a model's name would.
const SCRIPTED: &str = "script";

/// The model of the built-in agent, unless one is named.
const MODEL: &str = "gpt-5-mini";

const INSTRUCTIONS: &str = "You work in the current directory with the tools you have. Look before you change \
                            anything, change only what the task needs, and finish with a short answer that says \
                            what you did and what you found.";
