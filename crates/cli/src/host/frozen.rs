//! What an operation keeps of its agent file.

use std::path::PathBuf;

use jackline_runtime::agent::AgentConfig;
use jackline_runtime::drive::Agent;
use serde::{Deserialize, Serialize};

use super::script::Script;
use crate::problem::Problem;

/// The host's part of a frozen agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Frozen {
    /// The version of this form.
    pub(crate) v: u32,
    /// The directory that paths of the configuration are relative to.
    pub(crate) directory: PathBuf,
    /// The agent file.
    pub(crate) config: AgentConfig,
    /// The script, if a script answers in place of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<Script>,
}

impl Frozen {
    /// The newest form.
    pub(crate) const VERSION: u32 = 1;

    /// Reads it back from an agent.
    pub(crate) fn of(agent: &Agent) -> Result<Self, Problem> {
        let Some(host) = &agent.host else {
            let message = format!("the agent `{}` was not set up by this program", agent.name);
            return Err(Problem::usage(message).hint("Resume it with the program that started it."));
        };
        let version = host.get("v").and_then(serde_json::Value::as_u64);
        if version != Some(u64::from(Self::VERSION)) {
            let message = format!("the agent `{}` was set up by another version of this program", agent.name);
            return Err(Problem::usage(message).hint("Resume it with that version."));
        }
        serde_json::from_value(host.clone())
            .map_err(|error| Problem::failed(format!("the stored set-up of `{}` cannot be read: {error}", agent.name)))
    }
}
