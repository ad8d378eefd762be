//! What a control is asked.

use std::sync::Arc;

use jackline_model::{OperationId, ToolKey};
use serde_json::{Map, Value, json};

use crate::{AfterToolCallControl, BeforeToolCallEvent, HookKind, ToolCallContext};

/// What a control is asked: may this run, or may this be published.
#[derive(Clone)]
pub(super) enum Question {
    Before(Arc<BeforeToolCallEvent>),
    After(Arc<AfterToolCallControl>),
}

impl Question {
    pub(super) fn kind(&self) -> HookKind {
        match self {
            Self::Before(_) => HookKind::BeforeToolCall,
            Self::After(_) => HookKind::AfterToolCall,
        }
    }

    pub(super) fn tool(&self) -> &ToolKey {
        match self {
            Self::Before(event) => &event.context.key,
            Self::After(event) => &event.context.key,
        }
    }

    /// The same question, as another operation asks it.
    pub(super) fn speaking_for(&self, operation: &OperationId) -> Self {
        let spoken = |context: &ToolCallContext| ToolCallContext { operation_id: operation.clone(), ..context.clone() };
        match self {
            Self::Before(event) => Self::Before(Arc::new(BeforeToolCallEvent { context: spoken(&event.context) })),
            Self::After(event) => Self::After(Arc::new(AfterToolCallControl {
                context: spoken(&event.context),
                mocked: event.mocked,
                result: event.result.clone(),
            })),
        }
    }

    /// Its fields, raw output included: for those who judge it, and for nobody else.
    pub(super) fn to_wire(&self) -> Map<String, Value> {
        let (context, more) = match self {
            Self::Before(event) => (&event.context, None),
            Self::After(event) => (&event.context, Some((event.mocked, &event.result))),
        };
        let mut fields = match json!(context) {
            Value::Object(fields) => fields,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
        };
        if let Some((mocked, result)) = more {
            fields.insert("mocked".to_owned(), json!(mocked));
            fields.insert("result".to_owned(), json!(result));
        }
        fields
    }
}
