//! Watches the runtime from inside: writes down what fires, checks each transition against its row,
//! and lets faults happen at their moment.

use std::sync::Arc;

use jackline_hooks::HookKind;
use jackline_model::OperationId;
use jackline_runtime::drive::Probe;
use jackline_runtime::journal::{MemoryStore, StoreError};
use jackline_runtime::machine::table::RowId;
use jackline_runtime::machine::{Effect, EffectId, Machine, StateKind};

use super::people::stop_later;
use super::world::{Fired, World};
use crate::format::FaultWhat;

/// Watches one life of the process.
pub(crate) struct Watch {
    pub(crate) world: Arc<World>,
    pub(crate) process: MemoryStore,
}

impl Probe for Watch {
    fn transition(&self, row: RowId, machine: &Machine) {
        let world = &self.world;
        let state = machine.state().kind();
        let problems = disagreements(row, machine);
        let crashes = {
            let mut story = world.story();
            story.activity += 1;
            story.moved_at_ms = world.clock.elapsed_ms();
            *story.seen.rows.entry(row.0).or_default() += 1;
            story.problems.extend(problems);
            story.crash_after.is_some_and(|id| !machine.shared().open.contains_key(&id)) && {
                story.crash_after = None;
                true
            }
        };
        world.drain_stream();
        if crashes {
            self.crash();
        }
        if matches!(state, StateKind::WaitingForHuman | StateKind::WaitingForAsyncTool) {
            world.tell_people();
        }
    }

    fn effect(&self, operation: &OperationId, id: EffectId, effect: &Effect) {
        let world = &self.world;
        let agent = world.agent_of(operation);
        if let Some(kind) = fires(effect) {
            world.story().fired.push(Fired { agent: agent.clone(), kind });
        }
        world.story().activity += 1;
        self.faults(agent.as_ref(), id);
        self.interrupts(agent.as_ref(), id);
    }
}

impl Watch {
    fn faults(&self, agent: Option<&String>, id: EffectId) {
        let world = &self.world;
        for (index, fault) in world.script.faults.iter().enumerate() {
            let is_here = fault.effect == id && fault.of.as_ref() == agent;
            if !is_here || std::mem::replace(&mut world.story().faults_done[index], true) {
                continue;
            }
            match fault.what {
                FaultWhat::CrashBefore => self.crash(),
                FaultWhat::CrashAfter => world.story().crash_after = Some(id),
                FaultWhat::ClockJump(by_ms) => world.clock.jump(by_ms),
                FaultWhat::StoreFails => {
                    self.process.fail_next(StoreError::Io { doing: "write", why: "the scenario says so".to_owned() })
                }
            }
        }
    }

    fn interrupts(&self, agent: Option<&String>, id: EffectId) {
        let world = &self.world;
        for (index, interrupt) in world.script.interrupts.iter().enumerate() {
            let is_here = interrupt.at == Some(id) && interrupt.of.as_ref() == agent;
            if is_here && !std::mem::replace(&mut world.story().interrupts_done[index], true) {
                stop_later(world, interrupt.after_ms);
            }
        }
    }

    /// Ends the process as `kill -9` would. Unwinding takes the driver down without a panic hook; the
    /// executor with everything else that ran is dropped as soon as the life's main future sees it.
    fn crash(&self) {
        self.world.kill(&self.process);
        std::panic::resume_unwind(Box::new("killed"));
    }
}

/// The hooks that an effect asks.
fn fires(effect: &Effect) -> Option<HookKind> {
    match effect {
        Effect::FireHook(firing) => Some(firing.kind()),
        Effect::Clear(_) => Some(HookKind::BeforeToolCall),
        Effect::Plan { .. }
        | Effect::CallModel { .. }
        | Effect::Run(..)
        | Effect::Judge(_)
        | Effect::Refuse(..)
        | Effect::StartChild(_)
        | Effect::AskHuman(_)
        | Effect::Summarize
        | Effect::Cancel => None,
    }
}

/// What a transition did that its row does not allow.
fn disagreements(id: RowId, machine: &Machine) -> Vec<String> {
    let row = id.row();
    let named = match row.from {
        Some(from) => format!("the table: {from:?} with {:?}", row.input),
        None => format!("the table: any state with {:?}", row.input),
    };
    let mut problems = Vec::new();
    let to = machine.state().kind();
    if row.from.is_some() && !row.to.contains(&to) {
        problems.push(format!("{named} led to {to:?}, which its row does not list"));
    }
    let emitted = machine.shared().emitted;
    for effect in emitted.effects().filter(|effect| !row.effects.contains(effect)) {
        problems.push(format!("{named} asked for {effect:?}, which its row does not list"));
    }
    for hook in emitted.hooks().filter(|hook| !row.hooks.contains(hook)) {
        problems.push(format!("{named} fired {hook}, which its row does not list"));
    }
    problems
}
