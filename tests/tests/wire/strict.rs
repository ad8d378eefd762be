//! What a strict provider checks in a request.

use std::collections::BTreeSet;

use serde_json::Value;

/// Fails unless every call has arguments in JSON and an id of its own, and exactly one answer right behind it.
pub(crate) fn assert_strict(body: &Value) {
    let messages = body["messages"].as_array().expect("a request has messages");
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let role = message["role"].as_str().expect("a message has a role");
        if role == "tool" {
            let id = message["tool_call_id"].as_str().expect("a result names its call");
            let at = open.iter().position(|call| *call == id);
            open.remove(at.unwrap_or_else(|| panic!("`{id}` answers no open call: {body}")));
            continue;
        }
        assert!(open.is_empty(), "calls {open:?} are not answered before the next message: {body}");
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let id = call["id"].as_str().expect("a call has an id");
            assert!(!id.is_empty() && !call["function"]["name"].as_str().unwrap().is_empty(), "{body}");
            let arguments = call["function"]["arguments"].as_str().expect("arguments are text");
            assert!(serde_json::from_str::<Value>(arguments).is_ok(), "`{arguments}` is not JSON");
            open.push(id);
        }
        assert_eq!(open.iter().collect::<BTreeSet<_>>().len(), open.len(), "two calls share an id: {body}");
    }
    assert!(open.is_empty(), "calls {open:?} are not answered: {body}");
}

#[test]
fn what_a_strict_provider_refuses_is_found() {
    let request = |arguments: &str, answered: &[&str]| {
        let calls = serde_json::json!([{"id": "a", "function": {"name": "t", "arguments": arguments}}]);
        let mut messages = vec![serde_json::json!({"role": "assistant", "tool_calls": calls})];
        messages.extend(answered.iter().map(|id| serde_json::json!({"role": "tool", "tool_call_id": id})));
        serde_json::json!({"messages": messages})
    };
    assert_strict(&request("{}", &["a"]));
    for bad in [request("{", &["a"]), request("{}", &[]), request("{}", &["b"]), request("{}", &["a", "a"])] {
        assert!(std::panic::catch_unwind(|| assert_strict(&bad)).is_err(), "{bad}");
    }
}
