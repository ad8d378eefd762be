//! The bounds of tools, each with its reason.

use std::time::Duration;

/// How long a tool may run unless it says otherwise: a build or a test run fits, a hang does not.
pub const TOOL_DEADLINE: Duration = Duration::from_secs(120);

/// How often a run that asks for a retry is tried in all.
pub const TOOL_ATTEMPTS_MAX: u32 = 3;

/// The longest result that goes to the model whole: some 6,000 tokens of English.
pub const RESULT_BYTES_MAX: usize = 24 * 1024;

/// The longest arguments that are looked at: a whole source file fits; more is refused.
pub const ARGUMENT_BYTES_MAX: usize = 1024 * 1024;

/// The longest output that is kept in the archive; what is beyond it is cut, with a note.
pub const ARCHIVE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How much of unusable arguments goes back to the provider: enough for the model to see its
/// mistake, too little to fill the window.
pub const REPLAYED_RAW_BYTES_MAX: usize = 4 * 1024;

/// How many problems of one call's arguments the model is told at once: more do not help it.
pub const ARGUMENT_PROBLEMS_SHOWN_MAX: usize = 5;

/// The longest description of one problem; a schema may list hundreds of allowed values.
pub const ARGUMENT_PROBLEM_BYTES_MAX: usize = 300;

/// How many twice-encoded values are taken out of one call's arguments; bounds the work.
pub const ARGUMENT_DECODINGS_MAX: usize = 64;

/// The longest wire name; providers refuse more.
pub const WIRE_NAME_CHARS_MAX: usize = 64;

/// How many names a model is offered in place of one that does not exist: the nearest come first.
pub const AVAILABLE_NAMES_MAX: usize = 50;
