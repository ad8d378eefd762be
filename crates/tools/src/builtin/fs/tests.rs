use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use jackline_model::{SideEffect, ToolRunResult};
use serde_json::{Value, json};

use super::fs_tools;
use crate::builtin::testing::run;
use crate::{Registry, Tool};

struct World {
    directory: tempfile::TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let tools = fs_tools(directory.path()).unwrap();
        Self { directory, tools }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    async fn call(&self, api_name: &str, arguments: Value) -> ToolRunResult {
        let tool = self.tools.iter().find(|tool| *tool.spec().key.api_name == *api_name).unwrap();
        run(tool.as_ref(), arguments).await.unwrap()
    }

    /// Calls a tool that is to succeed.
    async fn ok(&self, api_name: &str, arguments: Value) -> String {
        let result = self.call(api_name, arguments).await;
        assert!(result.success, "{}", result.content);
        result.content
    }

    /// Calls a tool that is to refuse.
    async fn no(&self, api_name: &str, arguments: Value) -> String {
        let result = self.call(api_name, arguments).await;
        assert!(!result.success, "{}", result.content);
        result.content
    }

    /// Nothing but these entries is in the root: no drafts are left behind.
    fn entries(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn the_tools_say_what_a_second_run_would_do() {
    let registry = Registry::builder().tools(World::new().tools).build().unwrap();
    let specs: Vec<_> = registry
        .iter()
        .map(|(key, entry)| (key.to_string(), entry.spec().side_effect, entry.spec().serialize_by.as_deref()))
        .collect();
    assert_eq!(
        specs,
        [
            ("fs/edit".to_owned(), SideEffect::Idempotent, Some("path")),
            ("fs/list".to_owned(), SideEffect::Pure, None),
            ("fs/read".to_owned(), SideEffect::Pure, None),
            ("fs/search".to_owned(), SideEffect::Pure, None),
            ("fs/write".to_owned(), SideEffect::Idempotent, Some("path")),
        ]
    );
}

#[tokio::test]
async fn a_file_is_written_read_edited_found_and_listed() {
    let world = World::new();
    let written = world.ok("write", json!({"path": "src/deep/a.rs", "text": "fn main() {}\n// end\n"})).await;
    assert_eq!(written, "Wrote 20 bytes to `src/deep/a.rs`.");
    assert_eq!(world.ok("read", json!({"path": "src/deep/a.rs"})).await, "fn main() {}\n// end\n");

    let edited = world.ok("edit", json!({"path": "src/deep/a.rs", "old": "end", "new": "the end"})).await;
    assert_eq!(edited, "Replaced the text at line 2 of `src/deep/a.rs`.");
    assert_eq!(world.ok("search", json!({"pattern": "the .nd$"})).await, "src/deep/a.rs:2: // the end");
    assert_eq!(world.ok("list", json!({"path": "src/deep"})).await, "a.rs (24 bytes)");
    assert_eq!(world.ok("list", json!({})).await, "src/");
    assert_eq!(world.entries(), ["src"]);
}

#[tokio::test]
async fn a_long_file_is_read_in_pages() {
    let world = World::new();
    fs::write(world.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let page = world.ok("read", json!({"path": "a.txt", "offset": 1, "limit": 2})).await;
    assert_eq!(page, "one\ntwo\n[Lines 1 to 2 are shown. Read on with offset 3.]");
    assert_eq!(world.ok("read", json!({"path": "a.txt", "offset": 3})).await, "three\n");
}

#[tokio::test]
async fn c151_a_binary_file_is_named_not_shown() {
    let world = World::new();
    let bytes = include_bytes!("../../../tests/inputs/C151.bin");
    fs::write(world.path().join("a.bin"), bytes).unwrap();
    fs::write(world.path().join("latin.txt"), b"caf\xe9\n").unwrap();
    assert_eq!(world.ok("read", json!({"path": "a.bin"})).await, format!("[binary, {} bytes]", bytes.len()));
    assert_eq!(world.ok("read", json!({"path": "latin.txt"})).await, "caf\u{fffd}\n");
    assert_eq!(world.ok("search", json!({"pattern": "hello"})).await, "Nothing matches.");
    assert!(world.no("edit", json!({"path": "latin.txt", "old": "caf", "new": "tea"})).await.contains("not UTF-8"));
}

#[tokio::test]
async fn nothing_leaves_the_root() {
    let world = World::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "s3cret").unwrap();
    symlink(outside.path(), world.path().join("out")).unwrap();
    symlink(outside.path().join("new"), world.path().join("dangling")).unwrap();
    let absolute = outside.path().join("secret");
    for path in ["out/secret", absolute.to_str().unwrap(), "../secret"] {
        for (api_name, more) in
            [("read", json!({})), ("edit", json!({"old": "s", "new": "x"})), ("write", json!({"text": "x"}))]
        {
            let mut arguments = more;
            arguments["path"] = json!(path);
            assert!(!world.no(api_name, arguments).await.contains("s3cret"), "{api_name} {path}");
        }
    }
    world.no("write", json!({"path": "out/new", "text": "x"})).await;
    world.no("write", json!({"path": "dangling", "text": "x"})).await;
    world.no("list", json!({"path": "out"})).await;
    assert_eq!(world.ok("search", json!({"pattern": "s3cret"})).await, "Nothing matches.");
    assert_eq!(fs::read_to_string(&absolute).unwrap(), "s3cret");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_symlink_inside_is_written_through_and_stays_one() {
    let world = World::new();
    fs::write(world.path().join("real"), "old").unwrap();
    symlink("real", world.path().join("link")).unwrap();
    world.ok("write", json!({"path": "link", "text": "new"})).await;
    assert_eq!(fs::read_to_string(world.path().join("real")).unwrap(), "new");
    assert!(fs::symlink_metadata(world.path().join("link")).unwrap().is_symlink());
    assert_eq!(world.entries(), ["link", "real"]);
}

#[tokio::test]
async fn a_rewritten_file_keeps_its_permissions() {
    let world = World::new();
    let script = world.path().join("run.sh");
    fs::write(&script, "old").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    world.ok("write", json!({"path": "run.sh", "text": "new"})).await;
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o750);
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let world = World::new();
    fs::create_dir(world.path().join("dir")).unwrap();
    fs::write(world.path().join("a.txt"), "same same").unwrap();
    assert!(world.no("read", json!({"path": "nowhere"})).await.contains("does not exist"));
    assert!(world.no("read", json!({"path": "dir"})).await.contains("is a directory"));
    assert!(world.no("write", json!({"path": "dir", "text": ""})).await.contains("is a directory"));
    assert!(world.no("write", json!({"path": "a.txt/b", "text": ""})).await.contains("is no directory"));
    assert!(world.no("list", json!({"path": "a.txt"})).await.contains("no directory"));
    assert!(world.no("search", json!({"pattern": "("})).await.contains("cannot be used"));
    assert!(world.no("edit", json!({"path": "a.txt", "old": "same", "new": "x"})).await.contains("more than once"));
    assert_eq!(fs::read_to_string(world.path().join("a.txt")).unwrap(), "same same");
    assert_eq!(world.entries(), ["a.txt", "dir"]);
}

#[tokio::test]
async fn a_repeated_edit_changes_nothing_more() {
    let world = World::new();
    fs::write(world.path().join("a.txt"), "let x = 1;").unwrap();
    let edit = json!({"path": "a.txt", "old": "x", "new": "x_1"});
    world.ok("edit", edit.clone()).await;
    assert!(world.ok("edit", edit).await.contains("already"));
    assert_eq!(fs::read_to_string(world.path().join("a.txt")).unwrap(), "let x_1 = 1;");
}

#[tokio::test]
async fn edits_of_one_file_at_once_lose_nothing() {
    let world = World::new();
    let text: String = (0..20).map(|number| format!("<{number}>\n")).collect();
    fs::write(world.path().join("a.txt"), text).unwrap();
    let edits = (0..20).map(|number| {
        // Two ways to write one path: lanes would not see that they are the same.
        let path = if number % 2 == 0 { "a.txt" } else { "./a.txt" };
        let edit = json!({"path": path, "old": format!("<{number}>"), "new": format!("[{number}]")});
        let tool = world.tools.iter().find(|tool| *tool.spec().key.api_name == *"edit").unwrap().clone();
        tokio::spawn(async move { run(tool.as_ref(), edit).await.unwrap().success })
    });
    for edit in edits.collect::<Vec<_>>() {
        assert!(edit.await.unwrap());
    }
    let expected: String = (0..20).map(|number| format!("[{number}]\n")).collect();
    assert_eq!(fs::read_to_string(world.path().join("a.txt")).unwrap(), expected);
}
