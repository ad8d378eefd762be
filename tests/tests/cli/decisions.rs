use super::home::Home;

const TWO: &str = "turns:\n  - calls:\n      - {tool: shell/run, with: {command: echo one >> ran}}\n      - {tool: shell/run, with: {command: echo two >> ran}}\n  - text: finished\n";
const SHELL: &str = "[tools]\nbuiltin = ['shell']\n";

fn parked() -> Home {
    let home = Home::with_agent(SHELL, TWO);
    assert_eq!(home.run(&["run", "agent.toml", "go"]).code, Some(3));
    home
}

#[test]
fn calls_are_decided_one_by_one_from_other_processes() {
    let home = parked();
    let approved = home.run(&["approve", "last"]);
    assert_eq!(approved.code, Some(2));
    assert!(approved.err.contains("2 calls wait") && approved.err.contains("call_1_1, call_1_2"), "{}", approved.err);
    assert_eq!(home.run(&["approve", "last", "call_1_1"]).code, Some(0));
    assert_eq!(home.read("ran"), "", "a decision is written down, not acted on");
    let twice = home.run(&["approve", "last", "call_1_1"]);
    assert_eq!(twice.code, Some(2));
    let rest = home.run(&["reject", "last", "--continue", "--reason", "too loud", "--resume"]);
    assert_eq!(rest.code, Some(0), "{}{}", rest.out, rest.err);
    assert_eq!(home.read("ran"), "one\n");
    let shown = home.run(&["ops", "show", "last", "call_1_2"]);
    assert!(shown.out.contains("The user rejected the call: too loud"), "{}", shown.out);
}

#[test]
fn a_rejection_ends_a_run_that_nobody_runs() {
    let home = parked();
    let rejected = home.run(&["reject", "last", "--all", "--reason", "no"]);
    assert_eq!(rejected.code, Some(0), "{}", rejected.err);
    assert_eq!(home.newest()["reason"], "interrupted");
    assert_eq!(home.read("ran"), "");
}

#[test]
fn a_stop_ends_a_run_that_nobody_runs_although_its_files_are_gone() {
    let home = Home::with_agent("[tools]\nbuiltin = ['shell']\nroot = 'desk'\n", TWO);
    std::fs::create_dir(home.path().join("desk")).unwrap();
    assert_eq!(home.run(&["run", "agent.toml", "go"]).code, Some(3));
    for gone in ["agent.toml", "script.yaml"] {
        std::fs::remove_file(home.path().join(gone)).unwrap();
    }
    std::fs::remove_dir(home.path().join("desk")).unwrap();
    let stopped = home.run(&["stop", "last"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.err);
    assert_eq!(home.newest()["status"], "interrupted");
    let again = home.run(&["stop", "last"]);
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(again.err.contains("is stopped already, and everybody has heard of it who must"), "{}", again.err);
    let other = home.run(&["stop", "last", "--request", "other"]);
    assert_eq!(other.code, Some(2), "{}", other.err);
}

#[test]
fn a_run_goes_on_without_its_agent_file() {
    let home = parked();
    for gone in ["agent.toml", "script.yaml"] {
        std::fs::remove_file(home.path().join(gone)).unwrap();
    }
    let approved = home.run(&["approve", "last", "--all", "--resume", "--quiet"]);
    assert_eq!((approved.code, approved.out.as_str()), (Some(0), "finished\n"), "{}", approved.err);
    assert_eq!(home.read("ran").lines().count(), 2);
}

#[test]
fn a_tool_is_called_as_a_model_would_call_it() {
    let home = Home::with_agent("[tools]\nbuiltin = ['fs', 'shell']\n", TWO);
    let listed = home.run(&["tools", "list", "agent.toml"]);
    assert!(listed.out.contains("shell/run  (approval: required)"), "{}", listed.out);
    let called = home.run(&["tools", "call", "agent.toml", "fs/read", r#"{"path":"agent.toml"}"#, "-q"]);
    assert_eq!(called.code, Some(0), "{}", called.err);
    assert!(called.out.starts_with("name = \"agent\"\n"), "{}", called.out);
    let waits = home.run(&["tools", "call", "agent.toml", "shell/run", r#"{"command":"echo"}"#]);
    assert_eq!(waits.code, Some(3));
    let unknown = home.run(&["tools", "call", "agent.toml", "fs/reed"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.err.contains("did you mean `fs/read`?"), "{}", unknown.err);
}

#[test]
fn c183_each_end_has_its_exit_code_and_its_reason_in_the_last_line() {
    let looks = "turns:\n  - calls: [{tool: fs/list}]\n    usage: {input: 1000000}\n  - text: enough\n";
    let fs = "[tools]\nbuiltin = ['fs']\n";
    let priced = format!("{fs}[model]\nname = 'm'\nprices = {{input_per_million = 1.0, output_per_million = 1.0}}\n");
    for (settings, script, code, reason) in [
        (String::new(), "turns:\n  - text: hello\n", 0, "done"),
        (String::new(), "turns:\n  - error: {code: broken, message: no}\n", 1, "error"),
        (String::new(), "turns:\n  - text: ''\n", 1, "error"),
        (format!("{fs}[limits]\nmax_steps = 1\n"), looks, 5, "max_steps"),
        (format!("{priced}[limits]\nmax_cost = 0.5\n"), looks, 5, "cost_limit"),
        (format!("{fs}[limits]\nmax_tokens = 10\n"), looks, 5, "token_limit"),
    ] {
        let home = Home::with_agent(&settings, script);
        let run = home.run(&["run", "agent.toml", "go", "--json"]);
        let last: serde_json::Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
        assert_eq!((run.code, &last["reason"]), (Some(code), &reason.into()), "{settings}{}", run.err);
        assert_eq!(last["exitCode"], code);
    }
}

const LATER: &str = "turns:\n  - calls:\n      - {tool: desk/ask}\n  - calls:\n      - {tool: shell/run, with: {command: seq 1 9000}}\n  - text: finished\n";

#[test]
fn a_call_that_answers_later_is_completed_from_another_process_once() {
    let home = Home::with_agent(
        "[tools]\nbuiltin = ['shell']\n[approval]\nmode = 'auto-run'\n\
         [[client_tool]]\nname = 'desk/ask'\ndescription = 'Asks the desk.'\n",
        LATER,
    );
    let parked = home.run(&["run", "agent.toml", "go"]);
    assert_eq!(parked.code, Some(3));
    assert!(parked.err.contains("jackline complete"), "the way on is told: {}", parked.err);
    assert_eq!(home.run(&["complete", "last", "nobody", "--result", "x"]).code, Some(2));
    let completed = home.run(&["complete", "last", "call_1_1", "--result", "The desk says yes.", "--resume"]);
    assert_eq!(completed.code, Some(0), "{}{}", completed.out, completed.err);
    assert!(completed.out.contains("The desk says yes."), "{}", completed.out);
    assert_eq!(home.run(&["complete", "last", "call_1_1", "--result", "no"]).code, Some(2));
    // The long result is shown in part; the rest is read from the archive.
    let shown = home.run(&["ops", "show", "last", "--json"]).out;
    let (_, rest) = shown.split_once("archived as `").unwrap();
    let blob = rest.split('`').next().unwrap();
    let whole = home.run(&["archive", "get", blob]);
    assert!(whole.code == Some(0) && whole.out.trim_end().ends_with("9000"), "{}", whole.err);
    assert_eq!(home.run(&["archive", "get", "nothing"]).code, Some(2));
}
