//! `approve`, `reject`, `stop`, `complete`: what people say to operations, from any process.
//!
//! Each writes down what was said; whoever runs the operation acts on it. Where nobody does, a
//! rejection and a stop end the operation here.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackline_model::{ExitCode, StopRequestId, ToolCallId, ToolRunResult};
use jackline_runtime::drive::{Runtime, StopRequest};
use jackline_runtime::journal::{Approval, Header, PostedDecision, PostedVerdict, Store};

use super::resume::{end_here, go_on, is_run_elsewhere, tell_stop_again};
use crate::args::{ApproveArgs, Common, CompleteArgs, RejectArgs, StopArgs, ViewArgs};
use crate::host::NoModel;
use crate::problem::Problem;
use crate::render::say;
use crate::run::{input_text, undecided};
use crate::store::{self, command_line, quoted};

/// `jackline approve`.
pub(crate) fn approve(common: &Common, args: &ApproveArgs) -> Result<ExitCode, Problem> {
    let store = store::open_existing(common)?;
    let header = decide(&store, args, &PostedVerdict::Approve)?;
    written_down(common, &store, header, args.resume, args.view)
}

/// `jackline reject`.
pub(crate) fn reject(common: &Common, args: &RejectArgs) -> Result<ExitCode, Problem> {
    let store = store::open_existing(common)?;
    let reason = args.reason.clone();
    let verdict =
        if args.go_on { PostedVerdict::RejectAndContinue { reason } } else { PostedVerdict::Reject { reason } };
    let header = decide(&store, &args.decide, &verdict)?;
    let (resume, view) = (args.decide.resume, args.decide.view);
    if args.go_on || resume {
        return written_down(common, &store, header, resume, view);
    }
    end(common, &store, &header, view)
}

/// `jackline stop`.
pub(crate) fn stop(common: &Common, args: &StopArgs) -> Result<ExitCode, Problem> {
    let store = store::open_existing(common)?;
    let header = store::find(store.as_ref(), &args.operation)?;
    let calls: Vec<ToolCallId> = args.calls.iter().map(|call| ToolCallId::new(call.as_str())).collect();
    let request = StopRequest {
        id: args.request.as_deref().map(StopRequestId::from),
        calls: (!calls.is_empty()).then_some(calls),
    };
    let stopped = if header.summary.status.is_terminal() {
        tell_stop_again(common, &store, &header, &request, args.view)
    } else {
        recorder(&store)?.stop_as(&header.id, &request)?;
        end(common, &store, &header, args.view)
    };
    stopped.map_err(|problem| match problem.untold_stop {
        true => problem.hint(format!("To repeat the notification: {}", same_stop(common, &header, args))),
        false => problem,
    })
}

/// The command that makes the same request.
fn same_stop(common: &Common, header: &Header, args: &StopArgs) -> String {
    let name = args.request.iter().flat_map(|name| ["--request".to_owned(), quoted(name)]);
    let words: Vec<String> = args.calls.iter().map(|call| quoted(call)).chain(name).collect();
    command_line(common, "stop", &header.id, &words.join(" "))
}

/// `jackline complete`.
pub(crate) fn complete(common: &Common, args: &CompleteArgs) -> Result<ExitCode, Problem> {
    let store = store::open_existing(common)?;
    let header = store::find(store.as_ref(), &args.operation)?;
    let text = match &args.result {
        Some(text) => text.clone(),
        None => input_text()?,
    };
    let result = if args.failed { ToolRunResult::failed(text) } else { ToolRunResult::ok(text) };
    recorder(&store)?.complete_call(&header.id, &ToolCallId::new(args.call.as_str()), &result)?;
    written_down(common, &store, header, args.resume, args.view)
}

/// A runtime that writes down what is said and runs nothing.
fn recorder(store: &Arc<dyn Store>) -> Result<Runtime, Problem> {
    Ok(Runtime::builder().store(Arc::clone(store)).model(NoModel).build()?)
}

/// Finds the request that is meant, writes the decisions down, and gives the operation that asked.
fn decide(store: &Arc<dyn Store>, args: &ApproveArgs, verdict: &PostedVerdict) -> Result<Header, Problem> {
    let recorder = recorder(store)?;
    let header = store::find(store.as_ref(), &args.operation)?;
    let open: Vec<(Header, Approval)> =
        recorder.approvals(&header.id)?.into_iter().filter(|(_, approval)| !undecided(approval).is_empty()).collect();
    let Some((asking, approval)) = open.first() else {
        let status = header.summary.status;
        return Err(Problem::usage(format!("no call of `{}` waits for a decision (it is {status})", header.id)));
    };
    let waiting: Vec<&ToolCallId> = undecided(approval).into_iter().map(|call| &call.call).collect();
    let calls = choose(&waiting, args)?;
    let decisions =
        calls.into_iter().map(|call| PostedDecision { call: Some(call), verdict: verdict.clone() }).collect();
    recorder.decide(&asking.id, decisions)?;
    Ok(asking.clone())
}

fn choose(waiting: &[&ToolCallId], args: &ApproveArgs) -> Result<Vec<ToolCallId>, Problem> {
    let all = || waiting.iter().map(|call| (*call).clone()).collect();
    let names: Vec<&str> = waiting.iter().map(|call| call.as_str()).collect();
    let hint = format!("Waiting: {}.", names.join(", "));
    if args.all || (args.calls.is_empty() && waiting.len() == 1) {
        return Ok(all());
    }
    if args.calls.is_empty() {
        return Err(Problem::usage(format!("{} calls wait; name some, or say --all", waiting.len())).hint(hint));
    }
    let mut chosen = Vec::new();
    for word in &args.calls {
        let fits: Vec<&&ToolCallId> = waiting.iter().filter(|call| call.as_str().starts_with(word.as_str())).collect();
        let exact = fits.iter().find(|call| call.as_str() == word);
        match (exact, fits.as_slice()) {
            (Some(call), _) | (None, [call]) => chosen.push((**call).clone()),
            (None, []) => return Err(Problem::usage(format!("no call `{word}` waits for a decision")).hint(hint)),
            (None, [_, _, ..]) => {
                return Err(Problem::usage(format!("`{word}` is the beginning of several calls")).hint(hint));
            }
        }
    }
    Ok(chosen)
}

/// What was said is with the store; goes on if that was asked for.
fn written_down(
    common: &Common,
    store: &Arc<dyn Store>,
    header: Header,
    resume: bool,
    view: ViewArgs,
) -> Result<ExitCode, Problem> {
    if is_run_elsewhere(store.as_ref(), &header.id)? {
        say("written down; the process that runs the operation goes on with it");
        return Ok(ExitCode::Done);
    }
    if resume {
        return go_on(common, store, header, &BTreeSet::new(), view);
    }
    let root = store::root_of(store.as_ref(), header)?;
    say(format!("written down; to go on: {}", command_line(common, "resume", &root.id, "")));
    Ok(ExitCode::Done)
}

/// Ends the operation here, unless another process runs it. Having ended it is success.
fn end(common: &Common, store: &Arc<dyn Store>, header: &Header, view: ViewArgs) -> Result<ExitCode, Problem> {
    if is_run_elsewhere(store.as_ref(), &header.id)? {
        say("written down; the process that runs the operation ends it");
        return Ok(ExitCode::Done);
    }
    let exit = end_here(common, store, header, view)?;
    Ok(if exit == ExitCode::Interrupted { ExitCode::Done } else { exit })
}
