//! `jackline hooks fire`, and a receiver that checks signatures.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::cli::home::{Home, Ran, Running, json_lines, ran};

const POLICY: &str = r#"#!/bin/sh
read -r event
case "$event" in
  *secret*) echo '{"decision":"deny","reason":"secrets stay here"}' ;;
  *broken*) exit 3 ;;
  *mock*) echo '{"mock":{"content":"made up","success":true}}' ;;
  *) echo '{"decision":"allow"}' ;;
esac
"#;

const HOOKS: &str = "[[hook]]\nid = 'policy'\ntype = 'beforeToolCall'\nmatcher = '^fs/'\n\
    command = { command = ['./policy.sh'], responseHandling = 'toolCall', onError = 'block' }\n\
    [[hook]]\nid = 'second'\ntype = 'beforeToolCall'\n\
    command = { command = ['./policy.sh'], responseHandling = 'toolCall' }\n\
    [[hook]]\nid = 'result'\ntype = 'afterToolCall'\n\
    command = { command = ['./policy.sh'], responseHandling = 'toolCall' }\n\
    [[hook]]\nid = 'told'\ntype = 'afterToolCall'\ncommand = ['./keep.sh']\n\
    [[hook]]\nid = 'told'\ntype = 'onComplete'\ncommand = ['./keep.sh']\n";

