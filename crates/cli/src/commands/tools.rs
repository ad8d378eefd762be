//! `jackline tools`.

use std::sync::Arc;

use jackline_model::{ExitCode, MessageBody, ToolKey};
use jackline_runtime::drive::{Agent, Prompt};
use jackline_runtime::journal::{MemoryStore, Store};
use jackline_tools::Tool;
use serde_json::{Map, Value, json};

use crate::args::{Common, ToolsCommand, ViewArgs};
use crate::host::{self, Call, Frozen, ModelNeed, Script, Turn};
use crate::problem::Problem;
use crate::render::{Out, Paint, plain};
use crate::run::{Decider, Follow, block_on, say_what_is_next, screen};
use crate::store;
use crate::text::closest;

/// `jackline tools`.
pub(crate) fn tools(common: &Common, command: ToolsCommand) -> Result<ExitCode, Problem> {
    match command {
        ToolsCommand::List { agent, json } => {
            let agent = match agent {
                Some(file) => host::read(&file)?,
                None => host::builtin(None)?,
            };
            list(common, &agent, json)
        }
        ToolsCommand::Call { agent, tool, arguments, view } => {
            call(common, host::read(&agent)?, &tool, &arguments, view)
        }
    }
}

fn list(common: &Common, agent: &Agent, json: bool) -> Result<ExitCode, Problem> {
    let paint = Paint::for_output(common.color, Out::is_terminal());
    let mut out = Out::default();
    let mut tools = tools_of(agent)?;
    tools.sort_by(|one, other| one.spec().key.cmp(&other.spec().key));
    for tool in tools {
        let spec = tool.spec();
        if json {
            out.line(json!({
                "tool": spec.key.to_string(), "description": spec.description, "source": spec.source,
                "sideEffect": spec.side_effect, "approval": spec.approval, "parameters": spec.parameters,
            }));
            continue;
        }
        let asks = spec.approval.as_ref().map_or_else(String::new, |rule| format!("  (approval: {})", short(rule)));
        out.line(format!("{}{asks}", paint.name(&spec.key.to_string())));
        out.line(format!("    {}", plain(&spec.description)));
    }
    for below in &agent.agents {
        if json {
            out.line(json!({"tool": "agent/callAgent", "agent": below.name, "description": below.description}));
        } else {
            out.line(format!("{} {}", paint.name("agent/callAgent"), below.name));
            out.line(format!("    {}", plain(&below.description)));
        }
    }
    out.finish()?;
    Ok(ExitCode::Done)
}

fn tools_of(agent: &Agent) -> Result<Vec<Arc<dyn Tool>>, Problem> {
    let nowhere: Arc<dyn Store> = Arc::new(MemoryStore::new());
    host::tools_of(&Frozen::of(agent)?, &nowhere)
}

fn short(rule: &Value) -> String {
    rule.as_str().map_or_else(|| rule.to_string(), str::to_owned)
}

/// Runs an operation of one step: a scripted turn asks for the call.
fn call(common: &Common, agent: Agent, tool: &str, arguments: &str, view: ViewArgs) -> Result<ExitCode, Problem> {
    let with: Map<String, Value> = serde_json::from_str(arguments)
        .map_err(|error| Problem::usage(format!("the arguments are no JSON object: {error}")))?;
    let names: Vec<String> = tools_of(&agent)?.iter().map(|tool| tool.spec().key.to_string()).collect();
    if !names.iter().any(|name| name == tool) {
        let meant = closest(tool, names.iter().map(String::as_str)).map(|name| format!("; did you mean `{name}`?"));
        let problem =
            Problem::usage(format!("agent `{}` has no tool `{tool}`{}", agent.name, meant.unwrap_or_default()));
        return Err(problem.hint(format!("It has: {}.", names.join(", "))));
    }
    let hooks = host::hooks_of(&agent)?;
    let agent = scripted(agent, Call { tool: tool.to_owned(), with })?;
    let store = store::open(common)?;
    let runtime = host::runtime(&agent, store, ModelNeed::Asked)?;
    let mut screen = screen(common, view).without_report();
    let (report, answer) = block_on(async {
        let events = runtime.events();
        let text = format!("call {} with {arguments}", ToolKey::parse(tool));
        let run = runtime.start(&agent, Prompt { text, origin: host::origin(&agent)?, user: None }, hooks)?;
        let mut decider = Decider::here(&screen);
        let report = Follow::with(&runtime, &mut screen, &mut decider)?.follow(&run, events).await?;
        say_what_is_next(common, &runtime, &run, &report)?;
        Ok((report, result_of(&runtime.store().messages(run.id())?)))
    })?;
    if let (Some((content, _)), false) = (&answer, view.json) {
        screen.answer(&plain(content));
    }
    screen.finish()?;
    Ok(match answer {
        Some((_, false)) if report.exit_code() == ExitCode::Done => ExitCode::Failed,
        Some(_) | None => report.exit_code(),
    })
}

fn scripted(mut agent: Agent, call: Call) -> Result<Agent, Problem> {
    let mut frozen = Frozen::of(&agent)?;
    let asks = Turn { calls: vec![call], ..Turn::default() };
    let ends = Turn { text: Some("The tool has answered.".to_owned()), ..Turn::default() };
    frozen.script = Some(Script { turns: vec![asks, ends], summaries: Vec::new() });
    agent.host = Some(serde_json::to_value(&frozen).map_err(|error| Problem::failed(error.to_string()))?);
    // Agents below would need models of their own, and nobody calls them.
    agent.agents.clear();
    Ok(agent)
}

/// The published result of the call, and whether it is a success.
fn result_of(messages: &[jackline_runtime::journal::StoredMessage]) -> Option<(String, bool)> {
    messages.iter().rev().find_map(|stored| match &stored.message.body {
        MessageBody::Tool { content, success, .. } => Some((content.to_string(), *success)),
        MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Assistant { .. } => None,
    })
}
