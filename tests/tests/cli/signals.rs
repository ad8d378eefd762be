use std::process::Command;
use std::time::{Duration, Instant};

use super::home::{Home, json_lines};

const SLEEPER: &str = "turns:\n  - text: working\n    calls: [{tool: shell/run, with: {command: \"echo $$ >> pids; echo x >> runs; exec sleep 60\"}}]\n  - text: slept\n";
const AUTO: &str = "[approval]\nmode = 'auto-run'\n[tools]\nbuiltin = ['shell']\n";

/// Waits until a process is gone: at most three seconds. A dead one that nobody has buried yet counts as gone.
fn wait_until_gone(pid: &str) {
    let started = Instant::now();
    let is_alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with('Z'))
    };
    while is_alive() {
        assert!(started.elapsed() < Duration::from_secs(3), "process {pid} lives on");
        std::thread::yield_now();
    }
}

#[test]
fn c178_ctrl_c_during_a_tool_stops_the_run_and_its_processes() {
    let home = Home::with_agent(AUTO, SLEEPER);
    let mut run = home.start(&["run", "agent.toml", "go", "--json"]);
    run.until("tool_start");
    // The call has its process once it has written its number down.
    while !home.read("pids").ends_with('\n') {
        std::thread::yield_now();
    }
    run.signal("INT");
    let (status, rest) = run.end();
    assert_eq!(status.code(), Some(4));
    let lines = json_lines(&rest);
    let completed = lines.iter().filter(|line| line["hook"] == "onComplete").count();
    assert_eq!(completed, 1, "{rest}");
    let report = lines.last().unwrap();
    assert_eq!((&report["reason"], &report["resumable"]), (&"interrupted".into(), &true.into()));
    wait_until_gone(home.read("pids").trim());
    assert_eq!(home.newest()["reason"], "interrupted");
}

#[test]
fn ctrl_c_while_hooks_are_tried_ends_their_programs_too() {
    for words in [["hooks", "check", "agent.toml"].as_slice(), &["hooks", "fire", "beforeToolCall", "agent.toml"]] {
        for signal in ["INT", "TERM"] {
            let hook = "[[hook]]\nid = 'slow'\ntype = 'beforeToolCall'\ncommand = { command = ['/bin/sh', '-c', \
                        'echo $$ > pids; exec /bin/sleep 60'], responseHandling = 'toolCall' }\n";
            let home = Home::with_agent(hook, "turns: []\n");
            let trial = home.start(words);
            while !home.read("pids").ends_with('\n') {
                std::thread::yield_now();
            }
            trial.signal(signal);
            let (status, out) = trial.end();
            assert_eq!((status.code(), out.as_str()), (Some(4), ""), "{words:?} {signal}");
            wait_until_gone(home.read("pids").trim());
        }
    }
}

#[test]
fn c178_ctrl_c_while_the_model_answers_stops_the_run_and_says_how_to_go_on() {
    let home = Home::with_agent("", "turns:\n  - text: late\n    delay_ms: 60000\n");
    let mut run = home.start(&["run", "agent.toml", "go", "--json"]);
    run.until("model_start");
    run.signal("INT");
    let mut err = run.child.stderr.take().unwrap();
    let (status, _) = run.end();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut err, &mut said).unwrap();
    assert_eq!(status.code(), Some(4));
    assert!(said.contains("to go on: jackline resume op_"), "{said}");
}

#[test]
fn c178_the_second_signal_ends_the_process_at_once() {
    // Nobody reads, so the process is stuck in writing more than a pipe holds.
    let home = Home::with_agent("", &format!("turns:\n  - text: \"{}\"\n", "word ".repeat(200_000)));
    let mut run = home.start(&["run", "agent.toml", "go", "--json"]);
    run.until("\"type\":\"text\"");
    // Two of a kind could arrive as one.
    run.signal("INT");
    run.signal("TERM");
    assert_eq!(run.child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_killed_run_goes_on_and_runs_no_tool_twice() {
    let home = Home::with_agent(AUTO, SLEEPER);
    let mut run = home.start(&["run", "agent.toml", "go", "--json"]);
    run.until("tool_start");
    while !home.read("runs").ends_with('\n') {
        std::thread::yield_now();
    }
    run.signal("KILL");
    run.child.wait().unwrap();
    let _ = Command::new("kill").args(["-KILL", home.read("pids").trim()]).status();
    assert_eq!(home.newest()["status"], "running");
    let resumed = home.run(&["resume", "last"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    assert!(resumed.out.contains("The outcome is unknown") && resumed.out.contains("slept"), "{}", resumed.out);
    assert_eq!(home.read("runs"), "x\n");
    let again = home.run(&["resume", "last"]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("cannot be resumed"), "{}", again.err);
}

#[test]
fn another_process_stops_a_run() {
    let home = Home::with_agent(AUTO, SLEEPER);
    let mut run = home.start(&["run", "agent.toml", "go", "--json"]);
    run.until("tool_start");
    let stopped = home.run(&["stop", "last"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.err);
    let (status, rest) = run.end();
    assert_eq!(status.code(), Some(4), "{rest}");
}
