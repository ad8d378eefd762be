use std::collections::BTreeSet;

use jackline_hooks::HookKind;
use jackline_model::{Fault, FaultAttribution, ModelUsage, NanoDollars, Reason, SideEffect, Status, Totals};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::compress::CompressionGuard;
use crate::machine::{
    CallFacts, CallSlot, CompactionNeed, Decision, EffectId, FailureKind, Firing, Folded, HumanAction, HumanVerdict,
    InputKind, Instruction, ModelFailure, Phase, Place, Refusal, Reply, Route, Settled, SettledHow, Stands,
    StepSummary, StopNotice, StopTold, Unit, Verb, What,
};
use crate::repeat::{ResultDigest, Signature};

const GOLDEN: &str = include_str!("../../../tests/golden/records-v1.jsonl");

#[test]
fn every_input_makes_a_round_trip() {
    let samples: Vec<What> = inputs().into_iter().chain(inputs_of_stops()).chain(failures_of_summaries()).collect();
    let kinds: BTreeSet<InputKind> = samples.iter().map(What::kind).collect();
    assert_eq!(kinds, InputKind::ALL.into_iter().collect(), "a kind of input has no sample");
    for what in samples {
        let batch = [(Input { at: 1_700_000_000_123, what }, None)];
        assert_eq!(decode(&encode(&batch)).unwrap(), batch);
    }
}

#[test]
fn every_boundary_makes_a_round_trip() {
    for boundary in boundaries().into_iter().chain(boundaries_of_stops()) {
        let batch = [(Input { at: 1_700_000_000_500, what: hook() }, Some(boundary))];
        assert_eq!(decode(&encode(&batch)).unwrap(), batch);
    }
}

#[test]
fn every_firing_has_a_sample() {
    let kinds: BTreeSet<HookKind> = firings().iter().map(Firing::kind).collect();
    let asked_otherwise = HookKind::BeforeToolCall;
    assert_eq!(kinds, HookKind::ALL.into_iter().filter(|kind| *kind != asked_otherwise).collect());
}

#[test]
fn every_name_of_an_effect_makes_a_round_trip() {
    let units = [Unit::Step, Unit::Model, Unit::Call(u16::MAX), Unit::Compact, Unit::Human, Unit::Hook(7)];
    let verbs = [
        Verb::Plan,
        Verb::Ask,
        Verb::Clear,
        Verb::Run,
        Verb::Judge,
        Verb::Refuse,
        Verb::Start,
        Verb::Summarize,
        Verb::Fire,
        Verb::Cancel,
    ];
    for (unit, verb, attempt) in units.iter().flat_map(|unit| verbs.map(|verb| (*unit, verb, 3))) {
        let id = EffectId { step: u32::MAX, unit, verb, attempt };
        let batch = [(Input { at: 0, what: What::HookAnswered(id) }, None)];
        assert_eq!(decode(&encode(&batch)).unwrap(), batch);
    }
}

proptest! {
    #[test]
    fn numbers_of_any_size_make_a_round_trip(
        times in proptest::collection::vec(any::<u64>(), 1..4),
        counts in any::<(u64, u64, u64, i64, u32)>(),
        words in any::<String>(),
    ) {
        let (a, b, c, money, steps) = counts;
        let usage = ModelUsage { input_tokens: a, output_tokens: b, total_tokens: c, cost: NanoDollars(money) };
        let mut boundary = blank();
        (boundary.now, boundary.began_at, boundary.opened_at, boundary.steps_done) = (a, b, c, steps);
        boundary.totals.cost = NanoDollars(money);
        boundary.firings_open = vec![(id("s1.h1.fire"), Firing::OnCompactError { tokens: c, error: words })];
        let what = What::ModelReplied(id("s1.model.ask"), Reply { usage: Some(usage), ..Reply::default() });
        let batch: Vec<_> =
            times.into_iter().map(|at| (Input { at, what: what.clone() }, Some(boundary.clone()))).collect();
        prop_assert_eq!(decode(&encode(&batch)).unwrap(), batch);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), cut in 0_usize..400) {
        let _ = decode(&text);
        let whole = encode(&typical_step());
        let end = (0..=cut.min(whole.len())).rev().find(|end| whole.is_char_boundary(*end)).unwrap_or(0);
        if end < whole.len() {
            let is_damaged = matches!(decode(&whole[..end]), Err(RecordError::Damaged { .. }));
            prop_assert!(is_damaged);
        }
    }
}

