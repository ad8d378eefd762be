//! Why a hook outside the process gave no answer.

use std::fmt;
use std::time::Duration;

/// Why a hook outside the process gave no answer.
///
/// It holds a code, a number and fixed words: never a reply, a header value, a query or the text of a
/// lower error.
///
/// ```
/// use jackline_hooks::{FaultCode, HookFault};
/// let fault = HookFault::new(FaultCode::HttpError).with_status(503);
/// assert_eq!(fault.to_string(), "Hook HTTP request failed: http_error");
/// assert_eq!(fault.status(), Some(503));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFault {
    code: FaultCode,
    status: Option<u16>,
    retry_after: Option<Duration>,
    diagnostic: Option<String>,
}

/// The classes of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultCode {
    /// The hook cannot be reached as it is configured: its URL, a header, a missing secret. Nothing was sent. The
    /// diagnostic says what to correct.
    Configuration,
    /// A status outside 2xx. Redirects are among them: give the URL that they lead to.
    HttpError,
    /// A decision that does not exist, or text that is none. Correct the receiver: `allow` or `deny`, in UTF-8.
    InvalidResponse,
    /// The connection failed, or was closed too early. See that the receiver runs and can be reached.
    NetworkError,
    /// More than 65536 bytes. Answer with the decision alone.
    ResponseTooLarge,
    /// The deadline passed. Answer sooner, or give the hook a longer `timeout`.
    Timeout,
    /// Too many deliveries wait in the outbox. See that its receivers run, or drop deliveries.
    OutboxFull,
    /// A program ended with another exit code than 0, or by a signal. Run it by hand with the event on its input.
    CommandFailed,
}

impl FaultCode {
    /// The name in errors, logs and receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::HttpError => "http_error",
            Self::InvalidResponse => "invalid_response",
            Self::NetworkError => "network_error",
            Self::ResponseTooLarge => "response_too_large",
            Self::Timeout => "timeout",
            Self::OutboxFull => "outbox_full",
            Self::CommandFailed => "command_failed",
        }
    }
}

impl HookFault {
    /// A failure of this class.
    pub fn new(code: FaultCode) -> Self {
        Self { code, status: None, retry_after: None, diagnostic: None }
    }

    /// The same, with the status of the reply or the exit code.
    pub fn with_status(self, status: u16) -> Self {
        Self { status: Some(status), ..self }
    }

    /// The same, with the time that the receiver wants to be left alone for.
    pub fn with_retry_after(self, wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..self }
    }

    /// The same, with words that are safe to show: they name things and hold no value.
    pub fn with_diagnostic(self, diagnostic: impl fmt::Display) -> Self {
        Self { diagnostic: Some(diagnostic.to_string()), ..self }
    }

    /// The class.
    pub fn code(&self) -> FaultCode {
        self.code
    }

    /// The status of the reply or the exit code, where there is one.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// How long the receiver wants to be left alone, where it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The words, where there are some.
    pub fn diagnostic(&self) -> Option<&str> {
        self.diagnostic.as_deref()
    }
}

impl From<FaultCode> for HookFault {
    fn from(code: FaultCode) -> Self {
        Self::new(code)
    }
}

impl fmt::Display for HookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            FaultCode::CommandFailed => f.write_str("Hook command failed")?,
            FaultCode::OutboxFull => {
                f.write_str("The outbox is full: see that its receivers run, or drop deliveries")?
            }
            FaultCode::Configuration
            | FaultCode::HttpError
            | FaultCode::InvalidResponse
            | FaultCode::NetworkError
            | FaultCode::ResponseTooLarge
            | FaultCode::Timeout => write!(f, "Hook HTTP request failed: {}", self.code.as_str())?,
        }
        match &self.diagnostic {
            Some(diagnostic) => write!(f, ": {diagnostic}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for HookFault {}
