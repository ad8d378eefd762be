//! What a webhook is sent.

use jackline_hooks::{HookKind, Purpose, WebhookConfig, build_payload};
use serde_json::{Map, Value, json};

/// An event, a selection of its fields and a body, as JSON: what is sent comes from them and from nowhere else, and
/// what no receiver gets is not among it.
pub fn payload(bytes: &[u8]) {
    let Ok(Value::Object(mut case)) = serde_json::from_slice(bytes) else { return };
    let mut object = |name: &str| match case.remove(name) {
        Some(Value::Object(object)) => Some(object),
        Some(_) | None => None,
    };
    let (event, body) = (object("event").unwrap_or_default(), object("body"));
    let fields: Option<Vec<String>> = case.remove("eventFields").and_then(|names| serde_json::from_value(names).ok());
    for kind in HookKind::ALL {
        sent(&event, kind, fields.as_deref(), body.as_ref());
    }
}

fn sent(event: &Map<String, Value>, kind: HookKind, fields: Option<&[String]>, body: Option<&Map<String, Value>>) {
    let fields_given = fields.map(<[String]>::to_vec);
    let config = WebhookConfig { event_fields: fields_given, body: body.cloned(), ..WebhookConfig::new("/hook") };
    let draft = build_payload(event, &"h".into(), kind, Purpose::Notify, Some(&config));
    let selects = |name: &str| fields.is_none_or(|fields| fields.iter().any(|field| field == name));
    if !selects("userEmail") {
        assert_eq!(draft.user(), None, "nobody's address is looked up that is not sent");
    }
    let payload = draft.complete(None);
    for (name, value) in &payload {
        assert!(!NEVER_SENT.contains(&name.as_str()), "{name} is sent");
        if name == "result" {
            // Its parts that are kept back have tests of their own.
            continue;
        }
        let of_hook = match name.as_str() {
            "hookId" => Some(json!("h")),
            "hookType" => Some(json!(kind)),
            _ => None,
        };
        let of_body = body.and_then(|body| body.get(name)).cloned();
        let of_event = || event.get(name).filter(|_| selects(name)).cloned();
        assert_eq!(Some(value), of_body.or(of_hook).or_else(of_event).as_ref(), "{name}");
    }
    for name in body.into_iter().flat_map(Map::keys) {
        assert!(payload.contains_key(name) || NEVER_SENT.contains(&name.as_str()), "{name} of the body is missing");
    }
}

const NEVER_SENT: [&str; 3] = ["finalState", "mock", "userEmail"];
