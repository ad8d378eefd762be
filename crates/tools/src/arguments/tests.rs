use std::borrow::Cow;

use jackline_model::OperationId;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{ArgumentProblem, Arguments, Repair, canonical, digest, idempotency_key, parse, replayable};
use crate::limits;

#[track_caller]
fn check(raw: &str, object: Value, repair: Option<Repair>) {
    let object = object.as_object().cloned().unwrap();
    assert_eq!(parse(raw), Ok(Arguments { object, repair }));
    let replayed: Map<String, Value> = serde_json::from_str(&replayable(raw)).unwrap();
    assert_eq!(Value::Object(replayed), Value::Object(parse(raw).unwrap().object));
}

/// Expects a problem that says `hint`, and text that can be replayed all the same.
#[track_caller]
fn refuse(raw: &str, hint: &str) {
    let problem = parse(raw).unwrap_err().to_string();
    assert!(problem.contains(hint), "{problem}");
    serde_json::from_str::<Map<String, Value>>(&replayable(raw)).unwrap();
}

#[test]
fn an_object_is_taken_and_replayed_as_it_stands() {
    let raw = r#" {"b": "😀 \ud83e\udd80", "a": 1.0}"#;
    check(raw, json!({"a": 1.0, "b": "😀 🦀"}), None);
    assert!(matches!(replayable(raw), Cow::Borrowed(same) if same == raw));
}

#[test]
fn c001_no_text_is_the_empty_object() {
    check("", json!({}), Some(Repair::Absent));
    check(" \n", json!({}), Some(Repair::Absent));
    assert_eq!(replayable(""), "{}");
}

#[test]
fn c003_prose_after_the_object_is_left_out() {
    let raw = r#"{"text":"milk"} I will add this now"#;
    check(raw, json!({"text": "milk"}), Some(Repair::TextAfter));
    check(r#"{"text":"milk"}}"#, json!({"text": "milk"}), Some(Repair::TextAfter));
    assert_eq!(replayable(raw), r#"{"text":"milk"}"#);
}

#[test]
fn two_objects_are_ambiguous() {
    refuse(r#"{} {"text":"milk"}"#, "exactly one object");
    refuse(r#"{}{"text":"milk"}"#, "exactly one object");
}

#[test]
fn c004_an_object_in_a_string_is_taken_out_once() {
    check(r#""{\"text\": \"milk\"}""#, json!({"text": "milk"}), Some(Repair::Unwrapped));
    let twice = serde_json::to_string(r#""{\"text\": \"milk\"}""#).unwrap();
    refuse(&twice, "an object is needed");
    refuse(r#""[1]""#, "an object is needed");
}

#[test]
fn c005_broken_json_is_explained() {
    refuse(r#"{"{"text":"milk"}"#, "not valid JSON");
    assert_eq!(replayable(r#"{"{"text":"milk"}"#), r#"{"_raw":"{\"{\"text\":\"milk\"}"}"#);
}

#[test]
fn c008_numbers_that_json_does_not_know_are_refused() {
    refuse(r#"{"x":NaN,"y":-Infinity}"#, "NaN and Infinity do not exist");
    refuse(r#"{"x":1e999}"#, "out of range");
}

#[test]
fn c011_escapes_that_json_does_not_know_are_refused() {
    refuse("{\"re\":\"\\x41\nb\"}", "escape");
    refuse("{\"re\":\"a\nb\"}", "line break as \\n");
    refuse(r#"{"re":"\ud800"}"#, "hex escape");
}

#[test]
fn c012_what_is_no_object_is_named() {
    check("null", json!({}), Some(Repair::Absent));
    refuse("[]", "a list, but an object is needed");
    refuse("7", "a number, but an object is needed");
    refuse("true", "a boolean, but an object is needed");
    refuse("7 apples", "text follows");
}

#[test]
fn c029_arguments_that_break_off_are_not_closed_for_the_model() {
    refuse(r#"{"path":"a.txt","text":"line one"#, "they break off");
}

#[test]
fn c149_giant_arguments_are_refused_and_not_replayed() {
    let giant = format!(r#"{{"text":"{}"}}"#, "x".repeat(2 * 1024 * 1024));
    assert_eq!(
        parse(&giant),
        Err(ArgumentProblem::TooLong { bytes: giant.len(), bytes_max: limits::ARGUMENT_BYTES_MAX })
    );
    let replayed = replayable(&giant);
    assert!(replayed.len() < 2 * limits::REPLAYED_RAW_BYTES_MAX);
    let object: Map<String, Value> = serde_json::from_str(&replayed).unwrap();
    assert_eq!(object["_bytes"], giant.len());
    assert_eq!(digest(&giant).len(), 64);
}

#[test]
fn deep_nesting_is_refused_without_a_deep_stack() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    refuse(&deep, "recursion limit");
    assert_eq!(canonical(&deep), deep);
}

#[test]
fn perm_40_the_order_of_keys_and_blanks_do_not_matter_at_any_level_and_all_else_does() {
    assert_eq!(canonical(r#"{"b":{"d":1,"c":2},"a":[3,1]}"#), r#"{"a":[3,1],"b":{"c":2,"d":1}}"#);
    let one = digest(r#"{"a":1,"b":{"x":[1,2],"y":null}}"#);
    assert_eq!(one, digest(r#" { "b": {"y": null, "x": [1, 2]}, "a": 1 } "#));
    assert_ne!(one, digest(r#"{"a":1,"b":{"x":[2,1],"y":null}}"#));
    assert_ne!(one, digest(r#"{"a":"1","b":{"x":[1,2],"y":null}}"#));
}

#[test]
fn perm_40_empty_and_malformed_arguments_have_digests_too() {
    assert_eq!(digest(""), digest("{}"));
    assert_eq!(digest(" null "), digest("{}"));
    assert_eq!(digest(" {oops "), digest("{oops"));
    assert_ne!(digest("{oops"), digest("{}"));
    assert_eq!(canonical("  not json "), "not json");
}

#[test]
fn the_key_of_a_call_names_operation_place_and_arguments() {
    let key = |operation: &str, place, arguments| idempotency_key(&OperationId::from(operation), place, arguments);
    let this = key("op", "s3.c1", "{}");
    assert_eq!(this, key("op", "s3.c1", "{}"));
    assert_eq!(this.len(), 64);
    assert!(this.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)));
    for other in
        [key("op2", "s3.c1", "{}"), key("op", "s3.c2", "{}"), key("op", "s3.c1", "{ }"), key("ops3", ".c1", "{}")]
    {
        assert_ne!(this, other);
    }
}

proptest! {
    #[test]
    fn whatever_a_model_writes_can_be_replayed(raw in "\\PC*|[\\[\\]{}\":,0-9a-z\\\\ ]{0,40}") {
        prop_assert!(serde_json::from_str::<Map<String, Value>>(&replayable(&raw)).is_ok());
        let _ = (parse(&raw), canonical(&raw));
    }

    #[test]
    fn canonical_text_is_its_own_canonical_text(raw in "\\PC*|[\\[\\]{}\":,0-9a-z ]{0,40}") {
        let once = canonical(&raw);
        prop_assert_eq!(canonical(&once), once);
    }
}
