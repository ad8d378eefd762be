//! Bounds of the model clients, each with its reason.

use std::time::Duration;

/// Longest single event of a stream. A picture in base64 travels as one event, so this is generous.
pub(crate) const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest whole answer. No model writes more; a server that sends more is broken or hostile.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Most calls in one answer. The API itself allows 128 tools; no real answer asks for more calls.
pub(crate) const CALLS_MAX: usize = 128;

/// Most of an error body that is read: enough for any message, too little to hurt.
pub(crate) const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;

/// Most of an error text that is kept in a fault, in characters. Faults are stored and shown.
pub(crate) const FAULT_TEXT_CHARS_MAX: usize = 2_000;

/// How deep an error object is searched for the message and the code of the provider behind a gateway.
pub(crate) const ERROR_NESTING_MAX: usize = 8;

/// Longest wait that a provider may ask for. More than this is better spent on giving up visibly.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(120);

/// How long a connection may take to open.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an answer may take to begin. Thinking models are silent for minutes, and an answer
/// that is not streamed begins when it is complete.
pub(crate) const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(600);

/// How long an answer that has begun may be silent. Servers send keep-alives every 15 to 30 seconds.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the rest of an error body is waited for. Its status is known, and a server that keeps the
/// connection open after an error must not delay the retry.
pub(crate) const ERROR_BODY_SILENCE_MAX: Duration = Duration::from_secs(2);
