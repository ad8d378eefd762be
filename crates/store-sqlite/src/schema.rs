//! The tables, and opening a file that has them.

use std::path::{Path, PathBuf};
use std::time::Instant;

use jackline_runtime::journal::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::{Doing, damaged, io_at};
use crate::limits;
use crate::owner::beside;
use crate::store::OpenOptions;

/// Opens the connection that writes and makes sure that the tables are there.
///
/// # Errors
///
/// As [`SqliteStore::open`](crate::SqliteStore::open).
pub(crate) fn open_writer(path: &Path, options: &OpenOptions) -> Result<Connection, StoreError> {
    prepare_path(path, options.create)?;
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if options.create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let mut connection = connect(path, flags)?;
    check_is_ours(&mut connection, path)?;
    if connection.is_readonly("main").doing(OPEN)? {
        return Err(io_at(path, OPEN, "is read-only; make it writable or open it read-only"));
    }
    switch_to_wal(&connection)?;
    configure_writer(&connection, options)?;
    create_tables(&mut connection)?;
    Ok(connection)
}

/// Opens a connection that reads.
///
/// # Errors
///
/// As [`SqliteStore::open`](crate::SqliteStore::open).
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    check_exists(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(path, flags)?;
    if matches!(version_of(&connection), Err(StoreError::Io { .. })) && !beside(path, "-wal").exists() {
        // Where no log can be made, none is needed: nobody writes there. A file that cannot be read
        // for another reason cannot be read this way either, and says so.
        connection = connect(&unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI)?;
    }
    check_is_ours(&mut connection, path)?;
    if version_of(&connection)? == 0 {
        return Err(damaged("there are no tables", path.display()));
    }
    Ok(connection)
}

/// The name by which SQLite reads a file without locks and without a log.
fn unchanging(path: &Path) -> PathBuf {
    let escaped = path.as_os_str().as_encoded_bytes().iter().fold(String::new(), |mut name, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => name.push(char::from(*byte)),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
        name
    });
    PathBuf::from(format!("file:{escaped}?immutable=1"))
}

fn prepare_path(path: &Path, create: bool) -> Result<(), StoreError> {
    if !create {
        return check_exists(path);
    }
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => {
            std::fs::create_dir_all(parent).map_err(|error| io_at(parent, "create the directory", &error.to_string()))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_exists(path: &Path) -> Result<(), StoreError> {
    match path.try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(io_at(path, OPEN, "does not exist")),
        Err(error) => Err(io_at(path, OPEN, &error.to_string())),
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection =
        Connection::open_with_flags(path, flags).doing(OPEN).map_err(|error| name_the_file(error, path))?;
    connection.busy_timeout(limits::BUSY_TIMEOUT).doing(OPEN)?;
    connection.set_prepared_statement_cache_capacity(limits::CACHED_STATEMENTS);
    // Without this a statement is compiled anew each time that some of its values change.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).doing(OPEN)?;
    // Without this a statement's undo log may land, in clear, in a temporary file.
    connection.pragma_update(None, "temp_store", "MEMORY").doing(OPEN)?;
    Ok(connection)
}

/// The first read of the file: this is where a file that is no database is found out.
fn check_is_ours(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    // All of one moment: another process may be creating the tables right now.
    let connection = connection.transaction().doing(OPEN)?;
    let version = version_of(&connection).map_err(|error| name_the_file(error, path))?;
    if version > VERSION {
        return Err(too_new(version));
    }
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).doing(OPEN)?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).doing(OPEN)?;
    if tables > 0 && id != APPLICATION_ID {
        return Err(damaged("the file is a database of another program", path.display()));
    }
    Ok(())
}

fn version_of(connection: &Connection) -> Result<u32, StoreError> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).doing(OPEN)
}

/// SQLite does not wait for others when a file changes its mode, so this does.
fn switch_to_wal(connection: &Connection) -> Result<(), StoreError> {
    let deadline = Instant::now() + limits::BUSY_TIMEOUT;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0)).doing(OPEN)
        {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(StoreError::Io { doing: OPEN, why: format!("the journal mode stays `{mode}`, not WAL") });
            }
            Err(StoreError::Busy(_)) if Instant::now() < deadline => std::thread::sleep(limits::WAL_RETRY),
            Err(error) => return Err(error),
        }
    }
}

fn configure_writer(connection: &Connection, options: &OpenOptions) -> Result<(), StoreError> {
    connection.pragma_update(None, "secure_delete", "ON").doing(OPEN)?;
    connection.pragma_update(None, "synchronous", "NORMAL").doing(OPEN)?;
    connection.pragma_update(None, "journal_size_limit", limits::WAL_BYTES_KEPT).doing(OPEN)?;
    if let Some(bytes) = options.bytes_max {
        let page: u64 =
            connection.pragma_query_value(None, "page_size", |row| row.get::<_, u32>(0)).doing(OPEN)?.into();
        let pages = bytes.max(limits::FILE_BYTES_MIN).div_ceil(page.max(1));
        connection.pragma_update(None, "max_page_count", u32::try_from(pages).unwrap_or(u32::MAX)).doing(OPEN)?;
    }
    Ok(())
}

fn create_tables(connection: &mut Connection) -> Result<(), StoreError> {
    if version_of(connection)? == VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).doing(CREATE)?;
    // Another process may have been faster.
    match version_of(&transaction)? {
        0 => transaction.execute_batch(TABLES).doing(CREATE)?,
        VERSION => return Ok(()),
        older if older < VERSION => migrate(&transaction, older)?,
        newer => return Err(too_new(newer)),
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).doing(CREATE)?;
    transaction.pragma_update(None, "user_version", VERSION).doing(CREATE)?;
    transaction.commit().doing(CREATE)
}

