//! The conversation as a model client reads it: each message serialized once, then reused.

use std::sync::{Arc, OnceLock};

use jackline_model::Message;
use serde_json::Value;
use serde_json::value::RawValue;

/// One message with the wire form that the client made of it.
#[derive(Debug)]
pub struct HistoryEntry {
    message: Message,
    wire: OnceLock<Box<RawValue>>,
}

impl HistoryEntry {
    /// A message that no client has serialized yet.
    pub fn new(message: Message) -> Arc<Self> {
        Arc::new(Self { message, wire: OnceLock::new() })
    }

    /// The message.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The wire form; `make` is called the first time only.
    ///
    /// It belongs to the client that asked first: a run keeps to one client, or makes new entries.
    pub fn wire(&self, make: impl FnOnce(&Message) -> Box<RawValue>) -> &RawValue {
        self.wire.get_or_init(|| make(&self.message))
    }
}

/// The messages of one request, oldest first.
#[derive(Clone, Debug, Default)]
pub struct History {
    entries: Vec<Arc<HistoryEntry>>,
}

impl History {
    /// Appends a message.
    pub fn push(&mut self, entry: Arc<HistoryEntry>) {
        self.entries.push(entry);
    }

    /// Puts a message at an index.
    pub fn insert(&mut self, index: usize, entry: Arc<HistoryEntry>) {
        self.entries.insert(index, entry);
    }

    /// Takes the message at an index out.
    pub fn remove(&mut self, index: usize) {
        self.entries.remove(index);
    }

    /// The messages.
    pub fn entries(&self) -> &[Arc<HistoryEntry>] {
        &self.entries
    }
}

impl FromIterator<Arc<HistoryEntry>> for History {
    fn from_iter<I: IntoIterator<Item = Arc<HistoryEntry>>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect() }
    }
}

/// The tools that a request offers, with the wire form made once.
#[derive(Debug, Default)]
pub struct ToolMenu {
    tools: Vec<OfferedTool>,
    wire: OnceLock<Box<RawValue>>,
}

/// One tool as a model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferedTool {
    /// The name on the wire: letters, digits, `_` and `-`, at most 64.
    pub wire_name: Arc<str>,
    /// What it does.
    pub description: Arc<str>,
    /// The JSON Schema of its arguments.
    pub parameters: Arc<Value>,
}

impl ToolMenu {
    /// A menu of these tools, in this order.
    pub fn new(tools: Vec<OfferedTool>) -> Self {
        Self { tools, wire: OnceLock::new() }
    }

    /// The tools.
    pub fn tools(&self) -> &[OfferedTool] {
        &self.tools
    }

    /// The wire form; `make` is called the first time only.
    pub fn wire(&self, make: impl FnOnce(&[OfferedTool]) -> Box<RawValue>) -> &RawValue {
        self.wire.get_or_init(|| make(&self.tools))
    }
}
