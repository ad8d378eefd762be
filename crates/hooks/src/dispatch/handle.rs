//! The hooks of one run, looked up once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackline_model::{OperationId, ToolKey};
use serde_json::{Map, Value};

use super::ask::{Failure, ask};
use super::error::environment_hook_id;
use super::ports::Ports;
use super::{AnswerClass, CarrierKind, DeliveryId, DispatchError, DispatchMode, Receipt};
use crate::kind_set::KindSet;
use crate::register::entry::{Answering, Consumer, Entry};
use crate::{EnvironmentHooks, HookKind, RulingCause};

/// The hooks that apply to one run, looked up once: what drivers fire events through.
///
/// A snapshot. Hooks that are registered or removed later are not seen: ask the dispatcher for a
/// new handle when an operation starts, resumes, or is registered for again. Only the hooks of the
/// environment are read at every use. Cloning shares it.
///
/// Dropping the future of an evaluation cancels it: the hook that is being asked is dropped,
/// later ones are not asked, and nothing is decided.
#[derive(Clone)]
pub struct HookHandle {
    heard: KindSet,
    controls: KindSet,
    told_outside: KindSet,
    applying: Arc<Applying>,
    place: Option<Arc<str>>,
}

struct Applying {
    hooks: Vec<Bound>,
    broken: Option<DispatchError>,
    running: OperationId,
    ports: Arc<Ports>,
}

/// A hook and the operation that it was registered for.
#[derive(Clone)]
pub(super) struct Bound {
    pub(super) operation: OperationId,
    pub(super) entry: Arc<Entry>,
    /// How many hooks of this id and operation come before it.
    pub(super) twin: usize,
    /// Whether it is asked as the operation that it was registered for.
    pub(super) speaks_for: bool,
}

impl HookHandle {
    pub(super) fn new(
        hooks: Vec<Bound>,
        broken: Option<DispatchError>,
        running: OperationId,
        ports: Arc<Ports>,
    ) -> Self {
        let kinds = |control: bool| {
            let chosen = hooks.iter().filter(|bound| bound.entry.is_control() == control);
            chosen.fold(KindSet::default(), |kinds, bound| kinds.union(bound.entry.kinds))
        };
        let (heard, controls) = (kinds(false), kinds(true));
        let outside = hooks.iter().filter(|bound| !bound.entry.is_control() && bound.is_outside(ports.mode));
        let told_outside = outside.fold(KindSet::default(), |kinds, bound| kinds.union(bound.entry.kinds));
        Self {
            heard,
            controls,
            told_outside,
            applying: Arc::new(Applying { hooks, broken, running, ports }),
            place: None,
        }
    }

    /// The same hooks, for one firing at a place that does not change when the firing is repeated, such as
    /// `s3.c1.before`.
    ///
    /// Receivers know a repeated delivery by an id that follows from it. Without it the id follows from the event:
    /// its step, its call and its type. The place is of the operation that runs: children that inherit a hook may
    /// have the same one. It costs nothing where no hook leaves the process.
    pub fn at(&self, place: impl fmt::Display) -> Self {
        let leaves_process = self.ports().environment.is_some()
            || self.applying.hooks.iter().any(|bound| !bound.entry.is_lost_with_process());
        let place = leaves_process.then(|| format!("{}/{place}", self.applying.running).into());
        Self { place, ..self.clone() }
    }

    /// Whether any observer or mock wants to hear of this. Costs a bit test, if the environment declares no hooks.
    ///
    /// True if hooks cannot be read: the dispatch then says so.
    pub fn wants(&self, kind: HookKind) -> bool {
        self.heard.contains(kind) || self.policy_has(kind, false)
    }

    /// Whether an observer outside this process hears of this. Costs a bit test, if the environment declares no hooks.
    ///
    /// What it hears cannot be taken back: write down first what it is about.
    pub fn tells_outside(&self, kind: HookKind) -> bool {
        self.told_outside.contains(kind) || self.policy_has(kind, false)
    }

    /// Whether any control must be asked about this. Costs a bit test, if the environment declares no hooks.
    ///
    /// True if hooks cannot be read: the evaluation then denies.
    pub fn controls(&self, kind: HookKind) -> bool {
        self.controls.contains(kind) || self.policy_has(kind, true)
    }

