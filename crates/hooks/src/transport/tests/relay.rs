//! A stand-in for QStash, written from the documentation of its publish API.
//!
//! It takes what the documentation allows, refuses the rest as documented, keeps the messages, and delivers one on
//! demand, as QStash would. Plans differ in their limits; these are those of the free one.

use super::*;

/// A running stand-in, and the messages that it has taken.
pub(super) struct Relay {
    pub(super) server: Server,
    messages: Arc<Mutex<Vec<Message>>>,
}

/// A message, as QStash keeps it until it is delivered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) destination: String,
    pub(super) method: String,
    /// What the receiver gets of the publisher's headers.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
    pub(super) retries: u32,
    pub(super) delay: Option<String>,
    pub(super) timeout: Option<String>,
    /// A message whose id the service has seen is taken and not kept again.
    pub(super) deduplication_id: Option<String>,
}

impl Relay {
    /// A service that knows this token.
    pub(super) fn start(token: &'static str) -> Self {
        let messages: Arc<Mutex<Vec<Message>>> = Arc::default();
        let kept = Arc::clone(&messages);
        let server = Server::start(move |seen| match accept(seen, token) {
            Ok(message) => {
                let mut messages = kept.lock().unwrap();
                let id = message.deduplication_id.as_deref();
                if let Some(known) =
                    messages.iter().position(|known| id.is_some() && known.deduplication_id.as_deref() == id)
                {
                    let body = json!({"messageId": format!("msg_{}", known + 1), "deduplicated": true});
                    return Reply::Full(202, body.to_string().into_bytes());
                }
                messages.push(message);
                Reply::Full(200, json!({"messageId": format!("msg_{}", messages.len())}).to_string().into_bytes())
            }
            Err((status, error)) => Reply::Full(status, json!({"error": error}).to_string().into_bytes()),
        });
        Self { server, messages }
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        self.messages.lock().unwrap().clone()
    }

    /// Delivers the last message: one attempt and its retries, until the receiver has it. The waits in between are
    /// left out.
    pub(super) async fn deliver(&self) -> Vec<u16> {
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let client = client.user_agent("Upstash-QStash").build().unwrap();
        let (message, mut statuses) = (self.messages().pop().unwrap(), Vec::new());
        for retried in 0..=message.retries {
            let mut request = client.request(message.method.parse().unwrap(), &message.destination);
            for (name, value) in &message.headers {
                request = request.header(name, value);
            }
            request = request.header("Upstash-Message-Id", "msg_1").header("Upstash-Retried", retried);
            let status = request.body(message.body.clone()).send().await.unwrap().status();
            statuses.push(status.as_u16());
            if status.is_success() {
                break;
            }
        }
        statuses
    }
}

/// What the documentation says of a request to `POST /v2/publish/{destination}`.
fn accept(seen: &server::Seen, token: &str) -> Result<Message, (u16, String)> {
    let header = |name: &str| seen.headers.get(name).cloned();
    let bad = |what: &str| (400, format!("{what} is not valid"));
    if header("authorization") != Some(format!("Bearer {token}")) {
        return Err((401, "unauthorized: invalid token".to_owned()));
    }
    let destination = seen.path.strip_prefix("/v2/publish/").filter(|_| seen.method == "POST");
    let destination = destination.ok_or_else(|| (404, "not found".to_owned()))?;
    if !(destination.starts_with("http://") || destination.starts_with("https://")) {
        return Err(bad("the destination"));
    }
    let (delay, timeout) = (header("upstash-delay"), header("upstash-timeout"));
    if delay.as_deref().is_some_and(|text| !(0..=DELAY_SECONDS_MAX).contains(&seconds(text))) {
        return Err(bad("Upstash-Delay"));
    }
    if timeout.as_deref().is_some_and(|text| seconds(text) <= 0) {
        return Err(bad("Upstash-Timeout"));
    }
    let retries = header("upstash-retries").map_or(Ok(RETRIES_MAX), |text| text.parse());
    let retries = retries.ok().filter(|retries| *retries <= RETRIES_MAX).ok_or_else(|| bad("Upstash-Retries"))?;
    let method = header("upstash-method").unwrap_or_else(|| "POST".to_owned());
    if !["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) {
        return Err(bad("Upstash-Method"));
    }
    let forwarded = |(name, value): (&String, &String)| match name.strip_prefix("upstash-forward-") {
        Some(name) => Some((name.to_owned(), value.clone())),
        None => (name == "content-type").then(|| (name.clone(), value.clone())),
    };
    let headers = seen.headers.iter().filter_map(forwarded).collect();
    let (destination, body) = (destination.to_owned(), seen.body.clone());
    let deduplication_id = header("upstash-deduplication-id");
    Ok(Message { destination, method, headers, body, retries, delay, timeout, deduplication_id })
}

/// A span as the documentation writes it: whole numbers, each with a unit. Less than nothing for any other text.
fn seconds(text: &str) -> i64 {
    let (mut whole, mut number) = (0, String::new());
    for char in text.chars() {
        if char.is_ascii_digit() {
            number.push(char);
            continue;
        }
        let unit = match char {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            _ => return -1,
        };
        let Ok(count) = number.parse::<i64>() else { return -1 };
        whole += count * unit;
        number.clear();
    }
    if number.is_empty() && !text.is_empty() { whole } else { -1 }
}

/// The most retries, and their number if a message says nothing.
const RETRIES_MAX: u32 = 3;

/// Seven days.
const DELAY_SECONDS_MAX: i64 = 7 * 86_400;
