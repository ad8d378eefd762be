//! The states of one call, and the one function that moves it.

use std::collections::VecDeque;

use jackline_hooks::{AfterVerdict, BeforeVerdict, RuledBy, Ruling};
use jackline_model::{RawOutput, ToolCall};

use crate::gate::{self, Clearance, Gated, Publishable, Receipt};

/// The life of one tool call.
#[derive(Debug, PartialEq)]
pub enum Call {
    /// The before-hooks are asked.
    Asking {
        /// The call they are asked about.
        call: ToolCall,
    },
    /// They said yes; the operation writes that down before the tool starts.
    Cleared {
        /// The right to run.
        clearance: Clearance,
    },
    /// The tool runs.
    Running,
    /// The result comes later.
    Parked,
    /// The after-hooks judge.
    Judging {
        /// What they judge.
        raw: RawOutput,
        /// How it came about.
        told: Told,
    },
    /// The result is out.
    Done,
}

/// How a result came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The tool ran.
    Ran,
    /// The tool broke.
    Threw,
    /// A hook supplied it.
    Mocked(RuledBy),
    /// It was handed in later.
    Answered,
    /// The runtime made it.
    Receipt,
}

/// What can happen to a call.
///
/// The two parameters are what the chains of hooks ruled. [`Call::step`] takes nothing but rulings,
/// which only the chains can make; the table behind it works on rulings taken apart.
#[derive(Debug, PartialEq)]
pub enum In<B = Ruling<BeforeVerdict>, A = Ruling<AfterVerdict>> {
    /// The chain of before-hooks has ruled.
    BeforeRuled(B),
    /// The operation has written the clearance down.
    Go,
    /// The tool finished.
    Finished(RawOutput),
    /// The tool broke; the text is raw too.
    Threw(RawOutput),
    /// The tool will answer later.
    Deferred,
    /// Somebody handed the answer in.
    Answered(RawOutput),
    /// The chain of after-hooks has ruled; the number is the longest text that is published whole.
    AfterRuled(A, usize),
    /// The runtime ends the call: a deadline, an abort.
    Ended(Receipt),
}

/// What a call asks for.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Tell the operation that the call may run.
    Tell,
    /// Run the tool.
    RunTool(Clearance),
    /// Tell the operation that the result comes later.
    Park,
    /// Ask the after-hooks about the raw output in the state.
    AskAfter,
    /// Archive and publish in one commit.
    Publish {
        /// The result.
        published: Box<Publishable>,
        /// How it came about.
        told: Told,
        /// Which hook denied it, if one did.
        denied_by: Option<RuledBy>,
    },
}

impl Call {
    /// A new call: its before-hooks are to be asked.
    pub fn new(call: ToolCall) -> Self {
        Self::Asking { call }
    }

    /// A parked call whose answer has arrived, perhaps in another process: it is to be judged.
    pub fn answered(raw: RawOutput, out: &mut VecDeque<Effect>) -> Self {
        judge(raw, Told::Answered, out)
    }

    /// What the after-hooks are to judge.
    pub fn raw(&self) -> Option<(&RawOutput, &Told)> {
        match self {
            Self::Judging { raw, told } => Some((raw, told)),
            Self::Asking { .. } | Self::Cleared { .. } | Self::Running | Self::Parked | Self::Done => None,
        }
    }

    /// Moves the call.
    ///
    /// # Errors
    ///
    /// [`CallFault`] when the input does not fit the state. The call is lost then: fail the
    /// operation, never guess.
    pub fn step(self, input: In, out: &mut VecDeque<Effect>) -> Result<Self, CallFault> {
        self.moved(input.taken_apart(), out)
    }

    fn moved(self, input: Apart, out: &mut VecDeque<Effect>) -> Result<Self, CallFault> {
        Ok(match (self, input) {
            (Self::Asking { call }, In::BeforeRuled((verdict, by))) => match (gate::gated(call, verdict), by) {
                (Gated::Run(clearance), _) => {
                    out.push_back(Effect::Tell);
                    Self::Cleared { clearance }
                }
                (Gated::Judge(raw), Some(by)) => judge(raw, Told::Mocked(by), out),
                (Gated::Judge(_), None) => return Err(CallFault { state: "asking", input: "mock without a hook" }),
                (Gated::Publish(published), by) => publish(published, Told::Receipt, by, out),
            },
            (Self::Cleared { clearance }, In::Go) => {
                out.push_back(Effect::RunTool(clearance));
                Self::Running
            }
            (Self::Running, In::Finished(raw)) => judge(raw, Told::Ran, out),
            (Self::Running, In::Threw(raw)) => judge(raw, Told::Threw, out),
            (Self::Running, In::Deferred) => {
                out.push_back(Effect::Park);
                Self::Parked
            }
            (Self::Parked, In::Answered(raw)) => judge(raw, Told::Answered, out),
            (Self::Judging { raw, told }, In::AfterRuled((verdict, by), bytes_max)) => {
                publish(gate::judged(raw, verdict, bytes_max), told, by, out)
            }
            // Whatever raw output the state held is dropped unjudged.
            (
                Self::Asking { .. } | Self::Cleared { .. } | Self::Running | Self::Parked | Self::Judging { .. },
                In::Ended(reason),
            ) => publish(gate::receipt(&reason), Told::Receipt, None, out),
            (state, input) => return Err(CallFault { state: state.name(), input: input.name() }),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Asking { .. } => "asking",
            Self::Cleared { .. } => "cleared",
            Self::Running => "running",
            Self::Parked => "parked",
            Self::Judging { .. } => "judging",
            Self::Done => "done",
        }
    }
}

/// The inputs with their rulings taken apart.
type Apart = In<(BeforeVerdict, Option<RuledBy>), (AfterVerdict, Option<RuledBy>)>;

impl In {
    fn taken_apart(self) -> Apart {
        match self {
            Self::BeforeRuled(ruling) => In::BeforeRuled(ruling.into_parts()),
            Self::Go => In::Go,
            Self::Finished(raw) => In::Finished(raw),
            Self::Threw(raw) => In::Threw(raw),
            Self::Deferred => In::Deferred,
            Self::Answered(raw) => In::Answered(raw),
            Self::AfterRuled(ruling, bytes_max) => In::AfterRuled(ruling.into_parts(), bytes_max),
            Self::Ended(receipt) => In::Ended(receipt),
        }
    }
}

impl<B, A> In<B, A> {
    fn name(&self) -> &'static str {
        match self {
            Self::BeforeRuled(_) => "before ruled",
            Self::Go => "go",
            Self::Finished(_) => "finished",
            Self::Threw(_) => "threw",
            Self::Deferred => "deferred",
            Self::Answered(_) => "answered",
            Self::AfterRuled(..) => "after ruled",
            Self::Ended(_) => "ended",
        }
    }
}

/// An input that does not fit the state of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a call that is {state} cannot take \"{input}\"")]
pub struct CallFault {
    state: &'static str,
    input: &'static str,
}

fn judge(raw: RawOutput, told: Told, out: &mut VecDeque<Effect>) -> Call {
    out.push_back(Effect::AskAfter);
    Call::Judging { raw, told }
}

fn publish(published: Publishable, told: Told, denied_by: Option<RuledBy>, out: &mut VecDeque<Effect>) -> Call {
    out.push_back(Effect::Publish { published: Box::new(published), told, denied_by });
    Call::Done
}

#[cfg(test)]
mod tests;
