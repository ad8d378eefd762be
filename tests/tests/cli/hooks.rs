//! Hooks that an agent file declares, and the commands about hooks.

use serde_json::Value;

use crate::cli::home::{Home, Running, json_lines, ran};

/// An agent that reads a public file and a secret one, with these hooks.
fn home(hooks: &str) -> Home {
    let home = Home::with_agent(&format!("[tools]\nbuiltin = ['fs']\n{hooks}"), SCRIPT);
    home.write("public.txt", "the menu");
    home.write("secret.txt", "the combination");
    home.write("policy.sh", POLICY);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(home.path().join("policy.sh"), mode).unwrap();
    home
}

/// A receiver of webhooks, and where it listens.
fn listen(home: &Home, words: &[&str]) -> (Running, String) {
    let mut all = vec!["hooks", "listen"];
    all.extend(words);
    let mut receiver = home.start(&all);
    let line = receiver.until_error("listening on ");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    (receiver, url)
}

/// What was decided about each call, sorted: they end in any order.
fn decisions(out: &str) -> Vec<String> {
    let ends = json_lines(out).into_iter().filter(|event| event["type"] == "tool_end");
    let mut all: Vec<String> =
        ends.map(|event| format!("{} {}", event["decision"]["by"], event["result"]["content"])).collect();
    all.sort();
    all
}

