//! The bounds of the store, each with its reason.

use std::time::Duration;

/// How long a lock that another process holds is waited for. Transactions take milliseconds, so
/// whoever holds one for longer is stuck or is a person with a shell.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait between two tries to switch a new file to WAL, which SQLite does not queue for.
pub(crate) const WAL_RETRY: Duration = Duration::from_millis(5);

/// The most batches in one transaction: beyond it a commit costs nothing next to the rows.
pub(crate) const GROUP_BATCHES_MAX: usize = 64;

/// How long the first batch of a group waits for others when nobody waits for it.
pub(crate) const GROUP_DELAY: Duration = Duration::from_millis(2);

/// The most requests in the queue of the writer: four full groups, some 2 MB of ordinary batches.
pub(crate) const QUEUE_MAX: usize = 4 * GROUP_BATCHES_MAX;

/// Compiled statements that are kept: all of them, with room.
pub(crate) const CACHED_STATEMENTS: usize = 64;

/// How long erasing waits for readers of the write-ahead log; commits stand still meanwhile.
pub(crate) const ERASE_TIMEOUT: Duration = Duration::from_millis(100);

/// How long an idle writer waits before it tries again to erase.
pub(crate) const ERASE_RETRY: Duration = Duration::from_secs(1);

/// What the write-ahead log is cut down to when it is started anew.
pub(crate) const WAL_BYTES_KEPT: i64 = 4 * 1024 * 1024;

/// The smallest quota of a file: the empty tables fit.
pub(crate) const FILE_BYTES_MIN: u64 = 256 * 1024;
