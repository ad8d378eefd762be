use crate::llm::{EmptyContent, MessageOrder, OutputLimitField, ReasoningReplay, SchemaDialect, ToolCallIds};
use jackline_model::{Origin, SideEffect};

use super::*;
use crate::agent::{ModelConfig, ToolGroup};
use crate::permission::{ApprovalConfig, ApprovalMode, Policy};

const FULL: &str = r#"name = "clerk"
description = "Keeps notes."
instructions = """
You are a clerk.
Be brief."""

[model]
name = "gpt-5"
base_url = "http://127.0.0.1:8080/v1"
api_key_env = "CLERK_KEY"
context_window = 128000
output_tokens_max = 4096

[model.prices]
input_per_million = 1.25
output_per_million = 10

[limits]
max_steps = 12
max_cost = 0.05
max_tokens = 500000
tool_concurrency = 2
depth = 1

[approval]
mode = "allow-list"
allow_list = ["fs/read"]

[compression]
threshold_ratio = 0.5

[tools]
builtin = ["fs", "archive"]
root = "."

[[command_tool]]
name = "notes/add"
description = "Adds a note."
command = ["./notes", "add"]
deadline_ms = 2000
side_effect = "idempotent"
ordered = true
env = ["NOTES_DIR"]
approval = [{ match = { text = "secret*" }, policy = "always" }, { policy = "never" }]

[command_tool.parameters]
type = "object"
properties = { text = { type = "string" } }

[agents.scribe]
file = "scribe.toml"

[origin]
workspace_id = "w1"

[users]
ann = "ann@example.org"
"#;

fn error(text: &str) -> String {
    AgentFile::parse(text, "agent.toml").unwrap_err().to_string()
}

#[test]
fn every_section_is_read() {
    let agent = AgentFile::parse(FULL, "agent.toml").unwrap();
    let model = agent.model.clone().unwrap();
    assert_eq!((model.name.as_str(), model.context_window), ("gpt-5", Some(128_000)));
    assert_eq!(model.prices.unwrap().cost(1_000_000, 100_000).to_string(), "$2.25");
    assert_eq!(agent.limits.cost_limit().unwrap().to_string(), "$0.05");
    assert_eq!(agent.approval.mode, ApprovalMode::AllowList);
    assert_eq!(agent.tools.builtin, [ToolGroup::Fs, ToolGroup::Archive]);
    let tool = &agent.command_tool[0];
    assert_eq!((tool.side_effect, tool.ordered), (SideEffect::Idempotent, true));
    let Some(ApprovalConfig::Rules(rules)) = &tool.approval else { panic!("rules") };
    assert_eq!(rules[0].policy, Policy::Always);
    assert_eq!(agent.agents["scribe"].file, "scribe.toml");
    assert_eq!(Origin::from(&agent.origin).workspace_id.as_deref(), Some("w1"));
    assert_eq!(agent.users["ann"], "ann@example.org");
    assert_eq!(agent.threshold_settings().threshold(false), 64_000);
}

#[test]
fn model_may_be_the_bare_name() {
    let agent = AgentFile::parse("name = \"a\"\nmodel = \"gpt-5\"", "agent.toml").unwrap();
    assert_eq!(agent.model, Some(ModelConfig::named("gpt-5")));
}

#[test]
fn c179_wrong_type_is_pointed_at_and_nothing_is_replaced() {
    let found = AgentFile::parse("name = \"a\"\n[limits]\nmax_steps = \"ten\"\n", "agent.toml").unwrap_err();
    assert_eq!((found.line, found.column, found.key.as_str()), (3, 13, "limits.max_steps"));
    assert!(found.to_string().starts_with("agent.toml:3:13: invalid type: string \"ten\""), "{found}");
    assert!(found.to_string().ends_with("(in `limits.max_steps`)"), "{found}");
}

#[test]
fn unknown_words_come_with_the_one_that_was_meant() {
    assert_eq!(
        error("name = \"a\"\n[limits]\n  max_stepz = 1\n"),
        "agent.toml:3:3: unknown key `max_stepz`; did you mean `max_steps`?"
    );
    assert_eq!(
        error("name = \"a\"\n[model]\nname = \"m\"\nbase_ulr = \"x\"\n"),
        "agent.toml:4:1: unknown key `base_ulr`; did you mean `base_url`?"
    );
    assert_eq!(
        error("name = \"a\"\n[tools]\nbuiltin = [\"fs\", \"shel\"]\n"),
        "agent.toml:3:18: unknown value `shel` (in `tools.builtin`); did you mean `shell`?"
    );
    assert_eq!(
        error("name = \"a\"\n[approval]\nmode = \"yolo\"\n"),
        "agent.toml:3:8: unknown value `yolo`; known: manual, allow-list, auto-run, headless (in `approval.mode`)"
    );
}

