//! The event that can mock.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackline_model::{RawOutput, ToolRunResult};

use crate::BeforeToolCallEvent;

/// What a mock handler gets: the event, and the right to stand in for the tool.
///
/// ```
/// use jackline_hooks::Hooks;
/// use jackline_model::ToolRunResult;
/// let hooks = Hooks::new().mock_before_tool_call("search", |call| async move {
///     if call.context.args.contains_key("offline") {
///         assert!(call.mock(ToolRunResult::ok(r#"{"items":[]}"#)));
///         assert!(!call.mock(ToolRunResult::ok("too late")));
///     }
/// });
/// assert_eq!(hooks.mock_ids(), ["search".into()]);
/// ```
pub struct MockableToolCall {
    event: Arc<BeforeToolCallEvent>,
    slot: Arc<MockSlot>,
}

impl MockableToolCall {
    pub(crate) fn new(event: Arc<BeforeToolCallEvent>, slot: Arc<MockSlot>) -> Self {
        Self { event, slot }
    }

    /// Stands in for the tool. True for the first mock of the call, false ever after.
    ///
    /// A mock that was accepted stays, even if its handler fails, panics or runs out of time
    /// afterwards. A handler whose turn is over is too late.
    pub fn mock(&self, result: ToolRunResult) -> bool {
        self.slot.accept(result)
    }

    /// The event alone, without the right.
    pub fn event(&self) -> &Arc<BeforeToolCallEvent> {
        &self.event
    }
}

impl Deref for MockableToolCall {
    type Target = BeforeToolCallEvent;

    fn deref(&self) -> &BeforeToolCallEvent {
        &self.event
    }
}

impl fmt::Debug for MockableToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockableToolCall").field("event", &self.event).finish_non_exhaustive()
    }
}

/// The place for the mock of one handler, open for as long as it is that handler's turn.
#[derive(Debug)]
pub(crate) struct MockSlot {
    state: Mutex<SlotState>,
}

#[derive(Debug)]
enum SlotState {
    /// The handler may mock.
    Open,
    /// It did.
    Mocked(RawOutput),
    /// Its turn is over.
    Closed,
}

impl MockSlot {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(SlotState::Open) })
    }

    /// Takes a mock if the slot is open. True if it did.
    pub(crate) fn accept(&self, result: ToolRunResult) -> bool {
        let mut state = self.state();
        match &*state {
            SlotState::Open => {
                *state = SlotState::Mocked(RawOutput::new(result));
                true
            }
            SlotState::Mocked(_) | SlotState::Closed => false,
        }
    }

    /// Ends the turn and takes what is in the slot.
    pub(crate) fn close(&self) -> Option<RawOutput> {
        match std::mem::replace(&mut *self.state(), SlotState::Closed) {
            SlotState::Mocked(raw) => Some(raw),
            SlotState::Open | SlotState::Closed => None,
        }
    }

    /// A state is replaced whole, so a panic elsewhere leaves a good one.
    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
