//! The payload of a webhook or a command.

use jackline_model::HookId;
use serde_json::{Map, Value, json};

use crate::{HookKind, WebhookConfig};

/// A payload that is complete but for the e-mail address of its user.
///
/// There is no Debug output of its content: a control's payload holds raw tool output.
#[derive(Clone, PartialEq)]
pub struct Draft {
    payload: Map<String, Value>,
    user: Option<String>,
}

/// What a payload is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The receiver is told.
    Notify,
    /// The receiver is asked, and sees the whole of what it judges.
    Control,
}

impl Draft {
    /// The user whose address is wanted, if one is.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The payload with the address, where one is wanted and there is one.
    pub fn complete(mut self, email: Option<String>) -> Map<String, Value> {
        if let Some(email) = email.filter(|email| self.user.is_some() && !email.is_empty()) {
            self.payload.insert("userEmail".to_owned(), Value::String(email));
        }
        self.payload
    }
}

impl std::fmt::Debug for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draft").field("fields", &self.payload.keys().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

/// Builds what a hook is sent: the event's fields, or those that it selects, then `hookId` and `hookType`, then
/// its `body`, which wins.
///
/// A notification of `afterToolCall` shows no data of a registered skill; a control sees the whole result. The
/// state of the run, the right to mock and any address that somebody else put in are removed.
///
/// `config` is the webhook's; a control has neither a selection nor a body, and a command has no options at all.
///
/// ```
/// use jackline_hooks::{HookKind, Purpose, WebhookConfig, build_payload};
/// use serde_json::json;
/// let event = json!({"operationId": "op_1", "reason": "done", "userId": "user_1"});
/// let config = WebhookConfig { event_fields: Some(vec!["reason".to_owned()]), ..WebhookConfig::new("/hook") };
/// let event = event.as_object().unwrap();
/// let draft = build_payload(event, &"done".into(), HookKind::OnComplete, Purpose::Notify, Some(&config));
/// let expected = json!({"reason": "done", "hookId": "done", "hookType": "onComplete"});
/// assert_eq!(json!(draft.complete(None)), expected);
/// ```
pub fn build_payload(
    event: &Map<String, Value>,
    hook: &HookId,
    kind: HookKind,
    purpose: Purpose,
    config: Option<&WebhookConfig>,
) -> Draft {
    let selection = config.and_then(|config| config.event_fields.as_ref());
    let mut payload = match selection {
        None => event.clone(),
        Some(names) => {
            let chosen = names.iter().filter_map(|name| event.get_key_value(name));
            chosen.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
    };
    payload.insert("hookId".to_owned(), json!(hook));
    payload.insert("hookType".to_owned(), json!(kind));
    if let Some(body) = config.and_then(|config| config.body.as_ref()) {
        payload.extend(body.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    if kind == HookKind::AfterToolCall && purpose == Purpose::Notify {
        redact(&mut payload);
    }
    for name in KEPT_BACK {
        payload.remove(name);
    }
    let wants_email = selection.is_none_or(|names| names.iter().any(|name| name == "userEmail"));
    let user = payload.get("userId").or_else(|| event.get("userId")).and_then(Value::as_str);
    let user = user.filter(|user| wants_email && !user.is_empty()).map(str::to_owned);
    Draft { payload, user }
}

/// Takes the arguments and the data out of what a skill registered.
pub(crate) fn redact(payload: &mut Map<String, Value>) {
    let work = payload.get_mut("result").and_then(|result| result.get_mut("workRegistration"));
    let Some(work) = work.and_then(Value::as_object_mut) else {
        return;
    };
    if work.get("type").and_then(Value::as_str) == Some("skill") {
        work.remove("args");
        work.insert("data".to_owned(), Value::Null);
    }
}

/// What no receiver gets, whoever supplied it. The address comes from the directory alone.
const KEPT_BACK: [&str; 3] = ["finalState", "userEmail", "mock"];
