//! What the tests of the store share: small values with sensible content.
#![expect(dead_code, reason = "every test file uses a part of it")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::path::{Path, PathBuf};

use jackline_model::{Message, MessageBody, OperationId, ToolCall, ToolKey, ToolRunResult};
use jackline_runtime::journal::{
    Approval, ApprovalQuestion, Batch, Fence, InboxItem, NewOperation, PendingCall, PlacedMessage, PostedDecision,
    PostedVerdict, Row, Store, StoreError, Summary,
};
use jackline_runtime::machine::Durability;
use jackline_store_sqlite::{OpenOptions, SqliteStore};
use jackline_tools::Receipt;
use jackline_tools::gate::receipt;
use tempfile::TempDir;

/// A directory with room for a store.
pub(crate) struct Place {
    pub(crate) directory: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("jackline.db")
    }

    pub(crate) fn open(&self) -> SqliteStore {
        SqliteStore::open(self.path(), &OpenOptions::default()).unwrap()
    }

    /// A connection that is not the store's, as another program would have one.
    pub(crate) fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
}

pub(crate) fn new_operation(id: &str) -> NewOperation {
    NewOperation {
        id: id.into(),
        agent: "helper".into(),
        config: r#"{"model":"m"}"#.into(),
        config_hash: "c0ffee".into(),
        lineage: jackline_model::Lineage::default(),
        parent_call: None,
        origin: jackline_model::Origin { topic_id: Some("t1".into()), ..jackline_model::Origin::default() },
        user: "ann".into(),
        required_hooks: vec!["no-secrets".into()],
        caller_hooks: Vec::new(),
        messages: vec![said(0, "m0", "system: be brief"), said(1, "m1", "what is in the file?")],
        created_at: 1_000,
    }
}

/// What a person said.
pub(crate) fn said(place: u32, id: &str, text: &str) -> PlacedMessage {
    PlacedMessage { place, message: Message { id: id.into(), body: MessageBody::User { content: text.into() } } }
}

/// An answer of a model that asks for calls.
pub(crate) fn asked(place: u32, id: &str, text: &str, calls: &[&str]) -> PlacedMessage {
    let tool_calls = calls
        .iter()
        .map(|call| ToolCall { id: (*call).into(), key: ToolKey::new("fs", "read"), arguments: "{\"a\":1}".into() })
        .collect();
    let body = MessageBody::Assistant { content: text.into(), reasoning: Some("hm".into()), tool_calls };
    PlacedMessage { place, message: Message { id: id.into(), body } }
}

/// The row of a result with this text in it.
pub(crate) fn result(place: u32, call: &str, text: &str) -> Row {
    Row::Tool {
        place,
        id: format!("row-{place}").as_str().into(),
        call: call.into(),
        key: ToolKey::new("fs", "read"),
        published: Box::new(receipt(&Receipt::BadArguments { problem: text.to_owned() })),
    }
}

pub(crate) fn batch(operation: &str, fence: Fence, record: &str) -> Batch {
    Batch::new(operation.into(), fence, record)
}

pub(crate) fn summary(status: jackline_model::Status) -> Summary {
    Summary {
        status,
        reason: None,
        steps: 3,
        totals: jackline_model::Totals {
            llm_calls: 2,
            tool_calls: 1,
            input_tokens: 30,
            output_tokens: 4,
            total_tokens: 34,
            cost: jackline_model::NanoDollars(77),
        },
        updated_at: 2_000,
    }
}

pub(crate) fn approval_of(calls: &[&str]) -> Approval {
    let pending = |(place, call): (usize, &&str)| PendingCall {
        ordinal: u16::try_from(place + 1).unwrap(),
        call: (*call).into(),
        key: ToolKey::new("fs", "write"),
        arguments: "{}".into(),
        decided: false,
    };
    Approval {
        id: "ask-1".into(),
        question: ApprovalQuestion::Calls(calls.iter().enumerate().map(pending).collect()),
        asked_at: 1_500,
        expires_at: Some(9_000),
    }
}

pub(crate) fn decided(call: Option<&str>, verdict: PostedVerdict) -> InboxItem {
    InboxItem::Decided(vec![PostedDecision { call: call.map(Into::into), verdict }])
}

/// The result of a parked call, with this text in it.
pub(crate) fn answer(call: &str, text: &str) -> InboxItem {
    let result = serde_json::to_string(&ToolRunResult::ok(text)).unwrap();
    InboxItem::Answer { call: call.into(), result }
}

/// Appends and waits for the commit.
pub(crate) async fn write(store: &dyn Store, batch: Batch) -> Result<(), StoreError> {
    let operation = batch.operation.clone();
    store.append(batch)?;
    store.flush(&operation, Durability::Committed).await
}

pub(crate) fn id(text: &str) -> OperationId {
    text.into()
}

/// All bytes of the database and its log.
pub(crate) fn bytes_on_disk(database: &Path) -> Vec<u8> {
    let mut all = std::fs::read(database).unwrap();
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    all.extend(std::fs::read(log).unwrap_or_default());
    all
}

pub(crate) fn contains(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}
