//! Performing effects. Whatever may take time is put in flight; whatever is ready at once is not.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jackline_hooks::{Delivery, Event, HookKind};
use jackline_model::{ApprovalId, Fault, FaultAttribution, SideEffect, ToolRunResult};
use jackline_tools::call::Call;
use tokio_util::sync::CancellationToken;

use super::child;
use super::error::RunError;
use super::facts::Sight;
use super::hearing::{call_of, heard, receipts};
use super::operation::{Delivered, Done, Notice, Operation};
use super::stream::{PendingCallView, Told};
use super::turn::Fit;
use super::unit::{Stop, Unit};
use crate::journal::{Approval, ApprovalQuestion, PendingCall};
use crate::machine::{
    Calls, Durability, Effect, EffectId, Firing, Instruction, Ordinal, Phase, Place, Question, Route, StateKind,
    is_notice,
};
use crate::permission::{Arguments, DynamicAnswer, Permission, Question as PermissionQuestion, decide};
use crate::planner::{PlanCall, PlanView, Standing};

impl Operation {
    /// Starts an effect, once the journal is as durable as it needs.
    pub(crate) async fn perform(&mut self, id: EffectId, effect: Effect) -> Result<(), RunError> {
        let store = Arc::clone(&self.core.store);
        if self.is_end_of_step_heard(&effect) || self.acts_on_unsaved_rows(&effect) {
            self.pending.append_within_step(store.as_ref(), self.run.id(), self.fence)?;
        }
        self.pending.make(self.durability(&effect), store.as_ref(), self.run.id(), self.fence).await?;
        self.core.before_effect(self.run.id(), id, &effect);
        match effect {
            Effect::FireHook(firing) if is_notice(&Effect::FireHook(firing.clone())) => {
                let event = self.event(id, &firing);
                self.notices.push_back(Notice { id, kind: firing.kind(), event });
                self.next_notice().await?;
            }
            Effect::FireHook(firing) => self.fire(id, &firing),
            Effect::Plan { phase } => {
                // A planner is an embedder's code: when it panics the run fails, and its calls get answers.
                let plan = catch_unwind(AssertUnwindSafe(|| self.plan(phase)));
                self.ready.push_back(match plan {
                    Ok(plan) => Done::Planned(id, plan),
                    Err(_) => Done::PlanFailed(id, planner_panicked()),
                });
            }
            Effect::CallModel { with_tools } => self.call_model(id, with_tools),
            Effect::Clear(call) => {
                self.tool_started(call);
                self.start_unit(id, call, |unit| unit.clear().boxed());
            }
            Effect::Run(call, side_effect) => self.run_tool(id, call, side_effect),
            Effect::Judge(call) => self.judge(id, call)?,
            Effect::Refuse(call, refusal) => {
                self.calls.remove(&call);
                if let Some(child) = self.abandoned.remove(&call) {
                    self.core.stop_child(&child, self.ancestors())?;
                }
                self.start_unit(id, call, move |unit| std::future::ready(Ok(unit.refuse(&refusal))).boxed());
            }
            Effect::StartChild(call) => self.start_child(id, call)?,
            Effect::AskHuman(question) => self.ask_human(id, question),
            Effect::Summarize => self.summarize(id),
            Effect::Cancel => {
                self.cancel.cancel();
                self.cancel = CancellationToken::new();
                if matches!(self.machine.state().kind(), StateKind::TellingStop | StateKind::Completing) {
                    // The time for deliveries is over.
                    self.notice_cancel.cancel();
                    self.notices.clear();
                }
                self.core.stop_children(self.id())?;
            }
        }
        Ok(())
    }

    /// What leaves the process cannot be taken back, so it is about what the store has.
    fn durability(&self, effect: &Effect) -> Durability {
        let asked = match effect {
            Effect::FireHook(firing) => firing.kind(),
            Effect::Clear(_) => HookKind::BeforeToolCall,
            Effect::Run(..) | Effect::Judge(_) => HookKind::AfterToolCall,
            // A sub-agent waits for more anyway, and nobody is asked about the others.
            Effect::StartChild(_)
            | Effect::Plan { .. }
            | Effect::CallModel { .. }
            | Effect::Refuse(..)
            | Effect::AskHuman(_)
            | Effect::Summarize
            | Effect::Cancel => return effect.durability(),
        };
        let needed = if self.hooks.leaves_process(asked) { Durability::Committed } else { Durability::Behind };
        effect.durability().max(needed)
    }

