//! The general planner, row by row.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackline_model::{Reason, ToolCall, ToolCallId, ToolKey};
use serde_json::{Value, json};

use super::{CompactionNeed, GeneralPlanner, PlanCall, PlanView, Planner, Standing};
use crate::llm::History;
use crate::machine::{Instruction, Phase, Refusal, Route};
use crate::permission::{
    ApprovalConfig, ApprovalMode, Arguments, Blacklist, DynamicAnswer, Permission, Policy, Question, decide,
};

/// What a test says about a call.
#[derive(Clone, Copy)]
struct Given {
    route: Route,
    standing: Standing,
    permission: Permission,
}

const SAFE: Given = Given { route: Route::Tool, standing: Standing::Usable, permission: Permission::Execute };
const ASK: Given = Given { permission: Permission::AskHuman, ..SAFE };
const AGENT: Given = Given { route: Route::Agent, ..SAFE };
const OUTSIDE: Given = Given { route: Route::Unusable, standing: Standing::NotAllowed, ..SAFE };
const UNKNOWN: Given = Given { route: Route::Unusable, standing: Standing::Unusable, ..SAFE };

/// Plans with these calls open; `change` sets what the test is about.
fn plan(phase: Phase, given: &[Given], change: impl Fn(&mut PlanView<'_>)) -> Vec<Instruction> {
    let call = |number: usize| ToolCall {
        id: ToolCallId::from(format!("call_{number}")),
        key: ToolKey::new("fs", "read"),
        arguments: Arc::from("{}"),
    };
    let calls: Vec<ToolCall> = (1..=given.len()).map(call).collect();
    let open: Vec<PlanCall<'_>> = given
        .iter()
        .zip(&calls)
        .zip(1..)
        .map(|((given, call), ordinal)| PlanCall {
            ordinal,
            call,
            route: given.route,
            standing: given.standing,
            permission: given.permission,
        })
        .collect();
    let history = History::default();
    let mut view = PlanView {
        phase,
        calls: &open,
        interrupted: false,
        force_finish: false,
        compaction: None,
        mode: ApprovalMode::Manual,
        history: &history,
    };
    change(&mut view);
    GeneralPlanner.plan(&view)
}

fn plain(phase: Phase, given: &[Given]) -> Vec<Instruction> {
    plan(phase, given, |_| {})
}

fn too_long(view: &mut PlanView<'_>) {
    view.compaction = Some(CompactionNeed { messages: 20, tokens: 99_000 });
}

fn finish(reason: Reason) -> Vec<Instruction> {
    vec![Instruction::Finish { reason }]
}

const COMPRESS: Instruction = Instruction::CompressContext { messages: 20, tokens: 99_000 };

#[test]
fn pln_01_a_user_message_is_answered_by_the_model() {
    assert_eq!(plain(Phase::UserInput, &[]), [Instruction::CallLlm]);
}

#[test]
fn pln_02_a_history_over_the_threshold_is_compressed_first() {
    assert_eq!(plan(Phase::UserInput, &[], too_long), [COMPRESS]);
}

#[test]
fn pln_04_one_safe_call_runs() {
    assert_eq!(plain(Phase::LlmResult, &[SAFE]), [Instruction::CallTool(1)]);
}

#[test]
fn pln_05_several_safe_calls_run_as_a_batch() {
    assert_eq!(plain(Phase::LlmResult, &[SAFE, SAFE]), [Instruction::CallToolsBatch(vec![1, 2])]);
}

#[test]
fn pln_06_what_is_safe_runs_before_a_person_is_asked_about_the_rest() {
    let expected = [Instruction::CallTool(1), Instruction::RequestHumanApprove(vec![2])];
    assert_eq!(plain(Phase::LlmResult, &[SAFE, ASK]), expected);
}

#[test]
fn pln_07_no_calls_end_the_run() {
    assert_eq!(plain(Phase::LlmResult, &[]), finish(Reason::Done));
}

#[test]
fn pln_08_a_forced_answer_ends_the_run_as_out_of_steps() {
    assert_eq!(plan(Phase::LlmResult, &[], |view| view.force_finish = true), finish(Reason::MaxSteps));
}

#[test]
fn pln_09_calls_that_nobody_knows_are_answered_and_the_run_goes_on() {
    let expected = [Instruction::ResolveBlockedTools(vec![(1, Refusal::Unusable)])];
    assert_eq!(plain(Phase::LlmResult, &[UNKNOWN]), expected);
}

#[test]
fn pln_10_results_go_to_the_model() {
    assert_eq!(plain(Phase::ToolResult, &[]), [Instruction::CallLlm]);
    assert_eq!(plain(Phase::ToolsBatchResult, &[]), [Instruction::CallLlm]);
    assert_eq!(plan(Phase::ToolsBatchResult, &[], too_long), [COMPRESS]);
}

#[test]
fn pln_24_pln_25_a_compressed_history_goes_to_the_model() {
    assert_eq!(plain(Phase::CompressionResult, &[]), [Instruction::CallLlm]);
}

#[test]
fn pln_27_a_history_is_not_compressed_twice_in_a_row() {
    assert_eq!(plan(Phase::CompressionResult, &[], too_long), [Instruction::CallLlm]);
}

#[test]
fn pln_28_an_aborted_answer_has_its_calls_resolved() {
    assert_eq!(plain(Phase::HumanAbort, &[SAFE, ASK]), [Instruction::ResolveAbortedTools(vec![1, 2])]);
}

#[test]
fn pln_29_an_aborted_answer_without_calls_ends_the_run() {
    assert_eq!(plain(Phase::HumanAbort, &[]), finish(Reason::Interrupted));
}

#[test]
fn pln_30_pln_32_an_interrupt_resolves_what_is_open_in_any_phase() {
    for phase in Phase::ALL {
        let plan = plan(phase, &[SAFE, ASK], |view| view.interrupted = true);
        assert_eq!(plan, [Instruction::ResolveAbortedTools(vec![1, 2])], "{phase:?}");
    }
}

#[test]
fn pln_31_an_interrupt_with_nothing_open_ends_the_run() {
    assert_eq!(plan(Phase::ToolResult, &[], |view| view.interrupted = true), finish(Reason::Interrupted));
}

#[test]
fn pln_35_what_runs_comes_first_then_what_is_refused_then_what_is_asked() {
    let expected = [
        Instruction::CallToolsBatch(vec![2, 5]),
        Instruction::CallAgent(4),
        Instruction::ResolveBlockedTools(vec![(1, Refusal::NotAllowed)]),
        Instruction::RequestHumanApprove(vec![3]),
    ];
    assert_eq!(plain(Phase::LlmResult, &[OUTSIDE, SAFE, ASK, AGENT, SAFE]), expected);
}

#[test]
fn pln_36_with_an_empty_allow_list_every_call_is_refused() {
    let refused = vec![(1, Refusal::NotAllowed), (2, Refusal::NotAllowed)];
    assert_eq!(plain(Phase::LlmResult, &[OUTSIDE, OUTSIDE]), [Instruction::ResolveBlockedTools(refused)]);
}

/// A call of a tool with this policy, as the rules decide about it.
fn ruled(mode: ApprovalMode, policy: Policy, arguments: &Value) -> Given {
    let call = ToolCall { id: "c".into(), key: ToolKey::new("shell", "run"), arguments: arguments.to_string().into() };
    let question = Question {
        call: &call,
        arguments: arguments.as_object().map_or(Arguments::Malformed, Arguments::Parsed),
        config: Some(&ApprovalConfig::Policy(policy)),
        tool_known: true,
        mode,
        allow_list: &BTreeSet::new(),
        dynamic: DynamicAnswer::NotAsked,
    };
    Given { permission: decide(&question, &Blacklist::standard()), ..SAFE }
}

fn plan_in(mode: ApprovalMode, given: &[Given]) -> Vec<Instruction> {
    plan(Phase::LlmResult, given, |view| view.mode = mode)
}

fn blocked(calls: &[u16]) -> Instruction {
    Instruction::ResolveBlockedTools(calls.iter().map(|call| (*call, Refusal::NobodyToApprove)).collect())
}

#[test]
fn perm_16_auto_run_runs_what_is_required_first_and_asks_about_always() {
    let mode = ApprovalMode::AutoRun;
    let given = [Policy::Always, Policy::Required].map(|policy| ruled(mode, policy, &json!({})));
    assert_eq!(plan_in(mode, &given), [Instruction::CallTool(2), Instruction::RequestHumanApprove(vec![1])]);
}

#[test]
fn perm_32_headless_blocks_always_and_the_blacklist() {
    let mode = ApprovalMode::Headless;
    let given = [ruled(mode, Policy::Always, &json!({})), ruled(mode, Policy::Never, &json!({"command": "rm -rf ~"}))];
    assert_eq!(plan_in(mode, &given), [blocked(&[1, 2])]);
}

#[test]
fn perm_33_headless_mix_runs_first_and_blocks_the_rest_in_order() {
    let expected = [Instruction::CallToolsBatch(vec![2, 4]), blocked(&[1, 3])];
    assert_eq!(plan_in(ApprovalMode::Headless, &[ASK, SAFE, ASK, SAFE]), expected);
}

#[test]
fn perm_34_headless_executables_stay_together() {
    let given = [ruled(ApprovalMode::Headless, Policy::Required, &json!({})); 3];
    assert_eq!(plan_in(ApprovalMode::Headless, &given), [Instruction::CallToolsBatch(vec![1, 2, 3])]);
}
