//! Scripted hooks, and the recorder that writes down what is heard.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jackline_hooks::{
    BeforeToolCallEvent, ControlReply, Decision, Event, Fallback, FaultCode, HookError, HookFault, HookKind, Hooks,
    MockAnswer, MockableToolCall, OnError, WebhookCarrier, WebhookConfig, WebhookRequest,
    stage::{HasHook, HasTool},
};

use super::world::{Fired, Heard, RECORDER, World};
use crate::format::{HookAnswer, HookPower, HookScript, HookWord, MockThen, OnErrorWord};

/// All hooks of a run: the recorder first, then those of the script in their order.
pub(crate) fn hooks(world: &Arc<World>) -> Hooks {
    let scripted = world.script.hooks.iter().enumerate();
    scripted.fold(recorder(world), |hooks, (index, script)| {
        hooks.and(match &world.outside {
            Some(outside) => outside.register(index, script),
            None if script.critical => critical_hook(index, script),
            None => scripted_hook(world, index, script),
        })
    })
}

/// Hears everything and has no say. Of calls it hears as a control that allows, so that it is asked
/// about those that are denied, too.
fn recorder(world: &Arc<World>) -> Hooks {
    let (calls, events) = (Arc::clone(world), Arc::clone(world));
    Hooks::new()
        .control_before_tool_call(RECORDER, move |event: Arc<BeforeToolCallEvent>| {
            let event: Event = Event::BeforeToolCall(event);
            record(&calls, &event);
            std::future::ready(Decision::Allow)
        })
        .observe_all(RECORDER, move |event: Event| {
            if event.kind() != HookKind::BeforeToolCall {
                record(&events, &event);
            }
            std::future::ready(())
        })
        .inherit(true)
        .into()
}

fn record(world: &World, event: &Event) {
    let fired = Fired { agent: world.agent_of(event.operation_id()), kind: event.kind() };
    let mut story = world.story();
    story.activity += 1;
    story.heard.push(Heard { fired, event: event.to_json() });
}

/// A webhook that must be told. [`Scripted`] carries to it.
fn critical_hook(index: usize, script: &HookScript) -> Hooks {
    let id = script.id.clone().unwrap_or_else(|| script.on.to_string());
    let inherit = script.inherit.unwrap_or_default();
    let url = format!("https://critical.test/{index}");
    let config = WebhookConfig { fallback: Fallback::None, inherit, ..WebhookConfig::new(url) };
    Hooks::new().webhook(id, script.on, config).into()
}

/// What critical hooks are told by: it knows what they answer.
#[derive(Clone)]
pub(super) struct Scripted(pub(super) Arc<World>);

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}

impl WebhookCarrier for Scripted {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        let world = Arc::clone(&self.0);
        async move {
            let index = request.config.url.rsplit('/').next().and_then(|mark| mark.parse().ok());
            let index = index.expect("the URL was made by `critical_hook`");
            observe(world, index).await.map_err(|_| HookFault::new(FaultCode::HttpError))
        }
        .boxed()
    }

    fn ask(&self, _: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        std::future::ready(Err(HookFault::new(FaultCode::Configuration))).boxed()
    }
}

fn scripted_hook(world: &Arc<World>, index: usize, script: &HookScript) -> Hooks {
    let id = script.id.clone().unwrap_or_else(|| script.on.to_string());
    let world = Arc::clone(world);
    match (script.power, script.on) {
        (HookPower::Mock, _) => {
            let handler = move |event| mock(Arc::clone(&world), index, event);
            on_tool(Hooks::new().mock_before_tool_call(id, handler), script).into()
        }
        (HookPower::Control, HookKind::AfterToolCall) => {
            let handler = move |_| control(Arc::clone(&world), index);
            let hooks = Hooks::new().control_after_tool_call(id, handler);
            on_tool(hooks.on_error(on_error(script.on_error)), script).into()
        }
        (HookPower::Control, _) => {
            let handler = move |_| control(Arc::clone(&world), index);
            let hooks = Hooks::new().control_before_tool_call(id, handler);
            on_tool(hooks.on_error(on_error(script.on_error)), script).into()
        }
        (HookPower::Observe, kind) => observer(kind, id, world, index, script),
    }
}

