//! `jackline machine`: the table of transitions, printed from the table itself.

use std::fmt::{Debug, Write as _};

use jackline_model::ExitCode;
use jackline_runtime::machine::table::{ROWS, Row};
use serde_json::{Value, json};

use crate::args::{MachineArgs, MachineFormat};
use crate::problem::Problem;
use crate::render::Out;

/// Prints the machine.
pub(crate) fn machine(args: MachineArgs) -> Result<ExitCode, Problem> {
    let mut out = Out::default();
    out.write(&match args.format {
        MachineFormat::Table => table(),
        MachineFormat::Mermaid => mermaid(),
        MachineFormat::Json => json_lines(),
    });
    out.finish()?;
    Ok(ExitCode::Done)
}

fn table() -> String {
    let mut text = String::from("| State | Input | Leads to | Asks for | Hooks |\n|---|---|---|---|---|\n");
    for row in ROWS {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {:?} | {} | {} | {} |",
            from(row),
            row.input,
            to(row),
            joined(row.effects),
            row.hooks.iter().map(|hook| hook.as_str()).collect::<Vec<_>>().join(", ")
        );
    }
    text
}

fn mermaid() -> String {
    let mut text = String::from("stateDiagram-v2\n    [*] --> Idle\n");
    for row in ROWS {
        let Some(state) = row.from else { continue };
        for next in row.to {
            let _ = writeln!(text, "    {state:?} --> {next:?}: {:?}", row.input);
        }
    }
    text.push_str("    Finished --> [*]\n");
    text
}

fn json_lines() -> String {
    let rows: Vec<Value> = ROWS
        .iter()
        .map(|row| {
            json!({
                "from": row.from.map(|state| format!("{state:?}")),
                "input": format!("{:?}", row.input),
                "to": names(row.to),
                "effects": names(row.effects),
                "hooks": row.hooks,
            })
        })
        .collect();
    format!("{:#}\n", Value::Array(rows))
}

fn from(row: &Row) -> String {
    row.from.map_or_else(|| "any".to_owned(), |state| format!("{state:?}"))
}

fn to(row: &Row) -> String {
    if row.to.is_empty() { "the same".to_owned() } else { joined(row.to) }
}

fn joined<T: Debug>(items: &[T]) -> String {
    names(items).join(", ")
}

fn names<T: Debug>(items: &[T]) -> Vec<String> {
    items.iter().map(|item| format!("{item:?}")).collect()
}
