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
