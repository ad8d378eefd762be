//! Which entries of a history are folded, and which stay.

use std::collections::BTreeMap;

use jackline_model::{Message, MessageBody};

/// One entry of the history, as far as folding must know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Its size.
    pub tokens: u64,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The agent's instructions.
    System,
    /// The summary that an earlier fold left.
    Summary,
    /// A request.
    User,
    /// An answer, with or without calls.
    Assistant,
    /// The result of a call.
    Tool {
        /// Place of the answer that asked for the call.
        assistant: usize,
    },
}

/// What happens to each entry. Places are in order; together they are all places, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldPlan {
    /// Places that the new summary stands for, earlier summaries among them.
    pub fold: Vec<usize>,
    /// Places that stay as they are.
    pub keep: Vec<usize>,
}

/// Chooses what to fold; `None` when there is nothing.
///
/// These stay: instructions, the latest request, and the longest end of the history that fits
/// the budget, is not the whole of it, and tears no call from its result. Earlier summaries are
/// always folded, alone if need be.
///
/// ```
/// use jackline_runtime::compress::{Entry, EntryKind, select_fold};
///
/// let entry = |kind| Entry { kind, tokens: 10 };
/// let history = [entry(EntryKind::System), entry(EntryKind::User)];
/// assert_eq!(select_fold(&history, 100), None);
///
/// let history = [entry(EntryKind::System), entry(EntryKind::User), entry(EntryKind::Assistant), entry(EntryKind::User)];
/// let plan = select_fold(&history, 10).expect("two entries to fold");
/// assert_eq!((plan.fold, plan.keep), (vec![1, 2], vec![0, 3]));
/// ```
pub fn select_fold(entries: &[Entry], tail_budget: u64) -> Option<FoldPlan> {
    let latest_request = entries.iter().rposition(|entry| entry.kind == EntryKind::User);
    let tail_start = tail_start(entries, tail_budget);
    let stays = |(place, entry): (usize, &Entry)| match entry.kind {
        EntryKind::System => true,
        EntryKind::Summary => false,
        EntryKind::User | EntryKind::Assistant | EntryKind::Tool { .. } => {
            place >= tail_start || Some(place) == latest_request
        }
    };
    let (mut fold, mut keep) = (Vec::new(), Vec::new());
    for (place, entry) in entries.iter().enumerate() {
        if stays((place, entry)) { keep.push(place) } else { fold.push(place) }
    }
    (!fold.is_empty()).then_some(FoldPlan { fold, keep })
}

/// Where the tail begins; the length of the history when there is none.
///
/// One pass from the end: `earliest_owner` is the first answer that any result so far belongs to,
/// and a tail that begins behind it would tear a pair.
fn tail_start(entries: &[Entry], budget: u64) -> usize {
    let is_turn = |entry: &Entry| match entry.kind {
        EntryKind::System | EntryKind::Summary => false,
        EntryKind::User | EntryKind::Assistant | EntryKind::Tool { .. } => true,
    };
    let mut start = entries.len();
    let Some(first_turn) = entries.iter().position(is_turn) else { return start };
    let mut earliest_owner = usize::MAX;
    let mut tokens = 0_u64;
    for (place, entry) in entries.iter().enumerate().skip(first_turn + 1).rev() {
        if !is_turn(entry) {
            continue;
        }
        tokens = tokens.saturating_add(entry.tokens);
        if tokens > budget {
            break;
        }
        let is_result = match entry.kind {
            EntryKind::Tool { assistant } => {
                earliest_owner = earliest_owner.min(assistant);
                true
            }
            EntryKind::System | EntryKind::Summary | EntryKind::User | EntryKind::Assistant => false,
        };
        if !is_result && earliest_owner >= place {
            start = place;
        }
    }
    start
}

/// The entries of messages; each comes with its size and whether it is a summary.
///
/// A result belongs to the nearest answer before it that asked for a call of its id. One without
/// such an answer stands alone, and still never begins a tail.
pub fn entries_of<'a>(messages: impl IntoIterator<Item = (&'a Message, u64, bool)>) -> Vec<Entry> {
    let mut owners = BTreeMap::new();
    let mut kind_at = |place: usize, message: &'a Message| match &message.body {
        MessageBody::System { .. } => EntryKind::System,
        MessageBody::User { .. } => EntryKind::User,
        MessageBody::Assistant { tool_calls, .. } => {
            owners.extend(tool_calls.iter().map(|call| (&call.id, place)));
            EntryKind::Assistant
        }
        MessageBody::Tool { call_id, .. } => {
            EntryKind::Tool { assistant: owners.get(call_id).copied().unwrap_or(place) }
        }
    };
    let read = |(place, (message, tokens, is_summary)): (usize, (&'a Message, u64, bool))| {
        let kind = if is_summary { EntryKind::Summary } else { kind_at(place, message) };
        Entry { kind, tokens }
    };
    messages.into_iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests;
