//! A process that is killed while a policy service thinks about a result that arrived late.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use serde_json::Value;

use crate::cli::home::{Home, Running, json_lines, ran};

/// A request, as it came, and the way to answer it.
struct Asked {
    id: String,
    payload: Value,
    stream: TcpStream,
}

/// A policy service that answers when its test says so, and where it is.
fn service() -> (Receiver<Asked>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/policy", listener.local_addr().unwrap());
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if sender.send(read(stream.unwrap())).is_err() {
                return;
            }
        }
    });
    (asked, url)
}

fn read(stream: TcpStream) -> Asked {
    let mut request = BufReader::new(stream.try_clone().unwrap());
    let (mut id, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        request.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
            Some((name, value)) if name.eq_ignore_ascii_case("webhook-id") => id = value.to_owned(),
            Some(_) => {}
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    request.read_exact(&mut body).unwrap();
    Asked { id, payload: serde_json::from_slice(&body).unwrap(), stream }
}

impl Asked {
    fn answer(mut self, body: &str) {
        let length = body.len();
        write!(self.stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").unwrap();
    }
}

/// Whether any file below holds this text.
fn holds(directory: &Path, text: &str) -> bool {
    std::fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, text);
        }
        let bytes = std::fs::read(&path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[test]
fn j03_j18_a_kill_between_claim_and_publication_loses_nothing_doubles_nothing_and_shows_nothing() {
    for mode in ["local", "queue"] {
        let (asked, url) = service();
        let home = Home::with_agent(
            &format!(
                "[[client_tool]]\nname = 'desk/ask'\ndescription = 'Asks.'\n[[hook]]\nid = 'policy'\n\
                 type = 'afterToolCall'\nwebhook = {{ url = '{url}', responseHandling = 'toolCall', onError = 'block', \
                 signingSecretEnv = 'SIGNING' }}\n"
            ),
            "turns:\n  - calls: [{tool: desk/ask, with: {}}]\n  - text: done\n",
        );
        let command = |words: &[&str]| {
            let mut command = home.command(words);
            command.env("AGENT_RUNTIME_MODE", mode).env("SIGNING", "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQ=");
            command
        };
        let parked = ran(&mut command(&["run", "--agent", "agent.toml", "--json", "go"]));
        assert_eq!(parked.code, Some(3), "{}", parked.err);
        let tool = json_lines(&parked.out).into_iter().find(|event| event["type"] == "tool_parked").unwrap();
        let call = tool["call"].as_str().unwrap().to_owned();
        for gone in ["agent.toml", "script.yaml"] {
            std::fs::remove_file(home.path().join(gone)).unwrap();
        }

        let words = ["complete", "last", &call, "--result", RAW, "--resume", "--json"];
        let completing = Running::of(&mut command(&words));
        let first = asked.recv().unwrap();
        assert_eq!(first.payload["result"]["content"], RAW, "the service sees all of it");
        completing.signal("KILL");
        let (_, told) = completing.end();
        assert!(!told.contains(RAW), "{told}");
        let shown = home.run(&["ops", "show", "last", "--json"]);
        assert!(shown.code == Some(0) && !shown.out.contains(RAW), "{}{}", shown.out, shown.err);
        // The answer is claimed: nobody can put another in its place.
        let another = ran(&mut command(&["complete", "last", &call, "--result", "another"]));
        assert_eq!(another.code, Some(2), "{}{}", another.out, another.err);

        let resuming = Running::of(&mut command(&["resume", "last", "--json"]));
        let second = asked.recv().unwrap();
        assert_eq!((&second.payload, &second.id), (&first.payload, &first.id), "the same delivery again: {mode}");
        assert!(!second.id.is_empty());
        second.answer("{\"decision\":\"deny\",\"reason\":\"not this\"}");
        let (status, told) = resuming.end();
        assert!(status.success(), "{told}");
        let ends: Vec<Value> = json_lines(&told).into_iter().filter(|event| event["type"] == "tool_end").collect();
        assert_eq!((ends.len(), &ends[0]["result"]["content"]), (1, &Value::from("not this")), "{mode}");
        let shown = home.run(&["ops", "show", "last", "--json"]);
        assert!(shown.out.contains("not this") && !shown.out.contains(RAW), "{}", shown.out);
        assert!(!holds(home.path(), RAW), "the denied text is in no file: {mode}");
        assert!(asked.try_recv().is_err(), "nobody was asked a third time");
    }
}

const RAW: &str = "the combination is 31-41-59";
