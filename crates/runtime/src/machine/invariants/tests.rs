use jackline_model::{NanoDollars, SideEffect, Status};

use super::*;
use crate::machine::effect::{HumanAction, StepSummary};
use crate::machine::id::Verb;
use crate::machine::input::{CallFacts, Decision, HumanVerdict, Reply, Route, Settled, SettledHow};
use crate::machine::instruction::Phase;
use crate::repeat::{ResultDigest, Signature};

#[test]
fn a_step_with_one_call_keeps_every_law() {
    let life = [
        taken(What::BeginRequested, vec![fire(0, 1, Firing::BeforeStep)]),
        taken(What::HookAnswered(hook(0, 1)), vec![plan(0)]),
        taken(replied(1), vec![fire(0, 2, Firing::AfterStep(step()))]),
        taken(What::HookAnswered(hook(0, 2)), vec![fire(1, 1, Firing::BeforeStep)]),
        taken(What::HookAnswered(hook(1, 1)), vec![clear(1, 1)]),
        taken(What::CallCleared(call_id(1, 1, Verb::Clear)), vec![run(1, 1)]),
        taken(settled(1), vec![fire(1, 2, Firing::AfterStep(step()))]),
        taken(What::HookAnswered(hook(1, 2)), vec![fire(2, 1, Firing::OnComplete)]),
    ];
    assert_eq!(of_life(&Settings::default(), &life), Ok(()));
}

#[test]
fn a_model_call_before_the_results_and_a_second_result_break_the_pairing() {
    broken(results_pair_up(&[taken(replied(1), vec![ask_model()])]), Invariant::ResultsPairUp);
    let twice = [taken(replied(1), vec![]), taken(settled(1), vec![]), taken(settled(1), vec![])];
    broken(results_pair_up(&twice), Invariant::ResultsPairUp);
    broken(results_pair_up(&[taken(replied(1), vec![]), taken(replied(1), vec![])]), Invariant::ResultsPairUp);
    broken(results_pair_up(&[taken(replied(1), vec![fire(0, 1, Firing::OnComplete)])]), Invariant::ResultsPairUp);
}

#[test]
fn a_second_end_an_early_error_and_work_after_the_end_are_found() {
    let end = || taken(What::BeginRequested, vec![fire(0, 1, Firing::OnComplete)]);
    broken(ends_are_told_once(&[end(), end()]), Invariant::EndsAreToldOnce);
    broken(ends_are_told_once(&[end(), taken(What::BeginRequested, vec![plan(0)])]), Invariant::EndsAreToldOnce);
    let early = taken(What::BeginRequested, vec![fire(0, 1, Firing::OnError)]);
    broken(ends_are_told_once(&[early]), Invariant::EndsAreToldOnce);
    let error = taken(What::HookAnswered(hook(0, 1)), vec![fire(0, 2, Firing::OnError)]);
    assert_eq!(ends_are_told_once(&[end(), error]), Ok(()));
    assert_eq!(ends_are_told_once(&[end(), taken(What::ResumeRequested, vec![plan(0)]), end()]), Ok(()));
}

#[test]
fn what_is_announced_and_not_closed_or_closed_and_not_announced_is_found() {
    let compact = || Firing::BeforeCompact { messages: 1, tokens: 1 };
    let compacted = || Firing::AfterCompact { messages_before: 1, messages_after: 1 };
    let cases: [Vec<Firing>; 6] = [
        vec![Firing::BeforeStep, Firing::BeforeStep],
        vec![Firing::AfterStep(step())],
        vec![Firing::BeforeStep, compact(), Firing::AfterStep(step())],
        vec![Firing::BeforeStep, compact(), compacted(), compacted()],
        vec![Firing::BeforeStep, Firing::BeforeCallAgent { call: 1 }, Firing::AfterStep(step())],
        vec![Firing::BeforeStep, Firing::OnComplete],
    ];
    for firings in cases {
        let emitted = (1..).zip(firings).map(|(number, firing)| fire(0, number, firing)).collect();
        broken(pairs_are_whole(&[taken(What::BeginRequested, emitted)]), Invariant::PairsAreWhole);
    }
}

