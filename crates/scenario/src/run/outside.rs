//! Scripted hooks outside the process: the same answers, by a real program or a real request.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jackline_hooks::{
    Carriers, CommandCarrier, CommandConfig, CommandReply, CommandRequest, ControlReply, HookFault, HookKind, Hooks,
    OnError, ResponseHandling, WebhookCarrier, WebhookConfig, WebhookRequest,
};
use jackline_runtime::drive::Clock as _;
use serde_json::{Number, Value, json};

use super::hooks::next_word;
use super::world::World;
use crate::format::{HookPower, HookScript, HookWord, MockThen, OnErrorWord};

/// How the hooks of a scenario are reached, if not by calls in this process.
///
/// The scenario decides what each hook answers; whoever is outside only says it. `Debug` shows the kind.
#[derive(Clone)]
pub enum Outside {
    /// By requests to a receiver. The last segment of a request's path is an [`OutsideAnswer`], as JSON in
    /// hexadecimal digits.
    Webhooks {
        /// What the URLs begin with.
        base_url: String,
        /// Makes the carriers of one life of the process.
        carriers: Arc<dyn Fn() -> Carriers + Send + Sync>,
    },
    /// By a program. Its last two arguments are an [`OutsideAnswer`]: `print` and a text, `fail` or `hang` and nothing.
    Commands {
        /// The program and the arguments before the last.
        command: Vec<String>,
        /// Makes the carriers of one life of the process.
        carriers: Arc<dyn Fn() -> Carriers + Send + Sync>,
    },
}

/// What somebody outside the process is to do: `{"does": "print", "text": …}`, `{"does": "fail"}` or
/// `{"does": "hang"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutsideAnswer {
    /// Succeed, and print this.
    Print(String),
    /// Fail.
    Fail,
    /// Never answer.
    Hang,
}

impl OutsideAnswer {
    fn of(kind: HookKind, word: &HookWord) -> Self {
        match word {
            HookWord::Ok if kind.is_controllable() => Self::Print(json!({"decision": "allow"}).to_string()),
            HookWord::Ok => Self::Print(String::new()),
            HookWord::Deny(None) => Self::Print(json!({"decision": "deny"}).to_string()),
            HookWord::Deny(Some(reason)) => Self::Print(json!({"decision": "deny", "reason": reason}).to_string()),
            HookWord::Mock(result, _) => Self::Print(json!({"mock": result}).to_string()),
            HookWord::Error | HookWord::Panic => Self::Fail,
            HookWord::Hang => Self::Hang,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            Self::Print(text) => json!({"does": "print", "text": text}),
            Self::Fail => json!({"does": "fail"}),
            Self::Hang => json!({"does": "hang"}),
        }
    }

    /// Reads the last segment of a path.
    pub fn from_path(path: &str) -> Option<Self> {
        let digits = path.rsplit('/').next()?;
        let pairs =
            digits.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        let value: Value = serde_json::from_slice(&pairs.collect::<Option<Vec<u8>>>()?).ok()?;
        match value["does"].as_str()? {
            "print" => Some(Self::Print(value["text"].as_str()?.to_owned())),
            "fail" => Some(Self::Fail),
            "hang" => Some(Self::Hang),
            _unknown => None,
        }
    }
}

impl Outside {
    /// Whether somebody outside can answer all that the hooks of a scenario answer. Webhooks do not mock; nobody
    /// outside passes where it could mock, or goes on after its mock; and who hangs there does so in real time, so
    /// that only a short deadline ends it. A critical hook is a webhook in every way.
    pub(crate) fn can_answer(&self, hooks: &[HookScript]) -> bool {
        let is_everywhere_the_same = hooks.iter().any(|hook| hook.critical);
        !is_everywhere_the_same
            && hooks.iter().all(|hook| {
                let mut words = hook.answers.iter().map(|answer| &answer.word);
                let is_short = hook.timeout_ms.is_some_and(|ms| ms <= DEADLINE_MS_MAX);
                let is_plain = |word: &HookWord| matches!(word, HookWord::Mock(_, MockThen::Ok));
                let ends = is_short || words.clone().all(|word| *word != HookWord::Hang);
                match (hook.power, self) {
                    (HookPower::Observe | HookPower::Control, Self::Webhooks { .. } | Self::Commands { .. }) => ends,
                    (HookPower::Mock, Self::Webhooks { .. }) => false,
                    (HookPower::Mock, Self::Commands { .. }) => !hook.answers.is_empty() && words.all(is_plain),
                }
            })
    }

