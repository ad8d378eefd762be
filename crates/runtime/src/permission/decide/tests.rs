use jackline_model::ToolKey;
use serde_json::json;

use super::*;
use crate::permission::BlacklistRule;

/// One question, with the everyday answer to everything that a test does not set.
struct Case {
    arguments: Value,
    config: Option<ApprovalConfig>,
    tool_known: bool,
    mode: ApprovalMode,
    listed: bool,
    dynamic: DynamicAnswer,
    blacklist: Blacklist,
}

impl Case {
    fn new(mode: ApprovalMode) -> Self {
        Self {
            arguments: json!({}),
            config: None,
            tool_known: true,
            mode,
            listed: false,
            dynamic: DynamicAnswer::NotAsked,
            blacklist: Blacklist::standard(),
        }
    }

    fn config(mut self, value: Value) -> Self {
        self.config = Some(ApprovalConfig::from_value(&value).unwrap());
        self
    }

    fn arguments(mut self, value: Value) -> Self {
        self.arguments = value;
        self
    }

    fn unknown(mut self) -> Self {
        self.tool_known = false;
        self
    }

    fn listed(mut self) -> Self {
        self.listed = true;
        self
    }

    fn dynamic(mut self, answer: DynamicAnswer) -> Self {
        self.dynamic = answer;
        self
    }

    /// A global audit that matches every call.
    fn global(mut self, policies: &[Policy]) -> Self {
        let rule = |policy: &Policy| BlacklistRule {
            category: "all".into(),
            matches: Default::default(),
            policy: Some(*policy),
        };
        self.blacklist = Blacklist::new(policies.iter().map(rule).collect());
        self
    }

    fn decide(&self) -> Permission {
        self.decide_with(self.arguments.as_object().map_or(Arguments::Malformed, Arguments::Parsed))
    }

    fn decide_with(&self, arguments: Arguments<'_>) -> Permission {
        let call = ToolCall {
            id: "call_1".into(),
            key: ToolKey::new("shell", "run"),
            arguments: self.arguments.to_string().into(),
        };
        let allow_list = if self.listed { BTreeSet::from(["shell/run".to_owned()]) } else { BTreeSet::new() };
        let question = Question {
            call: &call,
            arguments,
            config: self.config.as_ref(),
            tool_known: self.tool_known,
            mode: self.mode,
            allow_list: &allow_list,
            dynamic: self.dynamic,
        };
        decide(&question, &self.blacklist)
    }
}

use ApprovalMode::{AllowList, AutoRun, Headless, Manual};
use Permission::{AskHuman, Execute};

const ALL_MODES: [ApprovalMode; 4] = [Manual, AllowList, AutoRun, Headless];

#[test]
fn perm_01_tool_without_settings_runs_in_manual_mode() {
    assert_eq!(Case::new(Manual).decide(), Execute);
}

#[test]
fn perm_02_policy_string_is_taken_as_it_is() {
    assert_eq!(Case::new(Manual).config(json!("never")).decide(), Execute);
    assert_eq!(Case::new(Manual).config(json!("required")).decide(), AskHuman);
}

#[test]
fn perm_03_first_matching_rule_wins() {
    let rules = json!([{"match": {"a": "x"}, "policy": "never"}, {"match": {"a": "*"}, "policy": "always"}]);
    assert_eq!(Case::new(Manual).config(rules.clone()).arguments(json!({"a": "x"})).decide(), Execute);
    assert_eq!(Case::new(AutoRun).config(rules).arguments(json!({"a": "y"})).decide(), AskHuman);
}

#[test]
fn perm_04_no_matching_rule_means_required() {
    let rules = json!([{"match": {"a": "x"}, "policy": "never"}]);
    assert_eq!(Case::new(Manual).config(rules.clone()).arguments(json!({"a": "y"})).decide(), AskHuman);
    assert_eq!(Case::new(AutoRun).config(rules).arguments(json!({"a": "y"})).decide(), Execute);
    assert_eq!(Case::new(Manual).config(json!([])).decide(), AskHuman);
}

#[test]
fn perm_05_all_parameters_of_a_rule_must_match() {
    let rules = json!([{"match": {"a": "x", "b": "y"}, "policy": "never"}]);
    assert_eq!(Case::new(Manual).config(rules.clone()).arguments(json!({"a": "x", "b": "z"})).decide(), AskHuman);
    assert_eq!(Case::new(Manual).config(rules).arguments(json!({"a": "x", "b": "y"})).decide(), Execute);
}

#[test]
fn perm_06_rule_without_match_applies_to_every_call() {
    let case = Case::new(Manual).config(json!([{"policy": "never"}, {"policy": "always"}]));
    assert_eq!(case.arguments(json!({"anything": [1]})).decide(), Execute);
}

#[test]
fn perm_07_missing_parameter_does_not_match() {
    let rules = json!([{"match": {"a": "*"}, "policy": "never"}]);
    assert_eq!(Case::new(Manual).config(rules).decide(), AskHuman);
}

#[test]
fn perm_11_unknown_tool_needs_approval_where_somebody_is_there() {
    assert_eq!(Case::new(Manual).unknown().decide(), AskHuman);
    assert_eq!(Case::new(AllowList).unknown().listed().decide(), AskHuman);
}

#[test]
fn perm_12_unknown_tool_runs_in_auto_run() {
    assert_eq!(Case::new(AutoRun).unknown().decide(), Execute);
    assert_eq!(Case::new(Headless).unknown().decide(), Execute);
}

#[test]
fn perm_14_auto_run_passes_over_required() {
    assert_eq!(Case::new(AutoRun).config(json!("required")).decide(), Execute);
}

