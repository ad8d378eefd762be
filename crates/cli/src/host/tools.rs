//! The tools that an agent file asks for.

use std::path::PathBuf;
use std::sync::Arc;

use jackline_model::ToolKey;
use jackline_runtime::agent::{ClientToolConfig, CommandToolConfig, ToolGroup};
use jackline_runtime::journal::Store;
use jackline_tools::builtin::{CommandTool, CommandToolSpec, archive_tool, fs_tools, http_tool, shell_tool};
use jackline_tools::{ClientTool, Tool};

use super::archive::StoreArchive;
use super::frozen::Frozen;
use crate::problem::Problem;

/// Makes the tools. Files and commands are kept to the agent's root.
pub(crate) fn tools_of(frozen: &Frozen, store: &Arc<dyn Store>) -> Result<Vec<Arc<dyn Tool>>, Problem> {
    let root = root_of(frozen);
    let name = &frozen.config.name;
    let wrong = |error: &dyn std::fmt::Display| Problem::usage(format!("agent `{name}`: {error}"));
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for group in &frozen.config.tools.builtin {
        match group {
            ToolGroup::Fs => tools.extend(fs_tools(&root).map_err(|error| wrong(&error))?),
            ToolGroup::Shell => tools.push(shell_tool(&root).map_err(|error| wrong(&error))?),
            ToolGroup::Http => tools.push(http_tool().map_err(|error| wrong(&error))?),
            ToolGroup::Archive => tools.push(archive_tool(Arc::new(StoreArchive(Arc::clone(store))))),
        }
    }
    for declared in &frozen.config.command_tool {
        let spec = command_spec(declared).map_err(|error| wrong(&error))?;
        tools.push(Arc::new(CommandTool::new(spec, &root).map_err(|error| wrong(&error))?));
    }
    for declared in &frozen.config.client_tool {
        tools.push(Arc::new(client_tool(declared).map_err(|error| wrong(&error))?));
    }
    Ok(tools)
}

/// The root, which is the agent file's own directory unless it names another.
fn root_of(frozen: &Frozen) -> PathBuf {
    match &frozen.config.tools.root {
        Some(root) => frozen.directory.join(root),
        None => frozen.directory.clone(),
    }
}

fn command_spec(declared: &CommandToolConfig) -> Result<CommandToolSpec, serde_json::Error> {
    Ok(CommandToolSpec {
        name: declared.name.clone(),
        description: declared.description.clone(),
        command: declared.command.clone(),
        parameters: declared.parameters.clone(),
        deadline_ms: declared.deadline_ms.map(std::num::NonZeroU64::get),
        side_effect: declared.side_effect,
        approval: declared.approval.as_ref().map(serde_json::to_value).transpose()?,
        ordered: declared.ordered,
        serialize_by: declared.serialize_by.clone(),
        env: declared.env.clone(),
    })
}

fn client_tool(declared: &ClientToolConfig) -> Result<ClientTool, serde_json::Error> {
    let mut tool = ClientTool::new(ToolKey::parse(&declared.name), declared.description.as_str());
    if let Some(parameters) = &declared.parameters {
        tool = tool.with_parameters(parameters.clone());
    }
    if let Some(approval) = &declared.approval {
        tool = tool.with_approval(serde_json::to_value(approval)?);
    }
    Ok(tool)
}
