//! The bounds of tools, each with its reason.

use std::time::Duration;

/// How long a tool may run unless it says otherwise: a build or a test run fits, a hang does not.
pub const TOOL_DEADLINE: Duration = Duration::from_secs(120);

/// How often a run that asks for a retry is tried in all.
pub const TOOL_ATTEMPTS_MAX: u32 = 3;

/// The longest result that goes to the model whole: some 6,000 tokens of English.
pub const RESULT_BYTES_MAX: usize = 24 * 1024;

/// The largest state or error of a result, as JSON: they go into every view of the row, whole.
pub const RESULT_EXTRA_BYTES_MAX: usize = 64 * 1024;

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

/// The longest page of a reading tool: below [`RESULT_BYTES_MAX`] with room for a note, so that a
/// page is never itself cut and archived.
pub const PAGE_BYTES_MAX: usize = 20 * 1024;

/// The most lines of a page.
pub const PAGE_LINES_MAX: u64 = 2000;

/// The most entries of a directory that are listed.
pub const LIST_ENTRIES_MAX: usize = 1000;

/// The largest file that is edited; it is held in memory twice.
pub const EDIT_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How many places of a text are looked for: more than one is too many already, a few help to choose.
pub const EDIT_PLACES_MAX: usize = 8;

/// The most matches of one search: a model reads no more.
pub const SEARCH_MATCHES_MAX: usize = 200;

/// The most files of one search: a large repository, not a whole disk.
pub const SEARCH_FILES_MAX: usize = 50_000;

/// The largest file that is searched; larger ones are data, not text to read.
pub const SEARCH_FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The longest part of a matching line that is shown; minified files have lines of megabytes.
pub const SEARCH_LINE_BYTES_MAX: usize = 300;

/// The largest compiled pattern, against patterns that grow when compiled.
pub const SEARCH_PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// The most output of a shell command that is kept of each stream: half from its beginning, half
/// from its end, where errors stand.
pub const SHELL_OUTPUT_BYTES_MAX: usize = 1024 * 1024;

/// The most that a failing program may say about it: the end of its error output.
pub const ERROR_TAIL_BYTES_MAX: usize = 4 * 1024;

/// How long the pipes of a process that has ended are read on: its group is dead by then, and only
/// a process that left the group can hold them open.
pub const DRAIN_DEADLINE: Duration = Duration::from_millis(500);

/// How long before the runtime's deadline a tool ends its processes by itself, to tell what they
/// had said by then.
pub const DEADLINE_MARGIN: Duration = Duration::from_millis(250);

/// The most of a body that is read: pages of text are smaller.
pub const HTTP_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The most redirects that are followed; more is a circle.
pub const HTTP_REDIRECTS_MAX: usize = 3;