fn observer(kind: HookKind, id: String, world: Arc<World>, index: usize, script: &HookScript) -> Hooks {
    macro_rules! about_run {
        ($method:ident) => {
            with_options(Hooks::new().$method(id, move |_| observe(Arc::clone(&world), index)), script).into()
        };
    }
    macro_rules! about_tool {
        ($method:ident) => {
            on_tool(Hooks::new().$method(id, move |_| observe(Arc::clone(&world), index)), script).into()
        };
    }
    match kind {
        HookKind::BeforeStep => about_run!(before_step),
        HookKind::AfterStep => about_run!(after_step),
        HookKind::OnComplete => about_run!(on_complete),
        HookKind::OnError => about_run!(on_run_error),
        HookKind::BeforeToolCall => about_tool!(observe_before_tool_call),
        HookKind::AfterToolCall => about_tool!(after_tool_call),
        HookKind::OnToolCallError => about_tool!(on_tool_call_error),
        HookKind::BeforeHumanIntervention => about_run!(before_human_intervention),
        HookKind::AfterHumanIntervention => about_run!(after_human_intervention),
        HookKind::OnStopByHumanIntervention => about_run!(on_stop_by_human_intervention),
        HookKind::BeforeCompact => about_run!(before_compact),
        HookKind::AfterCompact => about_run!(after_compact),
        HookKind::OnCompactError => about_run!(on_compact_error),
        HookKind::BeforeCallAgent => about_run!(before_call_agent),
        HookKind::AfterCallAgent => about_run!(after_call_agent),
        HookKind::OnCallAgentError => about_run!(on_call_agent_error),
    }
}

fn with_options<S: HasHook>(mut hooks: Hooks<S>, script: &HookScript) -> Hooks<S> {
    if let Some(ms) = script.timeout_ms {
        hooks = hooks.timeout(Duration::from_millis(ms));
    }
    match script.inherit {
        Some(inherit) => hooks.inherit(inherit),
        None => hooks,
    }
}

fn on_tool<S: HasTool>(hooks: Hooks<S>, script: &HookScript) -> Hooks<S> {
    let hooks = with_options(hooks, script);
    match &script.matching {
        Some(pattern) => hooks.matching(pattern),
        None => hooks,
    }
}

fn on_error(word: OnErrorWord) -> OnError {
    match word {
        OnErrorWord::Continue => OnError::Continue,
        OnErrorWord::Block => OnError::Block,
    }
}

async fn observe(world: Arc<World>, index: usize) -> Result<(), HookError> {
    match next_word(&world, index).await {
        HookWord::Ok => Ok(()),
        HookWord::Deny(_) | HookWord::Mock(..) => out_of_place(&world, index),
        HookWord::Error => Err(HookError::new("scripted")),
        HookWord::Panic => panics(),
        HookWord::Hang => std::future::pending().await,
    }
}

async fn control(world: Arc<World>, index: usize) -> Result<Decision, HookError> {
    match next_word(&world, index).await {
        HookWord::Ok => Ok(Decision::Allow),
        HookWord::Deny(reason) => {
            world.note_denial(&id_of(&world, index), reason.is_some());
            Ok(Decision::Deny { reason })
        }
        HookWord::Mock(..) => out_of_place(&world, index),
        HookWord::Error => Err(HookError::new("scripted")),
        HookWord::Panic => panics(),
        HookWord::Hang => std::future::pending().await,
    }
}

async fn mock(world: Arc<World>, index: usize, event: MockableToolCall) -> Result<MockAnswer, HookError> {
    let (result, then) = match next_word(&world, index).await {
        HookWord::Ok => return Ok(MockAnswer::PassThrough),
        HookWord::Mock(result, then) => (*result, then),
        HookWord::Deny(_) => return out_of_place(&world, index),
        HookWord::Error => return Err(HookError::new("scripted")),
        HookWord::Panic => panics(),
        HookWord::Hang => std::future::pending().await,
    };
    if then == MockThen::Ok {
        return Ok(MockAnswer::Mock(result));
    }
    if !event.mock(result.clone()) {
        world.problem(format!("`hooks`: the first mock of `{}` was refused", id_of(&world, index)));
    }
    match then {
        MockThen::Ok => {}
        MockThen::MockAgain => {
            if event.mock(result) {
                world.problem(format!("`hooks`: a second mock of `{}` was accepted", id_of(&world, index)));
            }
        }
        MockThen::Error => return Err(HookError::new("scripted")),
        MockThen::Panic => panics(),
        MockThen::Hang => std::future::pending().await,
    }
    Ok(MockAnswer::PassThrough)
}

/// Takes the next answer; the last one repeats.
pub(super) async fn next_word(world: &World, index: usize) -> HookWord {
    world.while_alive().await;
    let answers = &world.script.hooks[index].answers;
    let cursor = {
        let mut story = world.story();
        story.activity += 1;
        story.hook_cursors[index] += 1;
        story.hook_cursors[index] - 1
    };
    let ok = HookAnswer { word: HookWord::Ok, delay_ms: 0 };
    let answer = answers.get(cursor.min(answers.len().saturating_sub(1))).unwrap_or(&ok);
    world.wait(answer.delay_ms).await;
    answer.word.clone()
}

fn id_of(world: &World, index: usize) -> String {
    let script = &world.script.hooks[index];
    script.id.clone().unwrap_or_else(|| script.on.to_string())
}

fn out_of_place<A>(world: &World, index: usize) -> Result<A, HookError> {
    world.problem(format!("`hooks`: `{}` has not the power to answer so", id_of(world, index)));
    Err(HookError::new("scripted"))
}

/// Without the panic hook: its words would stand in the output of a test that passes.
fn panics() -> ! {
    std::panic::resume_unwind(Box::new("scripted"))
}
