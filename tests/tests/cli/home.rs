//! A directory of its own for each test, and the binary to run in it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A directory in which commands are run.
pub(crate) struct Home {
    directory: TempDir,
}

/// What a command came to.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// A directory with an agent whose model is this script.
    pub(crate) fn with_agent(settings: &str, script: &str) -> Self {
        let home = Self::new();
        home.write("agent.toml", format!("name = \"agent\"\nscript = \"script.yaml\"\n{settings}"));
        home.write("script.yaml", script);
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// The binary with nothing of our environment but the path.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(words).current_dir(self.path()).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        ran(&mut self.command(words))
    }

    /// Starts a command whose output is read line by line.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        Running::of(self.command(words).stderr(Stdio::piped()))
    }

    /// The newest operation, as `ops list --json` has it.
    pub(crate) fn newest(&self) -> Value {
        let listed = self.run(&["ops", "list", "--json"]);
        serde_json::from_str(listed.out.lines().next().expect("there is an operation")).unwrap()
    }
}

pub(crate) fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A process that runs.
pub(crate) struct Running {
    pub(crate) child: Child,
    /// Nothing once the reader has gone away.
    out: Option<BufReader<ChildStdout>>,
    /// Its end is the end of the test's patience.
    _watched: Sender<()>,
}

/// Ends a process that its test has lost patience with: then whoever reads from it reads the end.
fn watch(child: &Child) -> Sender<()> {
    let (watched, is_over) = channel();
    let id = Pid::from_child(child);
    std::thread::spawn(move || {
        if is_over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process(id, Signal::KILL);
        }
    });
    watched
}

/// Far longer than anything here takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Nothing that a test has started outlives it.
impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().map(BufReader::new);
        Self { _watched: watch(&child), child, out }
    }

    /// Reads up to a line that holds this, and gives it.
    pub(crate) fn until(&mut self, part: &str) -> String {
        let mut read = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(
                self.out.as_mut().unwrap().read_line(&mut line).unwrap(),
                0,
                "no line with {part:?} came:\n{read}"
            );
            if line.contains(part) {
                return line;
            }
            read.push_str(&line);
        }
    }

    /// Reads what it says on the side, up to a line that holds this, and gives it. The rest is read by nobody.
    pub(crate) fn until_error(&mut self, part: &str) -> String {
        let mut lines = BufReader::new(self.child.stderr.take().unwrap()).lines();
        lines.find_map(|line| line.ok().filter(|line| line.contains(part))).expect("the line comes")
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Stops reading and waits for the end.
    pub(crate) fn end_unread(mut self) -> ExitStatus {
        self.out = None;
        self.child.wait().unwrap()
    }

    /// Reads the rest and waits for the end.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        std::io::Read::read_to_string(self.out.as_mut().unwrap(), &mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }
}

/// The lines of `--json`.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect()
}

/// The root of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The binary, built once: a test of another package does not have it built for it.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--offline", "--package", "jackline-cli"]).current_dir(workspace());
        let profile = profile_directory();
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "the command line does not build");
        profile.join("jackline")
    })
}

/// Where this test's own binary lies, less `deps`.
fn profile_directory() -> PathBuf {
    std::env::current_exe().unwrap().parent().and_then(Path::parent).unwrap().to_path_buf()
}
