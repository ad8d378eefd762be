//! How long the command line takes to start: to its first request, and for a run from start to end.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bare::Request;
use crate::job::{Job, MODEL};
use crate::measure::Tries;
use crate::table::{Goals, Measure, line, section};
use crate::{Failed, bare};

/// Builds the program and starts it again and again, in turns with the bare loop.
pub(crate) fn bench(goals: &mut Goals) -> Result<(), Failed> {
    section("Start of the command line: median of the tries (least)");
    let program = program()?;
    let place = tempfile::tempdir()?;
    let agents = Agents::write(place.path())?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let this = std::env::current_exe()?;
    let (mut bare, mut ours, mut scripted) = (Tries::default(), Tries::default(), Tries::default());
    for _ in 0..TRIES {
        bare.push(first_request(&listener, Command::new(&this).args([CHILD, &address]))?);
        let mut run = agents.run(&program, &agents.asking);
        ours.push(first_request(&listener, run.env("OPENAI_BASE_URL", format!("http://{address}/v1")))?);
        scripted.push(whole_run(&mut agents.run(&program, &agents.scripted))?);
    }
    let shown = |tries: &Tries| format!("{:.1} ms ({:.1})", tries.median(), tries.least());
    line(&format!("  to the first request: bare {}, ours {}", shown(&bare), shown(&ours)));
    line(&format!("  a scripted run of one step, start to end: {}", shown(&scripted)));
    goals.check(
        "start to first request, ours / bare",
        Measure::Times,
        ours.against(&bare, |ours, bare| ours / bare).median(),
        1.0,
    );
    goals.check("a scripted run of one step, start to end", Measure::Millis, scripted.median(), 30.0);
    Ok(())
}

/// The main function of a child: the bare loop, which asks a server that never answers.
pub(crate) fn child(address: &str) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let client = bare::new_client(&format!("http://{address}/v1"));
    runtime.block_on(bare::run(&client, &Job::of(1), Request::Cloned))?;
    Ok(())
}

/// The program of the command line, built like this one.
fn program() -> Result<PathBuf, Failed> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--profile", "bench", "--offline", "--quiet", "--package", "jackline-cli", "--bin", "jackline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()?;
    if !built.success() {
        return Err("the command line cannot be built".into());
    }
    // This program lies in `deps`, beside which the others lie.
    let this = std::env::current_exe()?;
    let program = this.parent().and_then(Path::parent).ok_or("this program has no place")?.join("jackline");
    Ok(program)
}

/// From the start of a program to the head of its first request, in milliseconds.
fn first_request(listener: &TcpListener, command: &mut Command) -> Result<f64, Failed> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let read = stream.read(&mut [0; 64])?;
    let taken = started.elapsed();
    // Only this child is ended; it would wait for an answer.
    let _ = child.kill();
    child.wait()?;
    if read == 0 {
        return Err("a program connected and sent nothing".into());
    }
    Ok(taken.as_secs_f64() * 1e3)
}

fn whole_run(command: &mut Command) -> Result<f64, Failed> {
    let started = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    match status.success() {
        true => Ok(started.elapsed().as_secs_f64() * 1e3),
        false => Err(format!("a scripted run ended with {status}").into()),
    }
}

/// Agent files, and where runs are kept.
struct Agents {
    asking: PathBuf,
    scripted: PathBuf,
    store: PathBuf,
}

impl Agents {
    fn write(place: &Path) -> Result<Self, Failed> {
        let file = |name: &str, text: &str| -> Result<PathBuf, Failed> {
            let path = place.join(name);
            std::fs::File::create(&path)?.write_all(text.as_bytes())?;
            Ok(path)
        };
        file("script.yaml", "turns:\n  - text: That is all.\n")?;
        let head = |rest: &str| format!("name = \"bench\"\ninstructions = \"You answer.\"\n{rest}\n");
        Ok(Self {
            asking: file("asking.toml", &head(&format!("model = \"{MODEL}\"")))?,
            scripted: file("scripted.toml", &head("script = \"script.yaml\""))?,
            store: place.join("bench.db"),
        })
    }

    fn run(&self, program: &Path, agent: &Path) -> Command {
        let mut command = Command::new(program);
        command.arg("run").arg(agent).arg("Say something.").arg("--store").arg(&self.store);
        command
    }
}

/// The argument that makes this program the bare loop.
pub(crate) const CHILD: &str = "--first-request";
const TRIES: usize = 15;
const PATIENCE: Duration = Duration::from_secs(10);
