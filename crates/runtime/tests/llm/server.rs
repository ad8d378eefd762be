//! A chat endpoint on the loopback that answers with what it is given, byte for byte.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// In one write; then the connection is closed.
    Whole,
    /// One byte per write.
    Bytes,
    /// In one write; the connection stays open.
    Hold,
    /// In one write; then the connection is reset.
    Reset,
    /// In one write, as one chunk with its end; the connection waits for the next request.
    Reuse,
}

/// One answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
    mode: Mode,
}

impl Answer {
    /// A case file: `.sse` is the body of a stream, `.json` a whole body, `.http` a raw reply.
    pub(crate) fn case(name: &str) -> Self {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let inputs = package.ancestors().map(|above| above.join("tests/cases/inputs")).find(|folder| folder.is_dir());
        let path = inputs.expect("the package lies in the workspace").join(name);
        let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        match path.extension().and_then(|end| end.to_str()) {
            Some("sse") => Self::ok("text/event-stream", &file),
            Some("json") => Self::ok("application/json", &file),
            _ => Self::raw(file),
        }
    }

    /// A reply with a good status, of no stated length.
    pub(crate) fn ok(kind: &str, body: &[u8]) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n");
        Self::raw([head.as_bytes(), body].concat())
    }

    /// A reply with another status; `headers` are lines, each with its end.
    pub(crate) fn refusal(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self::raw(format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n{body}").into_bytes())
    }

    /// A stream in one chunk, with the end of the body behind it.
    pub(crate) fn chunked(body: &[u8]) -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        let size = format!("{:x}\r\n", body.len());
        Self::raw([head.as_bytes(), size.as_bytes(), body, b"\r\n0\r\n\r\n"].concat()).mode(Mode::Reuse)
    }

    /// These bytes.
    pub(crate) fn raw(bytes: Vec<u8>) -> Self {
        Self { bytes, mode: Mode::Whole }
    }

    /// The same, written in this way.
    pub(crate) fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// A running server; it ends with the test's runtime.
pub(crate) struct Server {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

/// What a provider refuses in a request, in words.
pub(crate) type Refuses = fn(&Value) -> Option<String>;

#[derive(Default)]
struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    /// Asked about each request; one that is refused is answered with status 400 and uses up no answer.
    refuses: Option<Refuses>,
    requests: Mutex<Vec<Request>>,
    connections: Mutex<usize>,
    /// Told when an answer is out, and when a client closed a connection that was held.
    answered: Notify,
    closed: Notify,
}

impl Server {
    /// Listens, and gives these answers in order; a request beyond them is not answered.
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self::start_refusing(answers, None).await
    }

    /// The same for a provider that refuses some requests.
    pub(crate) async fn start_refusing(answers: impl IntoIterator<Item = Answer>, refuses: Option<Refuses>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let shared =
            Arc::new(Shared { answers: Mutex::new(answers.into_iter().collect()), refuses, ..Shared::default() });
        let accepting = shared.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                *accepting.connections.lock().unwrap() += 1;
                tokio::spawn(serve(socket, accepting.clone()));
            }
        });
        Self { url, shared }
    }

    /// What came in so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        *self.shared.connections.lock().unwrap()
    }

    /// Waits until an answer is out.
    pub(crate) async fn answered(&self) {
        self.shared.answered.notified().await;
    }

    /// Waits until a client closed a connection that was held.
    pub(crate) async fn closed(&self) {
        self.shared.closed.notified().await;
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    socket.set_nodelay(true).unwrap();
    while let Some(request) = read_request(&mut socket).await {
        let refused = shared.refuses.and_then(|refuses| refuses(&request.body));
        shared.requests.lock().unwrap().push(request);
        let answer = match refused {
            Some(why) => Some(Answer::refusal(400, "", &serde_json::json!({"error": {"message": why}}).to_string())),
            None => shared.answers.lock().unwrap().pop_front(),
        };
        let Answer { bytes, mode } = answer.unwrap_or(Answer { bytes: Vec::new(), mode: Mode::Hold });
        let pieces = if mode == Mode::Bytes { bytes.chunks(1) } else { bytes.chunks(bytes.len().max(1)) };
        for piece in pieces {
            if socket.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        shared.answered.notify_one();
        match mode {
            Mode::Whole | Mode::Bytes => return,
            Mode::Reset => return socket.set_zero_linger().unwrap(),
            Mode::Reuse => {}
            Mode::Hold => {
                while socket.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {}
                shared.closed.notify_one();
                return;
            }
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    loop {
        if let Some(request) = parse(&bytes) {
            return Some(request);
        }
        let mut piece = [0; 4096];
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Request> {
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..at].to_vec()).unwrap().to_ascii_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |text| text.parse().unwrap());
    let body = bytes.get(at + 4..at + 4 + length)?;
    Some(Request { head, body: serde_json::from_slice(body).expect("the body of a request is JSON") })
}
