//! The hooks that the environment declares, for every operation.

use super::Environment;
use crate::webhook::is_destination;
use crate::{HookKind, OnError, ResponseHandling, WebhookConfig};

/// The hooks that `AGENT_HOOK_WEBHOOK_*` declares: one webhook, told of each event that is listed.
///
/// They apply to every operation, children included, after all other hooks. They are read at every use
/// and never stored, so that adding, removing or changing one takes effect at once. The token is not in
/// here: it is a template, filled in when a request is sent.
///
/// ```
/// use jackline_hooks::{EnvironmentHooks, Variables};
/// let variables = Variables::from([
///     ("AGENT_HOOK_WEBHOOK_URL", "https://policy.example.test/hook"),
///     ("AGENT_HOOK_WEBHOOK_TOKEN", "secret"),
///     ("AGENT_HOOK_WEBHOOK_EVENTS", "beforeToolCall, onComplete"),
/// ]);
/// assert_eq!(EnvironmentHooks::read(&variables).unwrap().unwrap().events().len(), 2);
///
/// let error = EnvironmentHooks::read(&variables.with("AGENT_HOOK_WEBHOOK_ON_ERROR", "ignore")).unwrap_err();
/// assert_eq!(error.to_string(), "Invalid Agent Hook environment: AGENT_HOOK_WEBHOOK_ON_ERROR");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentHooks {
    url: String,
    events: Vec<HookKind>,
    response_handling: ResponseHandling,
    on_error: OnError,
}

/// Why the variables declare no hooks. It names variables, never values.
///
/// Nothing is registered, dispatched or evaluated until they are corrected: an invalid policy is not no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// Variables whose value is invalid by itself. Correct them.
    #[error("Invalid Agent Hook environment: {}", .0.join(", "))]
    Invalid(Vec<&'static str>),
    /// A destination, and no token. Set it.
    #[error("AGENT_HOOK_WEBHOOK_URL requires non-empty AGENT_HOOK_WEBHOOK_TOKEN")]
    NoToken,
    /// A destination, and no events. List some.
    #[error("AGENT_HOOK_WEBHOOK_URL requires non-empty AGENT_HOOK_WEBHOOK_EVENTS")]
    NoEvents,
    /// Failures that could block, of hooks that have no say. Change one of the two.
    #[error("AGENT_HOOK_WEBHOOK_ON_ERROR=block requires AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING=toolCall")]
    BlockWithoutControl,
    /// Hooks with a say, about no tool. List one of the two events.
    #[error(
        "AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING=toolCall requires beforeToolCall or afterToolCall in AGENT_HOOK_WEBHOOK_EVENTS"
    )]
    ControlWithoutToolEvent,
}

impl EnvironmentHooks {
    /// Reads the variables. Nothing if no destination is set.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError`] names the variables to correct; the last two are found even without a destination.
    pub fn read(environment: &dyn Environment) -> Result<Option<Self>, EnvironmentError> {
        let read = Read::all(environment)?;
        if read.url.is_some() && !read.has_token {
            return Err(EnvironmentError::NoToken);
        }
        if read.url.is_some() && read.events.is_none() {
            return Err(EnvironmentError::NoEvents);
        }
        let events = read.events.unwrap_or_default();
        if read.on_error == OnError::Block && read.response_handling != ResponseHandling::ToolCall {
            return Err(EnvironmentError::BlockWithoutControl);
        }
        let has_tool_event = events.iter().any(|kind| kind.is_controllable());
        if read.response_handling == ResponseHandling::ToolCall && !has_tool_event {
            return Err(EnvironmentError::ControlWithoutToolEvent);
        }
        let (response_handling, on_error) = (read.response_handling, read.on_error);
        Ok(read.url.map(|url| Self { url, events, response_handling, on_error }))
    }

    /// The events, in the order in which they are listed.
    pub fn events(&self) -> &[HookKind] {
        &self.events
    }

    /// Whether the hook of this event has a say.
    pub fn is_control(&self, kind: HookKind) -> bool {
        self.response_handling == ResponseHandling::ToolCall && kind.is_controllable() && self.events.contains(&kind)
    }

