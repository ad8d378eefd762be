//! The lives of the process: the first one starts the run, each other resumes it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackline_runtime::drive::{Prompt, Report, Run, RunError, Runtime};
use jackline_runtime::journal::MemoryStore;

use super::hooks::hooks;
use super::people::{Acted, act, stop_later};
use super::setup::runtime;
use super::world::World;

/// How a run came to rest.
#[derive(Clone, Debug)]
pub(crate) enum End {
    /// It ended, or waits for somebody who does not come.
    Rested(Box<Report>),
    /// It has no trustworthy end.
    Failed(String),
    /// Nothing happens any more, and it neither ended nor parked.
    Stuck(String),
}

/// How one life of the process ended.
enum LifeEnd {
    Final(End),
    /// It was killed, or is to be started again.
    Killed,
}

/// Goes through as many lives as the script asks for.
pub(crate) async fn live_through(world: &Arc<World>, files: Option<&Path>) -> End {
    for life in 0..LIVES_MAX {
        let (done, ended) = tokio::sync::oneshot::channel();
        let (world, files) = (Arc::clone(world), files.map(Path::to_owned));
        let thread = std::thread::Builder::new().name("scenario".to_owned()).spawn(move || {
            // Nobody may wait any more; that is fine.
            let _ = done.send(live(&world, files.as_deref(), life));
        });
        if let Err(error) = thread {
            return End::Failed(format!("no thread: {error}"));
        }
        match ended.await {
            Ok(LifeEnd::Final(end)) => return end,
            Ok(LifeEnd::Killed) => {}
            Err(_) => return End::Failed("the runner panicked".to_owned()),
        }
    }
    End::Failed(format!("the process was started {LIVES_MAX} times"))
}

/// One life, on an executor of its own. Dropping the executor drops everything that still runs.
fn live(world: &Arc<World>, files: Option<&Path>, life: usize) -> LifeEnd {
    let executor = match executor(world) {
        Ok(executor) => executor,
        Err(error) => return LifeEnd::Final(End::Failed(format!("no executor: {error}"))),
    };
    let process = world.store.another_process();
    let end = executor.block_on(world.clock.virtual_clock().run(main(world, &process, files, life)));
    world.end_life();
    drop(executor);
    // The next life must find everything free.
    process.kill();
    end
}

/// What is outside is reached by sockets and processes; without it only time is needed.
fn executor(world: &World) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    if world.outside.is_some() {
        builder.enable_all();
    }
    builder.enable_time().build()
}

async fn main(world: &Arc<World>, process: &MemoryStore, files: Option<&Path>, life: usize) -> LifeEnd {
    let runtime = match runtime(world, process, files) {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    world.begin_life(&runtime);
    let mut run = match begin(world, &runtime, life) {
        Ok(run) => run,
        Err(error) => return failed(&error),
    };
    loop {
        let news = tokio::select! {
            biased;
            () = world.news.notified() => News::Look,
            rested = run.wait() => News::Rested(rested),
            why = stuck(world) => News::Stuck(why),
        };
        if world.story().is_dead {
            return LifeEnd::Killed;
        }
        let is_resting = matches!(news, News::Rested(_));
        let report = match news {
            News::Look => None,
            News::Rested(Ok(report)) => Some(report),
            // Whoever is told that somebody could not be told may do something about it.
            News::Rested(Err(error)) if may_be_made_again(&error) && !world.story().human.is_empty() => None,
            News::Rested(Err(error)) => return failed(&error),
            News::Stuck(why) => return LifeEnd::Final(End::Stuck(why)),
        };
        let mut acted = act(world, &runtime, run.id(), is_resting).await;
        while acted == Acted::Refused {
            acted = act(world, &runtime, run.id(), is_resting).await;
        }
        world.let_time_pass();
        match (acted, report) {
            (Acted::No, Some(report)) if report.status.is_terminal() || !world.waits_for_time() => {
                return LifeEnd::Final(End::Rested(Box::new(report)));
            }
            // Parked until a deadline: the clock jumps to it as soon as this future waits, too.
            (Acted::No, Some(_)) => world.some_activity().await,
            (Acted::No | Acted::Yes | Acted::Refused, _) => {}
            (Acted::Restart, _) => {
                world.kill(process);
                return LifeEnd::Killed;
            }
            (Acted::Resume, _) => match runtime.resume(run.id(), hooks(world)) {
                Ok(resumed) => run = resumed,
                Err(error) => return failed(&error),
            },
        }
    }
}

enum News {
    Look,
    Rested(Result<Report, RunError>),
    Stuck(String),
}

fn begin(world: &Arc<World>, runtime: &Runtime, life: usize) -> Result<Run, RunError> {
    let root = world.story().root.clone();
    if let Some(root) = root {
        return runtime.resume(&root, hooks(world));
    }
    let script = &world.script;
    let (origin, user) = script.origin.origin();
    let prompt = Prompt { text: script.input.0.clone(), origin, user };
    let run = runtime.start(&script.agent.agent(), prompt, hooks(world))?;
    world.story().root = Some(run.id().clone());
    for (index, interrupt) in script.interrupts.iter().enumerate() {
        if interrupt.at.is_none() && life == 0 {
            world.story().interrupts_done[index] = true;
            stop_later(world, interrupt.after_ms);
        }
    }
    Ok(run)
}

fn may_be_made_again(error: &RunError) -> bool {
    matches!(error, RunError::StopNotTold { .. } | RunError::DecisionNotTold { .. })
}

fn failed(error: &RunError) -> LifeEnd {
    LifeEnd::Final(End::Failed(error.to_string()))
}

/// Comes back when nothing has happened for a while of real time.
async fn stuck(world: &World) -> String {
    let (mut before, mut quiet) = (0, 0);
    loop {
        tokio::time::sleep(TICK).await;
        let now = (world.story().activity, world.clock.elapsed_ms());
        quiet = if now == (before, world.clock.elapsed_ms()) { quiet + 1 } else { 0 };
        before = now.0;
        let is_real = !world.script.real_tools.is_empty() || world.outside.is_some();
        let waits_for_time = world.waits_for_time() || is_real;
        if quiet >= TICKS_QUIET_MAX && !waits_for_time {
            return "nothing runs, nothing waits for a time to come, and the run has neither ended nor parked: \
                    something scripted hangs without a limit"
                .to_owned();
        }
        if quiet >= TICKS_MAX {
            return "nothing has happened for a long time, although something waits for a time to come".to_owned();
        }
    }
}

/// How often the process may be started: more often than any scenario kills it.
const LIVES_MAX: usize = 100;

/// How often it is looked whether anything happens.
const TICK: Duration = Duration::from_millis(20);

/// Ticks of silence after which nothing will happen any more: the executor has been idle all the time.
const TICKS_QUIET_MAX: u32 = 10;

/// Ticks of silence after which even a held clock is given up: ten seconds of real time.
const TICKS_MAX: u32 = 500;
