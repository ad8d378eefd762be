//! `jackline hooks listen`.

use std::convert::Infallible;
use std::io::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use jackline_hooks::transport::ProcessCarrier;
use jackline_hooks::{
    CommandCarrier, CommandConfig, CommandReply, CommandRequest, ControlReply, HookKind, ProcessEnvironment,
};
use jackline_model::ExitCode;
use regex::Regex;
use serde_json::{Map, Value, json};
use standardwebhooks::Webhook;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::trial::words;
use crate::args::ListenArgs;
use crate::problem::Problem;
use crate::render::say;
use crate::run::block_on;

/// How requests are answered.
struct Rule {
    answerer: Answerer,
    status: Option<StatusCode>,
    delay: Duration,
    verifier: Option<Webhook>,
}

/// Who decides.
enum Answerer {
    Pattern { reason: Option<String>, matching: Option<Regex> },
    Program(Arc<CommandConfig>),
}

/// Receives webhooks until it is interrupted.
pub(super) fn listen(args: &ListenArgs) -> Result<ExitCode, Problem> {
    let rule = Arc::new(Rule::of(args)?);
    block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port))
            .await
            .map_err(|error| Problem::failed(format!("cannot listen on port {}: {error}", args.port)))?;
        let address = listener.local_addr().map_err(|error| Problem::failed(error.to_string()))?;
        say(format!("listening on http://{address} (Ctrl-C ends it)"));
        tokio::select! {
            () = accept(&listener, &rule) => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(())
    })?;
    Ok(ExitCode::Done)
}

async fn accept(listener: &TcpListener, rule: &Arc<Rule>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((socket, _)) = listener.accept().await else {
            // Such as too many open files: that passes when others are closed.
            tokio::time::sleep(ACCEPT_RETRY).await;
            continue;
        };
        let rule = Arc::clone(rule);
        tokio::spawn(async move {
            let answer = service_fn(|request| {
                let rule = Arc::clone(&rule);
                async move { Ok::<_, Infallible>(rule.answer(request).await) }
            });
            let mut server = hyper::server::conn::http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADERS_TIMEOUT);
            // A sender that goes away in the middle is its own business.
            let _ = server.serve_connection(TokioIo::new(socket), answer).await;
            drop(place);
        });
    }
}

