//! The bounds of a run, each with its reason.

/// Calls in one answer of the model. More is no plan, it is a loop gone wrong.
pub const CALLS_PER_TURN_MAX: usize = 128;

/// Calls of one turn that run at once: a laptop's worth of processes.
pub const TOOL_CONCURRENCY: u16 = 8;

/// Tries of one model call, the first included: with the back-off, about half a minute of waiting.
pub const MODEL_ATTEMPTS_MAX: u16 = 6;

/// Turns in a row that ask for tools nobody knows, before the run ends.
pub const UNRESOLVED_ROUNDS_MAX: u8 = 3;

/// Firings that may wait to be delivered. Beyond it an ordinary one is dropped and counted: a
/// receiver that is this far behind will not catch up.
pub const NOTICES_MAX: usize = 64;

/// How long `onComplete` waits for the firings before it: five seconds are a slow receiver, more is
/// a dead one.
pub const DRAIN_MS: u64 = 5_000;

/// First wait before the model is asked again; it doubles from there.
pub const BACKOFF_FIRST_MS: u64 = 1_000;

/// Longest wait before the model is asked again.
pub const BACKOFF_MAX_MS: u64 = 30_000;

/// Longest wait that a provider may ask for.
pub const RETRY_AFTER_MAX_MS: u64 = 120_000;
