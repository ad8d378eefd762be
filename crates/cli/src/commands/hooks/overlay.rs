//! Carriers that put given fields into a payload on its way out.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jackline_hooks::{
    Carriers, CommandCarrier, CommandReply, CommandRequest, ControlReply, HookFault, HookKind, WebhookCarrier,
    WebhookRequest,
};
use serde_json::{Map, Value};

/// The same carriers, with these fields in each payload.
pub(super) fn overlaid(carriers: Carriers, kind: HookKind, data: &Map<String, Value>) -> Carriers {
    let kept = |(name, _): &(&String, &Value)| {
        let is_of_the_call = kind.is_tool_event() && OF_THE_CALL.contains(&name.as_str());
        !is_of_the_call && !OF_THE_SENDER.contains(&name.as_str())
    };
    let fields: Map<String, Value> =
        data.iter().filter(kept).map(|(name, value)| (name.clone(), value.clone())).collect();
    let fields = Arc::new(fields);
    Carriers {
        webhook: carriers.webhook.map(|inner| Arc::new(Overlaid { inner, fields: Arc::clone(&fields) }) as _),
        command: carriers.command.map(|inner| Arc::new(Overlaid { inner, fields }) as _),
        spawn: carriers.spawn,
    }
}

#[derive(Debug)]
struct Overlaid<C: ?Sized> {
    inner: Arc<C>,
    fields: Arc<Map<String, Value>>,
}

impl Overlaid<dyn WebhookCarrier> {
    /// A webhook gets the fields that it asks for, and what its own `body` says wins.
    fn prepare(&self, mut request: WebhookRequest) -> WebhookRequest {
        let is_wanted = |name: &String| {
            let is_chosen = request.config.event_fields.as_ref().is_none_or(|chosen| chosen.contains(name));
            is_chosen && request.config.body.as_ref().is_none_or(|body| !body.contains_key(name))
        };
        let fields = self.fields.iter().filter(|(name, _)| is_wanted(name));
        let fields: Vec<_> = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
        request.payload.extend(fields);
        request
    }
}

impl WebhookCarrier for Overlaid<dyn WebhookCarrier> {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        self.inner.notify(self.prepare(request))
    }

    fn ask(&self, request: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        self.inner.ask(self.prepare(request))
    }
}

impl Overlaid<dyn CommandCarrier> {
    fn prepare(&self, mut request: CommandRequest) -> CommandRequest {
        request.payload.extend(self.fields.iter().map(|(name, value)| (name.clone(), value.clone())));
        request
    }
}

impl CommandCarrier for Overlaid<dyn CommandCarrier> {
    fn notify(&self, request: CommandRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        self.inner.notify(self.prepare(request))
    }

    fn ask(&self, request: CommandRequest) -> BoxFuture<'static, Result<CommandReply, HookFault>> {
        self.inner.ask(self.prepare(request))
    }
}

/// What is part of a tool event before it is sent.
const OF_THE_CALL: [&str; 5] = ["identifier", "apiName", "args", "result", "error"];

/// What nobody but the sender says.
const OF_THE_SENDER: [&str; 4] = ["hookId", "hookType", "userEmail", "finalState"];