#[test]
fn a_decision_that_nobody_asked_for_and_a_second_answer_are_found() {
    let ask = || vec![(id(0, Unit::Human, Verb::Ask), Effect::AskHuman(Question::Approve(vec![1])))];
    let decide = || taken(What::HumanDecided(vec![Decision { call: Some(1), verdict: HumanVerdict::Approve }]), vec![]);
    assert_eq!(decisions_count_once(&[taken(What::BeginRequested, ask()), decide()]), Ok(()));
    broken(decisions_count_once(&[decide()]), Invariant::DecisionsCountOnce);
    let twice = [taken(What::BeginRequested, ask()), decide(), decide()];
    broken(decisions_count_once(&twice), Invariant::DecisionsCountOnce);
    let answer = || taken(What::AnswerArrived { call: 1, child: None }, vec![]);
    broken(decisions_count_once(&[answer(), answer()]), Invariant::DecisionsCountOnce);
}

#[test]
fn firings_that_overlap_or_stand_in_another_order_are_found() {
    let overlap =
        taken(What::BeginRequested, vec![fire(0, 1, Firing::BeforeStep), fire(0, 2, Firing::AfterStep(step()))]);
    broken(firings_keep_order(&[overlap]), Invariant::FiringsKeepOrder);
    let notice = |number| fire(0, number, Firing::BeforeCallAgent { call: 1 });
    let swapped = taken(What::BeginRequested, vec![notice(2), notice(1)]);
    broken(firings_keep_order(&[swapped]), Invariant::FiringsKeepOrder);
    let twice = taken(What::BeginRequested, vec![plan(0), plan(0)]);
    broken(firings_keep_order(&[twice]), Invariant::FiringsKeepOrder);
    broken(firings_keep_order(&[taken(What::HookAnswered(hook(0, 1)), vec![])]), Invariant::FiringsKeepOrder);
}

#[test]
fn a_stop_that_is_told_again_though_nobody_is_owed_it_is_found() {
    let stop = || fire(1, 1, Firing::OnStopByHumanIntervention { calls: vec![1], rejected: false, reason: None });
    let asked = || taken(What::BeginRequested, vec![stop()]);
    let unheard = || taken(What::HookFailed(hook(1, 1)), vec![fire(1, 2, Firing::OnComplete)]);
    let again = || taken(What::RetellRequested, vec![stop()]);
    let ended = || taken(What::HookAnswered(hook(1, 2)), vec![]);
    let heard = || taken(What::HookAnswered(hook(1, 1)), vec![]);
    let failed = || taken(What::HookFailed(hook(1, 1)), vec![]);
    let whole = [asked(), unheard(), ended(), again(), failed(), again(), heard()];
    assert_eq!(of_life(&Settings::default(), &whole), Ok(()));
    let at_will = [asked(), unheard(), ended(), taken(What::BeginRequested, vec![stop()])];
    broken(ends_are_told_once(&at_will), Invariant::EndsAreToldOnce);
    let once_too_often = [asked(), unheard(), ended(), again(), heard(), again()];
    broken(ends_are_told_once(&once_too_often), Invariant::EndsAreToldOnce);
    broken(firings_keep_order(&once_too_often), Invariant::FiringsKeepOrder);
    let inside_a_step = [taken(What::BeginRequested, vec![fire(0, 1, Firing::BeforeStep), stop()])];
    broken(pairs_are_whole(&inside_a_step), Invariant::PairsAreWhole);
    let too_early = [taken(replied(1), vec![stop()])];
    broken(results_pair_up(&too_early), Invariant::ResultsPairUp);
}

#[test]
fn what_is_done_before_a_decision_was_told_is_found() {
    let (action, reason) = (HumanAction::Approve, None);
    let decided = fire(1, 1, Firing::AfterHumanIntervention { action, calls: vec![1], reason });
    let early = [taken(What::HumanDecided(vec![]), vec![decided, clear(1, 1)])];
    broken(firings_keep_order(&early), Invariant::FiringsKeepOrder);
}

