//! Everything that is scripted, and everything that was seen, across all lives of the process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackline_hooks::HookKind;
use jackline_model::OperationId;
use jackline_runtime::drive::{Clock as _, Events, Hold, Runtime, StreamEvent, Told};
use jackline_runtime::journal::{MemoryStore, Store as _};
use serde_json::Value;
use tokio::sync::Notify;

use super::clock::SkewedClock;
use super::outside::Outside;
use super::seen::{Answered, Seen};
use crate::format::{HumanStep, Script, ToolAnswerScript, Turn};

/// The world around the runtime.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) script: Arc<Script>,
    /// How hooks are reached, if not by calls.
    pub(crate) outside: Option<Outside>,
    pub(crate) clock: SkewedClock,
    /// The store as an onlooker sees it, who outlives every process.
    pub(crate) store: MemoryStore,
    /// Something happened that people may act on.
    pub(crate) news: Notify,
    state: Mutex<Story>,
}

/// What is left of the script, and what has happened.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) turns: BTreeMap<String, VecDeque<Turn>>,
    pub(crate) answers: BTreeMap<String, VecDeque<ToolAnswerScript>>,
    pub(crate) human: VecDeque<HumanStep>,
    /// The next answer of each hook.
    pub(crate) hook_cursors: Vec<usize>,
    pub(crate) faults_done: Vec<bool>,
    pub(crate) interrupts_done: Vec<bool>,
    pub(crate) plans_asked: usize,
    pub(crate) calls_named: usize,
    pub(crate) crash_after: Option<jackline_runtime::machine::EffectId>,

    pub(crate) problems: Vec<String>,
    pub(crate) fired: Vec<Fired>,
    pub(crate) heard: Vec<Heard>,
    pub(crate) stream: Vec<Arc<StreamEvent>>,
    pub(crate) answered: BTreeMap<String, Vec<String>>,
    pub(crate) tool_runs: BTreeMap<String, u64>,
    pub(crate) tool_order: Vec<String>,
    pub(crate) seen: Seen,
    pub(crate) agents: BTreeMap<OperationId, String>,
    pub(crate) lives: usize,
    /// When the last transition was taken.
    pub(crate) moved_at_ms: u64,
    /// Grows with everything that happens: to notice when nothing does any more.
    pub(crate) activity: u64,

    /// The process has been killed; what still runs is dropped.
    pub(crate) is_dead: bool,
    pub(crate) root: Option<OperationId>,
    pub(crate) runtime: Option<Runtime>,
    events: Option<Events>,
    /// Denials that have no receipt yet: whether each had a reason, by hook.
    denials: BTreeMap<String, VecDeque<bool>>,
    /// Time stands still until people have seen the news.
    news_hold: Option<Hold>,
}

/// A hook that fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fired {
    /// The agent, if it is not the scenario's own.
    pub(crate) agent: Option<String>,
    pub(crate) kind: HookKind,
}

/// An event as a hook heard it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) fired: Fired,
    pub(crate) event: Value,
}

impl World {
    pub(crate) fn new(script: Arc<Script>, outside: Option<Outside>) -> Arc<Self> {
        let story = Story {
            turns: std::iter::once((script.agent.name.clone(), repeated(&script.turns)))
                .chain(script.turns_of.iter().map(|(agent, turns)| (agent.clone(), repeated(turns))))
                .collect(),
            answers: script
                .tools
                .iter()
                .map(|(tool, declared)| {
                    let times = |answer: &ToolAnswerScript| vec![answer.clone(); answer.times as usize];
                    (tool.clone(), declared.answers.iter().flat_map(times).collect())
                })
                .collect(),
            human: script.human.iter().cloned().collect(),
            hook_cursors: vec![0; script.hooks.len()],
            faults_done: vec![false; script.faults.len()],
            interrupts_done: vec![false; script.interrupts.len()],
            ..Story::default()
        };
        Arc::new(Self {
            script,
            outside,
            clock: SkewedClock::new(),
            store: MemoryStore::new(),
            news: Notify::new(),
            state: Mutex::new(story),
        })
    }

