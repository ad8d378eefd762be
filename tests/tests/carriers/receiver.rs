//! A receiver of webhooks on loopback that does what the path of a request says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use jackline_scenario::OutsideAnswer;

/// Lives as long as the process.
pub(crate) struct Receiver(TcpListener);

impl Receiver {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let accepting = listener.try_clone().unwrap();
        std::thread::spawn(move || {
            for stream in accepting.incoming() {
                let stream = stream.unwrap();
                std::thread::spawn(move || answer(stream));
            }
        });
        Self(listener)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.0.local_addr().unwrap())
    }
}

/// Answers one request. A sender that goes away in the middle had its deadline.
fn answer(stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let path = head.split_whitespace().nth(1)?;
    let lower = head.to_ascii_lowercase();
    let length = lower.split("content-length:").nth(1)?.lines().next()?.trim().parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice::<serde_json::Value>(&body).expect("a payload is JSON");
    let (status, text) = match OutsideAnswer::from_path(path)? {
        OutsideAnswer::Print(text) => ("200 OK", text),
        OutsideAnswer::Fail => ("500 Internal Server Error", String::new()),
        OutsideAnswer::Hang => {
            // Until the sender hangs up.
            let _ = reader.read(&mut [0]);
            return None;
        }
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", text.len());
    (&stream).write_all(format!("{head}{text}").as_bytes()).ok()
}