/// Written by the first program that wrote version 1. Never change a line; add lines.
#[test]
fn records_of_the_first_version_are_still_read() {
    let mut batches = golden().into_iter();
    for line in GOLDEN.lines() {
        assert_eq!(decode(line).unwrap(), batches.next().expect("a batch for each line"), "{line}");
    }
    assert!(batches.next().is_none(), "a line for each batch");
}

#[test]
fn what_goes_without_saying_is_not_written() {
    let id = |unit, verb| EffectId { step: 3, unit, verb, attempt: 0 };
    let whats = [
        What::HookAnswered(id(Unit::Hook(2), Verb::Fire)),
        What::Planned(id(Unit::Step, Verb::Plan), vec![Instruction::CallTool(1)]),
        What::CallCleared(id(Unit::Call(1), Verb::Clear)),
        What::CallParked(id(Unit::Call(1), Verb::Run)),
    ];
    let batch: Vec<_> = whats.into_iter().map(|what| (Input { at: 5, what }, None)).collect();
    let text = encode(&batch);
    let expected = r#"{"v":1,"t":5,"r":[{"w":{"hook":"s3.h2"}},{"w":{"planned":["s3.step",[{"tool":1}]]}},{"w":{"cleared":"s3.c1.clear"}},{"w":{"parked":"s3.c1"}}]}"#;
    assert_eq!(text, expected);
    assert_eq!(decode(&text).unwrap(), batch);
}

