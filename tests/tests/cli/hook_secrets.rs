//! No secret of a hook is in any file, line, log or error after runs that use each kind of hook.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::home::{Home, Ran, ran};

/// What each variable holds, and what of it must be found nowhere.
const SECRETS: [(&str, &str); 6] = [
    ("POLICY_TOKEN", "header-S3cret-1"),
    ("SIGNING", "whsec_c2lnbmluZy1TM2NyZXQtMg=="),
    ("QSTASH_TOKEN", "qstash-S3cret-3"),
    ("AGENT_HOOK_WEBHOOK_TOKEN", "bearer-S3cret-4"),
    ("PROGRAM_KEY", "program-S3cret-5"),
    ("VERCEL_AUTOMATION_BYPASS_SECRET", "bypass-S3cret-6"),
];

/// Stands in the URL of the environment's webhook.
const KEY: &str = "url-S3cret-7";

/// A receiver that hands everything that it got back to the sender, in a reply of this kind.
struct Parrot {
    url: String,
    heard: Arc<Mutex<String>>,
}

#[derive(Clone, Copy, Debug)]
enum Says {
    Allow,
    Failure,
    Nonsense,
}

impl Parrot {
    fn start(says: Says) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(String::new()));
        let hears = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let hears = Arc::clone(&hears);
                std::thread::spawn(move || answer(&stream.unwrap(), says, &hears));
            }
        });
        Self { url, heard }
    }
}

fn answer(stream: &TcpStream, says: Says, hears: &Mutex<String>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower.split("content-length:").nth(1)?.lines().next()?.trim().parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    hears.lock().unwrap().push_str(&head);
    let echo = serde_json::Value::String(format!("{head}{}", String::from_utf8_lossy(&body)));
    let (status, text) = match says {
        Says::Allow => ("200 OK", format!("{{\"decision\":\"allow\",\"note\":{echo}}}")),
        Says::Failure => ("500 Internal Server Error", echo.to_string()),
        Says::Nonsense => ("200 OK", format!("{{\"decision\":{echo}}}")),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
    let mut stream = stream;
    stream.write_all(format!("{head}{text}").as_bytes()).ok()
}

fn home(url: &str) -> Home {
    let hook = |id: &str, kind: &str, carrier: &str| format!("[[hook]]\nid = '{id}'\ntype = '{kind}'\n{carrier}\n");
    let headers = "headers = { Authorization = 'Bearer ${POLICY_TOKEN}' }, allowedEnvVars = ['POLICY_TOKEN'], \
                   signingSecretEnv = 'SIGNING'";
    let decides = "responseHandling = 'toolCall'";
    let hooks = [
        hook("policy", "beforeToolCall", &format!("webhook = {{ url = '{url}/policy', {headers}, {decides} }}")),
        hook("judge", "afterToolCall", &format!("webhook = {{ url = '{url}/judge', {headers}, {decides} }}")),
        hook("told", "afterStep", &format!("webhook = {{ url = '{url}/told', {headers} }}")),
        hook("queued", "onComplete", &format!("webhook = {{ url = '{url}/queued', delivery = 'qstash', {headers} }}")),
        hook("own", "onComplete", "webhook = { url = '/own', delivery = 'qstash' }"),
        hook(
            "critical",
            "beforeStep",
            &format!("webhook = {{ url = '{url}/critical', fallback = 'none', {headers} }}"),
        ),
        hook(
            "program",
            "afterToolCall",
            &format!(
                "command = {{ command = ['/bin/sh', '-c', 'echo $PROGRAM_KEY; exit 3'], env = ['PROGRAM_KEY'], {decides} }}"
            ),
        ),
    ];
    let settings = format!(
        "[tools]\nbuiltin = ['fs']\n[[client_tool]]\nname = 'desk/ask'\ndescription = 'Asks.'\n{}",
        hooks.concat()
    );
    let home = Home::with_agent(&settings, SCRIPT);
    home.write("menu.txt", "soup");
    home
}

/// Runs a command with all secrets in its environment, and all that can be logged on standard error.
fn run(home: &Home, url: &str, words: &[&str]) -> Ran {
    let mut command = home.command(words);
    command.envs(SECRETS).env("JACKLINE_LOG", "trace");
    command.env("QSTASH_URL", url).env("APP_URL", url);
    command.env("AGENT_HOOK_WEBHOOK_URL", format!("{url}/house?key={KEY}"));
    command.env("AGENT_HOOK_WEBHOOK_EVENTS", "beforeToolCall,afterToolCall,onComplete");
    command.env("AGENT_HOOK_WEBHOOK_RESPONSE_HANDLING", "toolCall");
    ran(&mut command)
}

/// The secrets as they must not be found: as they stand, and without their coating.
fn forms() -> Vec<&'static str> {
    let coated = SECRETS.iter().map(|(_, secret)| secret.trim_start_matches("whsec_"));
    coated.chain([KEY, "signing-S3cret-2"]).collect()
}

