//! The body of a request: what is new is written, what is old is copied.

use jackline_model::{Message, Role};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::llm::{ModelRequest, OfferedTool};

use super::message::{raw, wire_line, wire_message};
use super::schema::wire_schema;
use super::settings::WireSettings;
use crate::llm::dialect::{MessageOrder, OutputLimitField, SchemaDialect};

/// Makes request bodies for one provider.
#[derive(Debug)]
pub(crate) struct Encoder {
    settings: WireSettings,
    /// Members that the embedder adds to every body.
    extra: Map<String, Value>,
    /// What stands between a tool message and a user message, where that is demanded.
    bridge: Box<RawValue>,
}

impl Encoder {
    /// An encoder with these settings and additional members.
    pub(crate) fn new(settings: WireSettings, extra: Map<String, Value>) -> Self {
        Self { settings, extra, bridge: wire_line("assistant", BRIDGE) }
    }

    /// The body of a request. Messages that were sent before are not written again.
    pub(crate) fn body<'a>(&'a self, request: &ModelRequest<'a>, stream: bool) -> RequestBody<'a> {
        let entries = request.history.entries();
        let mut messages = Vec::with_capacity(entries.len() + 2);
        let mut after = None;
        for entry in entries {
            self.bridge_to(after, entry.message().role(), &mut messages);
            after = Some(entry.message().role());
            messages.push(Line::Kept(entry.wire(|message: &Message| wire_message(message, &self.settings))));
        }
        if let Some(instruction) = request.instruction {
            self.bridge_to(after, Role::User, &mut messages);
            messages.push(Line::New(wire_line("user", instruction)));
        }
        let tools = (!request.tools.tools().is_empty())
            .then(|| request.tools.wire(|tools| wire_tools(tools, self.settings.schemas)));
        let output_limit = request.output_tokens_max.map(|tokens| (limit_field(self.settings.output_limit), tokens));
        RequestBody { model: request.model, messages, tools, output_limit, stream, extra: &self.extra }
    }

    fn bridge_to<'a>(&'a self, after: Option<Role>, next: Role, messages: &mut Vec<Line<'a>>) {
        match self.settings.order {
            MessageOrder::Api => {}
            MessageOrder::AssistantAfterTool => {
                if (after, next) == (Some(Role::Tool), Role::User) {
                    messages.push(Line::Kept(&self.bridge));
                }
            }
        }
    }
}

/// A body, ready to be written by copying.
#[derive(Debug)]
pub(crate) struct RequestBody<'a> {
    model: &'a str,
    messages: Vec<Line<'a>>,
    tools: Option<&'a RawValue>,
    output_limit: Option<(&'static str, u32)>,
    stream: bool,
    extra: &'a Map<String, Value>,
}

#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Kept(&'a RawValue),
    New(Box<RawValue>),
}

impl Serialize for RequestBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", self.model)?;
        body.serialize_entry("messages", &self.messages)?;
        if let Some(tools) = self.tools {
            body.serialize_entry("tools", tools)?;
        }
        if let Some((field, tokens)) = self.output_limit {
            body.serialize_entry(field, &tokens)?;
        }
        if self.stream {
            body.serialize_entry("stream", &true)?;
            body.serialize_entry("stream_options", &json!({ "include_usage": true }))?;
        }
        for (name, value) in self.extra.iter().filter(|(name, _)| !OWN_MEMBERS.contains(&name.as_str())) {
            body.serialize_entry(name, value)?;
        }
        body.end()
    }
}

fn wire_tools(tools: &[OfferedTool], dialect: SchemaDialect) -> Box<RawValue> {
    let functions = tools.iter().map(|tool| {
        let parameters = wire_schema(&tool.parameters, dialect);
        let function = json!({ "name": *tool.wire_name, "description": *tool.description, "parameters": parameters });
        json!({ "type": "function", "function": function })
    });
    raw(&functions.collect::<Vec<Value>>())
}

fn limit_field(field: OutputLimitField) -> &'static str {
    match field {
        OutputLimitField::MaxTokens => "max_tokens",
        OutputLimitField::MaxCompletionTokens => "max_completion_tokens",
    }
}

const BRIDGE: &str = "Understood.";

/// Members that the body always decides itself: a second one of the same name would break it.
const OWN_MEMBERS: [&str; 5] = ["model", "messages", "tools", "stream", "stream_options"];

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