fn home(hooks: &str) -> Home {
    let home = Home::with_agent(&format!("[users]\nann = 'ann@example.test'\n{hooks}"), "turns: []\n");
    for (name, script) in [("policy.sh", POLICY), ("keep.sh", "#!/bin/sh\n/bin/cat > kept.json\n")] {
        home.write(name, script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(home.path().join(name), mode).unwrap();
    }
    home
}

/// Fires an event with this data, and gives the receipts, the verdict and the exit code.
fn fire(home: &Home, kind: &str, data: &str) -> (Vec<String>, Value, Option<i32>) {
    let mut command = home.command(&["hooks", "fire", kind, "agent.toml", "--data", "-", "--json"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(data.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let mut lines = json_lines(&String::from_utf8(output.stdout).unwrap());
    let verdict = lines.pop_if(|line| line["type"] == "verdict").unwrap_or_default();
    let receipt = |line: &Value| format!("{} {} {}", line["id"], line["answer"], line["decidedBy"]).replace('"', "");
    (lines.iter().map(receipt).collect(), verdict, output.status.code())
}

#[test]
fn fire_asks_the_hooks_in_order_until_one_decides() {
    let home = home(HOOKS);
    let (receipts, verdict, code) = fire(&home, "beforeToolCall", r#"{"identifier": "fs", "apiName": "read"}"#);
    assert_eq!(receipts, ["policy allow null", "second allow null"]);
    assert_eq!((verdict["verdict"].as_str(), verdict["by"].as_str(), code), (Some("proceed"), None, Some(0)));

    let secret = r#"{"identifier": "fs", "apiName": "read", "args": {"path": "secret.txt"}}"#;
    let (receipts, verdict, code) = fire(&home, "beforeToolCall", secret);
    assert_eq!(receipts, ["policy deny policy"], "nobody is asked after a denial");
    assert_eq!(verdict["meaning"], "the call would be denied: secrets stay here");
    assert_eq!((verdict["by"].as_str(), code), (Some("policy"), Some(0)));

    // A matcher keeps out of it whoever is about other tools; a failure that does not block lets the call go on.
    let (receipts, verdict, code) = fire(&home, "beforeToolCall", r#"{"identifier": "web", "args": {"q": "broken"}}"#);
    assert_eq!(receipts, ["second error null"]);
    assert_eq!((verdict["verdict"].as_str(), code), (Some("proceed"), Some(1)));

    let (receipts, verdict, code) = fire(&home, "beforeToolCall", r#"{"identifier": "fs", "args": {"q": "broken"}}"#);
    assert_eq!(receipts, ["policy error failure"]);
    assert_eq!(verdict["meaning"], "the call would be denied: hook_control_error");
    assert_eq!(code, Some(1));

    let (_, verdict, _) = fire(&home, "beforeToolCall", r#"{"identifier": "fs", "args": {"q": "mock"}}"#);
    assert_eq!((verdict["verdict"].as_str(), verdict["by"].as_str()), (Some("mock"), Some("policy")));
}

#[test]
fn fire_tells_only_what_the_judges_of_a_result_let_through() {
    let home = home(HOOKS);
    let data =
        r#"{"result": {"content": "the secret", "success": true}, "topicId": "t1", "userId": "ann", "hookId": "x"}"#;
    let (receipts, verdict, code) = fire(&home, "afterToolCall", data);
    assert_eq!(receipts, ["result deny policy", "told ok null"]);
    assert_eq!((verdict["verdict"].as_str(), code), (Some("deny"), Some(0)));
    let told: Value = serde_json::from_str(&home.read("kept.json")).unwrap();
    assert_eq!(told["result"]["content"], "secrets stay here");
    // Fields that are given are sent; the sender's own stay the sender's.
    assert_eq!((told["topicId"].as_str(), told["hookId"].as_str()), (Some("t1"), Some("told")));
    assert_eq!(told["userEmail"], "ann@example.test");

    let (receipts, verdict, _) = fire(&home, "onComplete", r#"{"reason": "max_steps"}"#);
    assert_eq!((receipts, verdict), (vec!["told ok null".to_owned()], Value::Null));
    let told: Value = serde_json::from_str(&home.read("kept.json")).unwrap();
    assert_eq!((told["reason"].as_str(), told["hookType"].as_str()), (Some("max_steps"), Some("onComplete")));
}

#[test]
fn fire_names_what_is_wrong_with_its_arguments() {
    let home = home(HOOKS);
    home.write("list.json", "[1]");
    home.write("result.json", r#"{"result": "text"}"#);
    for (words, expected) in [
        (["hooks", "fire", "beforeTool", "agent.toml"].as_slice(), "did you mean `beforeToolCall`?"),
        (&["hooks", "fire", "onError", "agent.toml", "--data", "list.json"], "list.json is no JSON object"),
        (&["hooks", "fire", "onError", "agent.toml", "--data", "nosuch.json"], "cannot read `nosuch.json`"),
        (&["hooks", "fire", "afterToolCall", "agent.toml", "--data", "result.json"], "is no result of a tool"),
        (&["hooks", "fire", "onError", "nosuch.toml"], "cannot read `nosuch.toml`"),
    ] {
        let Ran { code, out, err } = home.run(words);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{words:?}");
        assert!(err.contains(expected), "{words:?}: {err}");
    }
    let nobody = home.run(&["hooks", "fire", "onError", "agent.toml"]);
    assert_eq!((nobody.code, nobody.out.as_str()), (Some(0), "No hook of `agent` is about this onError.\n"));
}

#[test]
fn fire_sends_the_fields_that_it_is_given_and_refuses_what_it_could_not_use() {
    let home = home(&HOOKS.replace("type = 'onComplete'", "type = 'onCompactError'"));
    let (receipts, _, code) = fire(&home, "onCompactError", r#"{"error": "too long", "args": [1]}"#);
    assert_eq!((receipts, code), (vec!["told ok null".to_owned()], Some(0)));
    let told: Value = serde_json::from_str(&home.read("kept.json")).unwrap();
    assert_eq!((told["error"].as_str(), &told["args"]), (Some("too long"), &serde_json::json!([1])));

    for (kind, data, expected) in [
        ("beforeToolCall", r#"{"args": "secret.txt"}"#, "`args` of the data must be an object"),
        ("beforeToolCall", r#"{"identifier": 5}"#, "`identifier` of the data must be text"),
        ("afterToolCall", r#"{"mocked": "yes"}"#, "`mocked` of the data must be true or false"),
        ("onToolCallError", r#"{"error": {}}"#, "`error` of the data must be text"),
        ("onComplete", r#"{"userId": null}"#, "`userId` of the data must be text"),
    ] {
        home.write("data.json", data);
        let Ran { code, out, err } = home.run(&["hooks", "fire", kind, "agent.toml", "--data", "data.json"]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{data}");
        assert!(err.contains(expected), "{data}: {err}");
    }

    // A slip changes what a policy is asked about, and nobody would see it.
    home.write("slip.json", r#"{"argz": {"path": "secret.txt"}, "topicId": "t1"}"#);
    let slipped = home.run(&["hooks", "fire", "beforeToolCall", "agent.toml", "--data", "slip.json"]);
    assert_eq!(slipped.err, "note: `argz` of the data is sent as it is; did you mean `args`?\n");
}

#[test]
fn a_failure_says_what_to_do_about_it() {
    let home = home("");
    let (_receiver, url) = listen(&home, &["--status", "503"], None);
    let hook = |id: &str, carrier: &str| format!("[[hook]]\nid = '{id}'\ntype = 'beforeToolCall'\n{carrier}\n");
    let decides = "responseHandling = 'toolCall'";
    let hooks = [
        hook("ill", &format!("webhook = {{ url = '{url}', {decides} }}")),
        hook("gone", &format!("command = {{ command = ['./nowhere.sh'], {decides} }}")),
        hook("hasty", &format!("command = {{ command = ['/bin/sh', '-c', 'exit 3'], {decides} }}")),
        hook("relative", "webhook = { url = '/policy' }"),
    ];
    home.write("agent.toml", format!("name = 'agent'\nscript = 'script.yaml'\n{}", hooks.concat()));
    let expected = [
        ("ill", "status 503"),
        ("gone", "the program was not found"),
        ("hasty", "exit code 3"),
        ("relative", "INTERNAL_APP_URL or APP_URL"),
    ];
    for words in [["hooks", "check"].as_slice(), &["hooks", "fire", "beforeToolCall"]] {
        let words: Vec<&str> = words.iter().copied().chain(["agent.toml", "--json"]).collect();
        let asked = home.run(&words);
        assert_eq!(asked.code, Some(1), "{words:?}: {}", asked.err);
        let lines = json_lines(&asked.out);
        for (id, expected) in expected {
            let line = lines.iter().find(|line| line["id"] == id).expect("each hook has a line");
            assert!(line["why"].as_str().is_some_and(|why| why.contains(expected)), "{words:?}: {line}");
        }
        let shown = home.run(&words[..words.len() - 1]);
        assert!(expected.iter().all(|(_, why)| shown.out.contains(why)), "{words:?}: {}", shown.out);
    }
}

#[test]
fn a_proxy_of_another_kind_is_refused_and_not_shown() {
    let home = home(HOOKS);
    for words in [["hooks", "check", "agent.toml"].as_slice(), &["run", "--agent", "agent.toml", "go"]] {
        let refused = ran(home.command(words).env("JACKLINE_WEBHOOK_PROXY", "nonsense://user:s3cret@proxy"));
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{words:?}: {}", refused.err);
        assert!(refused.err.contains("JACKLINE_WEBHOOK_PROXY must be"), "{}", refused.err);
        assert!(!refused.err.contains("s3cret"), "{}", refused.err);
    }
}

#[test]
fn without_an_agent_the_hooks_of_the_environment_are_tried() {
    let home = home("");
    let (_receiver, url) = listen(&home, &["--deny", "not in this house"], None);
    let environment = |words: &[&str]| {
        let mut command = home.command(words);
        command.env("AGENT_HOOK_WEBHOOK_URL", &url).env("AGENT_HOOK_WEBHOOK_TOKEN", "tok-1234567890");
        command.env("AGENT_HOOK_WEBHOOK_EVENTS", "beforeToolCall,onComplete");
        command.env("AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING", "toolCall");
        ran(&mut command)
    };
    let fired = environment(&["hooks", "fire", "beforeToolCall"]);
    assert_eq!(fired.code, Some(0), "{}", fired.err);
    assert!(fired.out.contains("the call would be denied: not in this house"), "{}", fired.out);
    let checked = environment(&["hooks", "check"]);
    assert_eq!((checked.code, checked.out.lines().count()), (Some(0), 2), "{}", checked.out);
    let listed = environment(&["hooks", "list", "--json"]);
    let lines = json_lines(&listed.out);
    assert_eq!((lines[1]["source"].as_str(), lines[1]["power"].as_str()), (Some("environment"), Some("decides")));
    assert!(!listed.out.contains("tok-1234567890"));
}

#[test]
fn a_program_behind_the_receiver_answers_for_it_or_the_answer_is_a_failure() {
    let home = Home::new();
    for (script, expected) in [
        ("echo '{\"decision\":\"allow\"}'", "allow"),
        ("echo heard", "notification"),
        ("exit 3", "error"),
        ("echo '{\"decision\":\"perhaps\"}'", "error"),
        ("echo '{\"mock\":{\"content\":\"x\",\"success\":true}}'", "error"),
    ] {
        let (mut receiver, url) = listen(&home, &["--exec", "sh", "-c", script], None);
        home.write("script.yaml", "turns: []\n");
        home.write(
            "agent.toml",
            format!(
                "name = 'agent'\nscript = 'script.yaml'\n[[hook]]\nid = 'policy'\ntype = 'beforeToolCall'\n\
                 webhook = {{ url = '{url}', responseHandling = 'toolCall' }}\n"
            ),
        );
        let checked = home.run(&["hooks", "check", "agent.toml", "--json"]);
        let line = json_lines(&checked.out).remove(0);
        assert_eq!(line["answer"], expected, "{script}: {line}");
        let told: Value = serde_json::from_str(&receiver.until("beforeToolCall")).unwrap();
        assert_eq!(told["failed"].is_string(), expected == "error", "{script}: {told}");
        if expected == "error" {
            assert!(line["why"].as_str().unwrap().contains("status 500"), "{line}");
        }
    }
    let both = home.run(&["hooks", "listen", "--deny", "no", "--exec", "true"]);
    assert_eq!(both.code, Some(2), "{}", both.err);
}

#[test]
fn a_receiver_takes_only_what_is_signed_with_its_secret() {
    const SECRET: &str = "whsec_c2lnbmluZy1zZWNyZXQtb2YtYS10ZXN0";
    let home = home("");
    let (mut receiver, url) = listen(&home, &["--secret-env", "SIGNING"], Some(("SIGNING", SECRET)));
    home.write(
        "agent.toml",
        format!(
            "name = 'agent'\nscript = 'script.yaml'\n[[hook]]\nid = 'signed'\ntype = 'onComplete'\n\
             webhook = {{ url = '{url}/signed', signingSecretEnv = 'SIGNING' }}\n\
             [[hook]]\nid = 'plain'\ntype = 'onComplete'\nwebhook = {{ url = '{url}/plain' }}\n"
        ),
    );
    let answers = |secret: &str| {
        let checked = ran(home.command(&["hooks", "check", "agent.toml", "--json"]).env("SIGNING", secret));
        let lines = json_lines(&checked.out);
        lines.iter().map(|line| format!("{} {}", line["answer"], line["fault"])).collect::<Vec<_>>()
    };
    assert_eq!(answers(SECRET), ["\"ok\" null", "\"error\" \"http_error\""]);
    let line: Value = serde_json::from_str(&receiver.until("/signed")).unwrap();
    assert_eq!(line["payload"]["hookId"], "signed");
    let line: Value = serde_json::from_str(&receiver.until("/plain")).unwrap();
    assert_eq!((line["signature"].as_str(), line.get("payload")), (Some("wrong"), None));
    let other = "whsec_YW5vdGhlci1zZWNyZXQtb2YtYS10ZXN0";
    assert_eq!(answers(other)[0], "\"error\" \"http_error\"");
    receiver.signal("INT");
    assert!(receiver.end().0.success());

    let unset = home.run(&["hooks", "listen", "--secret-env", "SIGNING"]);
    assert_eq!(unset.code, Some(2));
    assert!(unset.err.contains("`SIGNING` is not set"), "{}", unset.err);
    let wrong = ran(home.command(&["hooks", "listen", "--secret-env", "SIGNING"]).env("SIGNING", "s3cret!"));
    assert_eq!(wrong.code, Some(2));
    assert!(!wrong.err.contains("s3cret!"), "{}", wrong.err);
}

/// A receiver, and where it listens.
fn listen(home: &Home, words: &[&str], variable: Option<(&str, &str)>) -> (Running, String) {
    let mut command = home.command(&["hooks", "listen"]);
    command.args(words).envs(variable).stderr(Stdio::piped());
    let mut receiver = Running::of(&mut command);
    let line = receiver.until_error("listening on ");
    let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned();
    (receiver, url)
}

#[test]
fn the_agents_below_are_listed_with_what_they_inherit_and_each_hook_is_checked_once() {
    let home = Home::new();
    let agent = |name: &str, more: &str| {
        home.write(&format!("{name}.toml"), format!("name = '{name}'\nscript = 'script.yaml'\n{more}"));
    };
    home.write("script.yaml", "turns: []\n");
    let (receiver, url) = listen(&home, &[], None);
    let decides = "responseHandling = 'toolCall'";
    let hook = |id: &str, how: &str| format!("[[hook]]\nid = '{id}'\ntype = 'beforeToolCall'\n{how}\n");
    let own = hook("own", &format!("webhook = {{ url = '{url}/own', {decides} }}"));
    let heir = hook("heir", &format!("webhook = {{ url = '{url}/heir', {decides}, inherit = true }}"));
    let program = hook("program", &format!("command = {{ command = ['/bin/sh', '-c', 'true'], {decides} }}"));
    let inner = hook("inner", &format!("webhook = {{ url = '{url}/inner', {decides} }}"));
    agent("deep", "");
    agent("middle", &format!("[agents.deep]\nfile = 'deep.toml'\n{inner}"));
    agent("top", &format!("[agents.middle]\nfile = 'middle.toml'\n{own}{heir}{program}"));

    let listed = home.run(&["hooks", "list", "top.toml", "--json"]);
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    let lines = json_lines(&listed.out);
    let shown: Vec<_> = lines.iter().map(|line| (&line["agent"], &line["id"], &line["from"])).collect();
    let shown: Vec<_> =
        shown.into_iter().map(|(agent, id, from)| (agent.as_str(), id.as_str(), from.as_str())).collect();
    let expected = [
        ("top", "own", None),
        ("top", "heir", None),
        ("top", "program", None),
        ("middle", "heir", Some("top")),
        ("middle", "program", Some("top")),
        ("middle", "inner", None),
        ("deep", "heir", Some("top")),
        ("deep", "program", Some("top")),
    ];
    assert_eq!(shown, expected.map(|(agent, id, from)| (Some(agent), Some(id), from)));
    let text = home.run(&["hooks", "list", "top.toml"]).out;
    assert!(text.contains("top > middle > deep:\nheir  ") && text.contains("(inherited from top)"), "{text}");

    let checked = home.run(&["hooks", "check", "top.toml", "--json"]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    let asked: Vec<_> =
        json_lines(&checked.out).iter().map(|line| format!("{} {}", line["agent"], line["id"])).collect();
    assert_eq!(asked, ["\"top\" \"own\"", "\"top\" \"heir\"", "\"top\" \"program\"", "\"middle\" \"inner\""]);
    receiver.signal("KILL");
    assert_eq!(json_lines(&receiver.end().1).len(), 3, "each webhook once");
}
