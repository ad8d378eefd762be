//! What a run tells while it runs: typed, versioned, the same for embedders and for `--json`.

use std::sync::Arc;

use jackline_hooks::HookKind;
use jackline_model::{
    ApprovalId, ExitCode, Fault, ModelUsage, OperationId, Reason, Status, ToolCallId, ToolKey, ToolRunResult, Totals,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast;

/// The version of the event format. It grows when a field is removed or changes its meaning;
/// new fields and new types may come without that.
pub const EVENTS_VERSION: u32 = 1;

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamEvent {
    /// The version of the format.
    pub v: u32,
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// The operation that it is about: the run's own, or a sub-agent's.
    pub operation: OperationId,
    /// The step.
    pub step: u32,
    /// What happened.
    #[serde(flatten)]
    pub what: Told,
}

impl StreamEvent {
    /// The event as one line of JSON, as `--json` prints it: see [`events_schema`](super::events_schema).
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an event holds text, numbers, and maps whose keys are text")
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[expect(missing_docs, reason = "the fields are named like what they hold; the variants say when")]
pub enum Told {
    /// The operation begins or goes on.
    OperationStart { agent: Arc<str>, parent: Option<OperationId>, resumed: bool },
    /// A step opens.
    StepStart,
    /// A step is closed.
    StepEnd { status: Status },
    /// The model is asked.
    ModelStart { model: Arc<str>, attempt: u16, with_tools: bool },
    /// A piece of its answer.
    Text { delta: String },
    /// A piece of what it thinks.
    Reasoning { delta: String },
    /// It failed and will be asked again; pieces of the failed try are void.
    ModelRetry { attempt: u16, delay_ms: u64, error: String },
    /// It has answered. `finish` is the provider's own word for why it stopped, where that is none of the usual ones.
    ModelEnd {
        content: String,
        calls: usize,
        usage: Option<ModelUsage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<String>,
    },
    /// It has not, for good.
    ModelError { error: Fault },
    /// A call is about to be cleared.
    ToolStart { call: ToolCallId, tool: ToolKey, arguments: Arc<str>, index: u64 },
    /// A call has its published result.
    ToolEnd { call: ToolCallId, tool: ToolKey, decision: Decided, result: ToolRunResult, duration_ms: u64 },
    /// A call waits for a result from elsewhere.
    ToolParked { call: ToolCallId, tool: ToolKey, child: Option<OperationId> },
    /// A person must decide.
    ApprovalRequired {
        approval: ApprovalId,
        calls: Vec<PendingCallView>,
        question: Option<String>,
        expires_at: Option<u64>,
    },
    /// A person has decided.
    ApprovalDecided { action: Arc<str>, calls: Vec<ToolCallId>, reason: Option<String> },
    /// The history is about to be folded.
    CompactionStart { messages: u32, tokens: u64 },
    /// It was folded, or not.
    CompactionEnd { messages_before: u32, messages_after: u32, error: Option<String> },
    /// The hooks of one type were fired.
    Hook { hook: HookKind, asked: Vec<HookReceipt> },
    /// The operation waits for somebody outside, and rests.
    Parked { status: Status },
    /// The operation has ended.
    OperationEnd {
        status: Status,
        reason: Reason,
        answer: Option<String>,
        error: Option<Fault>,
        totals: Totals,
        resumable: bool,
    },
    /// The reader was too slow: so many events are missing. The journal has them all.
    Gap { missed: u64 },
}

/// A call that waits for a decision, as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are named like what they hold")]
pub struct PendingCallView {
    pub call: ToolCallId,
    pub tool: ToolKey,
    pub arguments: Arc<str>,
}

/// What decided about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields are named like what they hold")]
pub enum Decided {
    /// The tool ran and its result stands.
    Ran,
    /// The tool broke or took too long.
    Threw,
    /// A hook supplied the result.
    Mocked { hook: String },
    /// Hooks denied it before or after the run.
    Denied { hook: String, after: bool, failure: bool },
    /// The result was delivered later.
    Answered,
    /// The runtime answered: the call could not or must not run.
    Refused,
    /// The call was aborted.
    Aborted,
}

/// One hook that was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are named like what they hold")]
pub struct HookReceipt {
    pub id: String,
    /// The operation above whose hook it is, if it is inherited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_from: Option<OperationId>,
    /// `native`, `webhook` or `command`.
    pub carrier: Arc<str>,
    pub answer: Arc<str>,
    /// Why a hook outside the process gave no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Arc<str>>,
    /// `policy` or `failure`, if this hook decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Arc<str>>,
    pub micros: u64,
}

/// A reader of events. A slow one misses events and is told how many; it never slows a run.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Arc<StreamEvent>>,
}

impl Events {
    /// The next event; `None` once the runtime is gone.
    pub async fn next(&mut self) -> Option<Arc<StreamEvent>> {
        match self.receiver.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Arc::new(gap(missed))),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// The next event if one is there.
    pub fn try_next(&mut self) -> Option<Arc<StreamEvent>> {
        match self.receiver.try_recv() {
            Ok(event) => Some(event),
            Err(broadcast::error::TryRecvError::Lagged(missed)) => Some(Arc::new(gap(missed))),
            Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => None,
        }
    }
}

/// Where drivers put events.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    sender: broadcast::Sender<Arc<StreamEvent>>,
}

impl Stream {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(EVENTS_KEPT) }
    }

    pub(crate) fn subscribe(&self) -> Events {
        Events { receiver: self.sender.subscribe() }
    }

    /// Whether anybody reads: events are built only then.
    pub(crate) fn is_read(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    pub(crate) fn tell(&self, at: u64, operation: &OperationId, step: u32, what: Told) {
        let event = StreamEvent { v: EVENTS_VERSION, at, operation: operation.clone(), step, what };
        // Nobody reading is fine.
        let _ = self.sender.send(Arc::new(event));
    }
}

fn gap(missed: u64) -> StreamEvent {
    StreamEvent { v: EVENTS_VERSION, at: 0, operation: OperationId::new(""), step: 0, what: Told::Gap { missed } }
}

/// Events kept for a slow reader: some seconds of fast streaming.
const EVENTS_KEPT: usize = 4096;

/// How a run stands when its driver rests: the last word of `wait`.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The operation.
    pub operation: OperationId,
    /// Where it stands.
    pub status: Status,
    /// How it ended, if it did.
    pub reason: Option<Reason>,
    /// The text of the last answer.
    pub answer: Option<String>,
    /// What went wrong, if something did.
    pub fault: Option<Fault>,
    /// What was used, children included.
    pub totals: Totals,
    /// Steps done.
    pub steps: u32,
    /// Whether `resume` may go on with it.
    pub resumable: bool,
}

impl Report {
    /// The exit code of the command line.
    pub fn exit_code(&self) -> ExitCode {
        match self.reason {
            Some(reason) => reason.exit_code(),
            None => ExitCode::Waiting,
        }
    }

    /// The report as JSON, as the last line of `--json` has it.
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "operation": self.operation, "status": self.status, "reason": self.reason, "answer": self.answer,
            "error": self.fault, "totals": self.totals, "steps": self.steps, "resumable": self.resumable,
        })
    }
}