    /// Registers one hook.
    pub(super) fn register(&self, index: usize, script: &HookScript) -> Hooks {
        let id = script.id.clone().unwrap_or_else(|| script.on.to_string());
        let decides = script.power != HookPower::Observe;
        let handling = if decides { ResponseHandling::ToolCall } else { ResponseHandling::Ignore };
        let on_error = match script.on_error {
            OnErrorWord::Block if decides => OnError::Block,
            OnErrorWord::Block | OnErrorWord::Continue => OnError::Continue,
        };
        // As for handlers: who decides also decides below.
        let inherit = script.inherit.unwrap_or(decides);
        let timeout = script.timeout_ms.and_then(|ms| Number::from_f64(ms as f64 / 1000.0));
        let mark = index.to_string();
        let hooks = match self {
            Self::Webhooks { base_url, .. } => {
                let url = format!("{base_url}/{mark}");
                let config = WebhookConfig {
                    timeout,
                    response_handling: handling,
                    on_error,
                    inherit,
                    ..WebhookConfig::new(url)
                };
                Hooks::new().webhook(id, script.on, config)
            }
            Self::Commands { command, .. } => {
                let words = command.iter().cloned().chain([mark]);
                let inherit = Some(inherit);
                let config = CommandConfig {
                    timeout,
                    response_handling: handling,
                    on_error,
                    inherit,
                    ..CommandConfig::new(words)
                };
                Hooks::new().command(id, script.on, config)
            }
        };
        match &script.matching {
            Some(pattern) => hooks.matching(pattern).into(),
            None => hooks.into(),
        }
    }

    /// The carriers of one life, which say the scripted answers.
    pub(super) fn carriers(&self, world: &Arc<World>) -> Carriers {
        let (Self::Webhooks { carriers, .. } | Self::Commands { carriers, .. }) = self;
        let inner = carriers();
        Carriers {
            webhook: inner.webhook.map(|inner| Arc::new(Prompted { world: Arc::clone(world), inner }) as _),
            command: inner.command.map(|inner| Arc::new(Prompted { world: Arc::clone(world), inner }) as _),
            spawn: None,
        }
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Webhooks { .. } => "Webhooks",
            Self::Commands { .. } => "Commands",
        })
    }
}

/// A carrier that tells whoever is outside what to answer. Virtual time stands still meanwhile.
struct Prompted<C: ?Sized> {
    world: Arc<World>,
    inner: Arc<C>,
}

impl<C: ?Sized> fmt::Debug for Prompted<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prompted")
    }
}

impl<C: ?Sized + Send + Sync + 'static> Prompted<C> {
    /// Takes the next answer of the hook with this mark, then carries.
    fn carry<R: Send + 'static, T: Send + 'static>(
        &self,
        mark: Option<usize>,
        prompt: impl FnOnce(Value) -> R + Send + 'static,
        carry: impl FnOnce(&C, R) -> BoxFuture<'static, Result<T, HookFault>> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, HookFault>> {
        let (world, inner) = (Arc::clone(&self.world), Arc::clone(&self.inner));
        async move {
            let index = mark.expect("the URL or the command was made by `register`");
            let word = next_word(&world, index).await;
            let answer = OutsideAnswer::of(world.script.hooks[index].on, &word).to_json();
            let _real = world.clock.hold();
            carry(&inner, prompt(answer)).await
        }
        .boxed()
    }
}

impl WebhookCarrier for Prompted<dyn WebhookCarrier> {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        self.carry(
            mark_of_url(&request),
            |answer| prompt_webhook(request, &answer),
            |inner, request| inner.notify(request),
        )
    }

    fn ask(&self, request: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        self.carry(
            mark_of_url(&request),
            |answer| prompt_webhook(request, &answer),
            |inner, request| inner.ask(request),
        )
    }
}

impl CommandCarrier for Prompted<dyn CommandCarrier> {
    fn notify(&self, request: CommandRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        self.carry(
            mark_of_command(&request),
            |answer| prompt_command(request, &answer),
            |inner, request| inner.notify(request),
        )
    }

    fn ask(&self, request: CommandRequest) -> BoxFuture<'static, Result<CommandReply, HookFault>> {
        self.carry(
            mark_of_command(&request),
            |answer| prompt_command(request, &answer),
            |inner, request| inner.ask(request),
        )
    }
}

fn mark_of_url(request: &WebhookRequest) -> Option<usize> {
    request.config.url.rsplit('/').next()?.parse().ok()
}

fn mark_of_command(request: &CommandRequest) -> Option<usize> {
    request.config.command.last()?.parse().ok()
}

fn prompt_webhook(request: WebhookRequest, answer: &Value) -> WebhookRequest {
    let digits: String = answer.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
    let config = WebhookConfig { url: format!("{}/{digits}", request.config.url), ..(*request.config).clone() };
    WebhookRequest { config: Arc::new(config), ..request }
}

fn prompt_command(request: CommandRequest, answer: &Value) -> CommandRequest {
    let mut config = (*request.config).clone();
    config.command.pop();
    let word = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    config.command.extend([word("does"), word("text")]);
    CommandRequest { config: Arc::new(config), ..request }
}

/// What a test can wait for in real time.
const DEADLINE_MS_MAX: u64 = 1_000;