#[test]
fn more_calls_or_steps_than_the_settings_allow_are_found() {
    let settings = Settings { concurrency: 1, steps_max: Some(1), ..Settings::default() };
    let both = taken(What::BeginRequested, vec![clear(0, 1), clear(0, 2)]);
    broken(limits_hold(&settings, &[both]), Invariant::LimitsHold);
    let over = taken(What::BeginRequested, vec![fire(0, 1, Firing::AfterStep(step())), ask_model()]);
    broken(limits_hold(&settings, &[over]), Invariant::LimitsHold);
}

#[test]
fn a_model_call_after_a_stop_is_found() {
    let life = [taken(What::StopRequested(None), vec![]), taken(What::BeginRequested, vec![ask_model()])];
    broken(stop_wins(&life), Invariant::StopWins);
    let resumed = [life[0].clone(), taken(What::ResumeRequested, vec![]), life[1].clone()];
    assert_eq!(stop_wins(&resumed), Ok(()));
}

#[test]
fn a_machine_that_asks_the_model_beyond_its_money_is_found() {
    let settings = Settings { cost_max: Some(NanoDollars(10)), ..Settings::default() };
    let asking = State::CallingModel { attempt: 1, compressed: false };
    let mut shared = Shared::new(settings);
    assert_eq!(of_state(&asking, &shared), Ok(()));
    shared.totals.cost = NanoDollars(10);
    broken(of_state(&asking, &shared), Invariant::LimitsHold);
}

fn broken(checked: Result<(), Broken>, invariant: Invariant) {
    assert_eq!(checked.map_err(|broken| broken.invariant), Err(invariant));
}

fn taken(what: What, emitted: Vec<(EffectId, Effect)>) -> Taken {
    Taken { input: Input { at: 0, what }, emitted }
}

fn replied(calls: usize) -> What {
    let facts = CallFacts { lane: 0, route: Route::Tool, side_effect: SideEffect::Pure, signature: Signature(0) };
    let reply = Reply { usage: None, calls: vec![facts; calls], aborted: false, unresolved: false };
    What::ModelReplied(id(0, Unit::Model, Verb::Ask), reply)
}

fn settled(call: Ordinal) -> What {
    let settled = Settled {
        how: SettledHow::Ran,
        success: true,
        stop: false,
        cost: NanoDollars::ZERO,
        digest: ResultDigest::of(""),
    };
    What::CallSettled(call_id(1, call, Verb::Run), settled)
}

fn fire(step: u32, number: u16, firing: Firing) -> (EffectId, Effect) {
    (hook(step, number), Effect::FireHook(firing))
}

fn plan(step: u32) -> (EffectId, Effect) {
    (id(step, Unit::Step, Verb::Plan), Effect::Plan { phase: Phase::UserInput })
}

fn ask_model() -> (EffectId, Effect) {
    (id(0, Unit::Model, Verb::Ask), Effect::CallModel { with_tools: true })
}

fn clear(step: u32, call: Ordinal) -> (EffectId, Effect) {
    (call_id(step, call, Verb::Clear), Effect::Clear(call))
}

fn run(step: u32, call: Ordinal) -> (EffectId, Effect) {
    (call_id(step, call, Verb::Run), Effect::Run(call, SideEffect::Pure))
}

fn step() -> StepSummary {
    StepSummary {
        ran_tools: false,
        called_model: true,
        should_continue: true,
        status: Status::Running,
        reason: None,
        opened_at: 0,
    }
}

fn hook(step: u32, number: u16) -> EffectId {
    id(step, Unit::Hook(number), Verb::Fire)
}

fn call_id(step: u32, call: Ordinal, verb: Verb) -> EffectId {
    id(step, Unit::Call(call), verb)
}

fn id(step: u32, unit: Unit, verb: Verb) -> EffectId {
    EffectId { step, unit, verb, attempt: 0 }
}
