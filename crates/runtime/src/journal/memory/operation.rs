//! One operation of the store in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackline_model::{BlobId, Message, MessageBody, Role, ToolCallId};

use super::unbegun;
use crate::journal::port::{
    Approval, Batch, Fence, Fold, Header, Heard, InboxId, InboxItem, Loaded, NewOperation, PlacedMessage, Row,
    StoreError, StoredMessage,
};
use crate::journal::posting::{self, CallOnRecord};

#[derive(Debug)]
pub(super) struct Operation {
    pub(super) header: Header,
    config: Arc<str>,
    pub(super) caller_hooks: Vec<String>,
    pub(super) heard: Vec<Heard>,
    pub(super) owner: Option<u64>,
    fence: Fence,
    /// Each with whether it holds a boundary.
    pub(super) records: Vec<(String, bool)>,
    /// By place; at one place the folded before the summary.
    pub(super) messages: Vec<StoredMessage>,
    pub(super) approval: Option<Approval>,
    /// The question of the open request has its answer.
    answered_question: bool,
    pub(super) inbox: BTreeMap<InboxId, InboxItem>,
}

impl Operation {
    pub(super) fn create(new: NewOperation, process: u64) -> (Self, Fence) {
        let header = Header {
            id: new.id,
            agent: new.agent,
            config_hash: new.config_hash,
            lineage: new.lineage,
            parent_call: new.parent_call,
            origin: new.origin,
            user: new.user,
            required_hooks: new.required_hooks,
            created_at: new.created_at,
            summary: unbegun(new.created_at),
        };
        let fence = Fence(1);
        let mut operation = Self {
            header,
            config: new.config,
            caller_hooks: new.caller_hooks,
            heard: Vec::new(),
            owner: Some(process),
            fence,
            records: Vec::new(),
            messages: Vec::new(),
            approval: None,
            answered_question: false,
            inbox: BTreeMap::new(),
        };
        new.messages.into_iter().for_each(|placed| operation.insert(placed));
        (operation, fence)
    }

    pub(super) fn claim(&mut self, process: u64) -> Fence {
        self.owner = Some(process);
        self.fence = Fence(self.fence.0 + 1);
        self.fence
    }

    pub(super) fn is_owned(&self, process: u64, fence: Fence) -> bool {
        self.owner == Some(process) && self.fence == fence
    }

    pub(super) fn check_rows(&self, batch: &Batch) -> Result<(), StoreError> {
        for row in &batch.rows {
            match row {
                Row::Message(placed) if placed.message.role() == Role::Tool => {
                    return Err(StoreError::Refused("a tool message is written as a published result only".to_owned()));
                }
                Row::Message(placed) if self.is_taken(placed.place) => {
                    return Err(StoreError::Damaged(format!("place {} holds a message already", placed.place)));
                }
                Row::Tool { place, call, .. } if self.is_taken(*place) && !self.is_settled(call, *place) => {
                    return Err(StoreError::Damaged(format!("place {place} holds another message already")));
                }
                Row::Message(_) | Row::Tool { .. } => {}
            }
        }
        Ok(())
    }

    /// Applies a checked batch. Gives back the bodies to keep.
    pub(super) fn write(&mut self, batch: Batch) -> Vec<(BlobId, Arc<str>)> {
        let mut blobs = Vec::new();
        self.records.push((batch.record, batch.boundary));
        self.heard.extend(batch.heard);
        for row in batch.rows {
            blobs.extend(self.write_row(row));
        }
        if let Some(fold) = batch.fold {
            self.fold(fold);
        }
        if batch.approval_closed {
            self.approval = None;
        }
        if let Some(approval) = batch.approval {
            self.approval = Some(approval);
            self.answered_question = false;
        }
        for id in batch.consumed {
            self.inbox.remove(&id);
        }
        if let Some(summary) = batch.summary {
            self.header.summary = summary;
        }
        blobs
    }

    /// Checks an item and remembers what it settles.
    pub(super) fn admit(&mut self, item: &InboxItem, now: u64) -> Result<(), StoreError> {
        posting::check_open(self.header.summary.status)?;
        match item {
            InboxItem::Decided(decisions) => {
                posting::check_decisions(self.approval.as_mut(), self.answered_question, decisions, now)?;
                self.answered_question |= decisions.iter().any(|decision| decision.call.is_none());
            }
            InboxItem::Answer { call, result } => {
                posting::check_answer(call, self.on_record(call), result)?;
            }
            InboxItem::ChildEnded { .. } | InboxItem::Stop(_) => {}
        }
        Ok(())
    }

    pub(super) fn load(&self) -> Loaded {
        let from = self.records.iter().rposition(|(_, boundary)| *boundary).unwrap_or(0);
        Loaded {
            header: self.header.clone(),
            config: Arc::clone(&self.config),
            records: self.records[from..].iter().map(|(record, _)| record.clone()).collect(),
            messages: self.messages.iter().filter(|stored| !stored.folded).cloned().collect(),
            next_place: self
                .messages
                .iter()
                .map(|stored| posting::place_after(stored.place, &stored.message))
                .max()
                .unwrap_or(0),
            approval: self.approval.clone(),
        }
    }

    /// The first write of a result wins.
    fn write_row(&mut self, row: Row) -> Option<(BlobId, Arc<str>)> {
        match row {
            Row::Message(placed) => {
                self.insert(placed);
                None
            }
            Row::Tool { place, call, .. } if self.is_settled(&call, place) => None,
            Row::Tool { place, id, call, key, published } => {
                let message = posting::tool_message(id, call, key, &published);
                self.insert(PlacedMessage { place, message });
                published.archived().map(|archived| (archived.blob.clone(), Arc::clone(&archived.text)))
            }
        }
    }

    fn fold(&mut self, fold: Fold) {
        for stored in &mut self.messages {
            stored.folded |= fold.folded.contains(&stored.place);
        }
        self.insert(fold.summary);
    }

    /// Behind what stands at the same place, before what stands later.
    fn insert(&mut self, placed: PlacedMessage) {
        let PlacedMessage { place, message } = placed;
        let index = self.messages.partition_point(|stored| stored.place <= place);
        self.messages.insert(index, StoredMessage { place, message, folded: false });
    }

    fn is_taken(&self, place: u32) -> bool {
        self.messages.iter().any(|stored| stored.place == place)
    }

    fn on_record(&self, call: &ToolCallId) -> CallOnRecord {
        let newest_first = self.messages.iter().rev().map(|stored| &stored.message);
        let is_in_inbox =
            self.inbox.values().any(|item| matches!(item, InboxItem::Answer { call: named, .. } if named == call));
        CallOnRecord::read(call, newest_first, is_in_inbox, self.approval.as_ref())
    }

    fn is_settled(&self, call: &ToolCallId, place: u32) -> bool {
        self.messages.iter().any(|stored| stored.place == place && answers(&stored.message, call))
    }
}

/// Whether a message is the result of the call.
fn answers(message: &Message, call: &ToolCallId) -> bool {
    match &message.body {
        MessageBody::Tool { call_id, .. } => call_id == call,
        MessageBody::System { .. } | MessageBody::User { .. } | MessageBody::Assistant { .. } => false,
    }
}
