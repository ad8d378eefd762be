//! Faults of model calls: which class a failure has, and what that means for the loop.

use jackline_model::{Fault, FaultAttribution};
use serde_json::json;

use super::limits::FAULT_TEXT_CHARS_MAX;
use super::provider_error::ProviderError;
use super::{ModelFault, ModelFaultKind};

/// What went wrong with a call. Each has one code, one kind and one attribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FaultClass {
    /// The request does not fit the model's window.
    ContextOverflow,
    /// The key is wrong or missing.
    Unauthorized,
    /// The key may not do this.
    Forbidden,
    /// No such model, deployment or path.
    NotFound,
    /// The account has nothing left.
    QuotaExhausted,
    /// The provider withheld the answer.
    ContentFilter,
    /// The model refused to answer.
    Refusal,
    /// The provider does not understand the request.
    InvalidRequest,
    /// Too many requests for now.
    RateLimited,
    /// The provider failed, or said something that nobody knows.
    Provider,
    /// There is an answer, but nothing in it.
    EmptyAnswer,
    /// The answer ended before its end.
    Truncated,
    /// The answer cannot be read.
    Unreadable,
    /// The answer is longer than any honest one.
    TooLarge,
    /// The connection was not made, or broke.
    Connection,
    /// Nothing came for too long.
    Timeout,
}

impl FaultClass {
    /// The stable code.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::ContextOverflow => "context_overflow",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::QuotaExhausted => "insufficient_quota",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::InvalidRequest => "invalid_request",
            Self::RateLimited => "rate_limited",
            Self::Provider => "provider_error",
            Self::EmptyAnswer => "empty_answer",
            Self::Truncated => "truncated_answer",
            Self::Unreadable => "unreadable_answer",
            Self::TooLarge => "answer_too_large",
            Self::Connection => "connection_failed",
            Self::Timeout => "timeout",
        }
    }

    /// What the loop does about it.
    pub(crate) fn kind(self) -> ModelFaultKind {
        match self {
            Self::ContextOverflow => ModelFaultKind::ContextOverflow,
            Self::Unauthorized
            | Self::Forbidden
            | Self::NotFound
            | Self::QuotaExhausted
            | Self::ContentFilter
            | Self::Refusal
            | Self::InvalidRequest
            | Self::TooLarge => ModelFaultKind::Permanent,
            Self::RateLimited
            | Self::Provider
            | Self::EmptyAnswer
            | Self::Truncated
            | Self::Unreadable
            | Self::Connection
            | Self::Timeout => ModelFaultKind::Retryable,
        }
    }

    fn attribution(self) -> FaultAttribution {
        match self {
            Self::ContextOverflow
            | Self::Unauthorized
            | Self::Forbidden
            | Self::NotFound
            | Self::QuotaExhausted
            | Self::InvalidRequest => FaultAttribution::User,
            Self::ContentFilter
            | Self::Refusal
            | Self::RateLimited
            | Self::Provider
            | Self::EmptyAnswer
            | Self::Truncated
            | Self::Unreadable
            | Self::TooLarge => FaultAttribution::Provider,
            Self::Connection | Self::Timeout => FaultAttribution::System,
        }
    }

    /// A fault of this class.
    pub(crate) fn fault(self, message: impl Into<String>) -> ModelFault {
        let message = shorten(message.into());
        let fault = Fault { code: self.code().to_owned(), message, attribution: self.attribution(), detail: None };
        ModelFault { kind: self.kind(), fault, retry_after: None, partial: String::new() }
    }
}

/// The fault that a provider's error stands for, its status, codes and message kept.
pub(crate) fn provider_fault(error: &ProviderError) -> ModelFault {
    let said = if error.message.is_empty() { "nothing more" } else { &error.message };
    let message = match error.status {
        Some(status) => format!("the provider answered {status}: {said}"),
        None => format!("the provider answered with an error: {said}"),
    };
    let mut fault = classify(error).fault(message);
    let codes: Vec<String> = error.codes.iter().cloned().map(shorten).collect();
    fault.fault.detail =
        Some(json!({ "status": error.status, "codes": codes, "message": shorten(error.message.clone()) }));
    fault
}

