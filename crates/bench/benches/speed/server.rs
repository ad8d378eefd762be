//! The model's side: a scripted server in a process of its own, so that its CPU is not counted.
//!
//! What it answers depends on the request alone: the path names the job, the body says how far it is.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use memchr::memmem;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::Failed;
use crate::job::{ANSWER, Job, TOOL_WIRE_NAME};

/// The server, from the outside. It ends when this is dropped.
pub(crate) struct Server {
    child: Child,
    /// Closed when we end, however we end: then the child ends too.
    _life: Option<ChildStdin>,
    address: String,
}

impl Server {
    /// Starts this program again, as the server.
    pub(crate) fn spawn() -> Result<Self, Failed> {
        let mut child =
            Command::new(std::env::current_exe()?).arg(CHILD).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let life = child.stdin.take();
        let mut address = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut address)?;
        }
        Ok(Self { child, _life: life, address: address.trim().to_owned() })
    }

    /// Where it answers for a job.
    pub(crate) fn base_url(&self, job: &Job) -> String {
        base_url(&self.address, job)
    }

    /// Its address, to be handed to another process.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a server at this address answers for a job.
pub(crate) fn base_url(address: &str, job: &Job) -> String {
    format!("http://{address}/{}/{}/{}/v1", job.rounds, job.calls, job.latency.as_millis())
}

/// The main function of the child.
pub(crate) fn serve() -> Result<(), Failed> {
    // The parent holds the other end.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        crate::table::line(&listener.local_addr()?.to_string());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(connection(stream));
        }
    })
}

async fn connection(mut stream: TcpStream) {
    let mut buffer = Vec::with_capacity(64 * 1024);
    loop {
        let head = loop {
            if let Some(end) = memmem::find(&buffer, b"\r\n\r\n") {
                break end + 4;
            }
            match stream.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let Some((request, length)) = read_head(&buffer[..head]) else { return };
        buffer.reserve((head + length).saturating_sub(buffer.len()));
        while buffer.len() < head + length {
            match stream.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
        let answer = answer(&request, &buffer[head..head + length]);
        buffer.drain(..head + length);
        if !request.latency.is_zero() {
            tokio::time::sleep(request.latency).await;
        }
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// What the path says.
struct Request {
    rounds: usize,
    calls: usize,
    latency: Duration,
}

fn read_head(head: &[u8]) -> Option<(Request, usize)> {
    let head = std::str::from_utf8(head).ok()?;
    let mut parts = head.split(' ').nth(1)?.split('/').skip(1);
    let mut number = || parts.next()?.parse::<usize>().ok();
    let (rounds, calls, latency) = (number()?, number()?, number()?);
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    })?;
    let latency = Duration::from_millis(u64::try_from(latency).ok()?);
    Some((Request { rounds, calls, latency }, length))
}

fn answer(request: &Request, body: &[u8]) -> Vec<u8> {
    let results = memmem::find_iter(body, b"\"role\":\"tool\"").count();
    let round = results / request.calls.max(1);
    let is_streamed = memmem::find(body, b"\"stream\":true").is_some();
    let calls = if round < request.rounds { request.calls } else { 0 };
    if is_streamed { streamed(round, calls, results) } else { whole(round, calls, results) }
}

fn usage(results: usize) -> Value {
    let prompt = 120 + 60 * results;
    json!({"prompt_tokens": prompt, "completion_tokens": 20, "total_tokens": prompt + 20})
}

fn call_id(round: usize, call: usize) -> String {
    format!("call_{round:016}{call:08}")
}

fn arguments(round: usize, call: usize) -> String {
    format!(r#"{{"a":{round},"b":{call}}}"#)
}

fn whole(round: usize, calls: usize, results: usize) -> Vec<u8> {
    let tool_calls: Vec<Value> = (0..calls)
        .map(|call| {
            let function = json!({"name": TOOL_WIRE_NAME, "arguments": arguments(round, call)});
            json!({"id": call_id(round, call), "type": "function", "function": function})
        })
        .collect();
    let (message, finish) = if calls > 0 {
        (json!({"role": "assistant", "content": null, "tool_calls": tool_calls}), "tool_calls")
    } else {
        (json!({"role": "assistant", "content": ANSWER}), "stop")
    };
    let body = json!({
        "id": "chatcmpl-0123456789abcdefghijklmnop", "object": "chat.completion", "created": 1_760_000_000,
        "model": "bench", "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": null}],
        "usage": usage(results),
    })
    .to_string();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

fn streamed(round: usize, calls: usize, results: usize) -> Vec<u8> {
    let mut pieces = Pieces(Vec::new());
    pieces.delta(&json!({"role": "assistant", "content": if calls > 0 { Value::Null } else { json!("") }}), None);
    for call in 0..calls {
        let function = json!({"name": TOOL_WIRE_NAME, "arguments": ""});
        let opening = json!({"index": call, "id": call_id(round, call), "type": "function", "function": function});
        pieces.delta(&json!({"tool_calls": [opening]}), None);
        for part in in_parts(&arguments(round, call), 5) {
            pieces.delta(&json!({"tool_calls": [{"index": call, "function": {"arguments": part}}]}), None);
        }
    }
    if calls == 0 {
        for part in in_parts(ANSWER, 12) {
            pieces.delta(&json!({"content": part}), None);
        }
    }
    pieces.delta(&json!({}), Some(if calls > 0 { "tool_calls" } else { "stop" }));
    pieces.finish(results)
}

fn in_parts(text: &str, bytes: usize) -> impl Iterator<Item = &str> {
    // The texts are ASCII.
    text.as_bytes().chunks(bytes).filter_map(|part| std::str::from_utf8(part).ok())
}

/// A body in chunks, one for each event, as servers send them.
struct Pieces(Vec<u8>);

impl Pieces {
    fn delta(&mut self, delta: &Value, finish: Option<&str>) {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        self.event(&chunk(&json!([choice]), &Value::Null));
    }

    fn event(&mut self, data: &str) {
        let event = format!("data: {data}\n\n");
        self.0.extend_from_slice(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes());
    }

    fn finish(mut self, results: usize) -> Vec<u8> {
        self.event(&chunk(&json!([]), &usage(results)));
        self.event("[DONE]");
        self.0.extend_from_slice(b"0\r\n\r\n");
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        [head.as_bytes(), &self.0].concat()
    }
}

fn chunk(choices: &Value, usage: &Value) -> String {
    json!({
        "id": "chatcmpl-0123456789abcdefghijklmnop", "object": "chat.completion.chunk", "created": 1_760_000_000,
        "model": "bench", "choices": choices, "usage": usage,
    })
    .to_string()
}

/// The argument that makes this program the server.
pub(crate) const CHILD: &str = "--serve";