#[test]
fn values_out_of_range_are_refused() {
    for (text, expected) in [
        ("[limits]\nmax_steps = 0", "max_steps"),
        ("[limits]\nmax_cost = -1.0", "an amount of dollars is a number from 0 up, not -1"),
        ("[limits]\nmax_cost = nan", "an amount of dollars is a number from 0 up, not NaN"),
        ("[model]\nname = \"m\"\nbase_url = \"https://u:p@host/v1\"", "a base URL holds no password"),
        ("[model]\nname = \"m\"\nbase_url = \"host/v1\"", "a base URL begins with http"),
        ("[compression]\nthreshold_ratio = 1.5", "a ratio is more than 0 and at most 1, not 1.5"),
        ("[[command_tool]]\nname = \"a/b\"\ndescription = \"\"\ncommand = []", "a command names at least a program"),
        ("[[command_tool]]\nname = \"ab\"\ndescription = \"\"\ncommand = [\"x\"]", "is not of the form"),
        (
            "[[command_tool]]\nname = \"a/b\"\ndescription = \"\"\ncommand = [\"x\"]\napproval = \"nevr\"",
            "unknown policy `nevr`; known: never, required, always",
        ),
    ] {
        let found = error(&format!("name = \"a\"\n{text}\n"));
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn what_does_not_go_together_is_refused_at_its_line() {
    assert_eq!(
        error("name = \"a\"\ninstructions = \"x\"\ninstructions_file = \"y\"\n"),
        "agent.toml:3:1: `instructions` and `instructions_file` exclude each other"
    );
    let tool = "[[command_tool]]\nname = \"a/b\"\ndescription = \"\"\ncommand = [\"x\"]\n";
    assert!(
        error(&format!("name = \"a\"\n{tool}{tool}"))
            .starts_with("agent.toml:7:8: the command tool `a/b` is declared twice")
    );
    assert!(error("").contains("missing field `name`"));
    assert!(error("name = ").starts_with("agent.toml:1:"));
}

#[test]
fn c181_files_from_windows_are_read_as_any_other() {
    let windows = format!("\u{feff}{}", FULL.replace('\n', "\r\n"));
    let agent = AgentFile::parse_bytes(windows.as_bytes(), "agent.toml").unwrap();
    assert_eq!(agent, AgentFile::parse(FULL, "agent.toml").unwrap());
    assert_eq!(agent.instructions.as_deref(), Some("You are a clerk.\nBe brief."));
}

proptest::proptest! {
    #[test]
    fn every_mistake_has_a_place_within_the_file(text in "[a-z\\[\\]=\"'.é \n]{0,60}") {
        let Err(found) = AgentFile::parse(&format!("name = 1\n{text}"), "agent.toml") else {
            panic!("a number is no name")
        };
        proptest::prop_assert!(found.line >= 1 && found.line <= text.lines().count() + 2);
        proptest::prop_assert!(found.column >= 1);
    }
}

#[test]
fn bytes_that_are_not_text_are_pointed_at() {
    let found = AgentFile::parse_bytes(b"name = \"a\"\ndescription = \"\xff\"", "agent.toml").unwrap_err();
    assert_eq!(found.to_string(), "agent.toml:2:16: the file is not UTF-8 text; save it as UTF-8 (in `description`)");
}

#[test]
fn c055_c058_c059_a_provider_with_habits_of_its_own_is_described_in_the_file() {
    let text = "name = \"a\"\n[model]\nname = \"m\"\n[model.dialect]\nempty_content = \"empty_text\"\nreasoning = \"replay\"\n\
                tool_call_ids = \"alnum9\"\norder = \"assistant_after_tool\"\nschemas = \"no_type_lists\"\n";
    let config = AgentFile::parse(text, "agent.toml").unwrap();
    let dialect = config.model.unwrap().dialect;
    assert_eq!(dialect.empty_content, EmptyContent::EmptyText);
    assert_eq!(dialect.reasoning, ReasoningReplay::Replay);
    assert_eq!(dialect.tool_call_ids, ToolCallIds::Alnum9);
    assert_eq!(dialect.order, MessageOrder::AssistantAfterTool);
    assert_eq!(dialect.schemas, SchemaDialect::NoTypeLists);
    assert_eq!(dialect.output_limit, OutputLimitField::MaxTokens);

    let wrong = text.replace("replay", "repeat");
    let error = AgentFile::parse(&wrong, "agent.toml").unwrap_err();
    assert_eq!((error.line, error.key.as_str()), (6, "model.dialect.reasoning"), "{error}");
}
