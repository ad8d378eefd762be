//! What a reply without end costs, in a process of its own: the peak of its memory is the measure.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jackline_hooks::transport::{HttpCarrier, HttpSettings};
use jackline_hooks::{DeliveryId, FaultCode, ProcessEnvironment, WebhookCarrier, WebhookConfig, WebhookRequest};
use serde_json::{Map, json};

/// How a body of 200 MB comes.
#[derive(Clone, Copy, Debug)]
struct Flood {
    is_announced: bool,
    is_slow: bool,
}

/// Streams spaces and then a permission, and counts what it could send.
fn serve(listener: &TcpListener, flood: Flood, sent: &AtomicUsize) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        read_request(&stream);
        let more = if flood.is_announced { "content-length: 209715220" } else { "transfer-encoding: chunked" };
        stream.write_all(format!("HTTP/1.1 200 X\r\n{more}\r\n\r\n").as_bytes()).unwrap();
        let block = if flood.is_slow { " ".repeat(0x100) } else { " ".repeat(0x1_0000) };
        let framed = format!("{:x}\r\n{block}\r\n", block.len());
        let bytes = if flood.is_announced { block.as_bytes() } else { framed.as_bytes() };
        for _ in 0..BYTES / block.len() {
            if stream.write_all(bytes).is_err() || (flood.is_slow && is_left(&stream)) {
                break;
            }
            sent.fetch_add(block.len(), Ordering::SeqCst);
        }
        let _ = stream.write_all(br#"{"decision":"allow"}"#);
    }
}

fn read_request(stream: &TcpStream) {
    let (mut reader, mut line, mut length) = (BufReader::new(stream), String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    reader.read_exact(&mut vec![0; length]).unwrap();
}

/// Waits for the client to leave, for a moment.
fn is_left(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(PACE)).unwrap();
    matches!(stream.read(&mut [0]), Ok(0))
}

fn memory_peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn c126_a_reply_of_200_mb_is_cut_off_and_costs_less_than_32_mb() {
    let http = HttpCarrier::new(Arc::new(ProcessEnvironment), HttpSettings::default()).unwrap();
    for is_announced in [false, true] {
        for is_slow in [false, true] {
            let flood = Flood { is_announced, is_slow };
            let (listener, sent) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(AtomicUsize::new(0)));
            let (url, count) = (format!("http://{}/", listener.local_addr().unwrap()), Arc::clone(&sent));
            std::thread::spawn(move || serve(&listener, flood, &count));
            let hook = json!({"url": url, "responseHandling": "toolCall", "onError": "block"});
            let request = WebhookRequest {
                config: Arc::new(WebhookConfig::from_json(&hook).unwrap()),
                payload: Map::new(),
                delivery_id: DeliveryId::from_stored("dlv_1"),
            };
            let before = memory_peak();
            let fault = http.ask(request).await.unwrap_err();
            assert_eq!(fault.code(), FaultCode::ResponseTooLarge, "{flood:?}");
            let grown = memory_peak().saturating_sub(before);
            assert!(grown < 32 * 1024 * 1024, "{grown} bytes for {flood:?}");
            assert!(sent.load(Ordering::SeqCst) < BYTES / 4, "{flood:?}");
        }
    }
}

/// What the receiver means to send.
const BYTES: usize = 200 * 1024 * 1024;

/// Between the blocks of a slow body.
const PACE: std::time::Duration = std::time::Duration::from_millis(1);