    /// What the model said is with the store before a tool runs for it.
    fn acts_on_unsaved_rows(&self, effect: &Effect) -> bool {
        matches!(effect, Effect::Run(..)) && !self.pending.rows.is_empty()
    }

    /// Whoever hears that a step has ended finds its results in the store: what was appended is seen
    /// by every read through it. Nobody waits for the disk.
    fn is_end_of_step_heard(&self, effect: &Effect) -> bool {
        matches!(effect, Effect::FireHook(Firing::AfterStep(_))) && self.hooks.wants(HookKind::AfterStep)
    }

    /// Puts a future in flight, unless it is done at once.
    fn launch(&mut self, mut future: BoxFuture<'static, Done>) {
        match (&mut future).now_or_never() {
            Some(done) => self.ready.push_back(done),
            None => self.in_flight.push(future),
        }
    }

    fn fire(&mut self, id: EffectId, firing: &Firing) {
        let kind = firing.kind();
        // After a critical hook has failed about the end, the caller is told, and `onError` nobody.
        let event = if kind == HookKind::OnError && self.critical.is_some() { None } else { self.event(id, firing) };
        match event {
            None => {
                self.tell(|| Told::Hook { hook: kind, asked: Vec::new() });
                self.ready.push_back(Done::Hook(id, Delivered::default()));
            }
            Some(event) => {
                let delivery = self.deliver(id, event, self.cancel.clone());
                self.launch(delivery.map(move |delivered| Done::Hook(id, delivered)).boxed());
            }
        }
    }

    /// Delivers the oldest firing that the run does not wait for; one at a time, in order. What was delivered before is
    /// stored first if the next is told outside, so that a crash repeats one of them at most.
    pub(crate) async fn next_notice(&mut self) -> Result<(), RunError> {
        while !self.notice_under_way {
            let Some(Notice { id, kind, event }) = self.notices.pop_front() else { return Ok(()) };
            let Some(event) = event else {
                self.tell(|| Told::Hook { hook: kind, asked: Vec::new() });
                self.ready.push_back(Done::Notice(id, Delivered::default()));
                continue;
            };
            if self.hooks.leaves_process(kind) {
                let store = Arc::clone(&self.core.store);
                self.pending.make(Durability::Committed, store.as_ref(), self.run.id(), self.fence).await?;
            }
            self.notice_under_way = true;
            let delivery = self.deliver(id, event, self.notice_cancel.clone());
            self.launch(delivery.map(move |delivered| Done::Notice(id, delivered)).boxed());
        }
        Ok(())
    }

    /// The event of a firing; `None` when no hook wants it, and then none is built.
    fn event(&self, id: EffectId, firing: &Firing) -> Option<Event> {
        if self.hooks.wants(firing.kind()) { self.sight(id.step).event(firing) } else { None }
    }

