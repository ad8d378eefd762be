//! What a killed process has started ends with it.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::cli::home::{Home, Running};

/// Says that it is up, and holds its end of the pipe `alive` until it is killed. So does what it starts.
const LASTING: &str = "#!/bin/sh\nexec 3> alive\n(read -r nothing < never) &\necho up >&3\nread -r nothing < never\n";

/// What comes through the pipe: the first line, and then the end, which is when nobody is left to write.
fn alive(directory: &Path) -> Receiver<String> {
    for name in ["alive", "never"] {
        assert!(Command::new("mkfifo").arg(directory.join(name)).status().unwrap().success());
    }
    let (pipe, (sender, lines)) = (directory.join("alive"), channel());
    std::thread::spawn(move || {
        let mut reader = BufReader::new(std::fs::File::open(pipe).unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let _ = sender.send(line);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        let _ = sender.send(rest);
    });
    lines
}

fn is_ended_by_a_kill(settings: &str, calls: &str, words: &[&str]) {
    let home = Home::with_agent(settings, &format!("turns:\n  - calls: [{calls}]\n  - text: done\n"));
    home.write("lasting.sh", LASTING);
    let lines = alive(home.path());
    let patience = Duration::from_secs(60);
    let running = Running::of(&mut home.command(words));
    assert_eq!(lines.recv_timeout(patience).as_deref(), Ok("up\n"), "{settings}");
    running.signal("KILL");
    assert_eq!(lines.recv_timeout(patience).as_deref(), Ok(""), "something is left: {settings}");
}

#[test]
fn a_command_tool_ends_with_a_killed_process() {
    is_ended_by_a_kill(
        "[[command_tool]]\nname = 'desk/wait'\ndescription = 'Waits.'\ncommand = ['sh', 'lasting.sh']\n\
         side_effect = 'pure'\n",
        "{tool: desk/wait, with: {}}",
        &["run", "--agent", "agent.toml", "go"],
    );
}

#[test]
fn a_shell_command_ends_with_a_killed_process() {
    is_ended_by_a_kill(
        "[tools]\nbuiltin = ['shell']\n[approval]\nmode = 'auto-run'\n",
        "{tool: shell/run, with: {command: sh lasting.sh}}",
        &["run", "--agent", "agent.toml", "go"],
    );
}

#[test]
fn a_hook_that_is_a_program_ends_with_a_killed_process() {
    let hook = "[[hook]]\nid = 'policy'\ntype = 'beforeStep'\ncommand = ['sh', 'lasting.sh']\n";
    let hook = hook.replace("['sh', 'lasting.sh']", "{ command = ['sh', 'lasting.sh'], env = ['PATH'] }");
    is_ended_by_a_kill(&hook, "", &["run", "--agent", "agent.toml", "go"]);
    is_ended_by_a_kill(&hook, "", &["hooks", "check", "agent.toml"]);
}
