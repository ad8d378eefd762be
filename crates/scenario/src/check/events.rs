//! Hooks that fired, what they were told, what the stream told.

use std::collections::BTreeMap;

use jackline_hooks::HookKind;
use serde_json::Value;

use super::diff::side_by_side;
use super::partial::mismatch;
use crate::format::HookLine;
use crate::run::{Fired, Heard, Story, World};

pub(super) fn check(world: &World, problems: &mut Vec<String>) {
    let expect = &world.script.expect;
    let story = world.story();
    let real: Vec<String> = story.fired.iter().map(named).collect();
    if let Some(lines) = &expect.hooks {
        let expected: Vec<String> = lines.iter().map(ToString::to_string).collect();
        if expected == real {
            problems.extend(with_fields(lines, &story).map(|problem| format!("`expect.hooks`: {problem}")));
        } else {
            problems.push(format!("`expect.hooks`:\n{}", side_by_side(&expected, &real)));
        }
    }
    if let Some(missing) = not_in_order(&expect.events, &story.heard) {
        problems.push(format!("`expect.events`: {missing}"));
    }
    for (kind, wanted) in &expect.hook_counts {
        let count = real.iter().filter(|fired| *fired == kind).count();
        if count != *wanted {
            problems.push(format!("`expect.hook_counts.{kind}`: {wanted} expected, {count} fired"));
        }
    }
    for (hook, wanted) in &expect.answered {
        let answered = story.answered.get(hook).cloned().unwrap_or_default();
        // What is outside the process fails and does not panic.
        let word = |word: &String| if world.outside.is_some() { word.replace("panic", "error") } else { word.clone() };
        let wanted: Vec<String> = wanted.iter().map(word).collect();
        if answered != wanted {
            problems.push(format!("`expect.answered.{hook}`:\n{}", side_by_side(&wanted, &answered)));
        }
    }
    if let Some(missing) = not_streamed(&expect.stream, &story) {
        problems.push(format!("`expect.stream`: {missing}"));
    }
}

fn named(fired: &Fired) -> String {
    HookLine { agent: fired.agent.clone(), kind: fired.kind, fields: None }.to_string()
}

/// The n-th line of a type is about the n-th event of that type that was heard.
fn with_fields<'a>(lines: &'a [HookLine], story: &'a Story) -> impl Iterator<Item = String> + 'a {
    let mut seen: BTreeMap<(Option<String>, HookKind), usize> = BTreeMap::new();
    lines.iter().enumerate().filter_map(move |(at, line)| {
        let nth = seen.entry((line.agent.clone(), line.kind)).or_default();
        let mut alike = story.heard.iter().filter(|heard| is_about(line, heard));
        let heard = alike.nth(*nth);
        *nth += 1;
        let fields = line.fields.as_ref()?;
        match heard {
            Some(heard) => mismatch(fields, &heard.event)
                .map(|problem| format!("line {}, {line}: {problem}\n  in {}", at + 1, heard.event)),
            None => Some(format!("line {}, {line}: it fired and nobody heard it", at + 1)),
        }
    })
}

fn is_about(line: &HookLine, heard: &Heard) -> bool {
    line.kind == heard.fired.kind && line.agent == heard.fired.agent
}

fn not_in_order(lines: &[HookLine], heard: &[Heard]) -> Option<String> {
    let mut rest = heard.iter();
    lines.iter().enumerate().find_map(|(at, line)| {
        let none = Value::Null;
        let fields = line.fields.as_ref();
        let fits =
            |heard: &Heard| is_about(line, heard) && fields.is_none_or(|part| mismatch(part, &heard.event).is_none());
        if rest.any(fits) {
            return None;
        }
        let candidates: Vec<String> =
            heard.iter().filter(|heard| is_about(line, heard)).map(|heard| format!("\n  {}", heard.event)).collect();
        let fields = fields.unwrap_or(&none);
        Some(format!(
            "line {}: no {line} with {fields} from there on; of this type there were:{}",
            at + 1,
            candidates.concat()
        ))
    })
}

fn not_streamed(wanted: &[Value], story: &Story) -> Option<String> {
    let events: Vec<Value> =
        story.stream.iter().map(|event| serde_json::to_value(event.as_ref()).unwrap_or_default()).collect();
    let mut rest = events.iter();
    wanted.iter().enumerate().find_map(|(at, part)| {
        if rest.any(|event| mismatch(part, event).is_none()) {
            return None;
        }
        let kind = part.get("type");
        let alike: Vec<String> =
            events.iter().filter(|event| event.get("type") == kind).map(|event| format!("\n  {event}")).collect();
        Some(format!("line {}: no event {part} from there on; of this type there were:{}", at + 1, alike.concat()))
    })
}