    /// The webhook of one event, if that event is listed. Its token is a template.
    pub fn webhook(&self, kind: HookKind) -> Option<WebhookConfig> {
        let is_control = self.is_control(kind);
        self.events.contains(&kind).then(|| WebhookConfig {
            headers: Some([("Authorization".to_owned(), format!("Bearer ${{{TOKEN}}}"))].into()),
            allowed_env_vars: Some(vec![TOKEN.to_owned()]),
            response_handling: if is_control { ResponseHandling::ToolCall } else { ResponseHandling::Ignore },
            on_error: if is_control { self.on_error } else { OnError::Continue },
            ..WebhookConfig::new(self.url.clone())
        })
    }
}

/// The variables one by one, each valid by itself.
struct Read {
    url: Option<String>,
    has_token: bool,
    events: Option<Vec<HookKind>>,
    response_handling: ResponseHandling,
    on_error: OnError,
}

impl Read {
    fn all(environment: &dyn Environment) -> Result<Self, EnvironmentError> {
        let mut invalid = Vec::new();
        let mut read = |name, is_valid: &dyn Fn(&str) -> bool| {
            let value = environment.get(name);
            if value.as_deref().is_some_and(|value| !is_valid(value)) {
                invalid.push(name);
            }
            value
        };
        let url = read(URL, &is_destination);
        let has_token = read(TOKEN, &|token| !token.trim().is_empty()).is_some();
        let events = read(EVENTS, &|list| kinds(list).is_some()).and_then(|list| kinds(&list));
        let handling = read(RESPONSE_HANDLING, &|text| ResponseHandling::parse(text).is_some());
        let on_error = read(ON_ERROR, &|text| OnError::parse(text).is_some());
        if !invalid.is_empty() {
            return Err(EnvironmentError::Invalid(invalid));
        }
        let response_handling = handling.as_deref().and_then(ResponseHandling::parse).unwrap_or_default();
        let on_error = on_error.as_deref().and_then(OnError::parse).unwrap_or_default();
        Ok(Self { url, has_token, events, response_handling, on_error })
    }
}

/// A comma list of hook types: blanks dropped, each once. Nothing if one is unknown or none is left.
fn kinds(list: &str) -> Option<Vec<HookKind>> {
    let mut kinds = Vec::new();
    for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let kind: HookKind = name.parse().ok()?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    (!kinds.is_empty()).then_some(kinds)
}

/// The ids of these hooks begin with it, and no other hook may use such an id.
pub const ENVIRONMENT_HOOK_PREFIX: &str = "server-env-webhook:";

