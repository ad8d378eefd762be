use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use super::home::{Home, json_lines, ran, workspace};

#[test]
fn c174_a_reader_that_goes_away_is_no_error() {
    let home = Home::with_agent("", "turns:\n  - text: hello\n");
    home.write("prompt.txt", "word ".repeat(40_000));
    assert_eq!(home.run(&["run", "agent.toml", "--file", "prompt.txt"]).code, Some(0));
    for words in [["ops", "show", "last", "--json"].as_slice(), &["ops", "show", "last"], &["machine"]] {
        let mut child = home.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 1];
        std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    }
}

#[test]
fn c174_a_run_whose_reader_goes_away_ends_all_the_same() {
    let script = "turns:\n  - text: one\n    calls: [{tool: fs/list}]\n  - text: two\n    delay_ms: 300\n";
    let home = Home::with_agent("[tools]\nbuiltin = ['fs']\n", script);
    let mut run = home.start(&["run", "agent.toml", "go", "--json"]);
    run.until("operation_start");
    assert_eq!(run.end_unread().code(), Some(0));
    assert_eq!(home.newest()["reason"], "done");
}

#[test]
fn c175_no_escape_reaches_what_is_no_terminal() {
    let script = "turns:\n  - text: \"\\e[31mred\\e[0m\"\n    calls: [{tool: fs/read, with: {path: \"\\e[1mx\"}}]\n  - text: done\n";
    let home = Home::with_agent("[tools]\nbuiltin = ['fs']\n", script);
    for words in [["run", "agent.toml", "go"].as_slice(), &["ops", "show", "last"], &["ops", "list"], &["--help"]] {
        let run = ran(home.command(words).env("TERM", "xterm-256color"));
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{words:?}: {:?}", run.out);
    }
    let tour = workspace().join("examples/tour").display().to_string();
    let run = ran(home.command(&["run", &tour]).env("NO_COLOR", "1"));
    assert!(!run.out.contains('\u{1b}'));
    assert!(home.run(&["run", &tour, "--color", "always"]).out.contains('\u{1b}'));
}

#[test]
fn c175_with_json_there_is_nothing_but_json() {
    let home = Home::with_agent("", "turns:\n  - text: hello\n");
    let run = home.run(&["run", "agent.toml", "go", "--json"]);
    let lines = json_lines(&run.out);
    assert_eq!(lines.last().unwrap()["type"], "report");
    assert_eq!(lines.last().unwrap()["answer"], "hello");
    assert_eq!(run.err, "");
}

#[test]
fn c176_without_a_terminal_nobody_is_asked_and_nothing_is_approved() {
    let home = Home::with_agent(
        "[tools]\nbuiltin = ['shell']\n",
        "turns:\n  - calls: [{tool: shell/run, with: {command: touch ran}}]\n  - text: done\n",
    );
    home.write("y.txt", "y\na\napprove\n");
    let file = std::fs::File::open(home.path().join("y.txt")).unwrap();
    for (name, stdin) in
        [("closed", Stdio::null()), ("a pipe that stays open", Stdio::piped()), ("a file", file.into())]
    {
        let mut child = home
            .command(&["run", "agent.toml", "go"])
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Held open until the process has ended.
        let held = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(held);
        assert_eq!(output.status.code(), Some(3), "{name}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains("jackline approve op_") && err.contains("call_1_1 --resume"), "{name}: {err}");
        assert!(!home.path().join("ran").exists(), "{name}");
        assert_eq!(home.newest()["status"], "waiting_for_human");
    }
}

#[test]
fn c176_what_is_piped_is_the_prompt_and_only_that() {
    let home = Home::with_agent("", "turns:\n  - text: hello\n");
    let mut child =
        home.command(&["run", "agent.toml", "-q"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"\xef\xbb\xbfwhat\r\nis it\r\n").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert_eq!((child.wait().unwrap().code(), answer.as_str()), (Some(0), "hello\n"));
    let shown = json_lines(&home.run(&["ops", "show", "last", "--json"]).out);
    assert_eq!(shown[0]["messages"][0]["message"]["content"], "what\nis it");
}
