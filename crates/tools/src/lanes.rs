//! Which calls of a batch must wait for each other.
//!
//! Lanes run beside each other, calls of one lane one after another, in emission order. Who runs
//! them, and how many at once, is the operation's business.

use jackline_model::ToolKey;
use serde_json::{Map, Value};

/// What the lane of a call depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneRequest<'a> {
    /// The tool.
    pub key: &'a ToolKey,
    /// All calls to the tool share a lane.
    pub ordered: bool,
    /// The resource that the call names, from [`resource`].
    pub resource: Option<&'a str>,
}

/// The resource that a call names in the argument its tool serializes by: a string, trimmed, not
/// empty.
pub fn resource<'a>(serialize_by: Option<&str>, arguments: &'a Map<String, Value>) -> Option<&'a str> {
    let text = arguments.get(serialize_by?)?.as_str()?.trim();
    (!text.is_empty()).then_some(text)
}

/// Gives each call of a batch, in emission order, the number of its lane. Lanes are numbered from 0,
/// by their first call.
///
/// Two calls share a lane if both are to one ordered tool, or if they name the same resource to
/// functions of one identifier; a call may join two lanes into one that way.
///
/// ```
/// use jackline_model::ToolKey;
/// use jackline_tools::lanes::{LaneRequest, lanes};
///
/// let (read, write) = (ToolKey::parse("fs/read"), ToolKey::parse("fs/write"));
/// let batch = [
///     LaneRequest { key: &write, ordered: false, resource: Some("a.txt") },
///     LaneRequest { key: &write, ordered: false, resource: Some("b.txt") },
///     LaneRequest { key: &read, ordered: false, resource: Some("a.txt") },
///     LaneRequest { key: &read, ordered: false, resource: None },
/// ];
/// assert_eq!(lanes(&batch), [0, 1, 0, 2]);
/// ```
pub fn lanes(batch: &[LaneRequest<'_>]) -> Vec<u32> {
    // Each call starts as its own lane; the number of a lane is the position of its first call.
    let mut first: Vec<usize> = (0..batch.len()).collect();
    for (position, call) in batch.iter().enumerate() {
        for earlier in 0..position {
            if must_wait(&batch[earlier], call) && first[earlier] != first[position] {
                join(&mut first, earlier, position);
            }
        }
    }
    numbered(&first)
}

fn must_wait(one: &LaneRequest<'_>, other: &LaneRequest<'_>) -> bool {
    let is_same_tool = one.ordered && other.ordered && one.key == other.key;
    let is_same_resource =
        one.resource.is_some() && one.resource == other.resource && one.key.identifier == other.key.identifier;
    is_same_tool || is_same_resource
}

fn join(first: &mut [usize], one: usize, other: usize) {
    let (low, high) = (first[one].min(first[other]), first[one].max(first[other]));
    for lane in first.iter_mut().filter(|lane| **lane == high) {
        *lane = low;
    }
}

fn numbered(first: &[usize]) -> Vec<u32> {
    let mut seen: Vec<usize> = Vec::new();
    let mut numbers = Vec::with_capacity(first.len());
    for lane in first {
        let number = seen.iter().position(|known| known == lane).unwrap_or_else(|| {
            seen.push(*lane);
            seen.len() - 1
        });
        numbers.push(u32::try_from(number).unwrap_or(u32::MAX));
    }
    numbers
}

#[cfg(test)]
mod tests;
