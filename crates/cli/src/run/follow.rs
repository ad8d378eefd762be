//! Follows a run until it has ended or waits for somebody who is not here.

use std::pin::pin;
use std::time::Instant;

use jackline_model::ExitCode;
use jackline_runtime::drive::{Events, Report, Run, RunError, Runtime, StreamEvent};
use jackline_runtime::journal::{Approval, ApprovalQuestion, Header, Store, StoreError};
use tokio::time::{MissedTickBehavior, interval};

use super::decide::{Asked, Decider, undecided};
use super::poll::{self, Poll};
use super::signals::Signals;
use crate::args::{Common, ViewArgs};
use crate::problem::Problem;
use crate::render::{Out, Paint, Screen, one_line, say};
use crate::store::command_line;

/// Who follows a run, and with what.
#[derive(Debug)]
pub(crate) struct Follow<'a> {
    runtime: &'a Runtime,
    screen: &'a mut Screen,
    decider: &'a mut Decider,
    signals: Signals,
    poll: Poll,
}

/// The screen that somebody asked for.
pub(crate) fn screen(common: &Common, view: ViewArgs) -> Screen {
    if view.json {
        return Screen::Json(Out::default());
    }
    if view.quiet {
        return Screen::Quiet(Out::default());
    }
    Screen::human(Paint::for_output(common.color, Out::is_terminal()))
}

impl<'a> Follow<'a> {
    /// Follows, and has somebody decide about calls.
    pub(crate) fn with(
        runtime: &'a Runtime,
        screen: &'a mut Screen,
        decider: &'a mut Decider,
    ) -> Result<Self, Problem> {
        Ok(Self { runtime, screen, decider, signals: Signals::new()?, poll: Poll::default() })
    }

    /// Follows until the run rests; the report was shown.
    ///
    /// # Errors
    ///
    /// When the run has no trustworthy end.
    pub(crate) async fn follow(mut self, run: &Run, mut events: Events) -> Result<Report, Problem> {
        let started = Instant::now();
        self.poll.watch(run.id());
        loop {
            let outcome = self.until_rest(run, &mut events).await;
            while let Some(event) = events.try_next() {
                self.show(&event);
            }
            let report = outcome?;
            if report.reason.is_some() || !self.settle(run).await? {
                let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
                self.screen.report(&report, elapsed);
                return Ok(report);
            }
        }
    }

    async fn until_rest(&mut self, run: &Run, events: &mut Events) -> Result<Report, Problem> {
        let mut wait = pin!(run.wait());
        let mut ticks = interval(poll::EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.signals.first() => self.stop(run)?,
                Some(event) = events.next() => self.show(&event),
                outcome = &mut wait => return Ok(outcome?),
                _ = ticks.tick() => {
                    self.poll.look(self.runtime)?;
                }
            }
        }
    }

    fn show(&mut self, event: &StreamEvent) {
        self.poll.watch(&event.operation);
        self.screen.event(event);
    }

    fn stop(&mut self, run: &Run) -> Result<(), Problem> {
        match run.interrupt() {
            Ok(()) => {
                say("stopping (once more ends at once)");
                Ok(())
            }
            // It has ended by itself.
            Err(RunError::Store(StoreError::Refused(_))) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Has a parked run decided about. False if it is left waiting.
    async fn settle(&mut self, run: &Run) -> Result<bool, Problem> {
        let open = open_requests(self.runtime, run)?;
        if open.is_empty() {
            // Perhaps what it waits for has just come.
            return Ok(self.poll.look(self.runtime)?);
        }
        let asked = {
            let mut ask = pin!(self.decider.ask(&open, self.screen));
            let mut ticks = interval(poll::EVERY);
            loop {
                tokio::select! {
                    biased;
                    asked = &mut ask => break asked,
                    () = self.signals.first() => {
                        say("");
                        break Asked::Stop;
                    }
                    _ = ticks.tick() => {
                        if self.poll.look(self.runtime)? {
                            say("\ndecided elsewhere");
                            return Ok(true);
                        }
                    }
                }
            }
        };
        match asked {
            Asked::Leave => Ok(false),
            Asked::Stop => self.stop(run).map(|()| true),
            Asked::Decided(operation, decisions) => match self.runtime.decide(&operation, decisions) {
                Ok(()) => Ok(true),
                Err(RunError::Store(StoreError::Refused(why))) => {
                    say(format!("not decided: {why}"));
                    Ok(self.poll.look(self.runtime)?)
                }
                Err(error) => Err(error.into()),
            },
        }
    }
}

/// The requests that still wait for somebody, of the run and the agents below it.
fn open_requests(runtime: &Runtime, run: &Run) -> Result<Vec<(Header, Approval)>, Problem> {
    let open = runtime.approvals(run.id())?.into_iter();
    Ok(open.filter(|(_, approval)| is_open(approval)).collect())
}

fn is_open(approval: &Approval) -> bool {
    match &approval.question {
        ApprovalQuestion::Calls(_) => !undecided(approval).is_empty(),
        ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. } => true,
    }
}

/// Says on standard error how a run that has not ended for good can go on.
pub(crate) fn say_what_is_next(common: &Common, runtime: &Runtime, run: &Run, report: &Report) -> Result<(), Problem> {
    if report.resumable {
        say(format!("to go on: {}", command_line(common, "resume", run.id(), "")));
    }
    if report.exit_code() != ExitCode::Waiting {
        return Ok(());
    }
    let open = open_requests(runtime, run)?;
    for (header, approval) in &open {
        for call in undecided(approval) {
            say(format!("waiting: may {} run {} {}?", header.agent, call.key, one_line(&call.arguments, 100)));
            let decide =
                |word: &str, rest: &str| command_line(common, word, &header.id, &format!("{} {rest}", call.call));
            say(format!("  {}", decide("approve", "--resume")));
            say(format!("  {}", decide("reject", "--continue --reason '…' --resume")));
        }
    }
    if open.is_empty() {
        for call in unanswered(runtime.store().as_ref(), run)? {
            let rest = format!("{call} --resume < RESULT");
            say("waiting: a result comes from elsewhere; to give it:");
            say(format!("  {}", command_line(common, "complete", run.id(), &rest)));
        }
    }
    Ok(())
}

/// The calls of the last answer that have no result yet.
fn unanswered(store: &dyn Store, run: &Run) -> Result<Vec<String>, Problem> {
    use jackline_model::MessageBody;
    let mut calls = Vec::new();
    for stored in store.messages(run.id())? {
        match stored.message.body {
            MessageBody::Assistant { tool_calls, .. } => {
                calls = tool_calls.iter().map(|call| call.id.to_string()).collect();
            }
            MessageBody::Tool { call_id, .. } => calls.retain(|call| *call != call_id.as_str()),
            MessageBody::System { .. } | MessageBody::User { .. } => {}
        }
    }
    Ok(calls)
}
