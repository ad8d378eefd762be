//! What a strict provider checks in a request.

use std::collections::BTreeSet;

use serde_json::Value;

/// What a strict provider refuses: every call must have arguments in JSON, an id of its own, a name, and exactly one
/// answer right behind it.
pub(crate) fn refuses(body: &Value) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for message in body["messages"].as_array()? {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            match open.iter().position(|call| *call == id) {
                Some(at) => open.remove(at),
                None => return Some(format!("`{id}` answers no open call")),
            };
            continue;
        }
        if !open.is_empty() {
            return Some(format!("the calls {open:?} are not answered before the next message"));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let text = |value: &'_ Value| value.as_str().map(str::to_owned).unwrap_or_default();
            let (name, arguments) = (text(&call["function"]["name"]), text(&call["function"]["arguments"]));
            let id = call["id"].as_str().unwrap_or_default();
            if id.is_empty() || name.is_empty() {
                return Some("a call has no id or no name".to_owned());
            }
            if serde_json::from_str::<Value>(&arguments).is_err() {
                return Some(format!("the arguments of `{id}` are not JSON: {arguments}"));
            }
            open.push(id);
        }
        if open.iter().collect::<BTreeSet<_>>().len() < open.len() {
            return Some(format!("two calls share an id: {open:?}"));
        }
    }
    (!open.is_empty()).then(|| format!("the calls {open:?} are not answered"))
}

#[test]
fn a_strict_provider_refuses_what_it_should() {
    let request = |arguments: &str, answered: &[&str]| {
        let calls = serde_json::json!([{"id": "a", "function": {"name": "t", "arguments": arguments}}]);
        let mut messages = vec![serde_json::json!({"role": "assistant", "tool_calls": calls})];
        messages.extend(answered.iter().map(|id| serde_json::json!({"role": "tool", "tool_call_id": id})));
        serde_json::json!({"messages": messages})
    };
    assert_eq!(refuses(&request("{}", &["a"])), None);
    for bad in [request("{", &["a"]), request("{}", &[]), request("{}", &["b"]), request("{}", &["a", "a"])] {
        assert!(refuses(&bad).is_some(), "{bad}");
    }
}
