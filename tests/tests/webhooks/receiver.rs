//! A receiver on the loopback that answers by rule and writes down what it is sent.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::world::SOON;

/// What a rule answers.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A status and a body.
    Full(u16, String),
    /// A file of the case log, as it is.
    Raw(Vec<u8>),
    /// Nothing, for as long as the client waits.
    Hang,
    /// Spaces without end.
    Flood,
}

impl Reply {
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self::Full(200, body.into())
    }

    pub(crate) fn allow() -> Self {
        Self::ok(r#"{"decision":"allow"}"#)
    }

    pub(crate) fn deny(reason: &str) -> Self {
        Self::ok(serde_json::json!({"decision": "deny", "reason": reason}).to_string())
    }
}

/// A request that arrived: its path and its payload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) payload: Value,
}

type Rule = dyn Fn(&Seen) -> Reply + Send + Sync;

/// A running receiver; it ends with the test's runtime.
pub(crate) struct Receiver {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    arrived: watch::Receiver<usize>,
}

impl Receiver {
    pub(crate) async fn start(rule: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (seen, (count, arrived)) = (Arc::<Mutex<Vec<Seen>>>::default(), watch::channel(0));
        let (rule, kept): (Arc<Rule>, _) = (Arc::new(rule), Arc::clone(&seen));
        let note = Arc::new(move |seen: Seen| {
            kept.lock().unwrap().push(seen);
            count.send_modify(|count| *count += 1);
        });
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (rule, note) = (Arc::clone(&rule), Arc::clone(&note));
                tokio::spawn(async move { serve(stream, rule.as_ref(), note.as_ref()).await });
            }
        });
        Self { url, seen, arrived }
    }

    pub(crate) async fn always(reply: Reply) -> Self {
        Self::start(move |_| reply.clone()).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The payloads of one path.
    pub(crate) fn at(&self, path: &str) -> Vec<Value> {
        self.seen().into_iter().filter(|seen| seen.path == path).map(|seen| seen.payload).collect()
    }

    /// Waits until this many requests arrived.
    pub(crate) async fn wait_for(&self, requests: usize) {
        let mut arrived = self.arrived.clone();
        let waiting = arrived.wait_for(|count| *count >= requests);
        tokio::time::timeout(SOON, waiting).await.expect("the requests arrive").unwrap();
    }
}

/// Answers the requests of one connection. Nothing when it ends.
async fn serve(stream: TcpStream, rule: &Rule, note: &(impl Fn(Seen) + Sync)) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let seen = read_request(&mut stream).await?;
        let reply = rule(&seen);
        note(seen);
        match reply {
            Reply::Full(status, body) => {
                let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
                stream.write_all((head + &body).as_bytes()).await.ok()?;
            }
            Reply::Raw(bytes) => return stream.write_all(&bytes).await.ok(),
            Reply::Hang => return stream.read(&mut [0]).await.ok().map(drop),
            Reply::Flood => {
                let head = "HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n";
                stream.write_all(head.as_bytes()).await.ok()?;
                let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
                while stream.write_all(chunk.as_bytes()).await.is_ok() {}
                return None;
            }
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let (mut line, mut length) = (String::new(), 0);
    stream.read_line(&mut line).await.ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    while line.trim_end() != "" {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Seen { path, payload: serde_json::from_slice(&body).ok()? })
}
