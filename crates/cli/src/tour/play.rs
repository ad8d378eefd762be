//! Runs a tour.

use std::path::Path;
use std::sync::Arc;

use jackline_model::{ExitCode, Reason};
use jackline_runtime::drive::{Prompt, Report};
use jackline_runtime::journal::Store;
use serde_json::{Value, json};

use super::copy::copy_tour;
use super::file::{Stop, Tour};
use crate::args::{Common, ViewArgs};
use crate::host::{self, ModelNeed};
use crate::problem::Problem;
use crate::render::{Screen, say};
use crate::run::{Decider, Follow, block_on, screen};
use crate::store;
use crate::text::read_structured;

/// Runs all operations of a tour; exit code 0 if each ended as stated.
pub(crate) fn run(common: &Common, directory: &Path, view: ViewArgs) -> Result<ExitCode, Problem> {
    let tour: Tour = read_structured(&directory.join("tour.toml"))?;
    // Mistakes are reported at the files that people edit, before anything starts.
    for stop in &tour.operations {
        host::check(&host::read(&directory.join(&stop.agent))?)?;
    }
    let store = store::open(common)?;
    let copy = common.store.parent().map(|parent| parent.join("tour")).unwrap_or_else(|| "tour".into());
    copy_tour(directory, &copy)?;
    let mut screen = screen(common, view);
    introduce(&tour, &mut screen, &copy);
    let mut ends = Vec::new();
    let mut is_as_stated = true;
    for (number, stop) in (1..).zip(&tour.operations) {
        let title = format!("{number}. {}", stop.title);
        if let Screen::Human(timeline) = &mut screen {
            let title = timeline.paint().bold(&title);
            timeline.note(&format!("\n{title}"));
        }
        if let Some(about) = &stop.about {
            screen.note(&format!("   {}", about.trim().replace('\n', "\n   ")));
        }
        let (report, unused) = block_on(play(stop, &copy, &store, &mut screen))?;
        let problem = judge(stop, &report, unused);
        show_end(&mut screen, stop, problem.as_deref());
        is_as_stated &= problem.is_none();
        ends.push(end_json(stop, &report, problem.as_deref()));
        if report.reason == Some(Reason::Interrupted) && stop.expect != Some(Reason::Interrupted) {
            screen.finish()?;
            return Ok(ExitCode::Interrupted);
        }
    }
    let count = ends.len();
    screen.json("tour", &json!({"ok": is_as_stated, "operations": ends}));
    if is_as_stated {
        screen.note(&format!("\nall {count} operations ended as the tour states"));
    }
    screen.finish()?;
    Ok(if is_as_stated { ExitCode::Done } else { ExitCode::Failed })
}

fn introduce(tour: &Tour, screen: &mut Screen, copy: &Path) {
    if let Screen::Human(timeline) = screen {
        let title = timeline.paint().bold(&tour.title);
        timeline.note(&title);
    }
    if let Some(about) = &tour.about {
        screen.note(about.trim());
    }
    screen.note(&format!("The agents work on a copy, in {}.", copy.display()));
}

/// Runs one operation. Also says how many answers nobody asked for.
async fn play(
    stop: &Stop,
    copy: &Path,
    store: &Arc<dyn Store>,
    screen: &mut Screen,
) -> Result<(Report, usize), Problem> {
    let agent = host::read(&copy.join(&stop.agent))?;
    let runtime = host::runtime(&agent, Arc::clone(store), ModelNeed::Asked)?;
    let prompt = Prompt { text: stop.prompt.clone(), origin: host::origin(&agent)?, user: None };
    let events = runtime.events();
    let run = runtime.start(&agent, prompt, host::hooks_of(&agent)?)?;
    let mut decider = Decider::Script(stop.answers.iter().cloned().collect());
    let report = Follow::with(&runtime, screen, &mut decider)?.follow(&run, events).await?;
    let unused = match decider {
        Decider::Script(answers) => answers.len(),
        Decider::Nobody | Decider::Person(_) => 0,
    };
    Ok((report, unused))
}

fn judge(stop: &Stop, report: &Report, unused: usize) -> Option<String> {
    let name = |reason: Option<Reason>| reason.map_or("waiting", Reason::as_str);
    if report.reason != stop.expect {
        return Some(format!("it should have ended `{}`, but ended `{}`", name(stop.expect), name(report.reason)));
    }
    (unused > 0).then(|| format!("{unused} of its answers were not asked for"))
}

fn show_end(screen: &mut Screen, stop: &Stop, problem: Option<&str>) {
    if let Screen::Human(timeline) = screen {
        let fired = timeline.take_hooks();
        let fired: Vec<String> = fired.iter().map(|(kind, times)| format!("{kind} {times}×")).collect();
        let line = timeline.paint().dim(&format!("hooks fired: {}", fired.join(", ")));
        timeline.note(&line);
    }
    if let Some(problem) = problem {
        say(format!("not as stated: {}: {problem}", stop.title));
    }
}

fn end_json(stop: &Stop, report: &Report, problem: Option<&str>) -> Value {
    json!({
        "title": stop.title, "operation": report.operation, "expected": stop.expect,
        "reason": report.reason, "ok": problem.is_none(), "problem": problem,
    })
}
