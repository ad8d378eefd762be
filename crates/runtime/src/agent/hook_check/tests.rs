use std::path::Path;

use jackline_hooks::{CommandConfig, Hooks, WebhookConfig};
use serde_json::json;

use crate::agent::{AgentConfig, AgentFile};

const FULL: &str = r#"name = "a"
[[hook]]
id = "policy"
type = "beforeToolCall"
matcher = "^fs/"
[hook.webhook]
url = "https://policy.example.test/check"
delivery = "fetch"
fallback = "none"
timeout = 2.5
headers = { Authorization = "Bearer ${POLICY_TOKEN}" }
allowedEnvVars = ["POLICY_TOKEN"]
responseHandling = "toolCall"
onError = "block"
signingSecretEnv = "POLICY_SECRET"
network = { denyPrivate = true, allow = ["10.0.0.0/8"] }
inherit = true

[[hook]]
id = "log"
type = "onComplete"
webhook = { url = "/done", delivery = "qstash", retries = 3, delay = "10s", body = { team = "a" }, eventFields = ["reason"] }

[[hook]]
id = "log"
type = "onComplete"
webhook = { url = "/done", delivery = "qstash" }

[[hook]]
id = "program"
type = "afterToolCall"
command = { command = ["./policy.py", "-v"], env = ["PATH"], timeout = 3, responseHandling = "toolCall", onError = "block", inherit = false }

[[hook]]
id = "bare"
type = "afterStep"
command = ["./log.sh"]
"#;

fn read(text: &str) -> AgentConfig {
    AgentFile::parse(text, "agent.toml").unwrap()
}

fn error(hook: &str) -> String {
    AgentFile::parse(&format!("name = \"a\"\n[[hook]]\n{hook}\n"), "agent.toml").unwrap_err().to_string()
}

#[test]
fn every_key_of_a_hook_is_read_and_registered() {
    let stored = read(FULL).stored_hooks(Path::new("/agents"));
    assert!(Hooks::new().stored(&stored).is_ok());
    let policy = WebhookConfig::from_json(&stored[0]["webhook"]).unwrap();
    assert!(policy.is_control() && policy.is_critical() && policy.inherit);
    assert_eq!(policy.deadline().as_millis(), 2500);
    assert_eq!(policy.signing_secret_env.as_deref(), Some("POLICY_SECRET"));
    assert!(policy.network.unwrap().permits_address("10.1.1.1".parse().unwrap()));
    assert_eq!(stored[0]["matcher"], "^fs/");
    assert_eq!(stored[1]["webhook"]["body"], json!({"team": "a"}));
    assert_eq!(stored[2]["webhook"]["delivery"], "qstash");
    let program = CommandConfig::from_json(&stored[3]["command"]).unwrap();
    assert_eq!((program.command.len(), program.is_inherited()), (2, false));
    assert_eq!(program.directory.as_deref(), Some(Path::new("/agents")));
    assert_eq!(stored[4]["command"]["command"], json!(["./log.sh"]));
}

#[test]
fn hooks_are_part_of_what_is_frozen() {
    let (one, other) =
        (read(FULL), read(&FULL.replace("onError = \"block\"\nsigning", "onError = \"continue\"\nsigning")));
    assert_ne!(one.hash(), other.hash());
    let spelled_out = FULL.replace(
        "webhook = { url = \"/done\", delivery = \"qstash\" }",
        "webhook = { url = \"/done\", delivery = \"qstash\", onError = \"continue\", inherit = false }",
    );
    assert_eq!(one.hash(), read(&spelled_out).hash());
    let again: AgentConfig = serde_json::from_str(&one.canonical_json()).unwrap();
    assert_eq!(again, one);
    assert!(!read("name = \"a\"").canonical_json().contains("hook"));
}