    /// The delivery of an event that fired here, and what comes of it.
    fn deliver(&self, id: EffectId, event: Event, cancel: CancellationToken) -> BoxFuture<'static, Delivered> {
        let (kind, step) = (event.kind(), id.step);
        let hooks = self.hooks.at(id);
        let call = call_of(&event);
        let (stream, clock) = (self.core.stream.clone(), Arc::clone(&self.core.clock));
        let operation = self.id().clone();
        let is_last_word = matches!(kind, HookKind::OnComplete | HookKind::OnError);
        async move {
            let dispatch = hooks.dispatch(kind, || event);
            let delivery = if is_last_word {
                // The end of a run is told even when the run was stopped.
                dispatch.await
            } else {
                tokio::select! {
                    biased;
                    delivery = dispatch => delivery,
                    () = cancel.cancelled() => Delivery::default(),
                }
            };
            if stream.is_read() {
                let told = Told::Hook { hook: kind, asked: receipts(&operation, &delivery) };
                stream.tell(clock.now_ms(), &operation, step, told);
            }
            let heard = heard(&operation, call, step, &delivery);
            let outbox = delivery.outbox.clone();
            let critical = delivery.surface().err().map(Box::new);
            Delivered { critical, outbox, heard }
        }
        .boxed()
    }

    /// What a firing of this step is about.
    fn sight(&self, step: u32) -> Sight<'_> {
        let earlier = self.earlier.get(&step);
        Sight {
            run: &self.run,
            steps: &self.steps,
            shared: self.machine.shared(),
            step,
            turn: earlier.map_or(&*self.turn, |earlier| &earlier.turn),
            results: earlier.map(|earlier| &earlier.results),
            conversation: &self.conversation,
            ending: self.ending(),
        }
    }

    fn plan(&mut self, phase: Phase) -> Vec<Instruction> {
        let shared = self.machine.shared();
        let before_model = phase != Phase::LlmResult && phase != Phase::CompressionResult;
        let compaction = (before_model && shared.compression.may_try(shared.step))
            .then(|| {
                let setup = &self.setup;
                let menu = if self.machine.shared().is_out_of_steps() { &setup.no_tools } else { &setup.menu };
                self.conversation.compaction_need(&setup.agent.compression, menu, setup.counter.as_ref())
            })
            .flatten();
        let shared = self.machine.shared();
        let open: Vec<PlanCall<'_>> = open_calls(&shared.calls)
            .into_iter()
            .filter_map(|(ordinal, route)| self.plan_call(ordinal, route))
            .collect();
        self.setup.planner.plan(&PlanView {
            phase,
            calls: &open,
            interrupted: shared.stop_requested,
            force_finish: shared.force_finish,
            compaction,
            mode: self.setup.agent.approval_mode,
            history: self.conversation.history(),
        })
    }

    fn plan_call(&self, ordinal: Ordinal, route: Route) -> Option<PlanCall<'_>> {
        let call = self.turn.call(ordinal)?;
        let standing = call.standing();
        let permission = match standing {
            Standing::Usable => decide(
                &PermissionQuestion {
                    call: &call.call,
                    arguments: Arguments::Parsed(&call.arguments),
                    config: self.setup.approvals.get(&call.call.key),
                    tool_known: true,
                    mode: self.setup.agent.approval_mode,
                    allow_list: &self.setup.agent.allow_list,
                    dynamic: DynamicAnswer::NotAsked,
                },
                &self.setup.blacklist,
            ),
            Standing::NotAllowed | Standing::Unusable => Permission::Execute,
        };
        Some(PlanCall { ordinal, call: &call.call, route, standing, permission })
    }

    fn start_unit(
        &mut self,
        id: EffectId,
        call: Ordinal,
        start: impl FnOnce(Unit) -> BoxFuture<'static, Result<Stop, jackline_tools::call::CallFault>>,
    ) {
        let Some(unit) = self.unit(call) else { return };
        self.launch(start(unit).map(move |stop| Done::Unit(id, stop)).boxed());
    }

    pub(crate) fn unit(&self, call: Ordinal) -> Option<Unit> {
        Some(Unit {
            ordinal: call,
            step: self.step(),
            turn_call: self.turn.call(call)?.clone(),
            assistant: self.turn.assistant.clone(),
            run: Arc::clone(&self.run),
            hooks: self.hooks.at(format_args!("s{}.c{call}", self.step())),
            clock: Arc::clone(&self.core.clock),
            cancel: self.cancel.clone(),
        })
    }

    fn run_tool(&mut self, id: EffectId, call: Ordinal, side_effect: SideEffect) {
        let cleared = self.calls.remove(&call);
        self.start_unit(id, call, move |unit| unit.run(cleared, side_effect).boxed());
    }

    /// The answer lies in the inbox until its judgement is published.
    fn judge(&mut self, id: EffectId, call: Ordinal) -> Result<(), RunError> {
        self.calls.remove(&call);
        let answer = self.answer_for(call)?.unwrap_or_else(|| ToolRunResult::failed("The answer was lost."));
        self.start_unit(id, call, move |unit| unit.judge(answer).boxed());
        Ok(())
    }

    /// Starts a sub-agent for a cleared call. If the process that cleared it has died before the
    /// child was created, the before-hooks are asked again first.
    fn start_child(&mut self, id: EffectId, call: Ordinal) -> Result<(), RunError> {
        if self.calls.remove(&call).is_some() || child::exists(self, call)? {
            return self.start_cleared_child(id, call);
        }
        let Some(unit) = self.unit(call) else { return Ok(()) };
        self.launch(unit.clear().map(move |stop| Done::ChildCleared(id, stop)).boxed());
        Ok(())
    }

    pub(crate) fn start_cleared_child(&mut self, id: EffectId, call: Ordinal) -> Result<(), RunError> {
        let (Some(unit), Some(turn_call)) = (self.unit(call), self.turn.call(call)) else { return Ok(()) };
        debug_assert!(matches!(turn_call.fit, Fit::Agent(_)), "only agent calls start children");
        match child::start(self, call, turn_call)? {
            Ok(child) => self.ready.push_back(Done::ChildStarted(id, child, Call::Parked)),
            Err(problem) => {
                self.steps.child_problem.clone_from(&problem);
                self.ready.push_back(Done::Unit(id, Ok(unit.child_not_started(&problem))));
            }
        }
        Ok(())
    }

    fn ask_human(&mut self, id: EffectId, question: Question) {
        let asked_at = self.core.clock.now_ms();
        let question = match question {
            Question::Approve(calls) => {
                ApprovalQuestion::Calls(calls.into_iter().filter_map(|ordinal| self.pending_call(ordinal)).collect())
            }
            Question::Prompt { prompt } => ApprovalQuestion::Prompt(prompt),
            Question::Select { prompt, options } => ApprovalQuestion::Select { prompt, options },
        };
        let approval = Approval {
            id: ApprovalId::from(format!("{}.s{}", self.id(), self.step())),
            question,
            asked_at,
            expires_at: self.setup.agent.approval_expires_ms.map(|wait| asked_at.saturating_add(wait)),
        };
        self.ready.push_back(Done::HumanAsked(id, approval));
    }

    fn pending_call(&self, ordinal: Ordinal) -> Option<PendingCall> {
        let call = &self.turn.call(ordinal)?.call;
        Some(PendingCall {
            ordinal,
            call: call.id.clone(),
            key: call.key.clone(),
            arguments: Arc::clone(&call.arguments),
            decided: false,
        })
    }

    fn tool_started(&self, call: Ordinal) {
        let Some(call) = self.turn.call(call) else { return };
        self.tell(|| Told::ToolStart {
            call: call.call.id.clone(),
            tool: call.call.key.clone(),
            arguments: Arc::clone(&call.call.arguments),
            index: call.index,
        });
    }
}

/// The open request, as it is shown.
pub(crate) fn pending_views(question: &ApprovalQuestion) -> (Vec<PendingCallView>, Option<String>) {
    match question {
        ApprovalQuestion::Calls(calls) => {
            let view = |call: &PendingCall| PendingCallView {
                call: call.call.clone(),
                tool: call.key.clone(),
                arguments: Arc::clone(&call.arguments),
            };
            (calls.iter().map(view).collect(), None)
        }
        ApprovalQuestion::Prompt(prompt) | ApprovalQuestion::Select { prompt, .. } => {
            (Vec::new(), Some(prompt.clone()))
        }
    }
}

/// The calls that are open, each with its route.
fn open_calls(calls: &Calls) -> Vec<(Ordinal, Route)> {
    let open = calls.which(|place| *place == Place::Open);
    open.into_iter().filter_map(|call| Some((call, calls.slot(call)?.facts.route))).collect()
}

fn planner_panicked() -> Fault {
    Fault {
        code: "planner_panicked".to_owned(),
        message: "the planner panicked".to_owned(),
        attribution: FaultAttribution::Harness,
        detail: None,
    }
}
