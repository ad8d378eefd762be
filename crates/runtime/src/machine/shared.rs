//! What an operation carries from state to state.

use std::collections::{BTreeMap, VecDeque};

use jackline_hooks::HookKind;
use jackline_model::{NanoDollars, Reason, Totals};

use super::calls::Calls;
use super::effect::{Effect, EffectKind, Firing};
use super::firing::{Moment, hooks_of};
use super::id::{EffectId, Unit, Verb};
use super::input::SettledHow;
use super::instruction::{Instruction, Ordinal, Phase};
use super::limits;
use super::state::{Ending, StopNotice};
use crate::compress::CompressionGuard;
use crate::repeat::RepeatGuard;

/// The settings of a run that decisions depend on. Frozen when the operation is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Steps of one episode, after which the model must answer without tools.
    pub steps_max: Option<u32>,
    /// Money, checked before each model call.
    pub cost_max: Option<NanoDollars>,
    /// Tokens, checked before each model call.
    pub tokens_max: Option<u64>,
    /// Calls that run at once.
    pub concurrency: u16,
    /// Tries of one model call.
    pub model_attempts_max: u16,
    /// How long a parked run waits for results that somebody else delivers, in milliseconds.
    pub async_wait_ms: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            steps_max: None,
            cost_max: None,
            tokens_max: None,
            concurrency: limits::TOOL_CONCURRENCY,
            model_attempts_max: limits::MODEL_ATTEMPTS_MAX,
            async_wait_ms: None,
        }
    }
}

/// What an operation carries from state to state.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "facts of their own; each says what it is about")]
pub struct Shared {
    /// The settings.
    pub settings: Settings,
    /// When the last input came.
    pub now: u64,
    /// When the operation began.
    pub began_at: u64,
    /// When the open step was opened.
    pub opened_at: u64,
    /// The index of the open step, or of the next one. Grows by one a step, across episodes.
    pub step: u32,
    /// Steps completed; a step that only ends the run does not count.
    pub steps_done: u32,
    /// Steps that were done when the episode began.
    pub episode_base: u32,
    /// Where the conversation stands.
    pub phase: Phase,
    /// What is left of the plan of the open step.
    pub plan: VecDeque<Instruction>,
    /// The calls of the open turn.
    pub calls: Calls,
    /// The question that is open, if a person was asked one that is not about calls.
    pub question: bool,
    /// When the open request for a decision expires.
    pub expires_at: Option<u64>,
    /// When parked results are given up.
    pub async_until: Option<u64>,
    /// Approvals to ask for when the parked results are in.
    pub deferred_approval: Vec<Ordinal>,
    /// The next plan settles what is open and ends the run for this reason.
    pub doom: Option<Reason>,
    /// How the open step ends the run, if it does.
    pub ending: Option<Ending>,
    /// Somebody stops the run.
    pub stop_requested: bool,
    /// The stop that ended the run while it waited for a person.
    pub stop_notice: Option<StopNotice>,
    /// A tool asked for the end of the run after this turn.
    pub stop_by_tool: bool,
    /// The model was told to answer without tools.
    pub force_finish: bool,
    /// Turns in a row with names that nobody knows.
    pub unresolved_rounds: u8,
    /// Counts compressions that fail.
    pub compression: CompressionGuard,
    /// Watches for a model that goes in circles.
    pub repeat: RepeatGuard,
    /// What was used.
    pub totals: Totals,
    /// Whether the model answered in the open step.
    pub called_model: bool,
    /// Whether calls were settled in the open step.
    pub ran_tools: bool,
    /// Firings so far in the open step; names them.
    pub firings: u16,
    /// Firings that were dropped because too many waited.
    pub notices_dropped: u32,
    /// Effects that are not answered yet, by name.
    pub open: BTreeMap<EffectId, Effect>,
    /// Effects that the driver has not taken yet, in order.
    pub out: VecDeque<EffectId>,
    /// What the last transition asked for.
    pub emitted: Emitted,
}

/// What one transition asked for, as sets: to compare with its row of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Emitted {
    effects: u16,
    hooks: u16,
}

impl Emitted {
    fn note(&mut self, effect: &Effect) {
        self.effects |= 1 << effect.kind() as u16;
        match effect {
            Effect::FireHook(firing) => self.hooks |= 1 << firing.kind() as u16,
            // Its hooks are the before-hooks, asked on the way.
            Effect::Clear(_) => self.hooks |= 1 << HookKind::BeforeToolCall as u16,
            Effect::Plan { .. }
            | Effect::CallModel { .. }
            | Effect::Run(..)
            | Effect::Judge(_)
            | Effect::Refuse(..)
            | Effect::StartChild(_)
            | Effect::AskHuman(_)
            | Effect::Summarize
            | Effect::Cancel => {}
        }
    }

