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
    /// The agent above whose hook it is, if it is inherited.
    from: Option<String>,
    on_error: Option<String>,
    matcher: Option<String>,
    target: String,
}

/// The hooks of an agent and of each below it, the one that is started first.
pub(super) struct Section {
    /// The names on the way to the agent, its own last.
    path: Vec<String>,
    pub(super) rows: Vec<Row>,
}

impl Section {
    pub(super) fn agent(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
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
            from: None,
            target,
            stored: Some(stored),
        })
    }

    /// The same hook, as an agent below its own inherits it, if it does.
    fn inherited(&self, by: &str) -> Option<Self> {
        let stored = self.stored.as_ref()?;
        let by_default = self.carrier == "command" && self.power == "decides";
        let inherits = stored[self.carrier]["inherit"].as_bool().unwrap_or(by_default);
        let from = self.from.clone().or_else(|| Some(by.to_owned()));
        inherits.then(|| Self { from, ..Self::of_file(stored.clone()).expect("it was one before") })
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
            from: None,
            matcher: None,
            target: without_query(&config.url),
        }
    }

    fn to_json(&self, agent: &str) -> Value {
        json!({
            "agent": agent, "from": self.from, "id": self.id, "source": self.source, "type": self.kind, "carrier": self.carrier, "power": self.power,
            "onError": self.on_error, "matcher": self.matcher, "target": self.target,
        })
    }
}

/// The hooks of an agent and of those below it, in the order in which they are asked: what is inherited, what is in the
/// file, what the environment says.
pub(super) fn sections(agent: &Agent) -> Result<Vec<Section>, Problem> {
    let mut sections = Vec::new();
    add_sections(agent, &Section { path: Vec::new(), rows: Vec::new() }, &mut sections)?;
    let environment = EnvironmentHooks::read(&ProcessEnvironment).map_err(|error| Problem::usage(error.to_string()))?;
    if let Some(environment) = environment {
        for section in &mut sections {
            let declared = HookKind::ALL.into_iter().filter_map(|kind| Some((kind, environment.webhook(kind)?)));
            section.rows.extend(declared.map(|(kind, config)| Row::of_environment(kind, &config)));
        }
    }
    Ok(sections)
}

fn add_sections(agent: &Agent, above: &Section, sections: &mut Vec<Section>) -> Result<(), Problem> {
    let frozen = Frozen::of(agent)?;
    let mut rows: Vec<Row> = above.rows.iter().filter_map(|row| row.inherited(above.agent())).collect();
    rows.extend(frozen.config.stored_hooks(&frozen.directory).into_iter().filter_map(Row::of_file));
    let path = above.path.iter().cloned().chain([agent.name.clone()]).collect();
    let section = Section { path, rows };
    let at = sections.len();
    sections.push(Section { path: section.path.clone(), rows: Vec::new() });
    for below in &agent.agents {
        add_sections(below, &section, sections)?;
    }
    sections[at] = section;
    Ok(())
}

/// Whether there is anything to ask: hooks of the environment are in every section.
pub(super) fn say_if_none(sections: &[Section], out: &mut Out) {
    if let ([first, ..], true) = (sections, sections.iter().all(|section| section.rows.is_empty())) {
        out.line(format!("The agent `{}` has no hooks.", first.agent()));
        out.line("A [[hook]] in its file adds one; AGENT_HOOK_WEBHOOK_URL adds one for every agent.");
    }
}

pub(super) fn list(args: &HooksOfArgs) -> Result<ExitCode, Problem> {
    let agent = host::read_or_builtin(args.agent.as_deref())?;
    let sections = sections(&agent)?;
    let mut out = Out::default();
    for section in &sections {
        show(section, args.json, &mut out);
    }
    if !args.json {
        say_if_none(&sections, &mut out);
    }
    out.finish()?;
    Ok(ExitCode::Done)
}

fn show(section: &Section, is_json: bool, out: &mut Out) {
    if !is_json && section.path.len() > 1 && !section.rows.is_empty() {
        out.line(format!("{}:", section.path.join(" > ")));
    }
    for row in &section.rows {
        if is_json {
            out.line(row.to_json(section.agent()).to_string());
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
        if let Some(from) = &row.from {
            line.push_str(&format!("  (inherited from {from})"));
        }
        out.line(line);
    }
}

/// An address without what may be a secret in it.
fn without_query(url: &str) -> String {
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

fn words(command: &Value) -> String {
    let words = command.as_array().into_iter().flatten().filter_map(Value::as_str);
    words.collect::<Vec<_>>().join(" ")
}