fn assert_clean(text: &[u8], place: &str) {
    for secret in forms() {
        let is_there = text.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!is_there, "{secret} stands in {place}");
    }
}

fn assert_directory_is_clean(directory: &Path) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_directory_is_clean(&path);
        } else {
            assert_clean(&std::fs::read(&path).unwrap(), &path.display().to_string());
        }
    }
}

#[test]
fn c133_no_secret_of_a_hook_is_anywhere_after_runs_that_use_each_kind() {
    for says in [Says::Allow, Says::Failure, Says::Nonsense] {
        let parrot = Parrot::start(says);
        let home = home(&parrot.url);
        let mut all = Vec::new();
        let mut tell = |words: &[&str]| {
            let ran = run(&home, &parrot.url, words);
            all.push((format!("{says:?}: {words:?}"), ran));
        };
        tell(&["run", "--agent", "agent.toml", "go", "--json", "--verbose"]);
        tell(&["ops", "show", "last"]);
        tell(&["complete", "last", "call_2_1", "--result", "noon", "--resume"]);
        for words in [["ops", "show", "last", "--json"].as_slice(), &["ops", "list", "--json"]] {
            tell(words);
        }
        for words in [["hooks", "list"].as_slice(), &["hooks", "check"], &["hooks", "fire", "beforeToolCall"]] {
            let words: Vec<&str> = words.iter().copied().chain(["agent.toml"]).collect();
            tell(&words);
            tell(&words.into_iter().chain(["--json"]).collect::<Vec<_>>());
        }
        assert_eq!(all[0].1.code, Some(3), "{}", all[0].1.err);
        assert!(all[0].1.err.contains("TRACE"), "all is logged");
        // Nothing would prove anything if the secrets had not been used.
        let heard = parrot.heard.lock().unwrap().clone();
        for used in
            ["header-S3cret-1", "qstash-S3cret-3", "bearer-S3cret-4", "bypass-S3cret-6", KEY, "webhook-signature: v1,"]
        {
            assert!(heard.contains(used), "{says:?}: {used} was not sent");
        }
        for (words, Ran { out, err, .. }) in &all {
            assert_clean(out.as_bytes(), &format!("the output of {words}"));
            assert_clean(err.as_bytes(), &format!("the log of {words}"));
        }
        assert_directory_is_clean(home.path());
    }
}

#[test]
fn c133_credentials_in_the_url_of_the_environment_are_refused_and_not_shown() {
    let home = home("http://127.0.0.1:9");
    for words in [
        ["run", "--agent", "agent.toml", "go"].as_slice(),
        &["hooks", "list", "agent.toml"],
        &["hooks", "check", "agent.toml"],
        &["hooks", "fire", "onError", "agent.toml"],
    ] {
        let mut command = home.command(words);
        command.env("AGENT_HOOK_WEBHOOK_URL", format!("http://user:{KEY}@127.0.0.1:9/"));
        command.env("AGENT_HOOK_WEBHOOK_TOKEN", "t").env("AGENT_HOOK_WEBHOOK_EVENTS", "onError");
        let refused = ran(command.env("JACKLINE_LOG", "trace"));
        assert_eq!(refused.code, Some(2), "{words:?}: {}", refused.err);
        assert!(refused.err.contains("Invalid Agent Hook environment: AGENT_HOOK_WEBHOOK_URL"), "{}", refused.err);
        assert_clean(refused.err.as_bytes(), "the error");
        assert_clean(refused.out.as_bytes(), "the output");
    }
    assert_directory_is_clean(home.path());
}

const SCRIPT: &str = "turns:
  - calls: [{tool: fs/read, with: {path: menu.txt}}]
  - calls: [{tool: desk/ask, with: {}}]
  - text: soup at noon
";
