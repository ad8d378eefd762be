//! Comparing what has happened with what is expected.

mod diff;
mod events;
mod leaks;
mod partial;
mod report;
mod rows;

use std::path::Path;

use crate::format::Script;
use crate::run::{End, World};

/// Everything that is not as expected, as texts for people.
pub(crate) fn check(world: &World, end: &End, files: Option<&Path>) -> Vec<String> {
    let script = &world.script;
    let mut problems = std::mem::take(&mut world.story().problems);
    report::check(world, end, &mut problems);
    events::check(world, &mut problems);
    rows::check(world, &mut problems);
    leaks::check(world, &mut problems);
    check_files(script, files, &mut problems);
    check_leftovers(world, &mut problems);
    problems
}

/// Nothing scripted may be left.
fn check_leftovers(world: &World, problems: &mut Vec<String>) {
    let story = world.story();
    for (agent, turns) in story.turns.iter().filter(|(_, turns)| !turns.is_empty()) {
        problems.push(format!("`turns`: {} of the turns of `{agent}` were not used", turns.len()));
    }
    for (tool, answers) in story.answers.iter().filter(|(_, answers)| !answers.is_empty()) {
        problems.push(format!("`tools.{tool}`: {} answers were not used", answers.len()));
    }
    if !story.human.is_empty() {
        problems.push(format!("`human`: {} steps were not done: {:?}", story.human.len(), story.human));
    }
    for (script, used) in world.script.hooks.iter().zip(&story.hook_cursors) {
        if *used < script.answers.len() {
            let named = script.id.as_deref().unwrap_or(script.on.as_str());
            problems
                .push(format!("`hooks`: `{named}` has {} answers and was asked {used} times", script.answers.len()));
        }
    }
    for (fault, done) in world.script.faults.iter().zip(&story.faults_done) {
        if !done {
            problems.push(format!("`faults`: effect `{}` was never performed", fault.effect));
        }
    }
    if let Some(effect) = story.crash_after {
        problems.push(format!("`faults`: effect `{effect}` was performed and never answered"));
    }
    for (interrupt, done) in world.script.interrupts.iter().zip(&story.interrupts_done) {
        if !done {
            problems.push(format!("`interrupts`: {interrupt:?} never came"));
        }
    }
    for plan in world.script.plans.iter().filter(|plan| plan.nth > story.plans_asked) {
        problems.push(format!("`plans`: the planner was asked {} times, not {}", story.plans_asked, plan.nth));
    }
}

fn check_files(script: &Script, files: Option<&Path>, problems: &mut Vec<String>) {
    let Some(root) = files else { return };
    for (name, wanted) in &script.expect.files {
        match std::fs::read_to_string(root.join(name)) {
            Ok(real) if real == *wanted => {}
            Ok(real) => problems.push(format!("`expect.files.{name}`: {wanted:?} is expected and it is {real:?}")),
            Err(error) => problems.push(format!("`expect.files.{name}`: {error}")),
        }
    }
}