/// Brings the tables of an older file up to date, in the transaction that raises its number.
fn migrate(connection: &Connection, found: u32) -> Result<(), StoreError> {
    let mut since = MIGRATIONS.iter().filter(|(version, _)| *version > found);
    since.try_for_each(|(_, tables)| connection.execute_batch(tables).doing(MIGRATE))
}

/// Where a file keeps the outbox and the receipts of hooks. One that is only looked at stays as old as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HooksHeard {
    /// It has neither.
    Nowhere,
    /// Receipts have numbers of their own.
    ByKey,
    /// Receipts are kept by operation.
    ByOperation,
}

pub(crate) fn hooks_heard(connection: &Connection) -> Result<HooksHeard, StoreError> {
    Ok(match version_of(connection)? {
        ..HOOKS_HEARD => HooksHeard::Nowhere,
        HOOKS_HEARD => HooksHeard::ByKey,
        _ => HooksHeard::ByOperation,
    })
}

fn too_new(found: u32) -> StoreError {
    StoreError::TooNew { what: "the store", found, known: VERSION }
}

fn name_the_file(error: StoreError, path: &Path) -> StoreError {
    match error {
        StoreError::Io { doing, why } => StoreError::Io { doing, why: format!("`{}`: {why}", path.display()) },
        StoreError::Damaged(why) => StoreError::Damaged(format!("`{}`: {why}", path.display())),
        StoreError::Busy(why) => StoreError::Busy(format!("`{}`: {why}", path.display())),
        other @ (StoreError::NoSuchOperation(_)
        | StoreError::Exists(_)
        | StoreError::Owned { .. }
        | StoreError::LostOwnership(_)
        | StoreError::Refused(_)
        | StoreError::TooNew { .. }) => other,
    }
}

const TABLES: &str = include_str!("schema.sql");

/// Raised with every change of the tables. Older programs refuse a newer file by this number.
const VERSION: u32 = 4;

/// What each version has added, oldest first. `schema.sql` holds it as well.
const MIGRATIONS: [(u32, &str); 3] = [
    (
        2,
        "CREATE TABLE IF NOT EXISTS caller_hooks (op INTEGER NOT NULL, seq INTEGER NOT NULL, hook TEXT NOT NULL, \
         PRIMARY KEY (op, seq)) STRICT, WITHOUT ROWID;",
    ),
    (
        HOOKS_HEARD,
        "CREATE TABLE outbox (key INTEGER PRIMARY KEY, op INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, \
         hook TEXT NOT NULL, kind TEXT NOT NULL, webhook TEXT NOT NULL, payload TEXT NOT NULL, \
         attempts INTEGER NOT NULL DEFAULT 0, due_at INTEGER NOT NULL DEFAULT 0, error TEXT, \
         dead INTEGER NOT NULL DEFAULT 0, claimed_by TEXT) STRICT; \
         CREATE INDEX outbox_by_time ON outbox (dead, due_at); \
         CREATE TABLE heard (key INTEGER PRIMARY KEY, op INTEGER NOT NULL, call TEXT, text TEXT NOT NULL) STRICT; \
         CREATE INDEX heard_by_operation ON heard (op);",
    ),
    (
        4,
        "ALTER TABLE outbox RENAME TO outbox_3; \
         CREATE TABLE outbox (key INTEGER PRIMARY KEY, op INTEGER NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, \
         due_at INTEGER NOT NULL DEFAULT 0, dead INTEGER NOT NULL DEFAULT 0, claimed_by TEXT, id TEXT NOT NULL UNIQUE, \
         hook TEXT NOT NULL, kind TEXT NOT NULL, error TEXT, webhook TEXT NOT NULL, payload TEXT NOT NULL) STRICT; \
         INSERT INTO outbox (key, op, attempts, due_at, dead, claimed_by, id, hook, kind, error, webhook, payload) \
         SELECT key, op, attempts, due_at, dead, claimed_by, id, hook, kind, error, webhook, payload FROM outbox_3; \
         DROP TABLE outbox_3; \
         ALTER TABLE heard RENAME TO heard_3; \
         CREATE TABLE heard (op INTEGER NOT NULL, seq INTEGER NOT NULL, call TEXT, text TEXT NOT NULL, \
         PRIMARY KEY (op, seq)) STRICT, WITHOUT ROWID; \
         INSERT INTO heard (op, seq, call, text) SELECT op, key, call, text FROM heard_3; \
         DROP TABLE heard_3; \
         DROP INDEX inbox_by_operation; \
         ALTER TABLE configs RENAME TO configs_3; \
         CREATE TABLE configs (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID; \
         INSERT INTO configs (hash, text) SELECT hash, text FROM configs_3; \
         DROP TABLE configs_3; \
         ALTER TABLE blobs RENAME TO blobs_3; \
         CREATE TABLE blobs (hash TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID; \
         INSERT INTO blobs (hash, text) SELECT hash, text FROM blobs_3; \
         DROP TABLE blobs_3;",
    ),
];

/// The version that has added the outbox and the receipts of hooks.
const HOOKS_HEARD: u32 = 3;

/// "JKLN", so that `file` and we can tell our databases from others.
const APPLICATION_ID: i32 = 0x4A4B_4C4E;

const OPEN: &str = "open the file";
const CREATE: &str = "create its tables";
const MIGRATE: &str = "bring its tables up to date";