#[test]
fn a_command_hook_decides_and_a_webhook_hears() {
    let home = home("");
    let (receiver, url) = listen(&home, &[]);
    home.write(
        "agent.toml",
        format!(
            "name = 'agent'\nscript = 'script.yaml'\n[tools]\nbuiltin = ['fs']\n[[hook]]\nid = 'policy'\n\
             type = 'beforeToolCall'\ncommand = {{ command = ['./policy.sh'], responseHandling = 'toolCall' }}\n\
             [[hook]]\nid = 'done'\ntype = 'onComplete'\nwebhook = {{ url = '{url}/done?key=hidden' }}\n"
        ),
    );
    let ran = home.run(&["run", "--agent", "agent.toml", "--json", "go"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let decided = decisions(&ran.out);
    assert_eq!(decided, ["\"denied\" \"secrets stay here\"", "\"ran\" \"the menu\""]);
    let mut receiver = receiver;
    let heard: Value = serde_json::from_str(&receiver.until("onComplete")).unwrap();
    assert_eq!((heard["payload"]["reason"].as_str(), heard["path"].as_str()), (Some("done"), Some("/done")));
    receiver.signal("INT");
    assert!(receiver.end().0.success());
    // The list shows where it goes, and not what may be a secret in it.
    let list = home.run(&["hooks", "list", "agent.toml"]);
    assert!(
        list.out.contains("policy  beforeToolCall  command ./policy.sh  decides, on failure goes on"),
        "{}",
        list.out
    );
    assert!(list.out.contains("/done  hears") && !list.out.contains("hidden"), "{}", list.out);
    // So does the store, afterwards: which hook was asked about which call, and which one decided.
    let denied = json_lines(&ran.out).into_iter().find(|event| event["decision"]["by"] == "denied").unwrap();
    let call = denied["call"].as_str().unwrap();
    let told = home.run(&["ops", "show", "last", call]);
    assert!(
        told.out.contains("policy  command  deny in ") && told.out.contains("decided: by its answer"),
        "{}",
        told.out
    );
    let told = home.run(&["ops", "show", "last", call, "--json"]);
    let asked = &json_lines(&told.out)[0]["hooks"][0];
    assert_eq!(
        (asked["type"].as_str(), asked["asked"][0]["decidedBy"].as_str()),
        (Some("beforeToolCall"), Some("policy"))
    );
    // A run that is shown says who decided.
    let shown = home.run(&["run", "--agent", "agent.toml", "go"]);
    assert!(shown.out.contains("denied by the hook `policy`"), "{}", shown.out);
    assert!(shown.out.contains("webhook `done` failed (network_error)"), "{}", shown.out);
}

#[test]
fn the_environment_puts_one_policy_in_front_of_every_agent() {
    let home = home("");
    let (receiver, url) = listen(&home, &["--deny", "not in this house", "--deny-matching", "secret"]);
    let mut command = home.command(&["run", "--agent", "agent.toml", "--json", "go"]);
    command.env("AGENT_HOOK_WEBHOOK_URL", &url).env("AGENT_HOOK_WEBHOOK_TOKEN", "tok-1234567890");
    command.env("AGENT_HOOK_WEBHOOK_EVENTS", "beforeToolCall");
    command.env("AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING", "toolCall");
    let answered = ran(&mut command);
    assert_eq!(answered.code, Some(0), "{}", answered.err);
    assert_eq!(decisions(&answered.out), ["\"denied\" \"not in this house\"", "\"ran\" \"the menu\""]);
    drop(receiver);
    // Variables that make no sense start nothing.
    let mut command = home.command(&["run", "--agent", "agent.toml", "go"]);
    command.env("AGENT_HOOK_WEBHOOK_URL", &url).env("AGENT_HOOK_WEBHOOK_EVENTS", "beforeToolCall");
    let refused = ran(&mut command);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.err.contains("AGENT_HOOK_WEBHOOK_URL requires non-empty AGENT_HOOK_WEBHOOK_TOKEN"),
        "{}",
        refused.err
    );
    assert_eq!(home.run(&["ops", "list", "--json"]).out.lines().count(), 1, "one run, not two");
}

#[test]
fn a_policy_that_is_down_costs_what_its_file_says() {
    for (on_error, expected) in
        [("continue", "\"ran\" \"the combination\""), ("block", "\"denied\" \"hook_control_error\"")]
    {
        let home = home(&format!(
            "[[hook]]\nid = 'policy'\ntype = 'beforeToolCall'\nwebhook = {{ url = 'http://127.0.0.1:9/', \
             responseHandling = 'toolCall', onError = '{on_error}' }}\n"
        ));
        let ran = home.run(&["run", "--agent", "agent.toml", "--json", "go"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(decisions(&ran.out)[0], expected);
    }
}

#[test]
fn hooks_of_the_file_guard_a_run_that_another_process_ends() {
    let home = home(
        "[[client_tool]]\nname = 'desk/ask'\ndescription = 'Asks.'\n[[hook]]\nid = 'policy'\n\
         type = 'afterToolCall'\ncommand = { command = ['./policy.sh'], responseHandling = 'toolCall' }\n",
    );
    home.write("script.yaml", "turns:\n  - calls: [{tool: desk/ask, with: {}}]\n  - text: done\n");
    let parked = home.run(&["run", "--agent", "agent.toml", "--json", "go"]);
    assert_eq!(parked.code, Some(3), "{}", parked.err);
    let tool = json_lines(&parked.out).into_iter().find(|event| event["type"] == "tool_parked").unwrap();
    // The file is gone; what guards the run is stored with it.
    std::fs::remove_file(home.path().join("agent.toml")).unwrap();
    let call = tool["call"].as_str().unwrap();
    let answered = home.run(&["complete", "last", call, "--result", "a secret came out", "--resume", "--json"]);
    assert_eq!(answered.code, Some(0), "{}{}", answered.out, answered.err);
    assert_eq!(decisions(&answered.out), ["\"denied\" \"secrets stay here\""]);
    assert!(!answered.out.contains("a secret came out"));
}

#[test]
fn check_tells_what_each_answer_would_mean() {
    let home = home(
        "[[hook]]\nid = 'policy'\ntype = 'beforeToolCall'\nmatcher = '^nothing/'\n\
         command = { command = ['./policy.sh'], responseHandling = 'toolCall' }\n",
    );
    let good = home.run(&["hooks", "check", "agent.toml"]);
    assert_eq!(good.code, Some(0), "{}", good.err);
    assert!(good.out.starts_with("policy  beforeToolCall  allow in "), "{}", good.out);
    assert!(good.out.contains("the call would run"), "{}", good.out);

    home.write("policy.sh", "#!/bin/sh\nexit 3\n");
    let bad = home.run(&["hooks", "check", "agent.toml", "--json"]);
    assert_eq!(bad.code, Some(1));
    let line = &json_lines(&bad.out)[0];
    assert_eq!((line["answer"].as_str(), line["fault"].as_str()), (Some("error"), Some("command_failed")));
}

#[test]
fn a_wrong_hook_starts_nothing_and_says_where_it_stands() {
    let home = home("[[hook]]\nid = 'policy'\ntype = 'beforeToolCal'\ncommand = ['./policy.sh']\n");
    let ran = home.run(&["run", "--agent", "agent.toml", "go"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("agent.toml:7:8: hook `policy`: Invalid hook type"), "{}", ran.err);
    assert!(ran.err.contains("did you mean `beforeToolCall`?"), "{}", ran.err);
    assert!(!home.path().join(".jackline").exists());
}

const SCRIPT: &str = "turns:
  - calls:
      - {tool: fs/read, with: {path: public.txt}}
      - {tool: fs/read, with: {path: secret.txt}}
  - text: done
";

const POLICY: &str = r#"#!/bin/sh
read -r event
case "$event" in
  *secret*) echo '{"decision":"deny","reason":"secrets stay here"}' ;;
  *) echo '{"decision":"allow"}' ;;
esac
"#;
