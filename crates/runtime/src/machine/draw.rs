//! The lifecycle, drawn from its table: for documents and for `jackline machine`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::effect::EffectKind;
use super::input::InputKind;
use super::state::StateKind;
use super::table::{ROWS, Row};

/// A Markdown table, one line a row.
pub fn table() -> String {
    let mut text = String::from("| from | input | to | may ask for | hooks |\n| --- | --- | --- | --- | --- |\n");
    for row in ROWS {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            from(row),
            input_name(row.input),
            to(row),
            names(row.effects.iter().map(|effect| effect_name(*effect))),
            names(row.hooks.iter().map(|hook| hook.as_str())),
        );
    }
    text
}

/// A Mermaid state diagram.
pub fn mermaid() -> String {
    let mut text = String::from("stateDiagram-v2\n    [*] --> Idle\n");
    for row in ROWS {
        let Some(state) = row.from else { continue };
        for target in row.to {
            let (from, to, input) = (state_name(state), state_name(*target), input_name(row.input));
            let _ = writeln!(text, "    {from} --> {to}: {input}");
        }
    }
    text.push_str("    Finished --> [*]\n");
    text
}

/// The rows as JSON.
pub fn json() -> Value {
    let row = |row: &Row| {
        json!({
            "from": row.from.map(state_name),
            "input": input_name(row.input),
            "to": row.to.iter().map(|state| state_name(*state)).collect::<Vec<_>>(),
            "effects": row.effects.iter().map(|effect| effect_name(*effect)).collect::<Vec<_>>(),
            "hooks": row.hooks,
        })
    };
    ROWS.iter().map(row).collect()
}

/// The name of a state, as documents write it.
pub fn state_name(state: StateKind) -> &'static str {
    match state {
        StateKind::Idle => "Idle",
        StateKind::OpeningStep => "OpeningStep",
        StateKind::Planning => "Planning",
        StateKind::CallingModel => "CallingModel",
        StateKind::WaitingToRetry => "WaitingToRetry",
        StateKind::RunningCalls => "RunningCalls",
        StateKind::AskingHuman => "AskingHuman",
        StateKind::AnnouncingCompaction => "AnnouncingCompaction",
        StateKind::Summarizing => "Summarizing",
        StateKind::WaitingToSummarize => "WaitingToSummarize",
        StateKind::ClosingCompaction => "ClosingCompaction",
        StateKind::ClosingStep => "ClosingStep",
        StateKind::WaitingForHuman => "WaitingForHuman",
        StateKind::TellingDecision => "TellingDecision",
        StateKind::WaitingForAsyncTool => "WaitingForAsyncTool",
        StateKind::Draining => "Draining",
        StateKind::TellingStop => "TellingStop",
        StateKind::Completing => "Completing",
        StateKind::ReportingError => "ReportingError",
        StateKind::Finished => "Finished",
        StateKind::Failed => "Failed",
    }
}

/// The name of an input, as documents write it.
pub fn input_name(input: InputKind) -> &'static str {
    match input {
        InputKind::HookAnswered => "HookAnswered",
        InputKind::HookFailed => "HookFailed",
        InputKind::NoticeDelivered => "NoticeDelivered",
        InputKind::Planned => "Planned",
        InputKind::PlanFailed => "PlanFailed",
        InputKind::ModelReplied => "ModelReplied",
        InputKind::ModelFailed => "ModelFailed",
        InputKind::CallCleared => "CallCleared",
        InputKind::CallSettled => "CallSettled",
        InputKind::CallParked => "CallParked",
        InputKind::ChildStarted => "ChildStarted",
        InputKind::HumanAsked => "HumanAsked",
        InputKind::Summarized => "Summarized",
        InputKind::SummaryFailed => "SummaryFailed",
        InputKind::DeadlineReached => "DeadlineReached",
        InputKind::BeginRequested => "BeginRequested",
        InputKind::HumanDecided => "HumanDecided",
        InputKind::AnswerArrived => "AnswerArrived",
        InputKind::StopRequested => "StopRequested",
        InputKind::RetellRequested => "RetellRequested",
        InputKind::ResumeRequested => "ResumeRequested",
    }
}

/// The name of an effect, as documents write it.
pub fn effect_name(effect: EffectKind) -> &'static str {
    match effect {
        EffectKind::FireHook => "FireHook",
        EffectKind::Plan => "Plan",
        EffectKind::CallModel => "CallModel",
        EffectKind::Clear => "Clear",
        EffectKind::Run => "Run",
        EffectKind::Judge => "Judge",
        EffectKind::Refuse => "Refuse",
        EffectKind::StartChild => "StartChild",
        EffectKind::AskHuman => "AskHuman",
        EffectKind::Summarize => "Summarize",
        EffectKind::Cancel => "Cancel",
    }
}

fn from(row: &Row) -> &'static str {
    row.from.map_or("any", state_name)
}

fn to(row: &Row) -> String {
    match row.from {
        None => "as it was".to_owned(),
        Some(_) => names(row.to.iter().map(|state| state_name(*state))),
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
