//! Hooks as they are stored: `{id, type, matcher?, webhook}` or `{id, type, matcher?, command}`.
//!
//! Handlers are not stored, and values of variables are not either: headers keep their templates. What is spelled out
//! in a header, a URL or an argument is stored as it stands.

use std::str::FromStr;

use jackline_model::HookId;
use serde_json::{Map, Value, json};

use super::RegistrationError;
use super::check::{check, is_reserved};
use super::entry::{Carrier, Entry};
use super::fields::Fields;
use super::rule::{FieldFault, Rule};
use crate::{CommandConfig, HookKind, Matcher, WebhookConfig};

/// A hook as it is stored. Nothing for one that ends with its process.
pub(crate) fn store(entry: &Entry) -> Option<Value> {
    let (name, carrier) = match &entry.carrier {
        Carrier::Native(_, None) => return None,
        Carrier::Native(_, Some(webhook)) | Carrier::Webhook(webhook) => ("webhook", json!(webhook)),
        Carrier::Command(command) => ("command", json!(command)),
    };
    let mut stored = Map::new();
    stored.insert("id".to_owned(), json!(entry.id));
    if let Some(Ok(matcher)) = &entry.matcher {
        stored.insert("matcher".to_owned(), json!(matcher.as_str()));
    }
    stored.insert("type".to_owned(), json!(entry.kinds.only()?));
    stored.insert(name.to_owned(), carrier);
    Some(Value::Object(stored))
}

/// Reads a stored hook and checks every rule. One with a reserved id is read no further than that.
pub(crate) fn restore(index: usize, value: &Value) -> Result<Entry, RegistrationError> {
    // A hook without an id is named by its place.
    let place = HookId::from(format!("#{index}").as_str());
    let id = match id_of(value) {
        Ok(id) => id,
        Err(fault) => return Err(RegistrationError::Field { hook: place, fault }),
    };
    if is_reserved(&id) {
        return Ok(Entry::webhook(id, HookKind::OnComplete, WebhookConfig::default()));
    }
    let entry = read(id.clone(), value).map_err(|fault| RegistrationError::Field { hook: id, fault })?;
    check(&entry)?;
    Ok(entry)
}

fn id_of(value: &Value) -> Result<HookId, FieldFault> {
    let id = Fields::of(value)?.text("id", Rule::Id)?.ok_or_else(|| FieldFault::new("id", Rule::Id))?;
    Ok(HookId::from(id))
}

fn read(id: HookId, value: &Value) -> Result<Entry, FieldFault> {
    let mut fields = Fields::of(value)?;
    fields.any("id");
    let kind = fields.text("type", Rule::Type)?.and_then(|name| HookKind::from_str(name).ok());
    let kind = kind.ok_or_else(|| FieldFault::new("type", Rule::Type))?;
    let matcher = fields.text("matcher", Rule::MatcherType)?;
    if fields.any("handler").is_some() {
        return Err(FieldFault::new("handler", Rule::Handler));
    }
    let mut entry = match (fields.any("webhook"), fields.any("command")) {
        (Some(webhook), None) => {
            let config = WebhookConfig::from_json(webhook).map_err(|fault| fault.inside("webhook"))?;
            Entry::webhook(id, kind, config)
        }
        (None, Some(command)) => {
            let config = CommandConfig::from_json(command).map_err(|fault| fault.inside("command"))?;
            Entry::command(id, kind, config)
        }
        (Some(_), Some(_)) => return Err(FieldFault::new("command", Rule::Carriers)),
        (None, None) => return Err(FieldFault::new("webhook", Rule::Consumer)),
    };
    fields.end()?;
    entry.matcher = matcher.map(Matcher::new);
    Ok(entry)
}
