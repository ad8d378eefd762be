//! Who works on what: a lock file per open store.
//!
//! An owner is alive while its lock file is locked. The system frees the lock when the process
//! dies, however it dies, so there is no heartbeat and no waiting for a lease to run out.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jackline_runtime::journal::StoreError;
use rustix::fs::{FlockOperation, flock};

use crate::error::io_at;

/// This store as an owner. Dropping it is dying.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    id: String,
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl OwnerLock {
    /// Makes a new owner next to the database.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the directory cannot be written.
    pub(crate) fn acquire(database: &Path) -> Result<Self, StoreError> {
        let id = format!("{}-{:016x}", std::process::id(), random());
        let path = lock_path(database, &id);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| io_at(&path, "create its lock file", &error.to_string()))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| io_at(&path, "lock its lock file", &error.to_string()))?;
        Ok(Self { id, path, _file: file })
    }

    /// The name in the table of owners.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The name for people.
    pub(crate) fn label() -> String {
        label_of(&std::process::id().to_string())
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // If it stays, the next claim finds it unlocked and removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether an owner still holds its lock. The file of a dead one is removed.
///
/// What cannot be found out counts as alive: two workers on one operation are worse than none.
pub(crate) fn is_alive(database: &Path, id: &str) -> bool {
    let path = lock_path(database, id);
    let file = match OpenOptions::new().write(true).open(&path) {
        Ok(file) => file,
        Err(error) => return error.kind() != ErrorKind::NotFound,
    };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return true;
    }
    let _ = std::fs::remove_file(&path);
    false
}

/// The same for one who only looks: nothing is removed.
pub(crate) fn seems_alive(database: &Path, id: &str) -> bool {
    match File::open(lock_path(database, id)) {
        Ok(file) => flock(&file, FlockOperation::NonBlockingLockShared).is_err(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// An owner's name for people: its id begins with the number of its process.
pub(crate) fn label_of(id: &str) -> String {
    format!("process {}", id.split_once('-').map_or(id, |(process, _)| process))
}

fn lock_path(database: &Path, id: &str) -> PathBuf {
    beside(database, &format!(".owner-{id}"))
}

/// The file next to the database whose name is that of the database and more.
pub(crate) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(suffix);
    PathBuf::from(name)
}

/// The standard library seeds its hashers from the system, which is random enough for a name.
fn random() -> u64 {
    RandomState::new().hash_one(std::time::Instant::now())
}
