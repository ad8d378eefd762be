use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use super::home::{Home, ran};

#[test]
fn c179_a_wrong_value_is_named_with_its_place_and_nothing_starts() {
    for (settings, expected) in [
        ("[limits]\nmax_steps = \"ten\"\n", "agent.toml:4:13: "),
        ("[limits]\nmax_stepz = 3\n", "agent.toml:4:1: unknown key `max_stepz`; did you mean `max_steps`?"),
        (
            "[tools]\nbuiltin = ['shel']\n",
            "agent.toml:4:12: unknown value `shel` (in `tools.builtin`); did you mean `shell`?",
        ),
    ] {
        let home = Home::with_agent(settings, "turns: []\n");
        let run = home.run(&["run", "agent.toml", "go"]);
        assert_eq!(run.code, Some(2));
        assert!(run.err.contains(expected), "{}", run.err);
        assert!(!home.path().join(".jackline").exists());
    }
}

#[test]
fn a_wrong_script_is_named_with_its_place() {
    for (script, expected) in [
        ("turns:\n  - txt: hi\n", "script.yaml:2:5: unknown key `txt`"),
        ("turns:\n  - usage: {input: many}\n", "script.yaml:2:"),
        ("turns:\n  - text: hi\n   calls: []\n", "script.yaml:3:"),
    ] {
        let home = Home::with_agent("", script);
        let run = home.run(&["run", "agent.toml", "go"]);
        assert_eq!(run.code, Some(2));
        assert!(run.err.contains(expected), "{}", run.err);
    }
}

#[test]
fn a_wrong_scenario_is_named_with_its_place_and_none_is_run() {
    let home = Home::new();
    let good = "about: It answers.\ninput: hi\nturns:\n- reply: {text: hello}\nexpect: {reason: done}\n";
    home.write("good.yaml", good);
    for (content, expected) in [
        (good.replace("input:", "inputt:").into_bytes(), "bad.yaml:2:1: unknown key `inputt`; did you mean `input`?"),
        (good.replace("{reason: done}", "[]").into_bytes(), "bad.yaml:5:"),
        (vec![b'a', b':', b' ', 0xff], "bad.yaml:1:4: the file is not UTF-8 text"),
    ] {
        home.write("bad.yaml", content);
        let run = home.run(&["test", "good.yaml", "bad.yaml"]);
        assert_eq!(run.code, Some(2), "{}{}", run.out, run.err);
        assert!(run.err.contains(expected), "{}", run.err);
        assert!(!run.out.contains("ok "), "nothing is run: {}", run.out);
    }
    let missing = home.run(&["test", "nowhere.yaml"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("nowhere.yaml"), "{}", missing.err);
}

#[test]
fn files_that_are_missing_or_not_text_are_named() {
    let home = Home::with_agent("", "turns: []\n");
    home.write("latin.txt", b"caf\xe9");
    for (words, expected) in [
        (["run", "nosuch.toml", "go"].as_slice(), "cannot read `nosuch.toml`: there is no such file"),
        (&["run", "agent.toml", "--file", "nosuch.txt"], "cannot read `nosuch.txt`"),
        (&["run", "agent.toml", "--file", "latin.txt"], "latin.txt:1:4: the file is not UTF-8 text"),
        (&["run", "agent.toml"], "the prompt is empty"),
        (&["run", "go"], "OPENAI_API_KEY is not set"),
        (&["run", "agent.toml", "go", "--origin", "topik=1"], "did you mean `topic`?"),
        (&["ops", "list"], "there is no store"),
        (&["resume", "op_1"], "there is no store"),
    ] {
        let run = home.run(words);
        assert_eq!(run.code, Some(2), "{words:?}");
        assert!(run.err.contains(expected), "{words:?}: {}", run.err);
        assert_eq!(run.out, "");
    }
}

#[test]
fn c181_files_of_windows_are_taken_as_they_come() {
    let home = Home::new();
    home.write(
        "agent.toml",
        "\u{feff}name = \"a\"\r\nscript = \"script.yaml\"\r\ninstructions = \"\"\"\r\none\r\ntwo\"\"\"\r\n",
    );
    home.write("script.yaml", "\u{feff}turns:\r\n  - text: hello\r\n");
    home.write("prompt.txt", "\u{feff}line\r\nline\r\n");
    let run = home.run(&["run", "agent.toml", "--file", "prompt.txt", "-q"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "hello\n"), "{}", run.err);
    let shown: serde_json::Value = serde_json::from_str(&home.run(&["ops", "show", "last", "--json"]).out).unwrap();
    assert_eq!(shown["messages"][0]["message"]["content"], "one\ntwo");
    assert_eq!(shown["messages"][1]["message"]["content"], "line\nline");
}

#[test]
fn a_store_that_cannot_be_used_is_refused_in_words() {
    let home = Home::with_agent("", "turns:\n  - text: hello\n");
    home.write("garbage.db", "this is no database");
    let run = home.run(&["run", "agent.toml", "go", "--store", "garbage.db"]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("file is not a database"), "{}", run.err);
    let run = home.run(&["run", "agent.toml", "go", "--store", "agent.toml/x.db"]);
    assert_eq!(run.code, Some(2), "{}", run.err);
}

#[test]
fn an_unknown_operation_is_answered_with_the_nearest() {
    let home = Home::with_agent("", "turns:\n  - text: hello\n");
    assert_eq!(home.run(&["run", "agent.toml", "go"]).code, Some(0));
    let id = home.newest()["operation"].as_str().unwrap().to_owned();
    assert_eq!(home.run(&["ops", "show", &id[..12]]).code, Some(0), "the beginning of an id is enough");
    let mistyped = format!("{}x", &id[..id.len() - 1]);
    let run = home.run(&["ops", "show", &mistyped]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains(&format!("Did you mean `{id}`?")), "{}", run.err);
}

#[test]
fn c133_a_key_is_printed_and_kept_nowhere() {
    const KEY: &str = "sk-test-1234567890abcdef";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        while !request.windows(4).any(|four| four == b"\r\n\r\n") {
            let read = stream.read(&mut piece).unwrap();
            request.extend_from_slice(&piece[..read]);
        }
        assert!(String::from_utf8_lossy(&request).contains(KEY));
        let body =
            format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\",\"code\":\"invalid_api_key\"}}}}");
        let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close\r\n";
        stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    });
    let home = Home::new();
    let run = ran(home
        .command(&["run", "hello", "--verbose", "--json"])
        .env("OPENAI_API_KEY", KEY)
        .env("OPENAI_BASE_URL", address)
        .env("JACKLINE_LOG", "trace"));
    server.join().unwrap();
    assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
    assert!(!run.out.contains(KEY) && !run.err.contains(KEY), "{}{}", run.out, run.err);
    assert_no_file_holds(&home.path().join(".jackline"), KEY.as_bytes());
}

fn assert_no_file_holds(directory: &Path, text: &[u8]) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(text.len()).any(|window| window == text));
    }
}
