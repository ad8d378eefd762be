//! A small HTTP server that answers by rule, misbehaves by rule, and remembers.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::Value;

/// What a rule answers.
#[derive(Clone, Debug)]
pub(in super::super) enum Reply {
    /// A status and a body.
    Full(u16, Vec<u8>),
    /// A status, and when to come again.
    Later(u16, String),
    /// A redirect to this URL.
    Redirect(u16, String),
    /// Nothing, for as long as the client waits.
    Hang,
    /// The connection is closed at once.
    Close,
    /// The head and the first half of the body, then the connection is closed.
    Cut(Vec<u8>),
    /// One byte of the body after the other, slowly.
    Drip(Vec<u8>),
    /// A body without end, in chunks or with a huge length.
    Endless { announced: bool },
}

impl Reply {
    pub(in super::super) fn ok(body: impl AsRef<[u8]>) -> Self {
        Self::Full(200, body.as_ref().to_vec())
    }

    pub(in super::super) fn deny(reason: &str) -> Self {
        Self::ok(serde_json::json!({"decision": "deny", "reason": reason}).to_string())
    }

    pub(in super::super) fn allow() -> Self {
        Self::ok(r#"{"decision":"allow"}"#)
    }
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub(in super::super) struct Seen {
    pub(in super::super) method: String,
    pub(in super::super) path: String,
    pub(in super::super) headers: BTreeMap<String, String>,
    pub(in super::super) body: Vec<u8>,
}

impl Seen {
    pub(in super::super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

type Rule = dyn Fn(&Seen) -> Reply + Send + Sync;

#[derive(Default)]
struct Log {
    seen: Mutex<Vec<Seen>>,
    arrived: Condvar,
}

pub(in super::super) struct Server {
    address: SocketAddr,
    log: Arc<Log>,
}

impl Server {
    pub(in super::super) fn start(rule: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, log) = (listener.local_addr().unwrap(), Arc::new(Log::default()));
        let (rule, kept): (Arc<Rule>, _) = (Arc::new(rule), Arc::clone(&log));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (rule, log) = (Arc::clone(&rule), Arc::clone(&kept));
                let Ok(stream) = stream else { return };
                std::thread::spawn(move || serve(stream, rule.as_ref(), &log));
            }
        });
        Self { address, log }
    }

    /// A server that always answers the same.
    pub(in super::super) fn always(reply: Reply) -> Self {
        Self::start(move |_| reply.clone())
    }

    pub(in super::super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(in super::super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(in super::super) fn seen(&self) -> Vec<Seen> {
        self.log.seen.lock().unwrap().clone()
    }

    pub(in super::super) fn paths(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.path).collect()
    }

    /// Waits until this many requests arrived.
    pub(in super::super) fn wait_for(&self, count: usize) -> Vec<Seen> {
        let seen = self.log.seen.lock().unwrap();
        let waited = self.log.arrived.wait_timeout_while(seen, PATIENCE, |seen| seen.len() < count).unwrap();
        assert!(!waited.1.timed_out(), "{count} requests arrive");
        waited.0.clone()
    }
}

/// Long enough for a loaded machine; a test that needs it has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// Between the bytes of a slow reply.
const PACE: Duration = Duration::from_millis(20);

fn serve(stream: TcpStream, rule: &Rule, log: &Log) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(seen) = read_request(&mut reader) {
        let reply = rule(&seen);
        log.seen.lock().unwrap().push(seen);
        log.arrived.notify_all();
        if !answer(&stream, reply) {
            break;
        }
    }
    let _ = stream.shutdown(Shutdown::Both);
}

fn read_request(reader: &mut impl BufRead) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => drop(headers.insert(name.to_ascii_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { method, path, headers, body })
}

/// Answers. Whether the connection goes on.
fn answer(mut stream: &TcpStream, reply: Reply) -> bool {
    let head = |status: u16, more: &str| format!("HTTP/1.1 {status} X\r\n{more}\r\n");
    let length = |body: &[u8]| format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    match reply {
        Reply::Full(status, body) => {
            let more = if status == 204 { String::new() } else { length(&body) };
            stream.write_all(head(status, &more).as_bytes()).is_ok() && stream.write_all(&body).is_ok()
        }
        Reply::Later(status, when) => {
            stream.write_all(head(status, &format!("retry-after: {when}\r\ncontent-length: 0\r\n")).as_bytes()).is_ok()
        }
        Reply::Redirect(status, url) => {
            stream.write_all(head(status, &format!("location: {url}\r\ncontent-length: 0\r\n")).as_bytes()).is_ok()
        }
        Reply::Hang => {
            let _ = stream.read(&mut [0]);
            false
        }
        Reply::Close => false,
        Reply::Cut(body) => {
            let _ = stream.write_all(head(200, &length(&body)).as_bytes());
            let _ = stream.write_all(&body[..body.len() / 2]);
            false
        }
        Reply::Drip(body) => {
            let _ = stream.write_all(head(200, &length(&body)).as_bytes());
            stream.set_read_timeout(Some(PACE)).unwrap();
            body.iter().all(|byte| stream.write_all(&[*byte]).is_ok() && is_open_after_a_while(stream))
        }
        Reply::Endless { announced } => {
            let more = if announced { "content-length: 209715200\r\n" } else { "transfer-encoding: chunked\r\n" };
            let _ = stream.write_all(head(200, more).as_bytes());
            let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
            let block = if announced { " ".repeat(0x1000) } else { chunk };
            while stream.write_all(block.as_bytes()).is_ok() {}
            false
        }
    }
}

/// Waits for the client to leave, for a moment.
fn is_open_after_a_while(mut stream: &TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(read) => read > 0,
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}
