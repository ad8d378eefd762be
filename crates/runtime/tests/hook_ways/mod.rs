//! What is promised about controls, with webhooks: in local and in queue mode, in the process that started the run and
//! in one that knows nothing of it but the store.

mod after;
mod before;

use std::sync::Arc;

use jackline_hooks::transport::HttpCarrier;
use jackline_hooks::{
    Carriers, ControlReply, HookFault, HookKind, Hooks, WebhookCarrier, WebhookConfig, WebhookRequest,
};
use jackline_model::{Status, ToolRunResult};
use jackline_runtime::drive::{Agent, Clock, Prompt, Report, Run, VirtualClock};
use jackline_runtime::llm::{BoxFuture, Turn};

use crate::stage::{Prop, Stage, agent, asks, says, staged_everywhere};
use crate::webhooks::receiver::{Receiver, Request};
pub(crate) use crate::webhooks::{Changing, WAYS, Way, judge, notice};

/// A run in one of the ways, and the receiver of its webhooks.
struct Played {
    way: Way,
    stage: Stage,
    receiver: Receiver,
    run: Run,
    report: Report,
}

/// A run that is not there yet.
struct Play {
    way: Way,
    receiver: Receiver,
    environment: Changing,
    props: Vec<Prop>,
    agent: Agent,
    prompt: Prompt,
}

impl Play {
    fn new(way: Way, props: impl IntoIterator<Item = Prop>) -> Self {
        let props = props.into_iter().chain([Prop::client("wait")]).collect();
        Self {
            way,
            receiver: Receiver::start(),
            environment: Changing::default(),
            props,
            agent: agent(),
            prompt: Prompt::from("go"),
        }
    }

    fn with_agent(self, agent: Agent) -> Self {
        Self { agent, ..self }
    }

    fn started_by(self, prompt: Prompt) -> Self {
        Self { prompt, ..self }
    }

    /// The run parks once, and what comes then is asked for where it goes on: here, or in another process.
    async fn of(self, hooks: Hooks, turns: impl IntoIterator<Item = Turn>) -> Played {
        self.with_rule(hooks, turns, |_, _| {}).await
    }

    /// The same; before it goes on, the receiver and the stage on which that will be can be prepared.
    async fn with_rule(
        self,
        hooks: Hooks,
        turns: impl IntoIterator<Item = Turn>,
        prepare: impl FnOnce(&Receiver, &Stage),
    ) -> Played {
        let Self { way, receiver, environment, props, agent, prompt } = self;
        let turns: Vec<Turn> = turns.into_iter().chain([says("done")]).collect();
        let first = [asks(&[("first", "wait", "{}")])];
        let (here, there) = if way.cold { (Vec::new(), turns) } else { (turns, Vec::new()) };
        let (clock, variables) = (VirtualClock::starting_at(1_000), environment.clone());
        let http = Arc::new(Real { inner: receiver.carrier(environment.clone()), clock: clock.clone() });
        let stage = staged_everywhere(first.into_iter().chain(here), props, move |builder| {
            let carriers = Carriers { webhook: Some(Arc::clone(&http) as _), ..Carriers::default() };
            let builder = builder.carriers(carriers).clock(Arc::new(clock.clone()));
            builder.hook_mode(way.mode).hook_environment(Arc::new(variables.clone()))
        });
        let run = stage.runtime.start(&agent, prompt, hooks).unwrap();
        assert_eq!(run.wait().await.unwrap().status, Status::WaitingForAsyncTool, "{way:?}");
        let (stage, run) = if way.cold {
            let next = stage.after_a_crash(there);
            let run = next.runtime.resume(run.id(), Hooks::new()).unwrap();
            (next, run)
        } else {
            (stage, run)
        };
        prepare(&receiver, &stage);
        let report = stage.complete(&run, "first", &ToolRunResult::ok("waited")).await;
        Played { way, stage, receiver, run, report }
    }
}

impl Played {
    /// The texts of the result rows, less that of the call that the run waited for.
    fn texts(&self) -> Vec<(String, String)> {
        self.stage.texts(self.run.id()).split_off(1)
    }

    /// The payloads of what was told at an address.
    fn told(&self, url: &str) -> Vec<serde_json::Value> {
        let told = self.receiver.told.lock().unwrap();
        told.iter().filter(|told| told.url == url).map(|told| told.payload.clone().into()).collect()
    }
}

/// Requests are real: virtual time stands still meanwhile.
#[derive(Debug)]
struct Real {
    inner: HttpCarrier,
    clock: VirtualClock,
}

impl WebhookCarrier for Real {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        let (hold, sent) = (self.clock.hold(), self.inner.notify(request));
        Box::pin(async move {
            let _hold = hold;
            sent.await
        })
    }

    fn ask(&self, request: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        let (hold, sent) = (self.clock.hold(), self.inner.ask(request));
        Box::pin(async move {
            let _hold = hold;
            sent.await
        })
    }
}

/// The tools that hooks are about here: not the one that the run waits for.
const TOOLS: &str = "^test/[^w]";

/// A control of calls at this address.
fn before(hooks: Hooks, id: &str, config: WebhookConfig) -> Hooks {
    hooks.webhook(id, HookKind::BeforeToolCall, config).matching(TOOLS).into()
}

/// A control of results at this address.
fn after(hooks: Hooks, id: &str, config: WebhookConfig) -> Hooks {
    hooks.webhook(id, HookKind::AfterToolCall, config).matching(TOOLS).into()
}

/// A denial, as a receiver says it.
fn denial(reason: &str) -> String {
    serde_json::json!({"decision": "deny", "reason": reason}).to_string()
}

const ALLOWED: &str = r#"{"decision":"allow"}"#;

/// A policy that denies one call for this reason, and notes each call that it is asked about on the stage, if it has one.
fn denies(
    call: &'static str,
    reason: &'static str,
    stage: Option<(&Stage, &'static str)>,
) -> impl FnMut(&Request) -> Option<String> + Send + 'static {
    let stage = stage.map(|(stage, word)| (stage.clone(), word));
    move |asked| {
        let asked = asked.payload["toolCallId"].as_str()?;
        if let Some((stage, word)) = &stage {
            stage.note(format!("{word} {asked}"));
        }
        Some(if asked == call { denial(reason) } else { ALLOWED.to_owned() })
    }
}
