//! Files that are missing, foreign, newer, read-only, damaged or full: a typed error that names the
//! cause, and no half-written step.

#![expect(clippy::unwrap_used, reason = "what fails in a helper of these tests fails the test")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use common::{Place, asked, batch, id, new_operation, result, write};
use jackline_model::Advice;
use jackline_runtime::journal::{InboxItem, NewOperation, Row, Store, StoreError};
use jackline_runtime::machine::Durability;
use jackline_store_sqlite::{OpenOptions, SqliteStore};

fn only_open() -> OpenOptions {
    OpenOptions { create: false, ..OpenOptions::default() }
}

fn only_read() -> OpenOptions {
    OpenOptions { create: false, read_only: true, bytes_max: None }
}

#[test]
fn a_missing_file_is_not_made_by_looking() {
    let place = Place::new();
    for options in [only_open(), only_read()] {
        let error = SqliteStore::open(place.path(), &options).unwrap_err();
        assert!(matches!(&error, StoreError::Io { why, .. } if why.contains("jackline.db` does not exist")), "{error}");
        assert_eq!(error.advice(), Advice::Fix);
    }
    assert!(!place.path().exists());
}

#[test]
fn the_directory_is_made_with_the_file() {
    let place = Place::new();
    let deep = place.directory.path().join("a/b/jackline.db");
    SqliteStore::open(&deep, &OpenOptions::default()).unwrap();
    assert!(deep.exists());
}

#[test]
fn an_unusable_directory_is_named() {
    let place = Place::new();
    std::fs::write(place.directory.path().join("file"), "").unwrap();
    let below_a_file = place.directory.path().join("file/jackline.db");
    let error = SqliteStore::open(&below_a_file, &OpenOptions::default()).unwrap_err();
    assert!(matches!(&error, StoreError::Io { why, .. } if why.contains("file")), "{error}");

    let error = SqliteStore::open(place.directory.path(), &OpenOptions::default()).unwrap_err();
    assert!(matches!(&error, StoreError::Io { .. }), "{error}");
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let place = Place::new();
    let text = "this is a text and no database, however long it may be. ".repeat(40);
    std::fs::write(place.path(), &text).unwrap();
    for options in [OpenOptions::default(), only_open(), only_read()] {
        let error = SqliteStore::open(place.path(), &options).unwrap_err();
        assert!(matches!(&error, StoreError::Damaged(why) if why.contains("not a database")), "{error}");
    }
    assert_eq!(std::fs::read_to_string(place.path()).unwrap(), text);
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let place = Place::new();
    place.raw().execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    let before = std::fs::read(place.path()).unwrap();
    let error = SqliteStore::open(place.path(), &OpenOptions::default()).unwrap_err();
    assert!(matches!(&error, StoreError::Damaged(why) if why.contains("another program")), "{error}");
    assert_eq!(std::fs::read(place.path()).unwrap(), before);
}

#[test]
fn a_newer_file_is_refused_by_its_number() {
    let place = Place::new();
    drop(place.open());
    place.raw().pragma_update(None, "user_version", 7).unwrap();
    for options in [OpenOptions::default(), only_read()] {
        let error = SqliteStore::open(place.path(), &options).unwrap_err();
        assert_eq!(error, StoreError::TooNew { what: "the store", found: 7, known: 4 });
    }
}

