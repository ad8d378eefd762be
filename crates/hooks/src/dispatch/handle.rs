//! The hooks of one run, looked up once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jackline_model::{OperationId, ToolKey};

use super::ask::{Failure, ask};
use super::{AnswerClass, Delivery, HookClock, Receipt};
use crate::kind_set::KindSet;
use crate::register::entry::{Answering, Carrier, Entry, Native};
use crate::{Event, HookKind, RulingCause};

/// The hooks that apply to one run, looked up once: what drivers fire events through.
///
/// A snapshot. Hooks that are registered or removed later are not seen: ask the dispatcher for a
/// new handle when an operation starts, resumes, or is registered for again. Cloning shares it.
///
/// Dropping the future of an evaluation cancels it: the handler that is being asked is dropped,
/// later ones are not asked, and nothing is decided.
#[derive(Clone)]
pub struct HookHandle {
    heard: KindSet,
    controls: KindSet,
    applying: Arc<Applying>,
}

struct Applying {
    hooks: Vec<Bound>,
    running: OperationId,
    clock: Arc<dyn HookClock>,
}

/// A hook and the operation that it was registered for.
pub(super) struct Bound {
    pub(super) operation: OperationId,
    pub(super) entry: Arc<Entry>,
}

impl HookHandle {
    pub(super) fn new(hooks: Vec<Bound>, running: OperationId, clock: Arc<dyn HookClock>) -> Self {
        let kinds = |control: bool| {
            let chosen = hooks.iter().filter(|bound| bound.entry.is_control() == control);
            chosen.fold(KindSet::default(), |kinds, bound| kinds.union(bound.entry.kinds))
        };
        Self { heard: kinds(false), controls: kinds(true), applying: Arc::new(Applying { hooks, running, clock }) }
    }

    /// Whether any observer or mock wants to hear of this. Costs a bit test.
    pub fn wants(&self, kind: HookKind) -> bool {
        self.heard.contains(kind)
    }

    /// Whether any control must be asked about this. Costs a bit test.
    pub fn controls(&self, kind: HookKind) -> bool {
        self.controls.contains(kind)
    }

    /// Lets the observers of an event hear it, one after the other. Controls and mocks are not asked.
    ///
    /// The event is built only if there is an observer. Failures are logged and recorded, and end
    /// nothing: every observer hears the event.
    pub async fn dispatch(&self, kind: HookKind, make_event: impl FnOnce() -> Event) -> Delivery {
        if !self.wants(kind) {
            return Delivery::default();
        }
        self.deliver(make_event()).await
    }

    async fn deliver(&self, event: Event) -> Delivery {
        let kind = event.kind();
        let mut delivery = Delivery::default();
        for bound in self.of(kind) {
            let Some(handler) = bound.entry.observer().filter(|_| bound.entry.accepts(event.tool_name())) else {
                continue;
            };
            let (answer, latency) = self.ask(bound, kind, || handler(event.clone())).await;
            let class = answer.map_or_else(Failure::class, |()| AnswerClass::Ok);
            delivery.receipts.push(bound.receipt(kind, class, latency, None));
        }
        delivery
    }

    /// The hooks of one type in the order of the rounds.
    pub(super) fn of(&self, kind: HookKind) -> impl Iterator<Item = &Bound> {
        self.applying.hooks.iter().filter(move |bound| bound.entry.kinds.contains(kind))
    }

    /// The hooks of one type that are about a tool.
    pub(super) fn of_tool(&self, kind: HookKind, tool: &ToolKey) -> impl Iterator<Item = &Bound> {
        self.of(kind).filter(|bound| bound.entry.accepts(Some(tool)))
    }

    /// Asks one hook, takes its time, and logs a failure.
    pub(super) async fn ask<A>(
        &self,
        bound: &Bound,
        kind: HookKind,
        call: impl FnOnce() -> Answering<A>,
    ) -> (Result<A, Failure>, Duration) {
        let (answer, latency) = ask(call, bound.entry.timeout, self.applying.clock.as_ref()).await;
        if let Err(failure) = &answer {
            self.warn(bound, kind, *failure);
        }
        (answer, latency)
    }

    /// Says which hook failed and how; never what it looked at or said.
    fn warn(&self, bound: &Bound, kind: HookKind, failure: Failure) {
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
    pub(super) fn receipt(
        &self,
        kind: HookKind,
        answer: AnswerClass,
        latency: Duration,
        decided_by: Option<RulingCause>,
    ) -> Receipt {
        let hook = self.entry.id.clone();
        Receipt { hook, operation: self.operation.clone(), kind, answer, latency, decided_by }
    }
}

impl Entry {
    fn observer(&self) -> Option<&crate::register::entry::Handler<Event, ()>> {
        match &self.carrier {
            Carrier::Native(Native::Observe(handler)) => Some(handler),
            Carrier::Native(Native::Mock(_) | Native::ControlBefore(_) | Native::ControlAfter(_)) => None,
        }
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
