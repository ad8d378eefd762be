//! The check of a stored operation finds what does not fit together.

#![expect(clippy::unwrap_used, reason = "what fails in a helper of these tests fails the test")]

use std::sync::Arc;

use jackline_model::{ApprovalId, BlobId, ConfigHash, MessageBody, OperationId, ToolKey, ToolRunResult};
use jackline_runtime::drive::{Agent, CheckError, FnTool, Runtime, check_operation};
use jackline_runtime::journal::{
    Approval, ApprovalQuestion, Batch, BoxFuture, ClaimedDeliveries, DeliveryChange, DeliveryChanged, DeliveryClaim,
    Fence, Header, Heard, InboxId, InboxItem, Loaded, NewOperation, Store, StoreError, StoredDelivery, StoredMessage,
};
use jackline_runtime::llm::{ReplyBuilder, ScriptedModel, Turn};
use jackline_runtime::machine::Durability;
use jackline_runtime::machine::invariants::Invariant;
use jackline_tools::{ToolContext, ToolError, ToolSpec};
use serde_json::Value;

#[tokio::test]
async fn a_run_that_was_left_alone_passes() {
    let (store, operation) = run().await;
    check_operation(store.as_ref(), &operation).unwrap();
}

#[tokio::test]
async fn results_in_another_order_missing_or_of_no_call_are_found() {
    let (store, operation) = run().await;
    for bend in [Bend::ResultsSwapped, Bend::ResultGone, Bend::ResultTwice, Bend::CallGone] {
        assert_eq!(found(&store, &operation, bend), Invariant::ResultsPairUp, "{bend:?}");
    }
}

#[tokio::test]
async fn a_journal_that_was_cut_repeated_or_told_otherwise_is_found() {
    let (store, operation) = run().await;
    for bend in [Bend::RecordTwice, Bend::RecordGone, Bend::OtherTotals] {
        assert_eq!(found(&store, &operation, bend), Invariant::StoreAgrees, "{bend:?}");
    }
}

#[tokio::test]
async fn a_request_that_nothing_waits_for_is_found() {
    let (store, operation) = run().await;
    assert_eq!(found(&store, &operation, Bend::RequestOpen), Invariant::DecisionsCountOnce);
}

fn found(store: &Arc<dyn Store>, operation: &OperationId, bend: Bend) -> Invariant {
    let bent = Bent { store: Arc::clone(store), bend };
    match check_operation(&bent, operation) {
        Err(CheckError::Broken(broken)) => broken.invariant,
        Err(CheckError::Unreadable(error)) => panic!("{bend:?}: {error}"),
        Ok(()) => panic!("{bend:?} was not found"),
    }
}

/// Two calls in one turn.
async fn run() -> (Arc<dyn Store>, OperationId) {
    let both = ReplyBuilder::default().call(None, "log____read", "{}").call(None, "log____read", "{}");
    let model = ScriptedModel::new([Turn::Reply(both.build()), Turn::text("done")]);
    let spec = ToolSpec::new(ToolKey::new("log", "read"), "Reads.");
    let read = FnTool::new(spec, |_arguments: Value, _context: ToolContext| async {
        Ok::<_, ToolError>(ToolRunResult::ok("read"))
    });
    let runtime = Runtime::builder().model(model).tool(read).build().unwrap();
    let run = runtime.start(&Agent::new("clerk", "You read."), "Read twice.", jackline_hooks::Hooks::new()).unwrap();
    run.wait().await.unwrap();
    (Arc::clone(runtime.store()), run.id().clone())
}

#[derive(Clone, Copy, Debug)]
enum Bend {
    ResultsSwapped,
    ResultGone,
    ResultTwice,
    CallGone,
    RecordTwice,
    RecordGone,
    OtherTotals,
    RequestOpen,
}

/// A store that tells one thing otherwise.
struct Bent {
    store: Arc<dyn Store>,
    bend: Bend,
}

impl Bent {
    fn bend_messages(&self, messages: &mut Vec<StoredMessage>) {
        let results: Vec<usize> = (0..messages.len()).filter(|index| is_result(&messages[*index])).collect();
        match self.bend {
            Bend::ResultsSwapped => {
                let place = messages[results[0]].place;
                messages[results[0]].place = messages[results[1]].place;
                messages[results[1]].place = place;
            }
            Bend::ResultGone => drop(messages.remove(results[1])),
            Bend::ResultTwice => messages.push(messages[results[0]].clone()),
            Bend::CallGone => {
                for stored in messages {
                    if let MessageBody::Assistant { tool_calls, .. } = &mut stored.message.body {
                        tool_calls.truncate(1);
                    }
                }
            }
            Bend::RecordTwice | Bend::RecordGone | Bend::OtherTotals | Bend::RequestOpen => {}
        }
    }
}