    fn policy_has(&self, kind: HookKind, control: bool) -> bool {
        match self.policy(kind) {
            Ok(environment) => environment.is_some_and(|bound| bound.entry.is_control() == control),
            Err(_) => true,
        }
    }

    /// The hook that the environment declares for a type, read now. An error if any hook cannot be read.
    pub(super) fn policy(&self, kind: HookKind) -> Result<Option<Bound>, DispatchError> {
        if let Some(error) = &self.applying.broken {
            return Err(error.clone());
        }
        let Some(environment) = &self.ports().environment else {
            return Ok(None);
        };
        let webhook = EnvironmentHooks::read(environment.as_ref())?.and_then(|hooks| hooks.webhook(kind));
        let entry = webhook.map(|config| Entry::webhook(environment_hook_id(kind), kind, config));
        Ok(entry.map(|entry| Bound::new(&self.applying.running, Arc::new(entry))))
    }

    /// The hooks of one type in the order of the rounds.
    pub(super) fn of(&self, kind: HookKind) -> impl Iterator<Item = &Bound> {
        self.applying.hooks.iter().filter(move |bound| bound.entry.kinds.contains(kind))
    }

    /// What is called of a hook that is about a tool.
    pub(super) fn consumer<'a>(&self, bound: &'a Bound, tool: Option<&ToolKey>) -> Option<Consumer<'a>> {
        bound.entry.consumer(self.ports().mode).filter(|_| bound.entry.accepts(tool))
    }

    pub(super) fn ports(&self) -> &Arc<Ports> {
        &self.applying.ports
    }

    /// The id of a delivery of this event to a hook.
    pub(super) fn delivery_id(&self, bound: &Bound, kind: HookKind, event: &Map<String, Value>) -> DeliveryId {
        let of_event = || {
            let text = |name: &str| event.get(name).map(Value::to_string).unwrap_or_default();
            format!("{}/{}/{}", self.applying.running, text("stepIndex"), text("toolCallId")).into()
        };
        let place = self.place.clone().unwrap_or_else(of_event);
        DeliveryId::of(&place, &bound.operation, &bound.entry.id, bound.twin, kind)
    }

    /// Asks one handler, takes its time, and logs a failure.
    pub(super) async fn ask<A>(
        &self,
        bound: &Bound,
        kind: HookKind,
        call: impl FnOnce() -> Answering<A>,
    ) -> (Result<A, Failure>, Duration) {
        let (answer, latency) = ask(call, bound.entry.timeout, self.ports().clock.as_ref()).await;
        if let Err(failure) = &answer {
            self.warn(bound, kind, failure);
        }
        (answer, latency)
    }

    /// Says which hook failed and how; never what it looked at or said.
    pub(super) fn warn(&self, bound: &Bound, kind: HookKind, failure: &Failure) {
        tracing::warn!(
            hook = %bound.entry.id,
            kind = %kind,
            operation = %self.applying.running,
            failure = failure.class().as_str(),
            label = failure.label(),
            "a hook failed"
        );
    }
}

impl Bound {
    pub(super) fn new(operation: &OperationId, entry: Arc<Entry>) -> Self {
        Self { operation: operation.clone(), entry, twin: 0, speaks_for: false }
    }

    /// Whether what is called in a mode is outside this process.
    fn is_outside(&self, mode: DispatchMode) -> bool {
        match self.entry.consumer(mode) {
            Some(Consumer::Webhook(_) | Consumer::Command(_)) => true,
            Some(Consumer::Native(_)) | None => false,
        }
    }

    /// A receipt of a hook in this process.
    pub(super) fn receipt(
        &self,
        kind: HookKind,
        answer: AnswerClass,
        latency: Duration,
        decided_by: Option<RulingCause>,
    ) -> Receipt {
        let (hook, operation) = (self.entry.id.clone(), self.operation.clone());
        let (carrier, fault, delivery_id) = (CarrierKind::Native, None, None);
        Receipt { hook, operation, kind, carrier, answer, fault, delivery_id, latency, decided_by }
    }
}

impl fmt::Debug for HookHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookHandle")
            .field("running", &self.applying.running)
            .field("hooks", &self.applying.hooks.iter().map(|bound| &bound.entry.id).collect::<Vec<_>>())
            .finish()
    }
}
