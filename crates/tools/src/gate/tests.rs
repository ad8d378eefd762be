use jackline_hooks::{AfterVerdict, BeforeVerdict};
use jackline_model::{RawOutput, ToolCall, ToolKey, ToolRunResult};
use serde_json::{Value, json};

use super::{Denial, Gated, Publishable, Receipt, gated, judged, receipt};
use crate::limits;
use crate::text::sha256_hex;

fn full() -> ToolRunResult {
    ToolRunResult {
        content: "the secret".to_owned(),
        success: true,
        error: Some(json!({"trace": "the secret"})),
        state: json!({"cache": "the secret"}).as_object().cloned(),
        execution_time: Some(12),
        device_execution_time: Some(7),
        stop: true,
        work_registration: Some(json!("the secret")),
    }
}

fn after(result: ToolRunResult, reason: Option<&str>) -> Publishable {
    judged(RawOutput::new(result), AfterVerdict::Deny { reason: reason.map(str::to_owned) }, usize::MAX)
}

fn before(reason: Option<&str>) -> Publishable {
    let call = ToolCall { id: "call_1".into(), key: ToolKey::parse("notes/add"), arguments: "{}".into() };
    match gated(call, BeforeVerdict::Deny { reason: reason.map(str::to_owned) }) {
        Gated::Publish(published) => published,
        other @ (Gated::Run(_) | Gated::Judge(_)) => panic!("{other:?}"),
    }
}

fn keep(text: &str, bytes_max: usize) -> Publishable {
    judged(RawOutput::new(ToolRunResult::ok(text)), AfterVerdict::Keep, bytes_max)
}

#[test]
fn a_denied_result_keeps_only_its_times_and_its_wish_to_stop() {
    let published = after(full(), Some("blocked"));
    let expected = ToolRunResult {
        content: "blocked".to_owned(),
        success: false,
        error: Some(json!("hook_denied")),
        state: json!({"phase": "afterToolCall", "reason": "blocked", "type": "blocked"}).as_object().cloned(),
        execution_time: Some(12),
        device_execution_time: Some(7),
        stop: true,
        work_registration: None,
    };
    assert_eq!(published.result(), &expected);
    assert_eq!(published.denial(), Some(Denial::After));
    assert_eq!(published.archived(), None);
    assert!(!format!("{published:?}").contains("secret"));
}

#[test]
fn a_long_denied_result_is_not_archived() {
    let long = ToolRunResult::ok("x".repeat(10_000));
    let published = judged(RawOutput::new(long), AfterVerdict::Deny { reason: None }, 100);
    assert_eq!(published.result().content, "Blocked by afterToolCall hook.");
    assert_eq!(published.archived(), None);
}

#[test]
fn a_call_denied_before_took_no_time_and_has_no_phase() {
    let published = before(Some("not on Fridays"));
    let expected = ToolRunResult {
        content: "not on Fridays".to_owned(),
        error: Some(json!("hook_denied")),
        state: json!({"reason": "not on Fridays", "type": "blocked"}).as_object().cloned(),
        execution_time: Some(0),
        ..ToolRunResult::default()
    };
    assert_eq!(published.result(), &expected);
    assert_eq!(published.denial(), Some(Denial::Before));
}

#[test]
fn an_absent_or_empty_reason_is_worded_by_the_gate() {
    for reason in [None, Some("")] {
        assert_eq!(before(reason).result().content, "Blocked by beforeToolCall hook.");
        assert_eq!(after(full(), reason).result().content, "Blocked by afterToolCall hook.");
    }
}

#[test]
fn a_reason_is_kept_verbatim() {
    for reason in [" ", "  two spaces  ", "line\nbreak\u{2028}", "\u{0}nul 🦀"] {
        assert_eq!(before(Some(reason)).result().content, reason);
        let published = after(full(), Some(reason));
        assert_eq!(published.result().content, reason);
        assert_eq!(published.result().state.as_ref().unwrap()["reason"], Value::from(reason));
    }
}

#[test]
fn a_kept_result_that_fits_is_untouched() {
    let published = judged(RawOutput::new(full()), AfterVerdict::Keep, "the secret".len());
    assert_eq!(published.result(), &full());
    assert_eq!((published.denial(), published.archived()), (None, None));
}

#[test]
fn tool_41_long_text_becomes_a_window_and_an_archive_reference() {
    let text = "line\n".repeat(100);
    let published = keep(&text, 52);
    let archived = published.archived().unwrap();
    assert_eq!(&*archived.text, text);
    assert_eq!(archived.blob.as_str(), sha256_hex(&[text.as_bytes()]));
    assert_eq!(
        published.result().content,
        format!(
            "{}li\n[52 of 500 bytes shown, up to line 11. The rest is archived as `{}`: read on with archive/read, \
             offset 11.]",
            "line\n".repeat(10),
            archived.blob
        )
    );
    assert!(published.result().success);
}

#[test]
fn a_window_ends_between_two_characters() {
    for bytes_max in 0..12 {
        let published = keep("🦀🦀🦀", bytes_max);
        if let Some(archived) = published.archived() {
            let (window, _) = published.result().content.split_once('\n').unwrap();
            assert!(window.len() <= bytes_max && archived.text.starts_with(window), "{bytes_max}");
        } else {
            panic!("{bytes_max} bytes hold three crabs");
        }
    }
    assert_eq!(keep("🦀🦀🦀", 12).archived(), None);
}

#[test]
fn c149_a_giant_result_is_capped_and_names_its_size() {
    let giant = "é".repeat(limits::ARCHIVE_BYTES_MAX / 2 + 1000);
    let published = keep(&giant, limits::RESULT_BYTES_MAX);
    let shown = &published.result().content;
    assert!(shown.len() < limits::RESULT_BYTES_MAX + 400);
    assert!(shown.contains(&format!("of {} bytes", giant.len())));
    assert!(shown.contains("bytes were kept"));
    assert_eq!(published.archived().unwrap().text.len(), limits::ARCHIVE_BYTES_MAX);
}

#[test]
fn c149_a_giant_state_or_error_is_capped_and_names_its_size() {
    let giant = "é".repeat(limits::RESULT_EXTRA_BYTES_MAX);
    let result = ToolRunResult {
        error: Some(json!({"trace": giant})),
        state: json!({"cache": giant}).as_object().cloned(),
        ..ToolRunResult::failed("text")
    };
    let published = judged(RawOutput::new(result), AfterVerdict::Keep, usize::MAX);
    let bytes = giant.len() + r#"{"cache":""}"#.len();
    assert_eq!(json!(published.result().state), json!({"omitted": format!("{bytes} bytes")}));
    let error = published.result().error.as_ref().unwrap().as_str().unwrap();
    assert!(error.starts_with(r#"{"trace":"é"#) && error.ends_with(&format!("of {bytes} bytes shown]")));
    assert_eq!(published.result().content, "text");
}

#[test]
fn c146_the_receipt_for_an_unknown_tool_names_those_that_exist() {
    let unknown = Receipt::UnknownTool { name: "search_filez".to_owned(), available: vec!["fs____search".to_owned()] };
    let published = receipt(&unknown);
    let text = &published.result().content;
    assert!(text.contains("search_filez") && text.contains("fs____search"), "{text}");
    assert!(!published.result().success);
    assert_eq!(published.denial(), None);
}