/// Sorts an error: first by known codes, then by status, then by words; what nobody knows is
/// retried.
pub(crate) fn classify(error: &ProviderError) -> FaultClass {
    let words = error.message.to_ascii_lowercase();
    // The innermost code is the provider's own, the outer ones may be a gateway's general word.
    if let Some(class) = error.codes.iter().rev().find_map(|code| class_of_code(code)) {
        return class;
    }
    if may_be_overflow(error.status) && OVERFLOW_WORDS.iter().any(|known| words.contains(known)) {
        return FaultClass::ContextOverflow;
    }
    if let Some(class) = error.status.and_then(class_of_status) {
        return class;
    }
    if TRANSIENT_WORDS.iter().any(|known| words.contains(known)) {
        return FaultClass::RateLimited;
    }
    error.codes.iter().find_map(|code| class_of_general_code(code)).unwrap_or(FaultClass::Provider)
}

/// Codes that mean one thing whatever the status is. Retired spellings stand beside the current ones.
fn class_of_code(code: &str) -> Option<FaultClass> {
    let class = match code {
        "context_length_exceeded"
        | "context_window_exceeded"
        | "context_window_exceeded_error"
        | "exceededcontextwindow"
        | "exceed_context_size_error"
        | "model_context_window_exceeded"
        | "prompt_too_long" => FaultClass::ContextOverflow,
        "insufficient_quota"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "insufficient_balance"
        | "quotalimitreached"
        | "credit_balance_too_low" => FaultClass::QuotaExhausted,
        "content_filter"
        | "content_policy_violation"
        | "responsibleaipolicyviolation"
        | "moderation_blocked"
        | "data_inspection_failed" => FaultClass::ContentFilter,
        "invalid_api_key" | "invalidproviderapikey" | "authentication_error" => FaultClass::Unauthorized,
        "permission_denied" | "permission_error" => FaultClass::Forbidden,
        "model_not_found" | "deploymentnotfound" => FaultClass::NotFound,
        "rate_limit_exceeded" | "rate_limit_error" | "resource_exhausted" => FaultClass::RateLimited,
        "overloaded_error" | "server_error" | "engine_overloaded" => FaultClass::Provider,
        _ => return None,
    };
    Some(class)
}

/// Codes that say little: they decide only if nothing else does.
fn class_of_general_code(code: &str) -> Option<FaultClass> {
    match code {
        "invalid_request_error"
        | "invalid_request"
        | "bad_request"
        | "badrequesterror"
        | "invalid_argument"
        | "not_found_error" => Some(FaultClass::InvalidRequest),
        _ => None,
    }
}

fn class_of_status(status: u16) -> Option<FaultClass> {
    let class = match status {
        200..=299 => return None,
        401 => FaultClass::Unauthorized,
        402 => FaultClass::QuotaExhausted,
        403 => FaultClass::Forbidden,
        404 => FaultClass::NotFound,
        408 => FaultClass::Timeout,
        413 => FaultClass::ContextOverflow,
        429 => FaultClass::RateLimited,
        409 | 425 | 500..=599 => FaultClass::Provider,
        _ => FaultClass::InvalidRequest,
    };
    Some(class)
}

/// A request that is over a rate in tokens names tokens too, so 429 is never an overflow.
fn may_be_overflow(status: Option<u16>) -> bool {
    matches!(status, None | Some(400 | 413 | 422 | 500))
}

/// Cuts a text for storing and showing.
pub(crate) fn shorten(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(FAULT_TEXT_CHARS_MAX) {
        text.truncate(at);
        text.push('…');
    }
    text
}

const OVERFLOW_WORDS: [&str; 17] = [
    "maximum context length",
    "context length exceeded",
    "context_length_exceeded",
    "context window",
    "context size",
    "maximum prompt length",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input length and `max_tokens` exceed",
    "input token count",
    "too many input tokens",
    "too many tokens in",
    "exceeds the limit of tokens",
    "exceeds the maximum number of tokens",
    "reduce the length of the messages",
    "request too large for model",
];

const TRANSIENT_WORDS: [&str; 6] = ["rate limit", "too many requests", "overloaded", "try again", "temporarily", "429"];

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
