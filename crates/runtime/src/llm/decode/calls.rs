//! Calls out of their pieces, however a server numbers and names them.

use serde_json::Value;

use crate::llm::RawCall;
use crate::llm::limits::CALLS_MAX;

use super::chunk::{CallDelta, FunctionDelta, count, is_complete_json, text};

/// More calls than any honest answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer asks for more than {CALLS_MAX} calls")]
pub(crate) struct TooManyCalls;

/// The calls of one answer, as far as they have arrived.
#[derive(Debug, Default)]
pub(crate) struct CallAssembler {
    open: Vec<OpenCall>,
}

#[derive(Debug, Default)]
struct OpenCall {
    slot: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

/// One piece, made uniform.
#[derive(Debug)]
struct Piece {
    slot: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl CallAssembler {
    /// Takes a piece of a call in the current form.
    pub(crate) fn handle_delta(&mut self, delta: CallDelta) -> Result<(), TooManyCalls> {
        let function = delta.function.into_first().unwrap_or_default();
        self.handle_piece(Piece {
            slot: count(&delta.index),
            id: text(&delta.id).unwrap_or_default().to_owned(),
            name: text(&function.name).unwrap_or_default().to_owned(),
            arguments: arguments_text(function.arguments),
        })
    }

    /// Takes a piece in the older form, which has one call and no id.
    pub(crate) fn handle_function(&mut self, function: FunctionDelta) -> Result<(), TooManyCalls> {
        self.handle_piece(Piece {
            slot: None,
            id: String::new(),
            name: text(&function.name).unwrap_or_default().to_owned(),
            arguments: arguments_text(function.arguments),
        })
    }

    /// Whether anything arrived, usable or not.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The calls in order of appearance. Those without a name cannot be run or answered, and a
    /// history that holds one is refused for good: they are left out.
    pub(crate) fn into_calls(self) -> Vec<RawCall> {
        let named = self.open.into_iter().filter(|call| !call.name.trim().is_empty());
        named
            .map(|call| RawCall {
                id: Some(call.id).filter(|id| !id.trim().is_empty()),
                name: call.name,
                arguments: call.arguments,
            })
            .collect()
    }

    fn handle_piece(&mut self, piece: Piece) -> Result<(), TooManyCalls> {
        match self.owner_of(&piece) {
            Some(at) => self.open[at].merge(piece),
            None if self.open.len() == CALLS_MAX => return Err(TooManyCalls),
            None => {
                let Piece { slot, id, name, arguments } = piece;
                self.open.push(OpenCall { slot, id, name, arguments });
            }
        }
        Ok(())
    }

    /// The call that a piece belongs to; `None` if it opens one.
    fn owner_of(&self, piece: &Piece) -> Option<usize> {
        let last = self.open.len().checked_sub(1)?;
        let same_id = |call: &OpenCall| !piece.id.is_empty() && call.id == piece.id;
        if let Some(at) = self.open.iter().rposition(same_id) {
            return Some(at);
        }
        let same_slot = |call: &OpenCall| piece.slot.is_some() && call.slot == piece.slot;
        if let Some(at) = self.open.iter().rposition(same_slot) {
            return (!self.open[at].is_followed_by(piece)).then_some(at);
        }
        if piece.id.is_empty() && piece.name.is_empty() {
            // A nameless piece under a new number, or none: it continues what is open.
            return Some(last);
        }
        let is_unnumbered = piece.slot.is_none() && self.open[last].slot.is_none();
        (is_unnumbered && !self.open[last].is_followed_by(piece)).then_some(last)
    }
}

impl OpenCall {
    /// Whether a piece with the same number, or with none, opens another call all the same.
    fn is_followed_by(&self, piece: &Piece) -> bool {
        let has_other_id = !piece.id.is_empty() && !self.id.is_empty();
        if piece.name.is_empty() {
            // A server that makes a new id for each piece: the name tells calls apart, not the id.
            return false;
        }
        if self.name.is_empty() {
            return has_other_id;
        }
        if has_other_id || piece.slot.is_none() {
            return piece.name != self.name || is_complete_json(&self.arguments);
        }
        // Same number, no id to tell them apart: a full call after a full call is another one.
        is_complete_json(&self.arguments) && is_complete_json(&piece.arguments)
    }

    fn merge(&mut self, piece: Piece) {
        if self.id.is_empty() {
            self.id = piece.id;
        }
        self.merge_name(piece.name);
        let is_repeat = piece.arguments == self.arguments && is_complete_json(&self.arguments);
        if !is_repeat {
            self.arguments.push_str(&piece.arguments);
        }
    }

