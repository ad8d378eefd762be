use serde_json::{Value, json};

use super::{ArgumentSchema, for_wire};

fn notes_add_many() -> ArgumentSchema {
    let schema = json!({
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "string"}}, "raw": {"type": "string"}},
        "required": ["items"],
        "additionalProperties": false,
    });
    ArgumentSchema::compile(&schema).unwrap()
}

#[track_caller]
fn check(schema: &ArgumentSchema, arguments: Value) -> Result<Value, String> {
    let arguments = arguments.as_object().cloned().unwrap();
    schema.check(arguments).map(Value::Object).map_err(|problem| problem.to_string())
}

#[test]
fn c004_a_list_in_a_string_is_taken_out_and_a_string_stays_one() {
    let arguments = json!({"items": "[\"a\", \"b\"]", "raw": "[1,2]"});
    assert_eq!(check(&notes_add_many(), arguments), Ok(json!({"items": ["a", "b"], "raw": "[1,2]"})));
}

#[test]
fn c004_a_nullable_list_in_a_string_is_taken_out_too() {
    let schema = json!({"properties": {"items": {"anyOf": [{"type": "array"}, {"type": "null"}]}}});
    let schema = ArgumentSchema::compile(&schema).unwrap();
    assert_eq!(check(&schema, json!({"items": "[1]"})), Ok(json!({"items": [1]})));
}

#[test]
fn a_string_that_holds_nothing_usable_is_a_problem_at_its_place() {
    let problem = check(&notes_add_many(), json!({"items": "a, b"})).unwrap_err();
    assert!(problem.contains("`items`: the value is not of type \"array\" (it is a string)"), "{problem}");
    let problem = check(&notes_add_many(), json!({"items": "[1]"})).unwrap_err();
    assert!(problem.contains("`items.0`: the value is not of type \"string\" (it is a number)"), "{problem}");
}

#[test]
fn c012_a_missing_argument_is_named() {
    let problem = check(&notes_add_many(), json!({})).unwrap_err();
    assert!(problem.contains("\"items\" is a required property"), "{problem}");
}

#[test]
fn an_unknown_argument_is_named() {
    let problem = check(&notes_add_many(), json!({"items": [], "colour": "red"})).unwrap_err();
    assert!(problem.contains("colour"), "{problem}");
}

#[test]
fn a_problem_never_repeats_the_value_and_few_are_listed() {
    let items: Vec<_> = (0..1000).map(|_| json!({"secret": "s3cret"})).collect();
    let problem = check(&notes_add_many(), json!({"items": items})).unwrap_err();
    assert!(!problem.contains("s3cret"), "{problem}");
    assert!(problem.contains("and more") && problem.len() < 1000, "{problem}");
}

#[test]
fn a_schema_that_must_be_fetched_or_makes_no_sense_is_refused() {
    for schema in [json!({"$ref": "http://127.0.0.1:1/schema.json"}), json!({"type": "objekt"})] {
        assert!(ArgumentSchema::compile(&schema).is_err(), "{schema}");
    }
}

#[test]
fn c152_every_schema_becomes_an_object_with_properties() {
    let empty = json!({"type": "object", "properties": {}});
    for schema in
        [json!({"type": "object"}), json!(null), json!({}), json!({"type": "object", "properties": {}, "required": []})]
    {
        let before = schema.clone();
        assert_eq!(for_wire(&schema), empty);
        assert_eq!(schema, before);
    }
}

#[test]
fn a_whole_schema_is_sent_as_it_stands() {
    let schema = json!({
        "type": "object",
        "properties": {"note": {"type": ["string", "null"]}, "tags": {"type": ["null", "array"], "items": {"type": "string"}}},
        "required": ["note"],
    });
    assert_eq!(for_wire(&schema), schema);
}
