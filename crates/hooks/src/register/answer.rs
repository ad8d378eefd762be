//! What handlers give back.

use jackline_model::ToolRunResult;

/// What a control decides. It has no third option: a control cannot mock.
///
/// ```compile_fail
/// use jackline_hooks::{Decision, Hooks};
/// let hooks = Hooks::new().control_before_tool_call("policy", |_call| async { Decision::Mock });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The call may go on, or the result may be published. Later controls are still asked.
    Allow,
    /// It may not. No later control is asked.
    Deny {
        /// What the model reads, verbatim. Absent or empty, the gate words it.
        reason: Option<String>,
    },
}

impl Decision {
    /// A denial with a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }
}

/// What a mock handler answers.
///
/// Returning [`MockAnswer::Mock`] is the same as calling `mock` on the event: the first of the call counts.
#[derive(Debug, PartialEq)]
pub enum MockAnswer {
    /// Run the tool.
    PassThrough,
    /// Do not run it; this is its result.
    Mock(ToolRunResult),
}

impl From<Option<ToolRunResult>> for MockAnswer {
    fn from(result: Option<ToolRunResult>) -> Self {
        match result {
            Some(result) => Self::Mock(result),
            None => Self::PassThrough,
        }
    }
}

/// A handler failed.
///
/// It keeps a fixed label and nothing else. The text of an error may quote what the handler looked
/// at, raw output included, so turning an error into this drops its text; a handler that wants its
/// words kept writes them somewhere of its own.
///
/// ```
/// use jackline_hooks::HookError;
/// fn parse(text: &str) -> Result<u32, HookError> {
///     Ok(text.parse::<u32>()?)
/// }
/// assert_eq!(parse("secret").unwrap_err(), HookError::new("error"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookError {
    label: &'static str,
}

impl HookError {
    /// A failure, with a label for the log.
    pub fn new(label: &'static str) -> Self {
        Self { label }
    }

    /// The label.
    pub fn label(&self) -> &'static str {
        self.label
    }
}

impl<E: std::error::Error> From<E> for HookError {
    fn from(_: E) -> Self {
        Self::new("error")
    }
}

/// What the future of a handler may give: the answer itself, or a `Result` of it.
///
/// Observers answer `()`, controls [`Decision`], mocks [`MockAnswer`] or `()`.
pub trait IntoAnswer<A> {
    /// The answer.
    ///
    /// # Errors
    ///
    /// [`HookError`] if the handler failed.
    fn into_answer(self) -> Result<A, HookError>;
}

impl<A> IntoAnswer<A> for A {
    fn into_answer(self) -> Result<A, HookError> {
        Ok(self)
    }
}

impl<A, E: Into<HookError>> IntoAnswer<A> for Result<A, E> {
    fn into_answer(self) -> Result<A, HookError> {
        self.map_err(Into::into)
    }
}

impl IntoAnswer<MockAnswer> for () {
    fn into_answer(self) -> Result<MockAnswer, HookError> {
        Ok(MockAnswer::PassThrough)
    }
}

impl<E: Into<HookError>> IntoAnswer<MockAnswer> for Result<(), E> {
    fn into_answer(self) -> Result<MockAnswer, HookError> {
        self.map(|()| MockAnswer::PassThrough).map_err(Into::into)
    }
}
