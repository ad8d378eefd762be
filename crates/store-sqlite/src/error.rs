//! From what SQLite says to what a caller can use.

use std::path::Path;

use jackline_runtime::journal::StoreError;
use rusqlite::ErrorCode;

/// Says what was tried when it failed.
pub(crate) trait Doing<T> {
    /// Translates the error; `what` completes "the store cannot …".
    fn doing(self, what: &'static str) -> Result<T, StoreError>;
}

impl<T> Doing<T> for rusqlite::Result<T> {
    fn doing(self, what: &'static str) -> Result<T, StoreError> {
        self.map_err(|error| translate(&error, what))
    }
}

impl<T> Doing<T> for std::io::Result<T> {
    fn doing(self, what: &'static str) -> Result<T, StoreError> {
        self.map_err(|error| StoreError::Io { doing: what, why: error.to_string() })
    }
}

/// An error that names the file.
pub(crate) fn io_at(path: &Path, doing: &'static str, why: &str) -> StoreError {
    StoreError::Io { doing, why: format!("`{}` {why}", path.display()) }
}

/// The error of everybody who waits for a writer that is gone.
pub(crate) fn writer_gone() -> StoreError {
    StoreError::Io { doing: "write", why: "its writer has stopped; open the store again".to_owned() }
}

/// Text in a row that this program cannot have written.
pub(crate) fn damaged(what: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged(format!("{what}: {why}"))
}

/// The errors of SQLite are open-ended, so this asks by code and has a default.
fn translate(error: &rusqlite::Error, doing: &'static str) -> StoreError {
    if is_conversion(error) {
        return StoreError::Damaged(error.to_string());
    }
    let why = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(format!("cannot {doing}: {why}")),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged(why),
        Some(ErrorCode::DiskFull) => StoreError::Io { doing, why: format!("the disk is full ({why})") },
        Some(ErrorCode::ReadOnly) => {
            StoreError::Io { doing, why: format!("the file or its directory is read-only ({why})") }
        }
        Some(ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            StoreError::Io { doing, why: format!("the file cannot be opened ({why})") }
        }
        Some(_) | None => StoreError::Io { doing, why },
    }
}

fn is_conversion(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
            | rusqlite::Error::InvalidColumnType(..)
    )
}
