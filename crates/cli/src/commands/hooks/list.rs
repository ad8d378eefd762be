//! `jackline hooks list`.

use jackline_hooks::{EnvironmentHooks, HookKind, ProcessEnvironment, WebhookConfig};
use jackline_model::ExitCode;
use jackline_runtime::drive::Agent;
use serde_json::{Value, json};

use crate::args::HooksOfArgs;
use crate::host::{self, Frozen};
use crate::problem::Problem;
use crate::render::Out;

/// A hook, as it is shown. No value of a header or of a variable is part of it.
pub(super) struct Row {
    /// Its stored form; nothing for one of the environment.
    pub(super) stored: Option<Value>,
    pub(super) id: String,
    pub(super) source: &'static str,
    pub(super) kind: HookKind,
    pub(super) carrier: &'static str,
    pub(super) power: &'static str,
    on_error: Option<String>,
    matcher: Option<String>,
    target: String,
}

impl Row {
    fn of_file(stored: Value) -> Option<Self> {
        let kind = stored["type"].as_str()?.parse().ok()?;
        let (carrier, config) = match (stored.get("webhook"), stored.get("command")) {
            (Some(webhook), _) => ("webhook", webhook),
            (None, Some(command)) => ("command", command),
            (None, None) => return None,
        };
        let decides = config["responseHandling"] == "toolCall";
        let target = match carrier {
            "webhook" => without_query(config["url"].as_str().unwrap_or_default()),
            _ => words(&config["command"]),
        };
        Some(Self {
            id: stored["id"].as_str().unwrap_or_default().to_owned(),
            source: "file",
            kind,
            carrier,
            power: if decides { "decides" } else { "hears" },
            on_error: decides.then(|| config["onError"].as_str().unwrap_or("continue").to_owned()),
            matcher: stored["matcher"].as_str().map(str::to_owned),
            target,
            stored: Some(stored),
        })
    }

    fn of_environment(kind: HookKind, config: &WebhookConfig) -> Self {
        let decides = config.is_control();
        Self {
            stored: None,
            id: format!("{}{kind}", jackline_hooks::ENVIRONMENT_HOOK_PREFIX),
            source: "environment",
            kind,
            carrier: "webhook",
            power: if decides { "decides" } else { "hears" },
            on_error: decides.then(|| json!(config.on_error).as_str().unwrap_or_default().to_owned()),
            matcher: None,
            target: without_query(&config.url),
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "id": self.id, "source": self.source, "type": self.kind, "carrier": self.carrier, "power": self.power,
            "onError": self.on_error, "matcher": self.matcher, "target": self.target,
        })
    }
}

/// The hooks of an agent and those of the environment, in the order in which they are asked.
pub(super) fn rows(agent: &Agent) -> Result<Vec<Row>, Problem> {
    let frozen = Frozen::of(agent)?;
    let mut rows: Vec<Row> =
        frozen.config.stored_hooks(&frozen.directory).into_iter().filter_map(Row::of_file).collect();
    let environment = EnvironmentHooks::read(&ProcessEnvironment).map_err(|error| Problem::usage(error.to_string()))?;
    if let Some(environment) = environment {
        let declared = HookKind::ALL.into_iter().filter_map(|kind| Some((kind, environment.webhook(kind)?)));
        rows.extend(declared.map(|(kind, config)| Row::of_environment(kind, &config)));
    }
    Ok(rows)
}

pub(super) fn list(args: &HooksOfArgs) -> Result<ExitCode, Problem> {
    let agent = host::read_or_builtin(args.agent.as_deref())?;
    let rows = rows(&agent)?;
    let mut out = Out::default();
    for row in &rows {
        if args.json {
            out.line(row.to_json().to_string());
            continue;
        }
        let mut line = format!("{}  {}  {} {}  {}", row.id, row.kind, row.carrier, row.target, row.power);
        if let Some(on_error) = &row.on_error {
            line.push_str(&format!(", on failure {}", if on_error == "block" { "blocks" } else { "goes on" }));
        }
        if let Some(matcher) = &row.matcher {
            line.push_str(&format!("  tools /{matcher}/"));
        }
        if row.source == "environment" {
            line.push_str("  (environment)");
        }
        out.line(line);
    }
    if rows.is_empty() && !args.json {
        out.line(format!("The agent `{}` has no hooks.", agent.name));
        out.line("A [[hook]] in its file adds one; AGENT_HOOK_WEBHOOK_URL adds one for every agent.");
    }
    out.finish()?;
    Ok(ExitCode::Done)
}

/// An address without what may be a secret in it.
fn without_query(url: &str) -> String {
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

fn words(command: &Value) -> String {
    let words = command.as_array().into_iter().flatten().filter_map(Value::as_str);
    words.collect::<Vec<_>>().join(" ")
}
