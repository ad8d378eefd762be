//! The decision about one call.

use std::collections::BTreeSet;

use jackline_model::ToolCall;
use serde_json::{Map, Value};

use super::blacklist::Blacklist;
use super::config::{ApprovalConfig, ApprovalMode, DynamicConfig, Policy, Rule};

/// The arguments as they were read; `jackline_tools::arguments` reads them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arguments<'a> {
    /// A JSON object.
    Parsed(&'a Map<String, Value>),
    /// Not JSON, or not an object. No rule can be trusted to see what the call would do.
    Malformed,
}

/// What is asked about one call.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// Its arguments, as they were read.
    pub arguments: Arguments<'a>,
    /// The settings that count for it; see [`effective_config`](super::effective_config).
    pub config: Option<&'a ApprovalConfig>,
    /// Whether there is such a tool.
    pub tool_known: bool,
    /// Who is there to approve.
    pub mode: ApprovalMode,
    /// Keys, as `identifier/apiName`, that need no approval in the mode `allow-list`.
    pub allow_list: &'a BTreeSet<String>,
    /// What the resolver said, where the settings are dynamic; not looked at otherwise.
    pub dynamic: DynamicAnswer,
}

/// What a resolver of dynamic settings said, before the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DynamicAnswer {
    /// No resolver of that name is registered, or nobody had to be asked.
    NotAsked,
    /// The call is one of those that the resolver looks for.
    Yes,
    /// It is not.
    No,
    /// The resolver failed. Counts as the strictest policy.
    Failed,
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Run it.
    Execute,
    /// Ask a person; where nobody is there, block it.
    AskHuman,
}

/// Decides about one call.
///
/// The order of the rules is the contract: a blacklisted `always` wins over every mode, a mode
/// without anybody to ask runs what is merely `required`, and a blacklisted `required` wins over
/// dynamic settings and the allow-list. Malformed arguments are always asked about: no rule can
/// tell what such a call would do.
pub fn decide(question: &Question<'_>, blacklist: &Blacklist) -> Permission {
    let arguments = match question.arguments {
        Arguments::Parsed(arguments) => arguments,
        Arguments::Malformed => return Permission::AskHuman,
    };
    let global = blacklist.audit(arguments).map(|finding| finding.policy);
    if global == Some(Policy::Always) {
        return Permission::AskHuman;
    }
    let own = own_policy(question, arguments);
    if own.policy() == Policy::Always {
        return Permission::AskHuman;
    }
    match question.mode {
        ApprovalMode::AutoRun | ApprovalMode::Headless => return Permission::Execute,
        ApprovalMode::Manual | ApprovalMode::AllowList => {}
    }
    if global == Some(Policy::Required) {
        return Permission::AskHuman;
    }
    decide_with_somebody_there(question, own)
}

/// The tool's own policy, and where it comes from: the allow-list treats the two differently.
#[derive(Clone, Copy)]
enum OwnPolicy {
    Static(Policy),
    Dynamic(Policy),
}

impl OwnPolicy {
    fn policy(self) -> Policy {
        match self {
            Self::Static(policy) | Self::Dynamic(policy) => policy,
        }
    }
}

fn own_policy(question: &Question<'_>, arguments: &Map<String, Value>) -> OwnPolicy {
    match question.config {
        None => OwnPolicy::Static(Policy::Never),
        Some(ApprovalConfig::Policy(policy)) => OwnPolicy::Static(*policy),
        Some(ApprovalConfig::Rules(rules)) => OwnPolicy::Static(first_match(rules, arguments)),
        Some(ApprovalConfig::Dynamic(dynamic)) => OwnPolicy::Dynamic(dynamic_policy(dynamic, question.dynamic)),
    }
}

fn first_match(rules: &[Rule], arguments: &Map<String, Value>) -> Policy {
    rules.iter().find(|rule| rule.applies_to(arguments)).map_or(POLICY_WITHOUT_MATCH, |rule| rule.policy)
}

fn dynamic_policy(config: &DynamicConfig, answer: DynamicAnswer) -> Policy {
    match answer {
        DynamicAnswer::Yes => config.policy.unwrap_or(Policy::Always),
        DynamicAnswer::No | DynamicAnswer::NotAsked => config.default.unwrap_or(Policy::Never),
        DynamicAnswer::Failed => Policy::Always,
    }
}

/// The modes `manual` and `allow-list`, after everything global.
fn decide_with_somebody_there(question: &Question<'_>, own: OwnPolicy) -> Permission {
    let is_list_mode = question.mode == ApprovalMode::AllowList;
    let is_listed = is_list_mode && question.allow_list.contains(&question.call.key.to_string());
    let runs = match own {
        OwnPolicy::Dynamic(policy) => policy == Policy::Never || is_listed,
        OwnPolicy::Static(_) if !question.tool_known => false,
        OwnPolicy::Static(_) if is_list_mode => is_listed,
        OwnPolicy::Static(policy) => policy == Policy::Never,
    };
    if runs { Permission::Execute } else { Permission::AskHuman }
}

/// A list of rules means that its author thought about arguments: what none of them covers is
/// asked about.
const POLICY_WITHOUT_MATCH: Policy = Policy::Required;

#[cfg(test)]
mod tests;