fn is_result(stored: &StoredMessage) -> bool {
    matches!(stored.message.body, MessageBody::Tool { .. })
}

/// The check reads; what it does not read is not bent.
impl Store for Bent {
    fn header(&self, operation: &OperationId) -> Result<Header, StoreError> {
        let mut header = self.store.header(operation)?;
        if matches!(self.bend, Bend::OtherTotals) {
            header.summary.totals.tool_calls += 1;
        }
        Ok(header)
    }

    fn records(&self, operation: &OperationId) -> Result<Vec<String>, StoreError> {
        let mut records = self.store.records(operation)?;
        match self.bend {
            Bend::RecordTwice => records.push(records[records.len() - 1].clone()),
            Bend::RecordGone => drop(records.remove(1)),
            Bend::ResultsSwapped
            | Bend::ResultGone
            | Bend::ResultTwice
            | Bend::CallGone
            | Bend::OtherTotals
            | Bend::RequestOpen => {}
        }
        Ok(records)
    }

    fn messages(&self, operation: &OperationId) -> Result<Vec<StoredMessage>, StoreError> {
        let mut messages = self.store.messages(operation)?;
        self.bend_messages(&mut messages);
        Ok(messages)
    }

    fn approval(&self, operation: &OperationId) -> Result<Option<Approval>, StoreError> {
        let open = Approval {
            id: ApprovalId::from("open"),
            question: ApprovalQuestion::Prompt("why?".to_owned()),
            asked_at: 0,
            expires_at: None,
        };
        if matches!(self.bend, Bend::RequestOpen) { Ok(Some(open)) } else { self.store.approval(operation) }
    }

    fn caller_hooks(&self, operation: &OperationId) -> Result<Vec<String>, StoreError> {
        self.store.caller_hooks(operation)
    }

    fn heard(&self, operation: &OperationId) -> Result<Vec<Heard>, StoreError> {
        self.store.heard(operation)
    }

    fn config(&self, hash: &ConfigHash) -> Result<Option<Arc<str>>, StoreError> {
        self.store.config(hash)
    }

    fn forget_hooks(&self, operation: &OperationId) -> Result<(), StoreError> {
        self.store.forget_hooks(operation)
    }

    fn create(&self, new: NewOperation) -> Result<Fence, StoreError> {
        self.store.create(new)
    }

    fn claim(&self, operation: &OperationId) -> Result<Fence, StoreError> {
        self.store.claim(operation)
    }

    fn release(&self, operation: &OperationId, fence: Fence) -> Result<(), StoreError> {
        self.store.release(operation, fence)
    }

    fn append(&self, batch: Batch) -> Result<(), StoreError> {
        self.store.append(batch)
    }

    fn flush<'a>(
        &'a self,
        operation: &'a OperationId,
        durability: Durability,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.flush(operation, durability)
    }

    fn post(&self, operation: &OperationId, item: InboxItem, now: u64) -> Result<InboxId, StoreError> {
        self.store.post(operation, item, now)
    }

    fn inbox(&self, operation: &OperationId) -> Result<Vec<(InboxId, InboxItem)>, StoreError> {
        self.store.inbox(operation)
    }

    fn version(&self) -> Result<u64, StoreError> {
        self.store.version()
    }

    fn load(&self, operation: &OperationId) -> Result<Loaded, StoreError> {
        self.store.load(operation)
    }

    fn list(&self, limit: usize) -> Result<Vec<Header>, StoreError> {
        self.store.list(limit)
    }

    fn outbox(&self, limit: usize) -> Result<Vec<StoredDelivery>, StoreError> {
        self.store.outbox(limit)
    }

    fn claim_deliveries(&self, claim: &DeliveryClaim) -> Result<ClaimedDeliveries, StoreError> {
        self.store.claim_deliveries(claim)
    }

    fn change_delivery(&self, id: &str, change: DeliveryChange) -> Result<DeliveryChanged, StoreError> {
        self.store.change_delivery(id, change)
    }

    fn outbox_is_full(&self) -> Result<bool, StoreError> {
        self.store.outbox_is_full()
    }

    fn blob(&self, blob: &BlobId) -> Result<Option<Arc<str>>, StoreError> {
        self.store.blob(blob)
    }
}