#[test]
fn perm_15_auto_run_asks_for_always() {
    assert_eq!(Case::new(AutoRun).config(json!("always")).decide(), AskHuman);
    assert_eq!(Case::new(AutoRun).config(json!([{"policy": "always"}])).decide(), AskHuman);
}

#[test]
fn perm_17_always_rule_that_does_not_match_is_passed_over() {
    let rules = json!([{"match": {"a": "danger"}, "policy": "always"}, {"policy": "never"}]);
    assert_eq!(Case::new(AutoRun).config(rules).arguments(json!({"a": "safe"})).decide(), Execute);
}

#[test]
fn perm_18_allow_list_mode_runs_what_is_listed_only() {
    assert_eq!(Case::new(AllowList).config(json!("required")).listed().decide(), Execute);
    assert_eq!(Case::new(AllowList).config(json!("never")).decide(), AskHuman);
}

#[test]
fn perm_19_manual_mode_follows_the_tool() {
    assert_eq!(Case::new(Manual).config(json!("never")).decide(), Execute);
    assert_eq!(Case::new(Manual).config(json!("required")).listed().decide(), AskHuman);
}

#[test]
fn perm_20_resolver_says_yes_with_policy_required() {
    let config = json!({"dynamic": {"type": "scope", "policy": "required"}});
    let case = |mode| Case::new(mode).config(config.clone()).dynamic(DynamicAnswer::Yes).decide();
    assert_eq!((case(Manual), case(AutoRun), case(Headless)), (AskHuman, Execute, Execute));
    let always = json!({"dynamic": {"type": "scope"}});
    assert_eq!(Case::new(AutoRun).config(always).dynamic(DynamicAnswer::Yes).decide(), AskHuman);
}

#[test]
fn perm_21_resolver_says_no() {
    let config = json!({"dynamic": {"type": "scope", "policy": "always"}});
    assert_eq!(Case::new(Manual).config(config).dynamic(DynamicAnswer::No).decide(), Execute);
}

#[test]
fn perm_22_answer_of_a_resolver_is_an_input_of_the_decision() {
    let case = Case::new(Manual).config(json!({"dynamic": {"type": "scope"}}));
    assert_eq!(case.config.as_ref().and_then(ApprovalConfig::resolver), Some("scope"));
    let no = case.dynamic(DynamicAnswer::No);
    assert_eq!(no.decide(), Execute);
    let yes = no.dynamic(DynamicAnswer::Yes);
    assert_eq!(yes.decide(), AskHuman);
    assert_eq!(yes.dynamic(DynamicAnswer::Failed).decide(), AskHuman);
}

#[test]
fn perm_23_without_a_resolver_the_default_holds() {
    let config = |default: &str| json!({"dynamic": {"type": "none", "default": default}});
    assert_eq!(Case::new(Manual).config(json!({"dynamic": {"type": "none"}})).decide(), Execute);
    assert_eq!(Case::new(Manual).config(config("required")).decide(), AskHuman);
    assert_eq!(Case::new(AllowList).config(config("required")).listed().decide(), Execute);
    assert_eq!(Case::new(AutoRun).config(config("always")).decide(), AskHuman);
}

#[test]
fn perm_24_global_always_wins_over_never_in_every_mode() {
    for mode in ALL_MODES {
        let case = Case::new(mode).config(json!("never")).listed().global(&[Policy::Always]);
        assert_eq!(case.decide(), AskHuman, "{mode:?}");
    }
}

#[test]
fn perm_25_global_audit_that_does_not_match_changes_nothing() {
    let case = Case::new(Manual).config(json!("never")).arguments(json!({"command": "ls"}));
    assert_eq!(case.decide(), Execute);
}

#[test]
fn perm_26_global_required_wins_over_dynamic_never_and_the_allow_list() {
    for mode in [Manual, AllowList] {
        let config = json!({"dynamic": {"type": "scope"}});
        let case = Case::new(mode).config(config).dynamic(DynamicAnswer::No).listed();
        assert_eq!(case.global(&[Policy::Required]).decide(), AskHuman, "{mode:?}");
    }
}

#[test]
fn perm_27_global_required_runs_where_nobody_is_asked() {
    for mode in [AutoRun, Headless] {
        assert_eq!(Case::new(mode).global(&[Policy::Required]).decide(), Execute, "{mode:?}");
    }
}

#[test]
fn perm_28_strictest_of_two_global_audits_applies() {
    let case = Case::new(AutoRun).global(&[Policy::Required, Policy::Always]);
    assert_eq!(case.decide(), AskHuman);
}

#[test]
fn perm_30_standard_blacklist_asks_in_every_mode() {
    for mode in ALL_MODES {
        let case = Case::new(mode).config(json!("never")).listed().arguments(json!({"command": "rm -rf /"}));
        assert_eq!(case.decide(), AskHuman, "{mode:?}");
    }
}

#[test]
fn perm_31_headless_runs_what_is_required() {
    assert_eq!(Case::new(Headless).config(json!("required")).decide(), Execute);
}

/// Changed from the original, which took malformed arguments for empty ones: then no rule over
/// arguments could match, and the call fell through to the default.
#[test]
fn perm_35_malformed_arguments_take_the_strictest_outcome() {
    for mode in ALL_MODES {
        let case = Case::new(mode).config(json!("never")).listed();
        assert_eq!(case.decide_with(Arguments::Malformed), AskHuman, "{mode:?}");
    }
}

#[test]
fn perm_36_empty_blacklist_never_blocks() {
    let case = Case::new(Manual).arguments(json!({"command": "rm -rf /"})).global(&[]);
    assert_eq!(case.decide(), Execute);
}
