//! `http/get`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use jackline_model::{SideEffect, ToolRunResult};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, ClientBuilder, Response, Url};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::page::whole_chars;
use super::process::own_deadline;
use super::{Refusal, answer, arguments_of, builtin_spec};
use crate::{BoxFuture, Tool, ToolAnswer, ToolContext, ToolError, ToolSpec, limits};

/// The HTTP client of the tool cannot be set up on this machine.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client: {0}")]
pub struct HttpProblem(#[source] reqwest::Error);

/// The tool that gets a text from an address.
///
/// It sends no headers of its own choosing and no body, follows redirects within an origin only, and
/// answers text only. It reaches whatever this machine reaches, private networks included: an agent
/// that must not needs a permission rule.
///
/// # Errors
///
/// [`HttpProblem`] if TLS cannot be set up: mend the machine's certificates, or leave the tool out.
pub fn http_tool() -> Result<Arc<dyn Tool>, HttpProblem> {
    Ok(Arc::new(HttpTool::new(Client::builder())?))
}

#[derive(Debug)]
struct HttpTool {
    spec: ToolSpec,
    client: Client,
}

#[derive(Deserialize)]
struct HttpArguments {
    url: String,
}

impl HttpTool {
    fn new(builder: ClientBuilder) -> Result<Self, HttpProblem> {
        let parameters = json!({
            "type": "object",
            "properties": {"url": {"type": "string", "description": "An http or https address."}},
            "required": ["url"],
            "additionalProperties": false,
        });
        let spec = builtin_spec("http/get", "Gets a text from an address.", parameters, SideEffect::Pure);
        let client = builder.redirect(Policy::custom(within_origin)).build().map_err(HttpProblem)?;
        Ok(Self { spec, client })
    }

    async fn get(&self, url: Url, deadline: Duration) -> Result<ToolRunResult, ToolError> {
        let response = self.client.get(url).timeout(own_deadline(deadline)).send().await.map_err(broke)?;
        let is_success = response.status().is_success();
        let content = told(response).await.map_err(broke)?;
        Ok(ToolRunResult { content, success: is_success, ..ToolRunResult::default() })
    }
}

impl Tool for HttpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async move {
            match arguments_of::<HttpArguments>(arguments).and_then(|arguments| address(&arguments.url)) {
                Ok(url) => Ok(self.get(url, context.deadline).await?.into()),
                Err(refusal) => answer(Err(refusal)),
            }
        })
    }
}

fn address(text: &str) -> Result<Url, Refusal> {
    let url = Url::parse(text.trim()).map_err(|error| Refusal(format!("`{text}` is no address: {error}.")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(Refusal(format!("`{other}` addresses cannot be fetched; http and https can."))),
    }
}

/// A redirect to another origin is told, not followed: whoever approved the address approved that one.
fn within_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let is_same = attempt.previous().last().is_some_and(|from| from.origin() == attempt.url().origin());
    if attempt.previous().len() > limits::HTTP_REDIRECTS_MAX {
        attempt.error("too many redirects")
    } else if is_same {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

async fn told(mut response: Response) -> reqwest::Result<String> {
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let kind = header(CONTENT_TYPE).unwrap_or_default();
    let mut text = format!("[{}]\n", response.status());
    if let Some(location) = header(LOCATION) {
        let _ = writeln!(text, "[It points to {location}]");
    }
    if !is_text(&kind) {
        let length = response.content_length().map_or("unknown size".to_owned(), |bytes| format!("{bytes} bytes"));
        let _ = write!(text, "[binary, {length}, {kind}]");
        return Ok(text);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limits::HTTP_BODY_BYTES_MAX - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            body.truncate(whole_chars(&body));
            let _ = writeln!(text, "[only the first {} bytes are shown]", body.len());
            break;
        }
        body.extend_from_slice(&chunk);
    }
    text.push_str(&String::from_utf8_lossy(&body));
    Ok(text)
}

/// Whether a content type is text. Servers that give none mostly send text.
fn is_text(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    kind.is_empty() || kind.starts_with("text/") || TEXT_KINDS.iter().any(|part| kind.contains(part))
}

fn broke(error: reqwest::Error) -> ToolError {
    let may_pass = error.is_timeout() || error.is_connect();
    let error = error.without_url();
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let message = format!("The address could not be fetched: {error}{cause}");
    if may_pass { ToolError::retryable(message) } else { ToolError::new(message) }
}

/// What text formats have in the names of their content types.
const TEXT_KINDS: [&str; 4] = ["json", "xml", "javascript", "yaml"];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jackline_model::ToolRunResult;
    use reqwest::Client;
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::{HttpTool, limits};
    use crate::ToolError;
    use crate::builtin::testing::{run, run_within};

    fn tool() -> HttpTool {
        HttpTool::new(Client::builder().no_proxy()).unwrap()
    }

    /// Serves these raw replies on loopback, one a connection, and gives the address.
    async fn serve(replies: Vec<Vec<u8>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for reply in replies {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(&reply).await;
            }
        });
        address
    }

    async fn get(replies: &[&str]) -> Result<ToolRunResult, ToolError> {
        let url = serve(replies.iter().map(|reply| reply.as_bytes().to_vec()).collect()).await;
        run(&tool(), json!({"url": url})).await
    }

    #[tokio::test]
    async fn a_text_is_answered_with_its_status() {
        let reply = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello";
        assert_eq!(get(&[reply]).await.unwrap(), ToolRunResult::ok("[200 OK]\nhello"));
        let reply = "HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(get(&[reply]).await.unwrap(), ToolRunResult::failed("[404 Not Found]\n{}"));
    }

    #[tokio::test]
    async fn what_is_no_text_is_named() {
        let reply = "HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 900\r\n\r\n";
        assert_eq!(get(&[reply]).await.unwrap().content, "[200 OK]\n[binary, 900 bytes, image/png]");
    }

    #[tokio::test]
    async fn a_giant_body_is_cut() {
        let mut reply = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
        reply.resize(reply.len() + limits::HTTP_BODY_BYTES_MAX + 1, b'x');
        let url = serve(vec![reply]).await;
        let result = run(&tool(), json!({"url": url})).await.unwrap();
        assert!(result.content.starts_with("[200 OK]\n[only the first"));
        assert!(result.content.len() < limits::HTTP_BODY_BYTES_MAX + 100);
    }

    #[tokio::test]
    async fn a_redirect_is_followed_within_the_origin_only() {
        let inside = "HTTP/1.1 302 Found\r\nlocation: /there\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let reply = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nthere";
        assert_eq!(get(&[inside, reply]).await.unwrap().content, "[200 OK]\nthere");

        let outside = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
        let result = get(&[outside]).await.unwrap();
        assert_eq!(result.content, "[302 Found]\n[It points to http://127.0.0.1:1/]\n");
        assert!(!result.success);
    }

    #[tokio::test]
    async fn endless_redirects_end() {
        let round = "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let error = get(&[round; 10]).await.unwrap_err();
        assert!(error.message.contains("redirect") && !error.retry, "{error}");
    }

    #[tokio::test]
    async fn what_may_pass_may_be_tried_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let silent = run_within(Duration::from_millis(50), &tool(), json!({"url": url})).await;
        assert!(silent.unwrap_err().retry);
        drop(listener);
        assert!(run(&tool(), json!({"url": url})).await.unwrap_err().retry);
    }

    #[tokio::test]
    async fn only_http_is_fetched() {
        for url in ["file:///etc/passwd", "ftp://x/", "not an address"] {
            assert!(!run(&tool(), json!({"url": url})).await.unwrap().success, "{url}");
        }
    }
}
