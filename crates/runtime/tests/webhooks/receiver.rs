//! The receiver of all webhooks, on the loopback: it notes what arrives and answers by the host of the address.
//!
//! It stands in the place of a proxy, so that every address leads to it, whatever its host.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jackline_hooks::transport::{HttpCarrier, HttpSettings};
use jackline_hooks::{ENVIRONMENT_HOOK_PREFIX, Environment};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A running receiver; it ends with the test's runtime.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    proxy: String,
    pub(crate) asked: Arc<Mutex<Vec<Request>>>,
    pub(crate) told: Arc<Mutex<Vec<Request>>>,
    /// Whether it fails to hear what it is told.
    pub(crate) fails: Arc<AtomicBool>,
    /// So many are told, those after them fail.
    reaches: Arc<AtomicUsize>,
    trap: Arc<Mutex<Option<Trap>>>,
    rule: Arc<Mutex<Option<Rule>>>,
}

/// What is answered; nothing if the connection ends instead.
type Answer = Option<String>;

/// How controls are answered.
struct Rule(Box<dyn FnMut(&Request) -> Answer + Send>);

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").finish_non_exhaustive()
    }
}

/// What arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) url: String,
    pub(crate) delivery_id: String,
    pub(crate) payload: Map<String, Value>,
}

/// What happens when a certain request arrives.
struct Trap {
    is_for: fn(&Request) -> bool,
    act: Box<dyn FnOnce() + Send>,
    is_answered: bool,
}

impl std::fmt::Debug for Trap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trap").field("is_answered", &self.is_answered).finish_non_exhaustive()
    }
}

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let receiver = Self {
            proxy: format!("http://{}", listener.local_addr().unwrap()),
            asked: Arc::default(),
            told: Arc::default(),
            fails: Arc::default(),
            reaches: Arc::new(AtomicUsize::new(usize::MAX)),
            trap: Arc::default(),
            rule: Arc::default(),
        };
        let (serving, listener) = (receiver.clone(), TcpListener::from_std(listener).unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move { serving.serve(stream).await });
            }
        });
        receiver
    }

    /// What carries webhooks here. It takes secrets from these variables.
    pub(crate) fn carrier(&self, environment: impl Environment + 'static) -> HttpCarrier {
        let settings = HttpSettings { proxy: Some(self.proxy.clone()), ..HttpSettings::default() };
        HttpCarrier::new(Arc::new(environment), settings).unwrap()
    }

    /// From now on controls are answered by this rule.
    pub(crate) fn answer_by(&self, rule: impl FnMut(&Request) -> Option<String> + Send + 'static) {
        *self.rule.lock().unwrap() = Some(Rule(Box::new(rule)));
    }

    /// When such a request arrives, this happens, and no answer comes.
    pub(crate) fn hold(&self, is_for: fn(&Request) -> bool, act: impl FnOnce() + Send + 'static) {
        *self.trap.lock().unwrap() = Some(Trap { is_for, act: Box::new(act), is_answered: false });
    }

    /// When the next request arrives, this happens before it is answered.
    pub(crate) fn meanwhile(&self, act: impl FnOnce() + Send + 'static) {
        *self.trap.lock().unwrap() = Some(Trap { is_for: |_| true, act: Box::new(act), is_answered: true });
    }

    /// So many more are told, those after them fail.
    pub(crate) fn fail_from(&self, reaches: usize) {
        let so_far = self.told.lock().unwrap().len();
        self.reaches.store(so_far.saturating_add(reaches), Ordering::Relaxed);
    }

    /// What was told, by address and delivery.
    pub(crate) fn deliveries(&self) -> Vec<(String, String)> {
        let told = self.told.lock().unwrap();
        told.iter().map(|told| (told.url.clone(), told.delivery_id.clone())).collect()
    }

    /// Which hooks were asked, by their addresses.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|request| request.url.clone()).collect()
    }

    pub(crate) fn payloads(&self) -> Vec<Map<String, Value>> {
        self.asked.lock().unwrap().iter().map(|request| request.payload.clone()).collect()
    }

    /// Whether this request gets no answer.
    fn is_held(&self, request: &Request) -> bool {
        let trap = self.trap.lock().unwrap().take_if(|trap| (trap.is_for)(request));
        trap.is_some_and(|trap| {
            (trap.act)();
            !trap.is_answered
        })
    }

    /// Answers the requests of one connection. Nothing when it ends.
    async fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let request = read_request(&mut stream).await?;
            let is_of_environment =
                request.payload["hookId"].as_str().is_some_and(|id| id.starts_with(ENVIRONMENT_HOOK_PREFIX));
            assert_ne!(request.delivery_id.is_empty(), !is_of_environment, "all others are signed");
            let is_told = request.url.starts_with("http://x.test/") || request.url.ends_with("/note");
            let by_rule = |rule: &mut Rule| (!is_told).then(|| (rule.0)(&request));
            let answer = if let Some(answer) = self.rule.lock().unwrap().as_mut().and_then(by_rule) {
                answer
            } else if is_told {
                let is_beyond = self.told.lock().unwrap().len() >= self.reaches.load(Ordering::Relaxed);
                (!is_beyond && !self.fails.load(Ordering::Relaxed)).then(String::new)
            } else if request.url.contains("deny") {
                Some(r#"{"decision":"deny","reason":"not this"}"#.to_owned())
            } else {
                (!request.url.contains("broken")).then(|| r#"{"decision":"allow"}"#.to_owned())
            };
            let list = if is_told { &self.told } else { &self.asked };
            list.lock().unwrap().push(request.clone());
            if self.is_held(&request) {
                return stream.read(&mut [0]).await.ok().map(drop);
            }
            // Without an answer the connection ends, as that of a receiver that breaks down.
            let answer = answer?;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", answer.len());
            stream.write_all((head + &answer).as_bytes()).await.ok()?;
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let url = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut delivery_id) = (0, String::new());
    while line.trim_end() != "" {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().ok()?,
            Some(("webhook-id", value)) => value.clone_into(&mut delivery_id),
            Some(_) | None => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { url, delivery_id, payload: serde_json::from_slice(&body).ok()? })
}
