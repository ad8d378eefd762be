//! Reading a response: bounded in bytes and in silence.

use std::error::Error;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};

use crate::llm::decode::{AnswerEnd, Assembler, SseEvent, SseLimit, SseReader};
use crate::llm::fault::{FaultClass, provider_fault};
use crate::llm::limits::{ANSWER_BYTES_MAX, ERROR_BODY_BYTES_MAX, ERROR_BODY_SILENCE_MAX};
use crate::llm::provider_error::ProviderError;
use crate::llm::retry_after::parse_retry_after;
use crate::llm::{DeltaSink, ModelFault, ModelReply};

/// Reads an answer with a good status, streamed or not: what arrives decides, not what was asked for.
pub(crate) async fn read_answer(
    response: Response,
    idle: Duration,
    sink: &mut dyn DeltaSink,
) -> Result<ModelReply, ModelFault> {
    if is_event_stream(response.headers()) {
        read_stream(response, idle, sink).await
    } else {
        read_whole(response, idle, sink).await
    }
}

/// Reads an answer with any other status.
pub(crate) async fn read_refusal(mut response: Response, idle: Duration) -> ModelFault {
    let status = response.status().as_u16();
    let retry_after = retry_after_of(response.headers(), SystemTime::now());
    let mut body = Vec::new();
    let idle = idle.min(ERROR_BODY_SILENCE_MAX);
    // What is missing at the end of an error body is not worth another fault.
    while let Ok(Some(piece)) = next_piece(&mut response, idle).await {
        body.extend_from_slice(&piece);
        if body.len() >= ERROR_BODY_BYTES_MAX {
            body.truncate(ERROR_BODY_BYTES_MAX);
            break;
        }
    }
    let error = ProviderError::from_body(status, &String::from_utf8_lossy(&body));
    ModelFault { retry_after, ..provider_fault(&error) }
}

/// The fault of a request that brought no response.
pub(crate) fn transport_fault(error: reqwest::Error) -> ModelFault {
    let class = if error.is_timeout() {
        FaultClass::Timeout
    } else if error.is_builder() {
        FaultClass::InvalidRequest
    } else {
        FaultClass::Connection
    };
    let error = error.without_url();
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        words.push_str(": ");
        words.push_str(&inner.to_string());
        source = inner.source();
    }
    class.fault(format!("the connection to the provider failed: {words}"))
}

/// The fault of a silence.
pub(crate) fn silence_fault(limit: Duration) -> ModelFault {
    FaultClass::Timeout.fault(format!("the provider sent nothing for {} s", limit.as_secs_f64()))
}

async fn read_stream(
    mut response: Response,
    idle: Duration,
    sink: &mut dyn DeltaSink,
) -> Result<ModelReply, ModelFault> {
    let mut reader = SseReader::default();
    let mut assembler = Assembler::default();
    let mut is_open = true;
    while is_open && !assembler.is_lost() {
        let taken = match next_piece(&mut response, idle).await {
            Ok(Some(piece)) => reader.handle_bytes(&piece),
            Ok(None) => {
                is_open = false;
                reader.handle_end()
            }
            Err(fault) => {
                assembler.handle_broken(fault);
                break;
            }
        };
        if let Err(limit) = taken {
            assembler.handle_limit(limit);
        }
        if drain(&mut reader, &mut assembler, sink) {
            give_back(response).await;
            return assembler.into_reply(AnswerEnd::Complete);
        }
    }
    assembler.into_reply(AnswerEnd::Closed)
}

/// Folds what is complete; true when the end marker was among it.
fn drain(reader: &mut SseReader, assembler: &mut Assembler, sink: &mut dyn DeltaSink) -> bool {
    while let Some(event) = reader.next_event() {
        match event {
            SseEvent::Data { text, is_error } => assembler.handle_data(&text, is_error, sink),
            SseEvent::Done => return true,
        }
    }
    false
}

/// A response that has been read to its end gives its connection back; any other closes it. The end
/// mostly arrives together with the end marker, so it is looked for a few times, and never waited for.
async fn give_back(mut response: Response) {
    for _ in 0..END_LOOKS_MAX {
        // The connection has its own task, which must get a turn to see the end.
        tokio::task::yield_now().await;
        match response.chunk().now_or_never() {
            Some(Ok(Some(_))) | None => {}
            Some(Ok(None) | Err(_)) => return,
        }
    }
}

async fn read_whole(
    mut response: Response,
    idle: Duration,
    sink: &mut dyn DeltaSink,
) -> Result<ModelReply, ModelFault> {
    let mut body = Vec::new();
    let mut assembler = Assembler::default();
    while let Some(piece) = next_piece(&mut response, idle).await? {
        body.extend_from_slice(&piece);
        if body.len() > ANSWER_BYTES_MAX {
            assembler.handle_limit(SseLimit::Answer);
            return assembler.into_reply(AnswerEnd::Complete);
        }
    }
    let text = String::from_utf8_lossy(&body);
    let text = text.trim_start_matches('\u{feff}');
    if SSE_STARTS.iter().any(|start| text.trim_start().starts_with(start)) {
        // A stream under the name of something else.
        let mut reader = SseReader::default();
        let taken = reader.handle_bytes(text.as_bytes()).and_then(|()| reader.handle_end());
        let is_complete = drain(&mut reader, &mut assembler, sink);
        taken.unwrap_or_else(|limit| assembler.handle_limit(limit));
        return assembler.into_reply(if is_complete { AnswerEnd::Complete } else { AnswerEnd::Closed });
    }
    assembler.handle_body(text, sink);
    assembler.into_reply(AnswerEnd::Complete)
}

async fn next_piece(response: &mut Response, idle: Duration) -> Result<Option<bytes::Bytes>, ModelFault> {
    match tokio::time::timeout(idle, response.chunk()).await {
        Ok(piece) => piece.map_err(transport_fault),
        Err(_) => Err(silence_fault(idle)),
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.to_ascii_lowercase().contains("event-stream"))
}

fn retry_after_of(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    parse_retry_after(text, now)
}

/// Each look costs a turn of the scheduler, some microseconds; a new connection costs milliseconds.
const END_LOOKS_MAX: usize = 4;

const SSE_STARTS: [&str; 3] = ["data:", "event:", ": "];
