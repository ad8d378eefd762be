//! What the parts of a registered hook must be, and how to put each right.

/// One rule of registration that a hook breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// The type is none of the sixteen.
    #[error("Invalid hook type")]
    Type,
    /// The id is no text.
    #[error("Hook id must be a string")]
    Id,
    /// The matcher is no text.
    #[error("Hook matcher must be a string")]
    MatcherType,
    /// The event is not about a tool.
    #[error("Matchers are only supported for tool events")]
    MatcherEvent,
    /// A handler that nothing can call.
    #[error("Hook handler must be a function")]
    Handler,
    /// Nobody to call.
    #[error("A hook requires a handler or webhook")]
    Consumer,
    /// Two carriers where one is needed.
    #[error("A hook has either a webhook or a command")]
    Carriers,
    /// One webhook for all sixteen events.
    #[error("A webhook requires one hook type")]
    OneType,
    /// A control that has a handler, too.
    #[error("Control hooks cannot have a handler")]
    ControlHandler,
    /// A control whose answer nobody would wait for.
    #[error("toolCall response handling requires fetch delivery")]
    ControlDelivery,
    /// A control that does not see the whole event.
    #[error("Control hooks cannot filter or override the event payload")]
    ControlPayload,
    /// A control of what cannot be denied.
    #[error("toolCall response handling requires beforeToolCall or afterToolCall")]
    ControlEvent,
    /// A failure that could block, of a hook that has no say.
    #[error("onError:block requires toolCall response handling")]
    Block,
    /// No destination for a webhook.
    #[error("Webhook URL must be HTTP(S) or an application-relative path without credentials")]
    Url,
    /// A deadline that no timer can hold.
    #[error("Hook timeout must be more than 0 and at most 2147483.647 seconds")]
    Timeout,
    /// A key that does not exist.
    #[error("Unrecognized key")]
    UnknownKey,
    /// None of a closed list.
    #[error("Invalid option: expected one of {0}")]
    Option(&'static str),
    /// No name of a variable.
    #[error("Invalid environment variable name: must match ^[A-Za-z_][A-Za-z0-9_]*$")]
    Variable,
    /// Another JSON type.
    #[error("Invalid type: expected {0}")]
    Expected(&'static str),
    /// An option of one way of delivery, with another one.
    #[error("retries and delay require qstash delivery")]
    QstashOnly,
    /// A span that QStash cannot read.
    #[error("Invalid delay: expected seconds or a span such as 10s or 1h30m")]
    Delay,
    /// No host, address or range of addresses.
    #[error("Invalid network entry: expected a host name, an address or a CIDR range")]
    Network,
    /// No program.
    #[error("A command requires a program")]
    Program,
}

impl Rule {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Type => "use one of the sixteen names, as they are spelled in the documentation",
            Self::Id => "give a text; it need not be unique",
            Self::MatcherType => "give one regular expression as a text",
            Self::MatcherEvent => "remove the matcher, or use a tool event",
            Self::Handler => "remove the key: handlers are registered in code",
            Self::Consumer => "add a webhook, a command or a handler",
            Self::Carriers => "remove one of the two, or make two hooks",
            Self::OneType => "add the webhook to the handler of one event",
            Self::ControlHandler => "register the handler as a hook of its own",
            Self::ControlDelivery => "use delivery fetch, or response handling ignore",
            Self::ControlPayload => "remove eventFields and body, or use response handling ignore",
            Self::ControlEvent => "use a tool event, or response handling ignore",
            Self::Block => "use response handling toolCall, or onError continue",
            Self::Url => "give an http or https URL, or a path that begins with one slash; put secrets into headers",
            Self::Timeout => "give seconds; fractions are allowed",
            Self::UnknownKey => "remove the key, or correct its spelling",
            Self::Option(_) => "use one of these, spelled like this",
            Self::Variable => "give the name of a variable, not its value",
            Self::Expected(_) => "change the type of the value",
            Self::QstashOnly => "use delivery qstash, or remove the key",
            Self::Delay => "give whole seconds, or numbers with the units s, m, h and d",
            Self::Network => "write it like example.test, 10.1.2.3 or 10.0.0.0/8",
            Self::Program => "give the program first, then its arguments",
        }
    }
}

/// A rule, and the field that breaks it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} (`{field}`: {})", .rule.remedy())]
pub struct FieldFault {
    /// The field, as a path such as `webhook.url`.
    pub field: String,
    /// The rule.
    pub rule: Rule,
}

impl FieldFault {
    pub(crate) fn new(field: impl Into<String>, rule: Rule) -> Self {
        Self { field: field.into(), rule }
    }

    /// The same, with the field found inside another.
    pub(crate) fn inside(self, parent: &str) -> Self {
        Self { field: format!("{parent}.{}", self.field), rule: self.rule }
    }
}
