//! Starts what `run` was asked for.

use std::future::Future;

use jackline_model::{ExitCode, Origin};
use jackline_runtime::drive::Prompt;

use super::decide::Decider;
use super::follow::{Follow, say_what_is_next, screen};
use super::prompt::{self, Target};
use crate::args::{Common, RunArgs};
use crate::host::{self, ModelNeed};
use crate::problem::Problem;
use crate::text::closest;
use crate::{store, tour};

/// `jackline run`.
pub(crate) fn run(common: &Common, args: RunArgs) -> Result<ExitCode, Problem> {
    let (target, words) = prompt::target(&args)?;
    let agent = match target {
        Target::Tour(directory) => {
            if !words.is_empty() || args.file.is_some() || !args.origin.is_empty() {
                return Err(Problem::usage("a tour has its own prompts and takes none besides"));
            }
            return tour::run(common, &directory, args.view);
        }
        Target::Agent(file) => host::read(&file)?,
        Target::Builtin => host::builtin(args.model.as_deref())?,
    };
    let mut origin = host::origin(&agent)?;
    set_origin(&mut origin, &args.origin)?;
    let text = prompt::prompt(&args, words)?;
    host::check(&agent)?;
    let store = store::open(common)?;
    let runtime = host::runtime(&agent, store, ModelNeed::Asked)?;
    let hooks = host::hooks_of(&agent)?;
    let mut screen = screen(common, args.view);
    let report = block_on(async {
        let events = runtime.events();
        let run = runtime.start(&agent, Prompt { text, origin, user: None }, hooks)?;
        let mut decider = Decider::here(&screen);
        let followed = Follow::with(&runtime, &mut screen, &mut decider)?.follow(&run, events).await;
        host::deliver_due(&runtime).await;
        let report = followed?;
        say_what_is_next(common, &runtime, &run, &report)?;
        Ok(report)
    })?;
    screen.finish()?;
    Ok(report.exit_code())
}

/// Runs a future on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|error| Problem::failed(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(future);
    // A thread that reads a terminal never ends by itself.
    runtime.shutdown_background();
    outcome
}

/// Where a run comes from, as the command line says.
fn set_origin(origin: &mut Origin, pairs: &[String]) -> Result<(), Problem> {
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=').filter(|(_, value)| !value.is_empty()) else {
            return Err(Problem::usage(format!("--origin {pair}: write KEY=VALUE")));
        };
        let value = value.to_owned();
        match key {
            "agent" => origin.agent_id = Some(value.into()),
            "topic" => origin.topic_id = Some(value),
            "session" => origin.session_id = Some(value),
            "thread" => origin.thread_id = Some(value.into()),
            "group" => origin.group_id = Some(value),
            "task" => origin.task_id = Some(value),
            "workspace" => origin.workspace_id = Some(value),
            "document" => origin.document_id = Some(value),
            "source-message" => origin.source_message_id = Some(value.into()),
            "user" => origin.user_id = Some(value.into()),
            other => {
                let meant = closest(other, ORIGIN_KEYS).map(|key| format!("; did you mean `{key}`?"));
                let rest = meant.unwrap_or_else(|| format!("; known: {}", ORIGIN_KEYS.join(", ")));
                return Err(Problem::usage(format!("--origin {pair}: unknown key `{other}`{rest}")));
            }
        }
    }
    Ok(())
}

const ORIGIN_KEYS: [&str; 10] =
    ["agent", "topic", "session", "thread", "group", "task", "workspace", "document", "source-message", "user"];

/// One process runs one tree of agents; two threads keep tools and model apart.
const WORKERS: usize = 2;
