use jackline_runtime::machine::table::ROWS;
use serde_json::Value;

use super::home::Home;

#[test]
fn the_machine_that_is_printed_is_the_table() {
    let home = Home::new();
    let rows: Vec<Value> = serde_json::from_str(&home.run(&["machine", "--format", "json"]).out).unwrap();
    assert_eq!(rows.len(), ROWS.len());
    for (printed, row) in rows.iter().zip(ROWS) {
        assert_eq!(printed["from"], row.from.map_or(Value::Null, |state| format!("{state:?}").into()));
        assert_eq!(printed["input"], format!("{:?}", row.input));
        let names = |key: &str| printed[key].as_array().unwrap().len();
        assert_eq!((names("to"), names("effects"), names("hooks")), (row.to.len(), row.effects.len(), row.hooks.len()));
    }
    let table = home.run(&["machine"]).out;
    assert_eq!(table.lines().count(), ROWS.len() + 2);
    let drawing = home.run(&["machine", "--format", "mermaid"]).out;
    let arrows: usize = ROWS.iter().filter(|row| row.from.is_some()).map(|row| row.to.len()).sum();
    assert_eq!(drawing.matches(" --> ").count(), arrows + 2);
}

#[test]
fn schemas_are_json_and_completions_are_there() {
    let home = Home::new();
    for of in ["agent", "scenario", "events"] {
        let schema: Value = serde_json::from_str(&home.run(&["schema", of]).out).unwrap();
        assert!(schema["$schema"].is_string(), "{of}");
    }
    assert!(home.run(&["completions", "bash"]).out.contains("jackline"));
}
