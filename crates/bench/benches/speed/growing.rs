//! The floor below all: a loop whose request only grows. Nothing is written twice, nothing is kept
//! but the text, nothing can go wrong.

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Failed;
use crate::job::{INSTRUCTIONS, Job, MODEL, PROMPT, TOOL_DESCRIPTION, TOOL_WIRE_NAME, parameters};

/// Does a job once, and gives the answer.
pub(crate) async fn run(client: &reqwest::Client, url: &str, job: &Job) -> Result<String, Failed> {
    let mut body = opening(job.is_read);
    loop {
        let mut sent = Vec::with_capacity(body.len() + 2);
        sent.extend_from_slice(&body);
        sent.extend_from_slice(b"]}");
        let response = client
            .post(url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(Bytes::from(sent))
            .send()
            .await?
            .error_for_status()?;
        let turn = if job.is_read { read_stream(response).await? } else { read_whole(&response.bytes().await?)? };
        if turn.calls.is_empty() {
            return Ok(turn.text);
        }
        append(&mut body, &json!({"role": "assistant", "content": null, "tool_calls": turn.calls}))?;
        for call in &turn.calls {
            let terms: Terms = serde_json::from_str(&call.function.arguments)?;
            append(&mut body, &ToolLine { role: "tool", content: &job.add(terms.a, terms.b), tool_call_id: &call.id })?;
        }
    }
}

fn opening(is_streamed: bool) -> Vec<u8> {
    let tool = json!({"name": TOOL_WIRE_NAME, "description": TOOL_DESCRIPTION, "parameters": parameters()});
    let mut request = json!({"model": MODEL, "tools": [{"type": "function", "function": tool}]});
    if is_streamed {
        request["stream"] = true.into();
        request["stream_options"] = json!({"include_usage": true});
    }
    let mut text = request.to_string();
    text.pop();
    let system = json!({"role": "system", "content": INSTRUCTIONS});
    let user = json!({"role": "user", "content": PROMPT});
    format!(r#"{text},"messages":[{system},{user}"#).into_bytes()
}

fn append(body: &mut Vec<u8>, message: &impl Serialize) -> Result<(), Failed> {
    body.push(b',');
    serde_json::to_writer(body, message)?;
    Ok(())
}

#[derive(Serialize)]
struct ToolLine<'a> {
    role: &'static str,
    content: &'a str,
    tool_call_id: &'a str,
}

/// What the tool takes.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Terms {
    pub(crate) a: i64,
    pub(crate) b: i64,
}

#[derive(Debug, Default)]
struct Turn {
    text: String,
    calls: Vec<Call>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Call {
    #[serde(skip_serializing)]
    index: usize,
    id: String,
    r#type: String,
    function: Function,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Function {
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Body {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "delta")]
    message: Said,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Call>,
}

fn read_whole(body: &[u8]) -> Result<Turn, Failed> {
    let body: Body = serde_json::from_slice(body)?;
    let said = body.choices.into_iter().next().ok_or("no choice")?.message;
    Ok(Turn { text: said.content.unwrap_or_default(), calls: said.tool_calls })
}

async fn read_stream(mut response: reqwest::Response) -> Result<Turn, Failed> {
    let mut turn = Turn::default();
    let mut buffer = Vec::new();
    while let Some(piece) = response.chunk().await? {
        buffer.extend_from_slice(&piece);
        let mut taken = 0;
        while let Some(length) = memchr::memchr(b'\n', &buffer[taken..]) {
            let line = &buffer[taken..taken + length];
            taken += length + 1;
            match line.strip_prefix(b"data: ") {
                Some(b"[DONE]") | None => {}
                Some(data) => fold(&mut turn, serde_json::from_slice(data)?),
            }
        }
        buffer.drain(..taken);
    }
    Ok(turn)
}

fn fold(turn: &mut Turn, chunk: Body) {
    for said in chunk.choices.into_iter().map(|choice| choice.message) {
        if let Some(text) = said.content {
            std::hint::black_box(&text);
            turn.text.push_str(&text);
        }
        for piece in said.tool_calls {
            match turn.calls.get_mut(piece.index) {
                Some(call) => call.function.arguments.push_str(&piece.function.arguments),
                None => turn.calls.push(piece),
            }
        }
    }
}