/// What there is in a file.
fn shape(place: &Place) -> Vec<String> {
    let raw = place.raw();
    let mut tables = raw.prepare("SELECT name FROM sqlite_schema ORDER BY name").unwrap();
    tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Gives the tables that all versions have the shape that they had up to the third.
fn age(place: &Place) {
    let older = "CREATE INDEX inbox_by_operation ON inbox (op, key); \
        ALTER TABLE configs RENAME TO new_configs; \
        CREATE TABLE configs (hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT; \
        INSERT INTO configs SELECT * FROM new_configs; DROP TABLE new_configs; \
        ALTER TABLE blobs RENAME TO new_blobs; \
        CREATE TABLE blobs (hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL) STRICT; \
        INSERT INTO blobs SELECT * FROM new_blobs; DROP TABLE new_blobs; \
        INSERT INTO blobs VALUES ('b-1', 'a long text');";
    place.raw().execute_batch(older).unwrap();
}

/// What was stored in them is there still.
fn assert_kept(store: &SqliteStore) {
    let new = new_operation("old");
    assert_eq!(store.config(&new.config_hash).unwrap().as_deref(), Some(&*new.config));
    assert_eq!(store.blob(&"b-1".into()).unwrap().as_deref(), Some("a long text"));
}

#[test]
fn deliveries_and_receipts_of_the_third_version_are_kept() {
    let place = Place::new();
    place.open().create(new_operation("old")).unwrap();
    let new = shape(&place);
    let third = "DROP TABLE outbox; DROP TABLE heard; \
        CREATE TABLE outbox (key INTEGER PRIMARY KEY, op INTEGER NOT NULL, id TEXT NOT NULL UNIQUE, hook TEXT NOT NULL, \
        kind TEXT NOT NULL, webhook TEXT NOT NULL, payload TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, \
        due_at INTEGER NOT NULL DEFAULT 0, error TEXT, dead INTEGER NOT NULL DEFAULT 0, claimed_by TEXT) STRICT; \
        CREATE INDEX outbox_by_time ON outbox (dead, due_at); \
        CREATE TABLE heard (key INTEGER PRIMARY KEY, op INTEGER NOT NULL, call TEXT, text TEXT NOT NULL) STRICT; \
        CREATE INDEX heard_by_operation ON heard (op); \
        INSERT INTO outbox (op, id, hook, kind, webhook, payload, attempts, due_at, error, dead) VALUES \
        (1, 'dlv-b', 'audit', 'onComplete', '{}', '{\"b\":1}', 30, 7, 'down', 1), \
        (1, 'dlv-a', 'audit', 'onComplete', '{}', '{\"a\":1}', 2, 9, NULL, 0); \
        INSERT INTO heard (op, call, text) VALUES (1, 'c-1', '[1]'), (1, NULL, '[2]'); \
        PRAGMA user_version = 3";
    place.raw().execute_batch(third).unwrap();
    age(&place);
    let all = |store: &SqliteStore| {
        let heard = store.heard(&id("old")).unwrap();
        (store.outbox(9).unwrap(), heard.into_iter().map(|heard| (heard.call, heard.text)).collect::<Vec<_>>())
    };
    let before = all(&SqliteStore::open(place.path(), &only_read()).unwrap());
    let deliveries: Vec<_> =
        before.0.iter().map(|stored| (&*stored.delivery.id, stored.attempts, stored.dead)).collect();
    assert_eq!(deliveries, [("dlv-b", 30, true), ("dlv-a", 2, false)]);
    assert_eq!(before.1, [(Some("c-1".into()), "[1]".to_owned()), (None, "[2]".to_owned())]);
    let store = place.open();
    assert_eq!(all(&store), before);
    assert_kept(&store);
    assert_eq!(shape(&place), new);
}

#[test]
fn an_older_file_is_brought_up_to_date_where_it_is() {
    let place = Place::new();
    place.open().create(new_operation("old")).unwrap();
    let new = shape(&place);
    place
        .raw()
        .execute_batch("DROP TABLE caller_hooks; DROP TABLE outbox; DROP TABLE heard; PRAGMA user_version = 1")
        .unwrap();
    age(&place);
    let looking = SqliteStore::open(place.path(), &only_read()).unwrap();
    assert_eq!(looking.header(&id("old")).unwrap().agent, new_operation("old").agent, "who only looks changes nothing");
    assert_eq!((looking.outbox(1).unwrap(), looking.heard(&id("old")).unwrap()), (vec![], vec![]));
    drop(looking);

    let store = place.open();
    assert_eq!(store.caller_hooks(&id("old")).unwrap(), Vec::<String>::new());
    assert_kept(&store);
    let hooks = vec!["{}".to_owned()];
    store.create(NewOperation { caller_hooks: hooks.clone(), ..new_operation("new") }).unwrap();
    assert_eq!(store.caller_hooks(&id("new")).unwrap(), hooks);
    assert_eq!(shape(&place), new);
    let version: u32 = place.raw().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 4);
}

#[test]
fn an_empty_file_is_a_new_store() {
    let place = Place::new();
    std::fs::write(place.path(), "").unwrap();
    assert!(matches!(SqliteStore::open(place.path(), &only_read()), Err(StoreError::Damaged(_))));
    assert_eq!(place.open().list(1).unwrap(), []);
}

#[tokio::test]
async fn a_store_that_only_looks_refuses_every_write() {
    let place = Place::new();
    let writing = place.open();
    let fence = writing.create(new_operation("op")).unwrap();
    let looking = SqliteStore::open(place.path(), &only_read()).unwrap();
    assert_eq!(looking.load(&id("op")).unwrap().next_place, 2);

    let is_told = |error: StoreError| error.to_string().contains("was opened to be read only");
    assert!(is_told(looking.create(new_operation("other")).unwrap_err()));
    assert!(is_told(looking.claim(&id("op")).unwrap_err()));
    assert!(is_told(looking.release(&id("op"), fence).unwrap_err()));
    assert!(is_told(looking.append(batch("op", fence, "r")).unwrap_err()));
    assert!(is_told(looking.flush(&id("op"), Durability::Behind).await.unwrap_err()));
    assert!(is_told(looking.post(&id("op"), InboxItem::Stop(None), 0).unwrap_err()));

    let before = looking.version().unwrap();
    write(&writing, batch("op", fence, "r")).await.unwrap();
    assert_ne!(looking.version().unwrap(), before);
    assert_eq!(looking.records(&id("op")).unwrap(), ["r"]);
}

