//! Who decides about calls that wait, and how they are asked.

use std::collections::VecDeque;

use jackline_model::OperationId;
use jackline_runtime::journal::{Approval, ApprovalQuestion, Header, PendingCall, PostedDecision, PostedVerdict};
use serde::Deserialize;

use super::terminal::Terminal;
use crate::render::{Screen, one_line};

/// Who decides.
#[derive(Debug)]
pub(crate) enum Decider {
    /// Nobody here: the run parks.
    Nobody,
    /// A person at the terminal.
    Person(Terminal),
    /// A tour, whose answers are given in order.
    Script(VecDeque<Answer>),
}

/// An answer of a tour.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Answer {
    /// The calls may run.
    Approve,
    /// The run ends.
    Reject {
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
    /// The run goes on without the calls.
    RejectAndContinue {
        /// Why; the model reads it.
        #[serde(default)]
        reason: Option<String>,
    },
    /// An answer in words.
    Say {
        /// The words.
        text: String,
    },
}

/// What came of asking.
#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    /// Decisions about one operation's request.
    Decided(OperationId, Vec<PostedDecision>),
    /// Leave the rest waiting.
    Leave,
    /// Stop the run.
    Stop,
}

impl From<Answer> for PostedVerdict {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Approve => Self::Approve,
            Answer::Reject { reason } => Self::Reject { reason },
            Answer::RejectAndContinue { reason } => Self::RejectAndContinue { reason },
            Answer::Say { text } => Self::Answer { text },
        }
    }
}

impl Decider {
    /// Whoever is at the terminal, if people follow along there.
    pub(crate) fn here(screen: &Screen) -> Self {
        if screen.is_human() && Terminal::is_there() { Self::Person(Terminal::default()) } else { Self::Nobody }
    }

    /// Asks about the first open request. Dropping the future gives the question up.
    pub(super) async fn ask(&mut self, open: &[(Header, Approval)], screen: &mut Screen) -> Asked {
        let Some((header, approval)) = open.first() else { return Asked::Leave };
        match self {
            Self::Nobody => Asked::Leave,
            Self::Script(answers) => match answers.pop_front() {
                Some(answer) => Asked::Decided(header.id.clone(), for_all(approval, &answer)),
                None => Asked::Leave,
            },
            Self::Person(terminal) => ask_person(terminal, header, approval, screen).await,
        }
    }
}

/// The calls of a request that nobody has decided about.
pub(crate) fn undecided(approval: &Approval) -> Vec<&PendingCall> {
    match &approval.question {
        ApprovalQuestion::Calls(calls) => calls.iter().filter(|call| !call.decided).collect(),
        ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. } => Vec::new(),
    }
}

fn for_all(approval: &Approval, answer: &Answer) -> Vec<PostedDecision> {
    let verdict = || PostedVerdict::from(answer.clone());
    match &approval.question {
        ApprovalQuestion::Calls(_) => {
            let decide = |call: &PendingCall| PostedDecision { call: Some(call.call.clone()), verdict: verdict() };
            undecided(approval).into_iter().map(decide).collect()
        }
        ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. } => {
            vec![PostedDecision { call: None, verdict: verdict() }]
        }
    }
}

async fn ask_person(terminal: &mut Terminal, header: &Header, approval: &Approval, screen: &mut Screen) -> Asked {
    let mut decisions = Vec::new();
    match &approval.question {
        ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. } => {
            if let ApprovalQuestion::Select { options, .. } = &approval.question {
                screen.note(&format!("  one of: {}", options.join(", ")));
            }
            screen.prompt("your answer (empty: leave it waiting)> ");
            match terminal.line().await.map(|line| line.trim().to_owned()) {
                Some(text) if !text.is_empty() => {
                    decisions.push(PostedDecision { call: None, verdict: PostedVerdict::Answer { text } });
                }
                Some(_) | None => return Asked::Leave,
            }
        }
        ApprovalQuestion::Calls(_) => {
            for call in undecided(approval) {
                screen.note(&format!("\n{} wants to run {}", header.agent, call.key));
                screen.note(&format!("  {}", one_line(&call.arguments, ARGUMENT_CHARS)));
                match ask_about_call(terminal, screen).await {
                    Choice::Verdict(verdict) => {
                        decisions.push(PostedDecision { call: Some(call.call.clone()), verdict });
                    }
                    Choice::Skip => {}
                    Choice::Stop => return Asked::Stop,
                }
            }
        }
    }
    if decisions.is_empty() { Asked::Leave } else { Asked::Decided(header.id.clone(), decisions) }
}

enum Choice {
    Verdict(PostedVerdict),
    Skip,
    Stop,
}

async fn ask_about_call(terminal: &mut Terminal, screen: &mut Screen) -> Choice {
    loop {
        screen.prompt("a approve · r reject · c reject and continue · s leave it waiting · q stop the run > ");
        let Some(line) = terminal.line().await else {
            screen.note("");
            return Choice::Skip;
        };
        return match line.trim().to_lowercase().as_str() {
            "a" | "approve" => Choice::Verdict(PostedVerdict::Approve),
            "r" | "reject" => {
                let reason = reason(terminal, screen).await;
                Choice::Verdict(PostedVerdict::Reject { reason })
            }
            "c" | "continue" => {
                let reason = reason(terminal, screen).await;
                Choice::Verdict(PostedVerdict::RejectAndContinue { reason })
            }
            "s" | "skip" => Choice::Skip,
            "q" | "quit" | "stop" => Choice::Stop,
            _ => continue,
        };
    }
}

async fn reason(terminal: &mut Terminal, screen: &mut Screen) -> Option<String> {
    screen.prompt("why? (Enter: no reason) > ");
    terminal.line().await.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty())
}

/// A person who approves should see what they approve: much more than a line of the timeline.
const ARGUMENT_CHARS: usize = 2_000;
