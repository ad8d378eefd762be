//! `jackline resume`, and going on after a decision.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackline_hooks::Hooks;
use jackline_model::{ExitCode, OperationId};
use jackline_runtime::drive::{Agent, Resume, StopRequest, Stopping};
use jackline_runtime::journal::{Header, Store, StoreError};

use crate::args::{Common, ResumeArgs, ViewArgs};
use crate::host::{self, ModelNeed};
use crate::problem::Problem;
use crate::render::{Out, say};
use crate::run::{Decider, Follow, block_on, say_what_is_next, screen};
use crate::store;

/// `jackline resume`.
pub(crate) fn resume(common: &Common, args: &ResumeArgs) -> Result<ExitCode, Problem> {
    let store = store::open_existing(common)?;
    let without = args.without_hook.iter().cloned().collect();
    match &args.operation {
        Some(word) => {
            let header = store::find(store.as_ref(), word)?;
            go_on(common, &store, header, &without, args.view)
        }
        None => all(common, &store, &without, args.view),
    }
}

/// Goes on with the whole tree that an operation is part of.
pub(super) fn go_on(
    common: &Common,
    store: &Arc<dyn Store>,
    header: Header,
    without: &BTreeSet<String>,
    view: ViewArgs,
) -> Result<ExitCode, Problem> {
    let root = store::root_of(store.as_ref(), header)?;
    follow(common, store, &root, without, view, ModelNeed::Asked)
}

/// Ends an operation here, with what was posted to it. No model is asked.
pub(super) fn end_here(
    common: &Common,
    store: &Arc<dyn Store>,
    header: &Header,
    view: ViewArgs,
) -> Result<ExitCode, Problem> {
    let without = header.required_hooks.iter().cloned().collect();
    follow(common, store, header, &without, view, ModelNeed::NeverAsked)
}

/// Makes the request again that has stopped an operation: a hook that must hear of it and has not is told, and nothing
/// else happens.
pub(super) fn tell_stop_again(
    common: &Common,
    store: &Arc<dyn Store>,
    header: &Header,
    request: &StopRequest,
    view: ViewArgs,
) -> Result<ExitCode, Problem> {
    let agent = frozen_agent(store.as_ref(), header)?;
    let runtime = host::runtime(&agent, Arc::clone(store), ModelNeed::NeverAsked)?;
    let mut screen = screen(common, view);
    block_on(async {
        let events = runtime.events();
        let Stopping::Retelling(run) = runtime.stop_as(&header.id, request)? else {
            say(format!("`{}` is stopped already, and everybody has heard of it who must", header.id));
            return Ok(());
        };
        let followed = Follow::with(&runtime, &mut screen, &mut Decider::Nobody)?.follow(&run, events).await;
        host::deliver_due(&runtime).await;
        followed.map(drop)
    })?;
    screen.finish()?;
    Ok(ExitCode::Done)
}

/// Whether another living process works on an operation.
pub(super) fn is_run_elsewhere(store: &dyn Store, id: &OperationId) -> Result<bool, Problem> {
    match store.claim(id) {
        Ok(fence) => {
            store.release(id, fence)?;
            Ok(false)
        }
        Err(StoreError::Owned { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn follow(
    common: &Common,
    store: &Arc<dyn Store>,
    header: &Header,
    without: &BTreeSet<String>,
    view: ViewArgs,
    need: ModelNeed,
) -> Result<ExitCode, Problem> {
    let agent = frozen_agent(store.as_ref(), header)?;
    let runtime = host::runtime(&agent, Arc::clone(store), need)?;
    let mut screen = screen(common, view);
    let report = block_on(async {
        let events = runtime.events();
        let options = Resume { without_hooks: without.clone() };
        let run = runtime.resume_with(&header.id, Hooks::new(), &options)?;
        let mut decider = match need {
            ModelNeed::Asked => Decider::here(&screen),
            ModelNeed::NeverAsked => Decider::Nobody,
        };
        let followed = Follow::with(&runtime, &mut screen, &mut decider)?.follow(&run, events).await;
        host::deliver_due(&runtime).await;
        let report = followed?;
        say_what_is_next(common, &runtime, &run, &report)?;
        Ok(report)
    })?;
    screen.finish()?;
    Ok(report.exit_code())
}

/// The agent that an operation was started with.
fn frozen_agent(store: &dyn Store, header: &Header) -> Result<Agent, Problem> {
    let text = store
        .config(&header.config_hash)?
        .ok_or_else(|| Problem::failed(format!("the configuration of `{}` is missing", header.id)))?;
    serde_json::from_str(&text)
        .map_err(|error| Problem::failed(format!("the configuration of `{}` cannot be read: {error}", header.id)))
}

/// Goes on with everything that has not ended, one after the other.
fn all(
    common: &Common,
    store: &Arc<dyn Store>,
    without: &BTreeSet<String>,
    view: ViewArgs,
) -> Result<ExitCode, Problem> {
    let mut open: Vec<Header> = store
        .list(OPERATIONS_MAX)?
        .into_iter()
        .filter(|header| !header.lineage.is_sub_agent && !header.summary.status.is_terminal())
        .collect();
    open.reverse();
    if open.is_empty() && !view.json {
        let mut out = Out::default();
        out.line("every operation has ended");
        out.finish()?;
    }
    let mut worst = ExitCode::Done;
    for header in open {
        let id = header.id.clone();
        let exit = match go_on(common, store, header, without, view) {
            Ok(exit) => exit,
            Err(problem) => {
                say(format!("{id}: {problem}"));
                problem.exit
            }
        };
        if worst == ExitCode::Done || exit == ExitCode::Failed {
            worst = exit;
        }
    }
    Ok(worst)
}

/// Operations looked at.
const OPERATIONS_MAX: usize = 10_000;