    /// The kinds of effect.
    pub fn effects(self) -> impl Iterator<Item = EffectKind> {
        EffectKind::ALL.into_iter().filter(move |kind| self.effects & (1 << *kind as u16) != 0)
    }

    /// The types of hook.
    pub fn hooks(self) -> impl Iterator<Item = HookKind> {
        HookKind::ALL.into_iter().filter(move |kind| self.hooks & (1 << *kind as u16) != 0)
    }
}

impl Shared {
    /// What a new operation carries.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            now: 0,
            began_at: 0,
            opened_at: 0,
            step: 0,
            steps_done: 0,
            episode_base: 0,
            phase: Phase::UserInput,
            plan: VecDeque::new(),
            calls: Calls::default(),
            question: false,
            expires_at: None,
            async_until: None,
            deferred_approval: Vec::new(),
            doom: None,
            ending: None,
            stop_requested: false,
            stop_notice: None,
            stop_by_tool: false,
            force_finish: false,
            unresolved_rounds: 0,
            compression: CompressionGuard::default(),
            repeat: RepeatGuard::default(),
            totals: Totals::default(),
            called_model: false,
            ran_tools: false,
            firings: 0,
            notices_dropped: 0,
            open: BTreeMap::new(),
            out: VecDeque::new(),
            emitted: Emitted::default(),
        }
    }

    /// Whether the episode has used up its steps.
    pub fn is_out_of_steps(&self) -> bool {
        self.settings.steps_max.is_some_and(|max| max > 0 && self.steps_done.saturating_sub(self.episode_base) >= max)
    }

    pub(super) fn emit(&mut self, unit: Unit, verb: Verb, attempt: u16, effect: Effect) {
        self.emit_again(EffectId { step: self.step, unit, verb, attempt }, effect);
    }

    pub(super) fn emit_for_call(&mut self, call: Ordinal, verb: Verb, effect: Effect) {
        self.emit(Unit::Call(call), verb, 0, effect);
    }

    /// Tells the driver to cancel what is under way. Needs no answer.
    pub(super) fn cancel(&mut self) {
        let id = EffectId { step: self.step, unit: Unit::Step, verb: Verb::Cancel, attempt: 0 };
        self.emitted.note(&Effect::Cancel);
        self.out.push_back(id);
    }

    /// Asks once more for an effect that had an answer.
    pub(super) fn emit_again(&mut self, id: EffectId, effect: Effect) {
        self.emitted.note(&effect);
        self.open.insert(id, effect);
        self.out.push_back(id);
    }

    /// Fires what belongs to the moment. `firing` gives the facts.
    pub(super) fn fire(&mut self, moment: Moment, firing: Firing) {
        for kind in hooks_of(moment) {
            debug_assert_eq!(*kind, firing.kind(), "the facts are those of the hook type");
            if !firing.is_awaited() && self.notices().count() >= limits::NOTICES_MAX {
                self.notices_dropped += 1;
                continue;
            }
            self.firings += 1;
            self.emit(Unit::Hook(self.firings), Verb::Fire, 0, Effect::FireHook(firing.clone()));
        }
    }

    pub(super) fn fire_settled(&mut self, call: Ordinal, how: SettledHow) {
        let firing = match how {
            SettledHow::Threw => Firing::OnToolCallError { call },
            SettledHow::NotStarted => Firing::OnCallAgentError { call },
            SettledHow::Ran
            | SettledHow::Mocked
            | SettledHow::Denied
            | SettledHow::Answered
            | SettledHow::Refused
            | SettledHow::Aborted => Firing::AfterToolCall { call, mocked: how == SettledHow::Mocked },
        };
        self.fire(Moment::CallSettled(how), firing);
    }

    /// Firings that the run does not wait for and that are not delivered yet.
    pub fn notices(&self) -> impl Iterator<Item = EffectId> {
        self.open.iter().filter(|(_, effect)| is_notice(effect)).map(|(id, _)| *id)
    }
}

/// Whether an effect is a firing that the run does not wait for.
pub fn is_notice(effect: &Effect) -> bool {
    effect.firing().is_some_and(|firing| !firing.is_awaited())
}
