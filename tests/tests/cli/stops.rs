//! Stops and decisions that a hook must hear of, from command to command.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::home::{Home, Ran, Running, ran};

const TWO: &str = "turns:\n  - calls:\n      - {tool: shell/run, with: {command: echo one >> ran}}\n      - {tool: shell/run, with: {command: echo two >> ran}}\n  - text: finished\n";

/// Signed requests say which delivery they are.
const SIGNING: (&str, &str) = ("SIGNING", "whsec_c2lnbmluZy1TM2NyZXQtMg==");

fn run(home: &Home, words: &[&str]) -> Ran {
    ran(home.command(words).env(SIGNING.0, SIGNING.1))
}

fn start(home: &Home, words: &[&str]) -> Running {
    Running::of(home.command(words).env(SIGNING.0, SIGNING.1))
}

/// What was posted: the path, the id of the delivery, the body.
#[derive(Clone, Debug, PartialEq)]
struct Posted {
    path: String,
    delivery: String,
    body: Value,
}

/// A receiver that notes what it is told, and is down at times: then it answers 500.
struct Receiver {
    url: String,
    posted: Arc<Mutex<Vec<Posted>>>,
    is_down: Arc<AtomicBool>,
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (posted, is_down) = (Arc::<Mutex<Vec<Posted>>>::default(), Arc::<AtomicBool>::default());
        let (notes, down) = (Arc::clone(&posted), Arc::clone(&is_down));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                notes.lock().unwrap().push(read(&stream));
                let status = if down.load(Ordering::SeqCst) { "500 Internal Server Error" } else { "200 OK" };
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                (&stream).write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { url, posted, is_down }
    }

    fn down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    fn posted(&self) -> Vec<Posted> {
        self.posted.lock().unwrap().clone()
    }

    /// An agent that asks before its two calls, with a hook that must hear of this event and one that hears of the end.
    fn home(&self, kind: &str) -> Home {
        let url = &self.url;
        Home::with_agent(
            &format!(
                "[tools]\nbuiltin = ['shell']\n\
                 [[hook]]\nid = 'must-hear'\ntype = '{kind}'\nwebhook = {{ url = '{url}/{kind}', fallback = 'none', signingSecretEnv = 'SIGNING' }}\n\
                 [[hook]]\nid = 'end'\ntype = 'onComplete'\nwebhook = {{ url = '{url}/end', signingSecretEnv = 'SIGNING' }}\n"
            ),
            TWO,
        )
    }
}

