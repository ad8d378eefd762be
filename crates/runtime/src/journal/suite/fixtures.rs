//! What the laws of a store are told with.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use jackline_model::{Lineage, Message, MessageBody, OperationId, Origin, ToolCall, ToolKey};
use jackline_tools::gate::{Receipt, receipt};

use crate::journal::port::{
    Approval, ApprovalQuestion, Batch, Fence, InboxItem, NewOperation, PendingCall, PlacedMessage, PostedDecision,
    PostedVerdict, Row, Store, StoreError, StoredMessage,
};
use crate::machine::Durability;

pub(super) fn begun(store: &dyn Store) -> (OperationId, Fence) {
    let fence = store.create(operation("op-1", 100)).unwrap();
    ("op-1".into(), fence)
}

pub(super) fn operation(id: &str, created_at: u64) -> NewOperation {
    NewOperation {
        id: id.into(),
        agent: "helper".into(),
        config: "name = \"helper\"".into(),
        config_hash: "hash-1".into(),
        lineage: Lineage { parent_operation_id: Some("op-0".into()), is_sub_agent: true, depth: 1 },
        parent_call: Some(3),
        origin: Origin { topic_id: Some("t-1".to_owned()), ..Origin::default() },
        user: "local".into(),
        required_hooks: vec!["policy".to_owned()],
        caller_hooks: vec!["{\"id\":\"b\"}".to_owned(), "{\"id\":\"a\"}".to_owned()],
        messages: vec![system(0, "You help."), user(1, "Hello")],
        created_at,
    }
}

pub(super) fn batch(operation: &OperationId, fence: Fence) -> Batch {
    Batch::new(operation.clone(), fence, "r")
}

pub(super) fn open_request(store: &dyn Store, id: &OperationId, fence: Fence, calls: &[&str], expires_at: Option<u64>) {
    let rows = vec![Row::Message(assistant(2, calls))];
    commit(store, Batch { rows, approval: Some(asked(calls, expires_at)), ..batch(id, fence) }).unwrap();
}

pub(super) fn asked(calls: &[&str], expires_at: Option<u64>) -> Approval {
    let pending = |(call, ordinal): (&&str, u16)| PendingCall {
        ordinal,
        call: (*call).into(),
        key: ToolKey::new("fs", "write"),
        arguments: "{}".into(),
        decided: false,
    };
    let question = ApprovalQuestion::Calls(calls.iter().zip(1..).map(pending).collect());
    Approval { id: "ap-1".into(), question, asked_at: 120, expires_at }
}

pub(super) fn decide(call: &str, verdict: PostedVerdict) -> PostedDecision {
    PostedDecision { call: Some(call.into()), verdict }
}

pub(super) fn decided(store: &dyn Store, id: &OperationId) -> Vec<bool> {
    match store.approval(id).unwrap().expect("the request is open").question {
        ApprovalQuestion::Calls(pending) => pending.iter().map(|call| call.decided).collect(),
        ApprovalQuestion::Prompt(_) | ApprovalQuestion::Select { .. } => Vec::new(),
    }
}

pub(super) fn answer(call: &str, result: &str) -> InboxItem {
    InboxItem::Answer { call: call.into(), result: result.to_owned() }
}

pub(super) fn result(place: u32, call: &str, why: &Receipt) -> Row {
    let (id, key) = (format!("m-{place}").into(), ToolKey::new("fs", "write"));
    Row::Tool { place, id, call: call.into(), key, published: Box::new(receipt(why)) }
}

pub(super) fn assistant(place: u32, calls: &[&str]) -> PlacedMessage {
    let call = |id: &&str| ToolCall { id: (*id).into(), key: ToolKey::new("fs", "write"), arguments: "{}".into() };
    let tool_calls = calls.iter().map(call).collect();
    placed(place, MessageBody::Assistant { content: "".into(), reasoning: None, tool_calls })
}

pub(super) fn user(place: u32, text: &str) -> PlacedMessage {
    placed(place, MessageBody::User { content: text.into() })
}

pub(super) fn system(place: u32, text: &str) -> PlacedMessage {
    placed(place, MessageBody::System { content: text.into() })
}

pub(super) fn placed(place: u32, body: MessageBody) -> PlacedMessage {
    let id = match &body {
        // A summary has a row of its own at the place of the first message that it stands for.
        MessageBody::System { content } => format!("m-{place}-{}", content.text().len()),
        MessageBody::User { .. } | MessageBody::Assistant { .. } | MessageBody::Tool { .. } => format!("m-{place}"),
    };
    PlacedMessage { place, message: Message { id: id.into(), body } }
}

pub(super) fn texts(messages: &[StoredMessage]) -> Vec<(u32, String)> {
    let text = |message: &Message| match &message.body {
        MessageBody::System { content } | MessageBody::User { content } | MessageBody::Assistant { content, .. } => {
            content.text()
        }
        MessageBody::Tool { content, .. } => content.to_string(),
    };
    messages.iter().map(|stored| (stored.place, text(&stored.message))).collect()
}

pub(super) fn refused<T: std::fmt::Debug>(outcome: Result<T, StoreError>, why: &str) {
    match outcome {
        Err(StoreError::Refused(said)) => assert_eq!(said, why),
        other => panic!("`{why}` was expected, not {other:?}"),
    }
}

pub(super) fn version(store: &dyn Store) -> u64 {
    store.version().unwrap()
}

/// An error comes back from the append or from the flush after it.
pub(super) fn commit(store: &dyn Store, batch: Batch) -> Result<(), StoreError> {
    let operation = batch.operation.clone();
    store.append(batch)?;
    wait(store.flush(&operation, Durability::Gate))
}

/// Waits for a future of a store, whose writer may be a thread of its own.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
