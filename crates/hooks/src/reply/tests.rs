//! The parser of replies: the cases of the contract, and an oracle that knows JSON by a table of its own.

mod oracle;

use proptest::prelude::*;

use super::*;
use crate::HookKind;

fn allow() -> Result<ControlReply, FaultCode> {
    Ok(ControlReply::Allow)
}

fn deny(reason: &str) -> Result<ControlReply, FaultCode> {
    Ok(ControlReply::Deny { reason: Some(reason.to_owned()) })
}

fn told() -> Result<ControlReply, FaultCode> {
    Ok(ControlReply::Notification)
}

fn invalid() -> Result<ControlReply, FaultCode> {
    Err(FaultCode::InvalidResponse)
}

fn parse(body: &str) -> Result<ControlReply, FaultCode> {
    parse_reply(200, body.as_bytes())
}

#[test]
fn g01_allow_and_deny_are_read() {
    assert_eq!(parse(r#"{"decision":"allow"}"#), allow());
    assert_eq!(parse(r#"{"decision":"deny"}"#), Ok(ControlReply::Deny { reason: None }));
    assert_eq!(parse(r#"{"decision":"deny","reason":" No\nwrites. "}"#), deny(" No\nwrites. "));
    assert_eq!(parse(r#"{"decision":"deny","reason":""}"#), deny(""));
    assert_eq!(parse(" \t\r\n{ \"decision\" : \"allow\" } \n"), allow());
    assert_eq!(parse(r#"{"\u0064ecision":"all\u006fw"}"#), allow());
    assert_eq!(parse("\u{feff}{\"decision\":\"deny\"}"), Ok(ControlReply::Deny { reason: None }));
}

#[test]
fn g02_other_fields_have_no_effect() {
    let extras = r#""updatedInput":{"a":1},"additionalContext":"x","requestId":7,"version":null,"hookSpecificOutput":{"decision":"deny"}"#;
    assert_eq!(parse(&format!(r#"{{"decision":"allow","reason":5,{extras}}}"#)), allow());
    assert_eq!(parse(&format!(r#"{{{extras},"decision":"deny","reason":"no"}}"#)), deny("no"));
    assert_eq!(parse(r#"{"decision":"allow","n":1e999,"s":"\ud800","\ud83d":0}"#), allow());
}

#[test]
fn g03_what_is_no_decision_is_a_notification() {
    let nested =
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","decision":"deny"}}"#;
    for body in [
        "",
        " ",
        "{",
        "ok",
        "{}",
        "null",
        "[]",
        "true",
        "1",
        r#""deny""#,
        nested,
        r#"{"reason":"x"}"#,
        r#"[{"decision":"deny"}]"#,
        r#"{"decision":"deny"} x"#,
        r#"{"decision":"deny",}"#,
        "{\"decision\":\"deny\n\"}",
        r#"{'decision':'deny'}"#,
        r#"{"Decision":"deny"}"#,
        "{\"a\nb\":1,\"decision\":\"deny\"}",
        r#"{"decision":deny}"#,
        r#"{"decision":01}"#,
        "\u{feff}\u{feff}{\"decision\":\"deny\"}",
    ] {
        assert_eq!(parse(body), told(), "{body}");
    }
}

#[test]
fn g04_a_decision_that_does_not_exist_is_an_error() {
    for decision in [
        r#""block""#,
        r#""ask""#,
        r#""defer""#,
        "null",
        "1",
        r#""Allow""#,
        r#""allow ""#,
        "true",
        r#"["deny"]"#,
        r#"{}"#,
        "1e999",
        r#""\ud800""#,
        r#""""#,
    ] {
        assert_eq!(parse(&format!(r#"{{"decision":{decision}}}"#)), invalid(), "{decision}");
    }
    for reason in ["3", "null", "[]", r#"{"a":"b"}"#, "false"] {
        assert_eq!(parse(&format!(r#"{{"decision":"deny","reason":{reason}}}"#)), invalid(), "{reason}");
    }
}

#[test]
fn c123_misspelled_decisions_are_errors_and_never_permission() {
    for body in [r#"{"decision":"blok"}"#, r#"{"decision":"DENY"}"#, r#"{"decision":true}"#, r#"{"decision":["deny"]}"#]
    {
        assert_eq!(parse(body), invalid());
    }
}

#[test]
fn g05_the_limit_counts_bytes_white_space_included() {
    let allowed = r#"{"decision":"allow"}"#;
    let padded = |length: usize| format!("{allowed}{}", " ".repeat(length - allowed.len()));
    assert_eq!(parse(&padded(REPLY_BYTES_MAX)), allow());
    assert_eq!(parse(&padded(REPLY_BYTES_MAX + 1)), Err(FaultCode::ResponseTooLarge));
    assert_eq!(parse(&"\u{20ac}".repeat(22_000)), Err(FaultCode::ResponseTooLarge));
}

#[test]
fn g07_statuses_of_success_apply() {
    for status in [200, 204, 205] {
        assert_eq!(parse_reply(status, b""), told());
    }
    for status in [200, 201, 202, 206, 299] {
        assert_eq!(parse_reply(status, br#"{"decision":"deny","reason":"no"}"#), deny("no"));
    }
    assert_eq!(parse_reply(204, br#"{"decision":"deny"}"#), told());
    for status in [100, 199, 300, 301, 307, 400, 403, 500, 503] {
        assert_eq!(parse_reply(status, br#"{"decision":"allow"}"#), Err(FaultCode::HttpError));
    }
}

#[test]
fn g09_what_is_no_utf8_is_an_error() {
    for body in [b"\xff".as_slice(), b"{\"decision\":\"allow\",\"x\":\"\xc3\"}", b"\xed\xa0\x80", b"\xc0\xaf"] {
        assert_eq!(parse_reply(200, body), invalid());
    }
}

#[test]
fn depth_and_repeated_keys_hide_no_denial() {
    let deep = format!(r#"{{"x":{}{},"decision":"deny","reason":"no"}}"#, "[".repeat(30_000), "]".repeat(30_000));
    assert_eq!(parse(&deep), deny("no"));
    let deep = format!(r#"{{"decision":{}{}}}"#, "[".repeat(30_000), "]".repeat(30_000));
    assert_eq!(parse(&deep), invalid());
    assert_eq!(parse(r#"{"decision":"allow","decision":"deny"}"#), Ok(ControlReply::Deny { reason: None }));
    assert_eq!(parse(r#"{"decision":"deny","reason":"a\ud83db\ud83d\ude00"}"#), deny("a\u{fffd}b\u{1f600}"));
}

#[test]
fn a_command_may_mock_before_a_call_only() {
    let before = |output: &str| parse_command_reply(HookKind::BeforeToolCall, output.as_bytes());
    assert!(
        matches!(before(r#"{"mock":{"content":"x","success":false}}"#), Ok(CommandReply::Mock(result)) if !result.success)
    );
    assert_eq!(before(r#"{"mock":{"content":1,"success":true}}"#), Err(FaultCode::InvalidResponse));
    assert_eq!(before(r#"{"mock":null}"#), Err(FaultCode::InvalidResponse));
    let both = r#"{"decision":"deny","mock":{"content":"x","success":true}}"#;
    assert_eq!(before(both), Ok(CommandReply::Control(ControlReply::Deny { reason: None })));
    assert_eq!(before(""), Ok(CommandReply::Control(ControlReply::Notification)));
    let after = parse_command_reply(HookKind::AfterToolCall, br#"{"mock":{"content":"x","success":true}}"#);
    assert_eq!(after, Err(FaultCode::InvalidResponse));
}

/// How many generated replies are compared. The gate sets the variable to a million, in release.
fn cases() -> u32 {
    std::env::var("JACKLINE_REPLY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES)
}

/// Enough to take every row of the oracle's table many times, in two or three seconds. A million takes some minutes:
/// `JACKLINE_REPLY_CASES=1000000 cargo test -p jackline-hooks the_parser_agrees_with_the_oracle`.
const CASES: u32 = 16_384;

fn scalar() -> impl Strategy<Value = String> {
    let fixed = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1e9",
        "1E+2",
        "1e999",
        "-1.5",
        "01",
        "1.",
        ".5",
        "+1",
        "-",
        "\"\"",
        "\"x\"",
        "\"allow\"",
        "\"deny\"",
        "\"Allow\"",
        "\"ask\"",
        "\"all\\u006fw\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ud800\"",
        "\"\\udc00x\"",
        "\"a\\nb\"",
        "\"a\nb\"",
        "\"\\q\"",
        "\"\\u12\"",
        "\"é€😀\"",
        "\"open",
        "NaN",
        "nul",
        "'allow'",
    ];
    prop_oneof![6 => proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned), 1 => "[ -~]{0,8}"]
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            list.prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec((key(), inner), 0..4).prop_map(|members| object(&members)),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let keys = [
        "\"decision\"",
        "\"reason\"",
        "\"\\u0064ecision\"",
        "\"Decision\"",
        "\"x\"",
        "\"\"",
        "\"\\ud800\"",
        "decision",
        "\"mock\"",
        "\"rea\\u0073on\"",
        "\"a\tb\"",
    ];
    prop_oneof![
        4 => Just("\"decision\"".to_owned()),
        2 => Just("\"reason\"".to_owned()),
        2 => proptest::sample::select(keys.to_vec()).prop_map(str::to_owned)
    ]
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<_> = members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    format!("{{{}}}", members.join(","))
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let object = proptest::collection::vec((key(), value()), 0..5).prop_map(|members| object(&members));
    let text = prop_oneof![6 => object, 1 => value()];
    let edits = proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0..3_u8), 0..3);
    let space =
        proptest::sample::select([("", ""), (" ", "\n"), ("\t\r", " "), ("\u{feff}", ""), ("\u{a0}", "")].as_slice());
    (text, prop_oneof![3 => Just(Vec::new()), 1 => edits], space).prop_map(|(text, edits, (before, after))| {
        let mut bytes = format!("{before}{text}{after}").into_bytes();
        for (at, byte, how) in edits {
            let at = at.index(bytes.len() + 1);
            match how {
                0 => bytes.insert(at, byte),
                1 if at < bytes.len() => bytes[at] = byte,
                _ if at < bytes.len() => drop(bytes.remove(at)),
                _ => {}
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_parser_agrees_with_the_oracle(body in body(), status in prop_oneof![8 => Just(200_u16), 1 => 100_u16..600]) {
        prop_assert_eq!(parse_reply(status, &body), oracle::classify(status, &body));
    }

    #[test]
    fn arbitrary_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(parse_reply(200, &body), oracle::classify(200, &body));
        let _ = parse_command_reply(HookKind::BeforeToolCall, &body);
    }
}