#[test]
fn a_newer_version_is_refused_by_its_number() {
    let same_shape = decode(r#"{"v":2,"t":0,"r":[]}"#);
    let other_shape = decode(r#"{"v":7,"entries":{}}"#);
    assert_eq!(same_shape, Err(RecordError::TooNew { found: 2, known: 1 }));
    assert_eq!(other_shape, Err(RecordError::TooNew { found: 7, known: 1 }));
    assert_eq!(
        StoreError::from(other_shape.unwrap_err()).to_string(),
        "a record of the journal was written in format 7; this program reads up to 1. Use a newer program"
    );
}

#[test]
fn damage_is_named_with_its_place() {
    let says = |text: &str| decode(text).unwrap_err().to_string();
    assert_eq!(
        says(r#"{"v":1,"t":0,"r":[{"w":{"hook":"s1.h1.fly"}}]}"#),
        "the record is damaged: `s1.h1.fly` is no effect id at line 1 column 43"
    );
    assert_eq!(
        says(r#"{"v":1,"t":0,"r":[{"w":"begin","x":1}]}"#),
        "the record is damaged: unknown field `x`, expected one of `d`, `w`, `b` at line 1 column 34"
    );
    assert!(says(r#"{"v":1,"t":0,"r":[{"w":"#).contains("EOF"));
    assert!(says(r#"{"v":1,"t":0,"r":[{"w":"vanish"}]}"#).contains("unknown variant `vanish`"));
}

#[test]
fn a_typical_step_is_small() {
    let text = encode(&typical_step());
    println!("{} bytes: {text}", text.len());
    assert!(text.len() <= 600, "{} bytes: {text}", text.len());
}

/// A step with one tool call, as a run of forty steps would write it.
fn typical_step() -> Vec<(Input, Option<Boundary>)> {
    let mut boundary = blank();
    boundary.now = 1_700_000_000_160;
    boundary.began_at = 1_699_999_980_000;
    boundary.opened_at = 1_700_000_000_160;
    (boundary.step, boundary.steps_done, boundary.phase) = (41, 41, Phase::ToolResult);
    boundary.calls = vec![CallSlot { facts: facts(), place: Place::Settled }];
    boundary.totals = Totals {
        llm_calls: 21,
        tool_calls: 20,
        input_tokens: 480_000,
        output_tokens: 9_000,
        total_tokens: 489_000,
        cost: NanoDollars(1_234_567_890),
    };
    boundary.firings = 1;
    boundary.firings_open = vec![
        (id("s40.h2.fire"), Firing::AfterToolCall { call: 1, mocked: false }),
        (id("s41.h1.fire"), Firing::BeforeStep),
    ];
    let at = |after: u64, what: What| (Input { at: 1_700_000_000_000 + after, what }, None);
    let mut step = vec![
        at(0, What::HookAnswered(id("s40.h1.fire"))),
        at(1, What::Planned(id("s40.step.plan"), vec![Instruction::CallTool(1)])),
        at(2, What::CallCleared(id("s40.c1.clear"))),
        at(150, What::CallSettled(id("s40.c1.run"), settled(SettledHow::Ran))),
        at(160, What::HookAnswered(id("s40.h3.fire"))),
    ];
    step[4].1 = Some(boundary);
    step
}

fn golden() -> Vec<Vec<(Input, Option<Boundary>)>> {
    let all = inputs().into_iter().zip(0_u64..);
    let mut batches = vec![all.map(|(what, at)| (Input { at: 1_700_000_000_000 + at, what }, None)).collect()];
    batches.extend(boundaries().into_iter().map(|boundary| {
        vec![(Input { at: 1_700_000_000_500, what: What::HookAnswered(id("s3.h2.fire")) }, Some(boundary))]
    }));
    batches.push(typical_step());
    batches.push(failed_compression());
    batches.push(inputs_of_stops().into_iter().map(|what| (Input { at: 1_700_000_000_600, what }, None)).collect());
    batches.extend(boundaries_of_stops().into_iter().map(|boundary| {
        vec![(Input { at: 1_700_000_000_700, what: What::HookAnswered(id("s3.h2.fire")) }, Some(boundary))]
    }));
    let at_once = failures_of_summaries().into_iter();
    batches.push(at_once.map(|what| (Input { at: 1_700_000_000_800, what }, None)).collect());
    batches
}

/// A request that was too long, and the step after which compression rests.
fn failed_compression() -> Vec<(Input, Option<Boundary>)> {
    let compaction = Some(CompactionNeed { messages: 12, tokens: 99_000 });
    let [_, overflow, ..] = &failures()[..] else { panic!("the second failure is an overflow") };
    let failure = ModelFailure { compaction, ..overflow.clone() };
    let compression = CompressionGuard { failures_in_row: 1, retry_from_step: 9 };
    vec![
        (Input { at: 1_700_000_000_400, what: What::ModelFailed(id("s3.model.ask"), failure) }, None),
        (
            Input { at: 1_700_000_000_500, what: What::HookAnswered(id("s3.h2.fire")) },
            Some(Boundary { compression, ..blank() }),
        ),
    ]
}

/// What came with summaries that are asked for again.
fn failures_of_summaries() -> Vec<What> {
    failures().into_iter().map(|failure| What::SummaryFailed(id("s3.compact.summarize.1"), failure)).collect()
}

/// What came with stops that are told again.
fn inputs_of_stops() -> Vec<What> {
    vec![What::StopRequested(Some("ticket-7".into())), What::HookFailed(id("s4.h1.fire")), What::RetellRequested]
}

fn boundaries_of_stops() -> Vec<Boundary> {
    let stands = Stands::TellingStop(crate::machine::Ending::because(Reason::Interrupted));
    let told = [StopTold::Due, StopTold::Asked, StopTold::Owed(id("s4.h1.fire")), StopTold::Heard];
    let notices = told.map(|told| StopNotice { request: None, calls: vec![1, 2], told });
    let named = StopNotice { request: Some("ticket-7".into()), calls: Vec::new(), told: StopTold::Asked };
    let of = |notice| Boundary { stands: stands.clone(), stop_notice: Some(notice), ..blank() };
    notices.into_iter().chain([named]).map(of).collect()
}

#[test]
fn a_failed_compression_makes_a_round_trip() {
    let batch = failed_compression();
    assert_eq!(decode(&encode(&batch)).unwrap(), batch);
}

fn inputs() -> Vec<What> {
    let mut all = vec![
        What::BeginRequested,
        hook(),
        What::NoticeDelivered(id("s3.h2.fire")),
        What::Planned(id("s3.step.plan"), instructions()),
        What::PlanFailed(id("s3.step.plan"), fault(FaultAttribution::Harness)),
        What::ModelReplied(id("s3.model.ask"), Reply::default()),
        What::ModelReplied(id("s3.model.ask.2"), reply()),
        What::CallCleared(id("s3.c1.clear")),
        What::CallParked(id("s3.c1.run")),
        What::ChildStarted(id("s3.c2.start"), "op-child".into()),
        What::HumanAsked(id("s3.human.ask"), None),
        What::HumanAsked(id("s3.human.ask"), Some(1_700_000_900_000)),
        What::Summarized(id("s3.compact.summarize"), Folded::default()),
        What::Summarized(id("s3.compact.summarize"), folded()),
        What::SummaryFailed(
            id("s3.compact.summarize"),
            ModelFailure {
                kind: FailureKind::Permanent,
                fault: fault(FaultAttribution::Provider),
                retry_after_ms: None,
                jitter_permille: 0,
                compaction: None,
            },
        ),
        What::DeadlineReached,
        What::HumanDecided(decisions()),
        What::AnswerArrived { call: 1, child: None },
        What::AnswerArrived { call: 2, child: Some(totals()) },
        What::StopRequested(None),
        What::ResumeRequested,
    ];
    all.extend(failures().into_iter().map(|failure| What::ModelFailed(id("s3.model.ask.1"), failure)));
    all.extend(SettledHow::ALL.into_iter().map(|how| What::CallSettled(id("s3.c1.run"), settled(how))));
    all
}

fn instructions() -> Vec<Instruction> {
    let refusals = [
        Refusal::Unusable,
        Refusal::NotAllowed,
        Refusal::NobodyToApprove,
        Refusal::Aborted,
        Refusal::Rejected { reason: None },
        Refusal::Rejected { reason: Some("not \"today\"".to_owned()) },
        Refusal::Expired,
        Refusal::TimedOut,
        Refusal::InDoubt,
    ];
    let refusals = refusals.into_iter().chain(Reason::ALL.map(Refusal::Limit));
    let mut all = vec![
        Instruction::CallLlm,
        Instruction::CallTool(1),
        Instruction::CallToolsBatch(vec![2, 3]),
        Instruction::CallAgent(4),
        Instruction::RequestHumanApprove(vec![5]),
        Instruction::RequestHumanPrompt { prompt: "Which branch?".to_owned() },
        Instruction::RequestHumanSelect { prompt: "Colour?".to_owned(), options: vec!["red".to_owned()] },
        Instruction::CompressContext { messages: 40, tokens: 99_000 },
        Instruction::ResolveBlockedTools((6_u16..).zip(refusals).collect()),
        Instruction::ResolveAbortedTools(vec![99]),
    ];
    all.extend(Reason::ALL.map(|reason| Instruction::Finish { reason }));
    all
}

fn decisions() -> Vec<Decision> {
    let reason = Some("too risky".to_owned());
    vec![
        Decision { call: Some(1), verdict: HumanVerdict::Approve },
        Decision { call: Some(2), verdict: HumanVerdict::Reject { reason: reason.clone() } },
        Decision { call: Some(3), verdict: HumanVerdict::RejectAndContinue { reason } },
        Decision { call: None, verdict: HumanVerdict::Answer },
        Decision { call: None, verdict: HumanVerdict::Reject { reason: None } },
    ]
}

fn failures() -> Vec<ModelFailure> {
    let kinds = [FailureKind::Retryable, FailureKind::ContextOverflow, FailureKind::Permanent, FailureKind::Cancelled];
    let failure = |kind| ModelFailure {
        kind,
        fault: fault(FaultAttribution::System),
        retry_after_ms: Some(2_000),
        jitter_permille: 417,
        compaction: None,
    };
    let plain = ModelFailure {
        kind: FailureKind::Retryable,
        fault: Fault { detail: None, ..fault(FaultAttribution::User) },
        retry_after_ms: None,
        jitter_permille: 0,
        compaction: None,
    };
    kinds.map(failure).into_iter().chain([plain]).collect()
}

fn firings() -> Vec<Firing> {
    let statuses = [
        Status::Idle,
        Status::Running,
        Status::WaitingForHuman,
        Status::WaitingForAsyncTool,
        Status::Interrupted,
        Status::Done,
        Status::Error,
    ];
    let summaries = statuses.map(|status| {
        Firing::AfterStep(StepSummary {
            ran_tools: status == Status::Running,
            called_model: status == Status::Idle,
            should_continue: status == Status::Running,
            status,
            reason: status.is_terminal().then_some(Reason::Done),
            opened_at: 1_700_000_000_000,
        })
    });
    let decided = [HumanAction::Approve, HumanAction::Reject, HumanAction::RejectAndContinue];
    let decided = decided.map(|action| Firing::AfterHumanIntervention { action, calls: vec![1, 2], reason: None });
    let others = vec![
        Firing::BeforeStep,
        Firing::OnComplete,
        Firing::OnError,
        Firing::AfterToolCall { call: 1, mocked: false },
        Firing::AfterToolCall { call: 2, mocked: true },
        Firing::OnToolCallError { call: 3 },
        Firing::BeforeHumanIntervention { calls: vec![1] },
        Firing::OnStopByHumanIntervention { calls: vec![], rejected: true, reason: Some("no".to_owned()) },
        Firing::BeforeCompact { messages: 40, tokens: 99_000 },
        Firing::AfterCompact { messages_before: 40, messages_after: 12 },
        Firing::OnCompactError { tokens: 99_000, error: "too long".to_owned() },
        Firing::BeforeCallAgent { call: 4 },
        Firing::AfterCallAgent { call: 4, child: "op-child".into() },
        Firing::OnCallAgentError { call: 5 },
    ];
    summaries.into_iter().chain(decided).chain(others).collect()
}

fn boundaries() -> Vec<Boundary> {
    let places = [
        Place::Open,
        Place::Queued,
        Place::Clearing,
        Place::Running,
        Place::Refusing,
        Place::AwaitingHuman,
        Place::Parked { child: None },
        Place::Parked { child: Some("op-child".into()) },
        Place::Judging,
        Place::Settled,
    ];
    let routes = [Route::Tool, Route::Agent, Route::Client, Route::Unusable];
    let effects = [SideEffect::Pure, SideEffect::Idempotent, SideEffect::Effect];
    let kinds = routes.into_iter().flat_map(|route| effects.map(|side_effect| (route, side_effect))).cycle();
    let slot = |(place, (route, side_effect))| CallSlot { facts: CallFacts { route, side_effect, ..facts() }, place };
    let full = Boundary {
        stands: Stands::WaitingForHuman,
        now: 1_700_000_000_500,
        began_at: 1_699_999_000_000,
        opened_at: 1_700_000_000_400,
        step: 4,
        steps_done: 3,
        episode_base: 1,
        phase: Phase::HumanApprovedTool,
        calls: places.into_iter().zip(kinds).map(slot).chain(routes.map(bare)).collect(),
        question: true,
        expires_at: Some(1_700_000_900_000),
        async_until: Some(1_700_000_800_000),
        deferred_approval: vec![6, 7],
        doom: Some(Reason::UnresolvedTools),
        stop_requested: true,
        stop_notice: None,
        stop_by_tool: true,
        force_finish: true,
        unresolved_rounds: 2,
        compression: CompressionGuard { failures_in_row: 1, retry_from_step: 0 },
        repeat: Default::default(),
        totals: totals(),
        firings: 5,
        notices_dropped: 3,
        firings_open: (1..).map(hook_id).zip(firings()).collect(),
    };
    let ends = Reason::ALL.into_iter().flat_map(|reason| {
        let plain = crate::machine::Ending::because(reason);
        let failed = crate::machine::Ending::failed(reason, fault(FaultAttribution::Provider));
        [Stands::Completing(plain), Stands::Draining { ending: failed, until: 1_700_000_005_500 }]
    });
    let stands = [Stands::OpeningStep, Stands::WaitingForAsyncTool].into_iter().chain(ends);
    let standing = stands.map(|stands| Boundary { stands, ..blank() });
    let phased = Phase::ALL.map(|phase| Boundary { phase, ..blank() });
    [full].into_iter().chain(standing).chain(phased).collect()
}

fn bare(route: Route) -> CallSlot {
    CallSlot {
        facts: CallFacts { lane: 0, route, side_effect: SideEffect::Pure, signature: Signature(0) },
        place: Place::Open,
    }
}

fn blank() -> Boundary {
    Boundary {
        stands: Stands::OpeningStep,
        now: 1_700_000_000_500,
        began_at: 1_700_000_000_500,
        opened_at: 1_700_000_000_500,
        step: 1,
        steps_done: 1,
        episode_base: 0,
        phase: Phase::UserInput,
        calls: Vec::new(),
        question: false,
        expires_at: None,
        async_until: None,
        deferred_approval: Vec::new(),
        doom: None,
        stop_requested: false,
        stop_notice: None,
        stop_by_tool: false,
        force_finish: false,
        unresolved_rounds: 0,
        compression: CompressionGuard::default(),
        repeat: Default::default(),
        totals: Totals::default(),
        firings: 0,
        notices_dropped: 0,
        firings_open: Vec::new(),
    }
}

fn reply() -> Reply {
    let usage = ModelUsage { input_tokens: 12_000, output_tokens: 300, total_tokens: 12_400, cost: NanoDollars(42) };
    Reply { usage: Some(usage), calls: vec![facts(), facts()], aborted: true, unresolved: true }
}

fn folded() -> Folded {
    Folded { messages_before: 40, messages_after: 12, usage: Some(ModelUsage::default()) }
}

fn totals() -> Totals {
    Totals { llm_calls: 1, tool_calls: 2, input_tokens: 3, output_tokens: 4, total_tokens: 8, cost: NanoDollars(-5) }
}

fn settled(how: SettledHow) -> Settled {
    let fine = how == SettledHow::Ran;
    Settled { how, success: fine, stop: !fine, cost: NanoDollars(i64::from(!fine)), digest: ResultDigest(0x1234_5678) }
}

fn facts() -> CallFacts {
    CallFacts { lane: 3, route: Route::Tool, side_effect: SideEffect::Effect, signature: Signature(u32::MAX - 7) }
}

fn fault(attribution: FaultAttribution) -> Fault {
    Fault {
        code: "rate_limited".to_owned(),
        message: "slow down".to_owned(),
        attribution,
        detail: Some(json!({"status": 429})),
    }
}

fn hook() -> What {
    What::HookAnswered(id("s3.h1.fire"))
}

fn hook_id(ordinal: u16) -> EffectId {
    EffectId { step: 3, unit: Unit::Hook(ordinal), verb: Verb::Fire, attempt: 0 }
}

fn id(text: &str) -> EffectId {
    text.parse().unwrap()
}