fn read(stream: &TcpStream) -> Posted {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let field = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let mut body = vec![0; field("content-length:").unwrap().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    Posted {
        path: head.split(' ').nth(1).unwrap().to_owned(),
        delivery: field("webhook-id:").unwrap(),
        body: serde_json::from_slice(&body).unwrap(),
    }
}

fn parked(receiver: &Receiver, kind: &str) -> Home {
    let home = receiver.home(kind);
    let ran = run(&home, &["run", "agent.toml", "go"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    home
}

/// A run that waits, and a command about it that fails because the receiver is down: the run, its id and the failure.
fn unheard(receiver: &Receiver, kind: &str, words: &[&str]) -> (Home, String, Ran) {
    let home = parked(receiver, kind);
    let id = home.newest()["operation"].as_str().unwrap().to_owned();
    receiver.down(true);
    let failed = run(&home, words);
    assert_eq!(failed.code, Some(1), "{}{}", failed.out, failed.err);
    (home, id, failed)
}

fn paths(posted: &[Posted]) -> Vec<&str> {
    posted.iter().map(|posted| posted.path.as_str()).collect()
}

const STOP: &str = "/onStopByHumanIntervention";
const DECIDED: &str = "/afterHumanIntervention";

#[test]
fn l18_a_stop_that_a_critical_hook_did_not_hear_of_is_told_by_the_same_command_again() {
    let receiver = Receiver::start();
    let (home, id, failed) =
        unheard(&receiver, "onStopByHumanIntervention", &["stop", "last", "--request", "ticket-7"]);
    let says = format!(
        "error: operation `{id}` is stopped all the same, but Critical webhook delivery failed: must-hear; the same stop \
         request, made again, repeats that notification and nothing else\n\
         To repeat the notification: jackline stop {id} --request ticket-7\n"
    );
    assert!(failed.err.ends_with(&says), "{}", failed.err);
    let shown = run(&home, &["ops", "show", &id]);
    assert!(shown.out.contains("interrupted"), "{}", shown.out);
    let owed =
        format!("a hook has not heard that it was stopped; to tell it again: jackline stop {id} --request ticket-7\n");
    assert!(shown.out.contains(&owed), "{}", shown.out);
    let json: Value = serde_json::from_str(&run(&home, &["ops", "show", &id, "--json"]).out).unwrap();
    let expected = serde_json::json!({"request": "ticket-7", "calls": ["call_1_1", "call_1_2"]});
    assert_eq!(json["untoldStop"], expected);
    assert_eq!(home.newest()["status"], "interrupted");
    let first = receiver.posted();
    assert_eq!(paths(&first), [STOP, "/end"]);
    assert_eq!(first[0].body["reason"], "user_stop");
    assert_eq!(first[0].body["toolCallIds"], serde_json::json!(["call_1_1", "call_1_2"]));

    // Others than the one who stopped it have no business here: another name, a part of the calls, another command.
    for (words, why) in [
        (vec!["stop", &id], "was stopped by the request `ticket-7`, and only that can repeat it"),
        (vec!["stop", &id, "--request", "ticket-8"], "was stopped by the request `ticket-7`"),
        (vec!["stop", &id, "call_1_1", "--request", "ticket-7"], "those are call_1_1, call_1_2"),
        (vec!["stop", &id, "call_1_1", "call_9", "--request", "ticket-7"], "those are call_1_1, call_1_2"),
        (vec!["reject", &id, "call_1_1"], "waits for a decision (it is interrupted)"),
        (vec!["approve", &id, "--all"], "waits for a decision (it is interrupted)"),
    ] {
        let refused = run(&home, &words);
        assert_eq!(refused.code, Some(2), "{words:?}: {}", refused.err);
        assert!(refused.err.contains(why), "{words:?}: {}", refused.err);
    }
    assert_eq!(receiver.posted().len(), 2, "refused without any effect");

    // Still down: the same failure, and one more try.
    assert_eq!(run(&home, &["stop", &id, "--request", "ticket-7"]).code, Some(1));
    receiver.down(false);
    let told = run(&home, &["stop", &id, "call_1_2", "call_1_1", "--request", "ticket-7"]);
    assert_eq!(told.code, Some(0), "{}{}", told.out, told.err);
    let posted = receiver.posted();
    assert_eq!(paths(&posted), [STOP, "/end", STOP, STOP]);
    assert_eq!((&posted[2], &posted[3]), (&first[0], &first[0]), "the same delivery, word for word");
    assert_eq!(home.newest()["status"], "interrupted");

    for _ in 0..2 {
        let again = run(&home, &["stop", &id, "--request", "ticket-7"]);
        assert_eq!(again.code, Some(0), "{}", again.err);
        assert!(again.err.contains("is stopped already, and everybody has heard of it who must"), "{}", again.err);
    }
    assert_eq!(receiver.posted().len(), 4, "nothing is sent any more");
    assert!(!run(&home, &["ops", "show", &id]).out.contains("has not heard"));
    assert_eq!(home.read("ran"), "", "no call has run");
}

#[test]
fn l18_a_command_that_is_killed_while_it_tells_a_stop_can_be_typed_again() {
    let receiver = Receiver::start();
    // It takes the request and never answers.
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", hanging.local_addr().unwrap());
    let home = Home::with_agent(
        &format!(
            "[tools]\nbuiltin = ['shell']\n\
             [[hook]]\nid = 'must-hear'\ntype = 'onStopByHumanIntervention'\n\
             webhook = {{ url = '{url}/stop', fallback = 'none', signingSecretEnv = 'SIGNING' }}\n\
             [[hook]]\nid = 'end'\ntype = 'onComplete'\nwebhook = {{ url = '{}/end', signingSecretEnv = 'SIGNING' }}\n",
            receiver.url
        ),
        TWO,
    );
    assert_eq!(run(&home, &["run", "agent.toml", "go"]).code, Some(3));
    let stopping = start(&home, &["stop", "last"]);
    let (stream, _) = hanging.accept().unwrap();
    let first = read(&stream);
    stopping.signal("KILL");
    assert!(!stopping.end().0.success());
    assert_eq!((home.newest()["status"].as_str(), receiver.posted().len()), (Some("interrupted"), 0));

    let stopping = start(&home, &["stop", "last"]);
    let (stream, _) = hanging.accept().unwrap();
    assert_eq!(read(&stream), first, "the same delivery");
    (&stream).write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
    assert!(stopping.end().0.success());
    assert_eq!(paths(&receiver.posted()), ["/end"], "the end is told once it is the turn of that");
    let again = run(&home, &["stop", "last"]);
    assert!(again.code == Some(0) && again.err.contains("is stopped already"), "{}", again.err);
}

#[test]
fn l19_an_approval_that_a_critical_hook_did_not_hear_of_waits_and_is_told_again_by_resume() {
    let receiver = Receiver::start();
    let (home, id, failed) = unheard(&receiver, "afterHumanIntervention", &["approve", "last", "--all", "--resume"]);
    assert!(failed.err.contains("Critical webhook delivery failed: must-hear"), "{}", failed.err);
    let remedy = format!("To tell it again and go on: jackline resume {id}. To give the run up: jackline stop {id}\n");
    assert!(failed.err.ends_with(&remedy), "{}", failed.err);
    assert_eq!((home.read("ran").as_str(), home.newest()["status"].as_str()), ("", Some("waiting_for_human")));
    receiver.down(false);
    let resumed = run(&home, &["resume", &id]);
    assert_eq!(resumed.code, Some(0), "{}{}", resumed.out, resumed.err);
    let posted = receiver.posted();
    assert_eq!(paths(&posted), [DECIDED, DECIDED, "/end"]);
    assert_eq!(posted[0], posted[1], "the same delivery, word for word");
    assert_eq!(home.read("ran").lines().count(), 2);
}

#[test]
fn l18_a_receiver_that_hangs_costs_a_stop_its_deadline_and_is_told_again() {
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", hanging.local_addr().unwrap());
    let home = Home::with_agent(
        &format!(
            "[tools]\nbuiltin = ['shell']\n\
             [[hook]]\nid = 'must-hear'\ntype = 'onStopByHumanIntervention'\n\
             webhook = {{ url = '{url}/stop', fallback = 'none', timeout = 0.3, signingSecretEnv = 'SIGNING' }}\n"
        ),
        TWO,
    );
    assert_eq!(run(&home, &["run", "agent.toml", "go"]).code, Some(3));
    let failed = run(&home, &["stop", "last"]);
    assert_eq!((failed.code, home.newest()["status"].as_str()), (Some(1), Some("interrupted")), "{}", failed.err);
    let first = read(&hanging.accept().unwrap().0);
    let stopping = start(&home, &["stop", "last"]);
    let (stream, _) = hanging.accept().unwrap();
    assert_eq!(read(&stream), first, "the same delivery");
    (&stream).write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
    assert!(stopping.end().0.success());
}
