use super::*;

const HEAD: &str = "about: x\ninput: hi\n";
const TAIL: &str = "expect: {reason: done}\n";

fn error(middle: &str) -> String {
    Scenario::parse(&format!("{HEAD}{middle}{TAIL}"), "a.yaml").unwrap_err().to_string()
}

#[test]
fn a_mistake_is_told_with_its_place_its_key_and_what_was_probably_meant() {
    assert_eq!(
        error("turns:\n- reply: {txet: hello}\n"),
        "a.yaml:4:11: unknown key `txet` (in `reply`); did you mean `text`?"
    );
    assert_eq!(
        error("hooks:\n- on: beforeStp\n"),
        "a.yaml:4:7: unknown value `beforeStp` (in `on`); did you mean `beforeStep`?"
    );
    assert_eq!(error("agent: {steps_max: ten}\n"), "a.yaml:3:20: invalid u32 (in `agent`)");
    assert_eq!(
        error("turns:\n- reply: {text: hello}\n  hang: true\n"),
        "a.yaml:4:3: a turn has only one of `reply`, `fault` and `hang: true`"
    );
    assert_eq!(error("faults:\n- {crash_before: s1.x}\n"), "a.yaml:4:3: `s1.x` is no effect id (in `crash_before`)");
    assert!(error("hooks:\n- on: beforeStep\n  answers: [okk]\n").starts_with("a.yaml:5:13: an answer is one of ok"));
    assert!(error("human: [{approve: all, stop: true}]\n").contains("a step has only one of `approve`"));
    assert!(error("turns: [1]\n").starts_with("a.yaml:3:9: "));
}

#[test]
fn a_missing_key_and_broken_yaml_are_told() {
    let parse = |text: &str| Scenario::parse(text, "a.yaml").unwrap_err().to_string();
    assert_eq!(parse("about: x\nexpect: {}\n"), "a.yaml:2:1: the key `input` is missing");
    assert!(parse("about: x\n  input: [\n").starts_with("a.yaml:2:"));
    assert!(parse("").starts_with("a.yaml:1:1: "));
    assert!(parse("about: x\nabout: y\ninput: z\nexpect: {}\n").contains("about"));
}

#[test]
fn files_from_windows_and_json_are_read() {
    let windows = "\u{feff}about: x\r\ninput: hi\r\nexpect: {}\r\n";
    assert_eq!(Scenario::parse(windows, "a.yaml").unwrap().script.input.0, "hi");
    let json = r#"{"about": "x", "input": "hi", "expect": {"reason": "done"}}"#;
    assert_eq!(Scenario::parse(json, "a.json").unwrap().script.about, "x");
}

#[test]
fn bytes_that_are_not_utf_8_are_told_with_their_place() {
    let error = Scenario::parse_bytes(b"about: x\ninput: h\xff\n", "a.yaml").unwrap_err();
    assert_eq!(error.to_string(), "a.yaml:2:9: the file is not UTF-8 text; save it as UTF-8 (in `input`)");
}

#[test]
fn the_schema_agrees_with_the_reader() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for (middle, is_right) in [
        ("turns: [{reply: {text: a, calls: [{tool: a/b, arguments: {x: 1}}]}}, {hang: true}]\n", true),
        ("hooks: [{on: beforeStep, answers: [ok, {deny: no}, {mock: {content: a}, then: panic}]}]\n", true),
        ("human: [{approve: all}, {reject: [a, b], reason: c, after_ms: 3}]\n", true),
        ("tools: {a/b: {answers: [{content: {repeat: x, times: 3}}, {throw: no}]}}\n", true),
        ("faults: [{crash_before: s1.c1.run}]\nplans: [{nth: 1, plan: [call_llm, {prompt: a}]}]\n", true),
        ("turns: [{reply: {txet: a}}]\n", false),
        ("hooks: [{on: beforeStep, power: see}]\n", false),
        ("tools: {a/b: {answer: []}}\n", false),
        ("agent: {approval: yolo}\n", false),
    ] {
        let text = format!("{HEAD}{middle}{TAIL}");
        let options = serde_saphyr::options! { strict_booleans: true };
        let value: Value = serde_saphyr::from_str_with_options(&text, options).unwrap();
        assert_eq!(validator.is_valid(&value), is_right, "schema on {middle}");
        assert_eq!(Scenario::parse(&text, "a.yaml").is_ok(), is_right, "reader on {middle}");
    }
}
