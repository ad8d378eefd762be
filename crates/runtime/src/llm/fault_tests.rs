//! Tables of classification.

use serde_json::json;

use super::*;

fn class(status: u16, body: &str) -> FaultClass {
    classify(&ProviderError::from_body(status, body))
}

#[test]
fn llm_15_status_decides_where_no_code_does() {
    for (status, kind) in [
        (301, ModelFaultKind::Permanent),
        (400, ModelFaultKind::Permanent),
        (401, ModelFaultKind::Permanent),
        (402, ModelFaultKind::Permanent),
        (403, ModelFaultKind::Permanent),
        (404, ModelFaultKind::Permanent),
        (408, ModelFaultKind::Retryable),
        (409, ModelFaultKind::Retryable),
        (413, ModelFaultKind::ContextOverflow),
        (422, ModelFaultKind::Permanent),
        (425, ModelFaultKind::Retryable),
        (429, ModelFaultKind::Retryable),
        (500, ModelFaultKind::Retryable),
        (503, ModelFaultKind::Retryable),
        (529, ModelFaultKind::Retryable),
    ] {
        for body in ["", "{}", "<html>x</html>", r#"{"detail":"x"}"#, r#"{"error":{"type":{"odd":1},"code":7}}"#] {
            assert_eq!(class(status, body).kind(), kind, "{status} {body}");
        }
    }
}

#[test]
fn llm_15_known_codes_win_over_the_status() {
    for (status, code, expected) in [
        (429, "insufficient_quota", FaultClass::QuotaExhausted),
        (429, "rate_limit_exceeded", FaultClass::RateLimited),
        (400, "content_policy_violation", FaultClass::ContentFilter),
        (400, "invalid_api_key", FaultClass::Unauthorized),
        (500, "context_length_exceeded", FaultClass::ContextOverflow),
        (400, "Context_Length_Exceeded", FaultClass::ContextOverflow),
    ] {
        assert_eq!(class(status, &json!({"error": {"code": code, "message": "x"}}).to_string()), expected, "{code}");
    }
}

#[test]
fn llm_15_nested_code_is_found() {
    let azure = r#"{"error":{"code":null,"message":"x","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#;
    assert_eq!(class(400, azure), FaultClass::ContentFilter);
}

#[test]
fn llm_15_errors_without_status_go_by_words_and_default_to_retry() {
    for (error, kind) in [
        (json!({"type": "invalid_request_error", "message": "no"}), ModelFaultKind::Permanent),
        (json!({"type": "invalid_request_error", "message": "429 too many requests"}), ModelFaultKind::Retryable),
        (json!({"message": "flux capacitor"}), ModelFaultKind::Retryable),
        (json!({"code": 401, "message": "no"}), ModelFaultKind::Permanent),
        (json!({"code": "429", "message": "no"}), ModelFaultKind::Retryable),
        (json!({"type": {"a": []}, "message": "no"}), ModelFaultKind::Retryable),
        (json!("prompt is too long"), ModelFaultKind::ContextOverflow),
    ] {
        assert_eq!(classify(&ProviderError::from_value(&error)).kind(), kind, "{error}");
    }
}

#[test]
fn c140_overflow_has_many_wordings() {
    for message in [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input is too long for requested model.",
        "the request exceeds the available context size, try increasing it",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "This endpoint's maximum context length is 32768 tokens",
        "Please reduce the length of the messages or completion.",
        "Your input exceeds the context window of this model.",
    ] {
        assert_eq!(class(400, &json!({"error": {"message": message}}).to_string()), FaultClass::ContextOverflow);
    }
    let tokens_a_minute = "Request too large for model on tokens per min (TPM): Limit 30000, Requested 40000";
    assert_eq!(class(429, &json!({"error": {"message": tokens_a_minute}}).to_string()), FaultClass::RateLimited);
}

#[test]
fn c046_c137_fault_keeps_status_and_message() {
    let fault = provider_fault(&ProviderError::from_body(429, r#"{"error":{"message":"slow down"}}"#));
    assert_eq!(fault.fault.message, "the provider answered 429: slow down");
    assert_eq!(fault.fault.code, "rate_limited");
    assert_eq!(fault.fault.detail.unwrap()["status"], 429);
}

#[test]
fn long_text_is_cut_between_characters() {
    let fault = FaultClass::Provider.fault("界".repeat(FAULT_TEXT_CHARS_MAX + 1));
    assert_eq!(fault.fault.message.chars().count(), FAULT_TEXT_CHARS_MAX + 1);
    assert!(fault.fault.message.ends_with('…'));
}