const URL: &str = "AGENT_HOOK_WEBHOOK_URL";
const TOKEN: &str = "AGENT_HOOK_WEBHOOK_TOKEN";
const EVENTS: &str = "AGENT_HOOK_WEBHOOK_EVENTS";
const RESPONSE_HANDLING: &str = "AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING";
const ON_ERROR: &str = "AGENT_HOOK_WEBHOOK_ON_ERROR";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variables;

    fn complete() -> Variables {
        Variables::from([(URL, "https://policy.test/hook"), (TOKEN, "s3cret"), (EVENTS, "beforeToolCall")])
    }

    fn read(variables: &Variables) -> Result<Option<EnvironmentHooks>, EnvironmentError> {
        EnvironmentHooks::read(variables)
    }

    fn text(variables: &Variables) -> String {
        read(variables).unwrap_err().to_string()
    }

    #[test]
    fn k01_nothing_set_declares_nothing() {
        assert_eq!(read(&Variables::default()), Ok(None));
        assert_eq!(read(&Variables::from([(TOKEN, "x"), (EVENTS, "onComplete")])), Ok(None));
    }

    #[test]
    fn k02_the_list_is_trimmed_and_each_event_counts_once() {
        let hooks =
            read(&complete().with(EVENTS, " beforeToolCall, ,afterToolCall,beforeToolCall, ")).unwrap().unwrap();
        assert_eq!(hooks.events(), [HookKind::BeforeToolCall, HookKind::AfterToolCall]);
        let webhook = hooks.webhook(HookKind::BeforeToolCall).unwrap();
        assert_eq!((webhook.response_handling, webhook.on_error), (ResponseHandling::Ignore, OnError::Continue));
        assert_eq!(webhook.headers.unwrap()["Authorization"], "Bearer ${AGENT_HOOK_WEBHOOK_TOKEN}");
    }

    #[test]
    fn k03_what_is_wrong_is_named_and_the_token_is_never_shown() {
        let without = |names: &[&str]| {
            let kept = [(URL, "https://policy.test/hook"), (TOKEN, "s3cret"), (EVENTS, "beforeToolCall")];
            let kept = kept.into_iter().filter(|(name, _)| !names.contains(name));
            kept.fold(Variables::default(), |all, (name, value)| all.with(name, value))
        };
        let invalid = |name: &str| format!("Invalid Agent Hook environment: {name}");
        assert_eq!(text(&without(&[TOKEN])), "AGENT_HOOK_WEBHOOK_URL requires non-empty AGENT_HOOK_WEBHOOK_TOKEN");
        assert_eq!(text(&without(&[EVENTS])), "AGENT_HOOK_WEBHOOK_URL requires non-empty AGENT_HOOK_WEBHOOK_EVENTS");
        for (name, value) in [
            (TOKEN, " \t"),
            (EVENTS, ", ,"),
            (EVENTS, "beforeToolCall,..."),
            (EVENTS, "BeforeToolCall"),
            (URL, "ftp://policy.test"),
            (URL, ""),
            (RESPONSE_HANDLING, "maybe"),
            (ON_ERROR, "stop"),
        ] {
            assert_eq!(text(&complete().with(name, value)), invalid(name));
        }
        let two = complete().with(URL, "").with(ON_ERROR, "x");
        assert_eq!(text(&two), invalid("AGENT_HOOK_WEBHOOK_URL, AGENT_HOOK_WEBHOOK_ON_ERROR"));
        let block = "AGENT_HOOK_WEBHOOK_ON_ERROR=block requires AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING=toolCall";
        assert_eq!(text(&complete().with(ON_ERROR, "block")), block);
        assert_eq!(text(&Variables::from([(ON_ERROR, "block")])), block);
    }

    #[test]
    fn k04_after_events_alone_can_be_controlled() {
        let after =
            complete().with(EVENTS, "afterToolCall").with(RESPONSE_HANDLING, "toolCall").with(ON_ERROR, "block");
        let hooks = read(&after).unwrap().unwrap();
        assert!(hooks.is_control(HookKind::AfterToolCall) && !hooks.is_control(HookKind::BeforeToolCall));
        assert_eq!(hooks.webhook(HookKind::AfterToolCall).unwrap().on_error, OnError::Block);
    }

    #[test]
    fn k05_old_values_and_controls_of_no_tool_are_refused() {
        for old in ["toolResult", "toolCallAndResult"] {
            let error = text(&complete().with(RESPONSE_HANDLING, old));
            assert_eq!(error, "Invalid Agent Hook environment: AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING");
        }
        let neither = "AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING=toolCall requires beforeToolCall or afterToolCall \
                       in AGENT_HOOK_WEBHOOK_EVENTS";
        assert_eq!(text(&complete().with(EVENTS, "onComplete").with(RESPONSE_HANDLING, "toolCall")), neither);
        assert_eq!(text(&Variables::from([(RESPONSE_HANDLING, "toolCall")])), neither);
    }

    #[test]
    fn k07_only_tool_events_have_a_say() {
        let all = complete().with(EVENTS, "onComplete,beforeToolCall").with(RESPONSE_HANDLING, "toolCall");
        let hooks = read(&all.with(ON_ERROR, "block")).unwrap().unwrap();
        assert_eq!(hooks.webhook(HookKind::BeforeToolCall).unwrap().on_error, OnError::Block);
        let told = hooks.webhook(HookKind::OnComplete).unwrap();
        assert_eq!((told.response_handling, told.on_error), (ResponseHandling::Ignore, OnError::Continue));
        assert_eq!(hooks.webhook(HookKind::AfterStep), None);
    }
}