    /// Names come whole once, whole in each piece, growing, or in fragments.
    fn merge_name(&mut self, name: String) {
        if name.starts_with(&self.name) {
            self.name = name;
        } else {
            self.name.push_str(&name);
        }
    }
}

/// Arguments are text; some servers send the object itself.
fn arguments_text(arguments: Value) -> String {
    match arguments {
        Value::String(text) => text,
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => arguments.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn fold(pieces: Value) -> Vec<(Option<String>, String, String)> {
        let mut calls = CallAssembler::default();
        for piece in pieces.as_array().unwrap() {
            calls.handle_delta(serde_json::from_value(piece.clone()).unwrap()).unwrap();
        }
        calls.into_calls().into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (Option<String>, String, String) {
        (Some(id).filter(|id| !id.is_empty()).map(str::to_owned), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn interleaved_pieces_follow_their_number() {
        let calls = fold(json!([
            {"index": 0, "id": "a", "function": {"name": "x", "arguments": ""}},
            {"index": 1, "id": "b", "function": {"name": "y", "arguments": ""}},
            {"index": 0, "function": {"arguments": "{\"n\":"}},
            {"index": 1, "function": {"arguments": "{}"}},
            {"index": 0, "function": {"arguments": "1}"}},
        ]));
        assert_eq!(calls, [call("a", "x", "{\"n\":1}"), call("b", "y", "{}")]);
    }

    #[test]
    fn other_calls_under_one_number_are_other_calls() {
        let calls = fold(json!([
            {"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}},
            {"index": 0, "id": "b", "function": {"name": "x", "arguments": "{}"}},
            {"index": 0, "function": {"name": "y", "arguments": "{}"}},
        ]));
        assert_eq!(calls, [call("a", "x", "{}"), call("b", "x", "{}"), call("", "y", "{}")]);
    }

    #[test]
    fn a_new_id_for_each_piece_is_still_one_call() {
        let calls = fold(json!([
            {"index": 0, "id": "a1", "function": {"name": "x", "arguments": "{\"n\""}},
            {"index": 0, "id": "a2", "function": {"name": "x", "arguments": ":1"}},
            {"index": 0, "id": "a3", "function": {"arguments": "}"}},
        ]));
        assert_eq!(calls, [call("a1", "x", "{\"n\":1}")]);
    }

    #[test]
    fn whole_calls_without_number_and_id_stay_apart() {
        let calls = fold(json!([
            {"function": {"name": "x", "arguments": {"n": 1}}},
            {"function": {"name": "x", "arguments": {"n": 2}}},
            {"function": {"name": "y", "arguments": {}}},
        ]));
        assert_eq!(calls, [call("", "x", "{\"n\":1}"), call("", "x", "{\"n\":2}"), call("", "y", "{}")]);
    }

    #[test]
    fn names_are_joined_repeated_or_growing() {
        for names in [["files_", "read"], ["files_read", "files_read"], ["files_", "files_read"]] {
            let calls = fold(json!([
                {"index": 0, "id": "a", "function": {"name": names[0]}},
                {"index": 0, "id": "a", "function": {"name": names[1], "arguments": "{}"}},
            ]));
            assert_eq!(calls, [call("a", "files_read", "{}")]);
        }
    }

    #[test]
    fn a_call_that_is_sent_again_whole_is_one_call() {
        let whole = json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"n\":1}"}});
        assert_eq!(fold(json!([whole, whole])), [call("a", "x", "{\"n\":1}")]);
    }

    #[test]
    fn the_older_form_is_a_call_without_id() {
        let mut calls = CallAssembler::default();
        for piece in [json!({"name": "x", "arguments": "{\"n\""}), json!({"arguments": ":1}"})] {
            calls.handle_function(serde_json::from_value(piece).unwrap()).unwrap();
        }
        let expected = RawCall { id: None, name: "x".to_owned(), arguments: "{\"n\":1}".to_owned() };
        assert_eq!(calls.into_calls(), [expected]);
    }

    #[test]
    fn endless_calls_are_refused() {
        let mut calls = CallAssembler::default();
        let last = (0..=CALLS_MAX as u64).map(|at| {
            calls.handle_delta(serde_json::from_value(json!({"index": at, "id": format!("c{at}")})).unwrap())
        });
        assert_eq!(last.last(), Some(Err(TooManyCalls)));
    }
}
