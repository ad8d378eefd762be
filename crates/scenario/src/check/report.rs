//! How the run ended and what it used.

use std::fmt::Debug;

use jackline_model::Totals;
use jackline_runtime::drive::Report;

use super::diff::side_by_side;
use crate::format::{Expect, ExpectedUsage};
use crate::run::{End, World};

pub(super) fn check(world: &World, end: &End, problems: &mut Vec<String>) {
    let expect = &world.script.expect;
    match end {
        End::Rested(report) => {
            if let Some(error) = &expect.error {
                problems.push(format!("`expect.error`: {error:?} is expected, and the run has an end: {report:?}"));
            }
            check_report(expect, report, problems);
        }
        End::Failed(error) => match &expect.error {
            Some(part) if error.contains(part.as_str()) => {}
            expected => problems.push(format!("the run has no end: {error} (expected: {expected:?})")),
        },
        End::Stuck(why) => problems.push(format!("the run is stuck: {why}")),
    }
    let story = world.story();
    for (tool, wanted) in &expect.tool_runs {
        let runs = story.tool_runs.get(tool).copied().unwrap_or_default();
        differs(problems, &format!("tool_runs.{tool}"), Some(wanted), &runs);
    }
    if let Some(order) = expect.tool_order.as_ref().filter(|order| **order != story.tool_order) {
        problems.push(format!("`expect.tool_order`:\n{}", side_by_side(order, &story.tool_order)));
    }
    differs(problems, "lives", expect.lives.as_ref().or(usual_lives(world).as_ref()), &story.lives);
    // The deadlines of what is outside the process are real.
    let elapsed_ms = expect.elapsed_ms.as_ref().filter(|_| world.outside.is_none());
    differs(problems, "elapsed_ms", elapsed_ms, &story.moved_at_ms);
}

/// Without faults and restarts the process is started once.
fn usual_lives(world: &World) -> Option<usize> {
    let restarts = world.script.human.iter().any(|step| step.act == crate::format::HumanAct::Restart);
    (world.script.faults.is_empty() && !restarts).then_some(1)
}

fn check_report(expect: &Expect, report: &Report, problems: &mut Vec<String>) {
    if expect.reason.is_some() && expect.reason != report.reason {
        problems.push(format!(
            "`expect.reason`: {:?} is expected and it is {:?}; {:?}",
            expect.reason, report.reason, report.fault
        ));
    }
    differs(problems, "status", expect.status.as_ref(), &report.status);
    differs(problems, "exit", expect.exit.as_ref(), &(report.exit_code() as u8));
    differs(problems, "resumable", expect.resumable.as_ref(), &report.resumable);
    differs(problems, "steps", expect.steps.as_ref(), &report.steps);
    differs(problems, "answer", expect.answer.as_ref(), report.answer.as_ref().unwrap_or(&String::new()));
    let (code, message) = match &report.fault {
        Some(fault) => (fault.code.clone(), fault.message.clone()),
        None => (String::new(), String::new()),
    };
    differs(problems, "fault", expect.fault.as_ref(), &code);
    if let Some(part) = expect.fault_message.as_ref().filter(|part| !message.contains(part.as_str())) {
        problems.push(format!("`expect.fault_message`: it must contain {part:?} and is {message:?}"));
    }
    if let Some(usage) = &expect.usage {
        check_usage(usage, &report.totals, problems);
    }
}

fn check_usage(wanted: &ExpectedUsage, real: &Totals, problems: &mut Vec<String>) {
    let counts = [
        ("llm_calls", wanted.llm_calls, real.llm_calls),
        ("tool_calls", wanted.tool_calls, real.tool_calls),
        ("input", wanted.input, real.input_tokens),
        ("output", wanted.output, real.output_tokens),
        ("total", wanted.total, real.total_tokens),
    ];
    for (name, wanted, real) in counts {
        differs(problems, &format!("usage.{name}"), wanted.as_ref(), &real);
    }
    differs(problems, "usage.cost", wanted.cost.as_ref(), &real.cost.dollars());
}

fn differs<T: PartialEq + Debug>(problems: &mut Vec<String>, key: &str, wanted: Option<&T>, real: &T) {
    if let Some(wanted) = wanted.filter(|wanted| *wanted != real) {
        problems.push(format!("`expect.{key}`: {wanted:?} is expected and it is {real:?}"));
    }
}