impl Rule {
    fn of(args: &ListenArgs) -> Result<Self, Problem> {
        let matching = args.deny_matching.as_deref().map(Regex::new).transpose();
        let matching = matching.map_err(|error| Problem::usage(format!("--deny-matching is no pattern: {error}")))?;
        let status = args.status.map(StatusCode::from_u16).transpose();
        let answerer = if args.exec.is_empty() {
            Answerer::Pattern { reason: args.deny.clone(), matching }
        } else {
            let env = ENV_OF_PROGRAMS.map(str::to_owned).into();
            Answerer::Program(Arc::new(CommandConfig { env, ..CommandConfig::control(args.exec.clone()) }))
        };
        Ok(Self {
            answerer,
            status: status.map_err(|error| Problem::usage(format!("--status: {error}")))?,
            delay: Duration::from_millis(args.delay),
            verifier: args.secret_env.as_deref().map(verifier).transpose()?,
        })
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::POST {
            return reply(StatusCode::METHOD_NOT_ALLOWED, &json!({"error": "webhooks are sent by POST"}));
        }
        let path = request.uri().path().to_owned();
        let delivery = request.headers().get("webhook-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let headers = request.headers().clone();
        let reading = tokio::time::timeout(BODY_TIMEOUT, Limited::new(request.into_body(), BODY_BYTES_MAX).collect());
        let Ok(Ok(body)) = reading.await else {
            return reply(StatusCode::PAYLOAD_TOO_LARGE, &json!({"error": "the body is too long or too slow"}));
        };
        let body = body.to_bytes();
        if let Some(verifier) = &self.verifier
            && verifier.verify(&body, &headers).is_err()
        {
            print(&json!({"path": path, "signature": "wrong"}));
            return reply(StatusCode::UNAUTHORIZED, &json!({"error": "the signature is missing, old or wrong"}));
        }
        let text = String::from_utf8_lossy(&body).into_owned();
        let payload = serde_json::from_str::<Value>(&text).unwrap_or(Value::String(text.clone()));
        let answer = self.answerer.decide(&text, &payload).await;
        let shown = match &answer {
            Ok(answer) => json!({"path": path, "delivery": delivery, "payload": payload, "answer": answer}),
            Err(why) => json!({"path": path, "delivery": delivery, "payload": payload, "failed": why}),
        };
        print(&shown);
        tokio::time::sleep(self.delay).await;
        match (self.status, answer) {
            (Some(status), _) => reply(status, &Value::Null),
            (None, Ok(answer)) => reply(StatusCode::OK, &answer),
            (None, Err(why)) => reply(StatusCode::INTERNAL_SERVER_ERROR, &json!({"error": why})),
        }
    }
}

impl Answerer {
    /// The body of the answer, or why there is none.
    async fn decide(&self, text: &str, payload: &Value) -> Result<Value, String> {
        match self {
            Self::Pattern { reason, matching } => {
                let is_denied = match matching {
                    Some(pattern) => pattern.is_match(text),
                    None => reason.is_some(),
                };
                Ok(if is_denied { denial(reason.as_deref()) } else { json!({"decision": "allow"}) })
            }
            Self::Program(config) => {
                let Value::Object(payload) = payload else { return Err("the payload is no JSON object".to_owned()) };
                ask_program(Arc::clone(config), payload.clone()).await
            }
        }
    }
}

fn denial(reason: Option<&str>) -> Value {
    match reason {
        None => json!({"decision": "deny"}),
        Some(reason) => json!({"decision": "deny", "reason": reason}),
    }
}

/// The answer of a program, as a hook that is one would be understood.
async fn ask_program(config: Arc<CommandConfig>, payload: Map<String, Value>) -> Result<Value, String> {
    let kind = payload.get("hookType").and_then(Value::as_str).and_then(|kind| kind.parse().ok());
    let request = CommandRequest { config, payload, kind: kind.unwrap_or(HookKind::BeforeToolCall) };
    match ProcessCarrier::new(Arc::new(ProcessEnvironment)).ask(request).await {
        Ok(CommandReply::Control(ControlReply::Allow)) => Ok(json!({"decision": "allow"})),
        Ok(CommandReply::Control(ControlReply::Deny { reason })) => Ok(denial(reason.as_deref())),
        Ok(CommandReply::Control(ControlReply::Notification)) => Ok(Value::Null),
        Ok(CommandReply::Mock(_)) => Err("a webhook cannot stand in for a tool".to_owned()),
        Err(fault) => Err(words(&fault)),
    }
}

fn reply(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

/// Knows the signatures that a secret makes. The secret is never shown.
fn verifier(name: &str) -> Result<Webhook, Problem> {
    let secret = std::env::var(name).map_err(|_| Problem::usage(format!("--secret-env: `{name}` is not set")))?;
    let problem = || Problem::usage(format!("--secret-env: the secret in `{name}` is not base64"));
    Webhook::new(&secret).map_err(|_| problem().hint("It is what the sender has: whsec_ and base64, or base64."))
}

/// Prints a line at once; whoever reads it may have gone.
fn print(line: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Without these even simple programs fail, and none is a secret.
const ENV_OF_PROGRAMS: [&str; 3] = ["PATH", "HOME", "LANG"];

/// Senders at once: more than a machine's own runs will be.
const CONNECTIONS_MAX: usize = 64;

/// The longest payload: what a control is shown of a result may be long.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long a sender may take for its headers.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a sender may take for its body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long to wait after a connection could not be accepted.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