    /// What is left and what has happened. A panic elsewhere leaves it whole.
    pub(crate) fn story(&self) -> MutexGuard<'_, Story> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn problem(&self, text: String) {
        self.story().problems.push(text);
    }

    /// Tells people; time stands still until they have looked.
    pub(crate) fn tell_people(&self) {
        let hold = self.clock.hold();
        let before = self.story().news_hold.replace(hold);
        drop(before);
        self.news.notify_one();
    }

    /// People have looked.
    pub(crate) fn let_time_pass(&self) {
        let hold = self.story().news_hold.take();
        drop(hold);
    }

    /// Never comes back if the process has been killed.
    pub(crate) async fn while_alive(&self) {
        if self.story().is_dead {
            std::future::pending::<()>().await;
        }
    }

    /// Waits on the virtual clock.
    pub(crate) async fn wait(&self, ms: u64) {
        if ms > 0 {
            self.clock.sleep_until(self.clock.now_ms().saturating_add(ms)).await;
        }
    }

    /// Whether anything waits for a time to come.
    pub(crate) fn waits_for_time(&self) -> bool {
        self.clock.virtual_clock().has_sleepers()
    }

    /// Waits until something happens, or nothing waits for a time to come any more.
    pub(crate) async fn some_activity(&self) {
        let before = self.story().activity;
        while self.story().activity == before && self.waits_for_time() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// A new life begins: its runtime tells its events to the story.
    pub(crate) fn begin_life(&self, runtime: &Runtime) {
        let mut story = self.story();
        story.is_dead = false;
        story.lives += 1;
        story.events = Some(runtime.events());
        story.runtime = Some(runtime.clone());
    }

    /// A life ends.
    pub(crate) fn end_life(&self) {
        self.drain_stream();
        let (runtime, hold) = {
            let mut story = self.story();
            (story.runtime.take(), story.news_hold.take())
        };
        drop((runtime, hold));
    }

    /// The process is killed: what it writes from now on is refused, what it runs does nothing.
    pub(crate) fn kill(&self, process: &MemoryStore) {
        process.kill();
        self.story().is_dead = true;
        self.tell_people();
    }

    /// The agent of an operation, unless it is the scenario's own.
    pub(crate) fn agent_of(&self, operation: &OperationId) -> Option<String> {
        if self.story().root.as_ref() == Some(operation) {
            return None;
        }
        if let Some(agent) = self.story().agents.get(operation) {
            return Some(agent.clone());
        }
        let agent = self.store.header(operation).ok()?.agent.to_string();
        self.story().agents.insert(operation.clone(), agent.clone());
        Some(agent)
    }

    /// Takes over what the runtime has told since the last time.
    pub(crate) fn drain_stream(&self) {
        let mut story = self.story();
        let story = &mut *story;
        let Some(events) = &mut story.events else { return };
        while let Some(event) = events.try_next() {
            if let Told::Hook { hook, asked } = &event.what {
                for receipt in asked.iter().filter(|receipt| !receipt.id.starts_with(RECORDER)) {
                    let is_denial = &*receipt.answer == "deny";
                    let had_reason = is_denial
                        .then(|| story.denials.get_mut(&receipt.id).and_then(VecDeque::pop_front))
                        .flatten()
                        .unwrap_or(true);
                    let seen = Answered::of_receipt(&receipt.answer, had_reason);
                    story.seen.answers.extend(seen.map(|answer| (*hook, answer)));
                    story.answered.entry(receipt.id.clone()).or_default().push(receipt.answer.to_string());
                }
            }
            story.stream.push(event);
        }
    }

    /// A hook is about to deny.
    pub(crate) fn note_denial(&self, hook: &str, had_reason: bool) {
        self.story().denials.entry(hook.to_owned()).or_default().push_back(had_reason);
    }
}

fn repeated(turns: &[Turn]) -> VecDeque<Turn> {
    turns.iter().flat_map(|turn| vec![turn.clone(); turn.times as usize]).collect()
}

/// Real time between two looks at a run that waits for virtual time: it jumps in between.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The ids of the hooks that write down what is heard.
pub(crate) const RECORDER: &str = "scenario-recorder";
