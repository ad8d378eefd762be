//! The planner of a general chat agent.

use jackline_model::Reason;

use super::{PlanCall, PlanView, Planner, Standing};
use crate::machine::{Instruction, Ordinal, Phase, Refusal, Route};
use crate::permission::{ApprovalMode, Permission};

/// Runs what may run, asks for what must be asked, and calls the model until it answers in words.
#[derive(Clone, Copy, Debug, Default)]
pub struct GeneralPlanner;

impl Planner for GeneralPlanner {
    fn plan(&self, view: &PlanView<'_>) -> Vec<Instruction> {
        if view.interrupted {
            return abort(view);
        }
        match view.phase {
            Phase::UserInput | Phase::ToolResult | Phase::ToolsBatchResult | Phase::HumanApprovedTool
                if view.calls.is_empty() =>
            {
                ask_model(view)
            }
            // One compression per model call: what still does not fit is the provider's to say.
            Phase::CompressionResult if view.calls.is_empty() => vec![Instruction::CallLlm],
            Phase::HumanAbort => abort(view),
            Phase::LlmResult if view.calls.is_empty() => vec![finish(view)],
            Phase::LlmResult
            | Phase::UserInput
            | Phase::ToolResult
            | Phase::ToolsBatchResult
            | Phase::HumanApprovedTool
            | Phase::CompressionResult => answer_calls(view),
        }
    }
}

fn ask_model(view: &PlanView<'_>) -> Vec<Instruction> {
    match view.compaction {
        Some(need) => vec![Instruction::CompressContext { messages: need.messages, tokens: need.tokens }],
        None => vec![Instruction::CallLlm],
    }
}

fn finish(view: &PlanView<'_>) -> Instruction {
    Instruction::Finish { reason: if view.force_finish { Reason::MaxSteps } else { Reason::Done } }
}

fn abort(view: &PlanView<'_>) -> Vec<Instruction> {
    let open: Vec<Ordinal> = view.calls.iter().map(|call| call.ordinal).collect();
    if open.is_empty() {
        return vec![Instruction::Finish { reason: Reason::Interrupted }];
    }
    vec![Instruction::ResolveAbortedTools(open)]
}

/// First what runs, then what is refused, then what a person must decide.
fn answer_calls(view: &PlanView<'_>) -> Vec<Instruction> {
    let mut plan = Vec::new();
    let mut tools = Vec::new();
    let mut agents = Vec::new();
    let mut refused = Vec::new();
    let mut asked = Vec::new();
    for call in view.calls {
        match fate(call, view.mode) {
            Fate::Run if call.route == Route::Agent => agents.push(call.ordinal),
            Fate::Run => tools.push(call.ordinal),
            Fate::Ask => asked.push(call.ordinal),
            Fate::Refuse(refusal) => refused.push((call.ordinal, refusal)),
        }
    }
    match tools.as_slice() {
        [] => {}
        [only] => plan.push(Instruction::CallTool(*only)),
        [_, ..] => plan.push(Instruction::CallToolsBatch(tools)),
    }
    plan.extend(agents.into_iter().map(Instruction::CallAgent));
    if !refused.is_empty() {
        plan.push(Instruction::ResolveBlockedTools(refused));
    }
    if !asked.is_empty() {
        plan.push(Instruction::RequestHumanApprove(asked));
    }
    plan
}

enum Fate {
    Run,
    Ask,
    Refuse(Refusal),
}

fn fate(call: &PlanCall<'_>, mode: ApprovalMode) -> Fate {
    match (call.standing, call.permission, mode) {
        (Standing::Unusable, _, _) => Fate::Refuse(Refusal::Unusable),
        (Standing::NotAllowed, _, _) => Fate::Refuse(Refusal::NotAllowed),
        (Standing::Usable, Permission::Execute, _) => Fate::Run,
        (Standing::Usable, Permission::AskHuman, ApprovalMode::Headless) => Fate::Refuse(Refusal::NobodyToApprove),
        (
            Standing::Usable,
            Permission::AskHuman,
            ApprovalMode::Manual | ApprovalMode::AllowList | ApprovalMode::AutoRun,
        ) => Fate::Ask,
    }
}