/// Rights do not bind the superuser, so a superuser has the test done by nobody. Whether that has been seen to.
fn is_done_by_nobody(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    // Nobody may be able to reach the place where tests are built.
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("test");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    for path in [place.path(), &copy] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = std::process::Command::new(&copy);
    command.args(["--exact", test]).current_dir("/").env("TMPDIR", "/tmp").uid(NOBODY).gid(NOBODY);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    true
}

const NOBODY: u32 = 65534;

#[test]
fn a_read_only_file_is_named_unless_one_only_looks() {
    if is_done_by_nobody("a_read_only_file_is_named_unless_one_only_looks") {
        return;
    }
    let place = Place::new();
    place.open().create(new_operation("op")).unwrap();
    let mut rights = std::fs::metadata(place.path()).unwrap().permissions();
    rights.set_readonly(true);
    std::fs::set_permissions(place.path(), rights).unwrap();
    let error = SqliteStore::open(place.path(), &only_open()).unwrap_err();
    assert!(matches!(&error, StoreError::Io { why, .. } if why.contains("read-only")), "{error}");
    assert_eq!(SqliteStore::open(place.path(), &only_read()).unwrap().list(9).unwrap().len(), 1);
}

#[tokio::test]
async fn damaged_text_is_reported_and_not_guessed() {
    let place = Place::new();
    let store = place.open();
    let fence = store.create(new_operation("op")).unwrap();
    let mut next = batch("op", fence, "r1");
    next.rows = vec![Row::Message(asked(2, "m2", "", &["a"]))];
    write(&store, next).await.unwrap();
    let harm = |sql: &str| place.raw().execute_batch(sql).unwrap();

    harm("UPDATE messages SET calls = '[{' WHERE place = 2");
    assert!(matches!(store.load(&id("op")), Err(StoreError::Damaged(_))));
    harm("UPDATE messages SET calls = NULL, role = 'oracle' WHERE place = 2");
    assert!(matches!(store.messages(&id("op")), Err(StoreError::Damaged(why)) if why.contains("oracle")));
    harm("UPDATE messages SET role = 'user' WHERE place = 2");
    store.load(&id("op")).unwrap();
    harm("UPDATE records SET text = CAST(x'ff' AS TEXT)");
    assert!(matches!(store.records(&id("op")), Err(StoreError::Damaged(_))));
    harm("UPDATE operations SET status = 'asleep'");
    assert!(matches!(store.header(&id("op")), Err(StoreError::Damaged(why)) if why.contains("asleep")));
}

#[tokio::test]
async fn a_full_disk_stops_the_operation_and_room_lets_it_go_on() {
    let place = Place::new();
    drop(place.open());
    let raw = place.raw();
    raw.execute_batch("CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(80000));").unwrap();
    let quota = OpenOptions { bytes_max: Some(0), ..OpenOptions::default() };
    let store = SqliteStore::open(place.path(), &quota).unwrap();
    let fence = store.create(new_operation("op")).unwrap();
    let step = |number: u32, fence| {
        let mut next = batch("op", fence, &format!("step {number}"));
        let at = 2 + 2 * number;
        next.rows = vec![
            Row::Message(asked(at, &format!("m{at}"), "reading", &["a"])),
            result(at + 1, "a", &"x".repeat(3_000)),
        ];
        next
    };

    let mut done = 0;
    let failure = loop {
        match write(&store, step(done, fence)).await {
            Ok(()) => done += 1,
            Err(error) => break error,
        }
        assert!(done < 200, "the quota has no effect");
    };
    assert!(matches!(&failure, StoreError::Io { why, .. } if why.contains("the disk is full")), "{failure}");
    assert_eq!(store.append(step(done, fence)), Err(failure));
    let steps =
        |store: &SqliteStore| (store.records(&id("op")).unwrap().len(), store.messages(&id("op")).unwrap().len());
    let whole = |done: u32| (done as usize, 2 + 2 * done as usize);
    assert_eq!(steps(&store), whole(done));
    let verdict: String = raw.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");

    raw.execute_batch("DROP TABLE filler").unwrap();
    let fence = store.claim(&id("op")).unwrap();
    write(&store, step(done, fence)).await.unwrap();
    assert_eq!(steps(&store), whole(done + 1));
}

#[test]
fn a_read_only_directory_is_named() {
    if is_done_by_nobody("a_read_only_directory_is_named") {
        return;
    }
    let place = Place::new();
    drop(place.open());
    let rights = |read_only: bool| {
        let mut rights = std::fs::metadata(place.directory.path()).unwrap().permissions();
        let mode = if read_only { 0o555 } else { 0o755 };
        rights.set_mode(mode);
        std::fs::set_permissions(place.directory.path(), rights).unwrap();
    };
    rights(true);
    let opened = SqliteStore::open(place.path(), &OpenOptions::default());
    let looked = SqliteStore::open(place.path(), &only_read()).and_then(|store| store.list(1));
    rights(false);
    assert_eq!(looked, Ok(Vec::new()));
    let error = opened.unwrap_err();
    assert!(matches!(&error, StoreError::Io { why, .. } if why.contains("jackline.db")), "{error}");
}