#[test]
fn a_wrong_registration_names_hook_field_and_remedy_at_its_place() {
    for (hook, expected) in [
        (
            "id = \"p\"\ntype = \"beforeToolCall\"\nwebhook = { url = \"ftp://x\" }",
            "agent.toml:5:19: hook `p`: Webhook URL must be HTTP(S) or an application-relative path without credentials \
             (`webhook.url`: give an http or https URL, or a path that begins with one slash; put secrets into headers)",
        ),
        (
            "id = \"p\"\ntype = \"beforeTool\"\ncommand = [\"x\"]",
            "agent.toml:4:8: hook `p`: Invalid hook type (`type`: use one of the sixteen names, as they are spelled in the \
             documentation); did you mean `beforeToolCall`?",
        ),
        (
            "id = \"p\"\ntype = \"onComplete\"\n[hook.webhook]\nurl = \"/x\"\ndelivery = \"outbux\"",
            "agent.toml:7:12: hook `p`: Invalid option: expected one of fetch, qstash, outbox (`webhook.delivery`: use one of \
             these, spelled like this); did you mean `outbox`?",
        ),
        (
            "id = \"p\"\ntype = \"onComplete\"\nmatcher = \"x\"\ncommand = [\"x\"]",
            "agent.toml:5:11: hook `p`: Matchers are only supported for tool events (`matcher`: remove the matcher, or use a \
             tool event)",
        ),
        ("id = \"p\"\ntype = \"onComplete\"", "agent.toml:2:1: hook `p`: A hook requires a handler or webhook"),
        ("id = \"p\"\ntype = \"onComplete\"\ncommand = []", "agent.toml:5:11: hook `p`: A command requires a program"),
        (
            "id = \"p\"\ntype = \"afterToolCall\"\nmatcher = \"[\"\ncommand = [\"x\"]",
            "agent.toml:5:11: hook `p`: Invalid hook matcher regular expression",
        ),
        (
            "id = \"p\"\ntype = \"beforeToolCall\"\nwebhook = { url = \"/x\", responseHandling = \"toolCall\", delivery = \"qstash\" }",
            "agent.toml:5:67: hook `p`: toolCall response handling requires fetch delivery",
        ),
        (
            "id = \"p\"\ntype = \"onComplete\"\nwebhook = { url = \"/x\", allowedEnvVars = [\"OK\", \"not-ok\"] }",
            "agent.toml:5:49: hook `p`: Invalid environment variable name",
        ),
        (
            "id = \"server-env-webhook:x\"\ntype = \"onComplete\"\ncommand = [\"x\"]",
            "agent.toml:3:6: hook `server-env-webhook:x`: ids that begin with `server-env-webhook:` belong to hooks of the \
             environment (`id`: give it another)",
        ),
    ] {
        let found = error(hook);
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

#[test]
fn unknown_keys_come_with_the_one_that_was_meant() {
    for (hook, expected) in [
        (
            "id = \"p\"\ntype = \"onComplete\"\nwebhook = { url = \"/x\", on_error = \"block\" }",
            "agent.toml:5:25: unknown key `on_error` (in `hook.webhook`); did you mean `onError`?",
        ),
        (
            "id = \"p\"\ntype = \"onComplete\"\ncommand = [\"x\"]\nonError = \"block\"",
            "agent.toml:6:1: unknown key `onError`; it belongs inside `webhook = { … }`",
        ),
        (
            "id = \"p\"\ntype = \"onComplete\"\ncommand = { command = [\"x\"], envs = [\"A\"] }",
            "agent.toml:5:30: unknown key `envs` (in `hook.command`); did you mean `env`?",
        ),
        ("id = \"p\"\nevent = \"onComplete\"", "agent.toml:4:1: unknown key `event`; known: id, type, matcher"),
        (
            "id = 3\ntype = \"onComplete\"",
            "agent.toml:3:6: invalid type: integer `3`, expected a string (in `hook.id`)",
        ),
        (
            "id = \"p\"\ntype = \"onComplete\"\ncommand = \"x\"",
            "agent.toml:5:11: invalid type: string \"x\", expected a program with its arguments, as a list, or a table",
        ),
        ("type = \"onComplete\"", "agent.toml:2:1: missing field `id`"),
    ] {
        let found = error(hook);
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    let literal = FULL.replace("${POLICY_TOKEN}", "s3cret").replace("check\"", "check?key=s3cret\"");
    assert!(!format!("{:?}", read(&literal)).contains("s3cret"));
}
