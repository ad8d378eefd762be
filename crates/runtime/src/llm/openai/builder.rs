//! How a client is set up.

use std::fmt;
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::llm::encode::{Encoder, WireSettings};
use crate::llm::limits::{CONNECT_TIMEOUT, FIRST_BYTE_TIMEOUT, IDLE_TIMEOUT};

use super::carrier::Carrier;
use super::model::{OpenAiModel, Price, Timeouts};
use super::secrets::Secrets;

/// Whether answers are streamed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamMode {
    /// When somebody reads deltas.
    #[default]
    Auto,
    /// Always, for servers that cut long silences.
    Always,
    /// Never, for servers that cannot.
    Never,
}

/// A client cannot be built from these settings.
#[derive(Debug, thiserror::Error)]
pub enum OpenAiConfigError {
    /// The base address is no `http` or `https` URL. Give one such as `https://api.openai.com/v1`.
    #[error("base url `{0}` is not an http or https url")]
    BaseUrl(String),
    /// The key holds characters that no header may hold, such as a line break. Check where it comes from.
    #[error("the api key holds characters that a header cannot hold")]
    ApiKey,
    /// A header's name or value is not legal. Correct it.
    #[error("header `{0}` is not legal")]
    Header(String),
    /// The HTTP client cannot start, as when the machine has no certificates.
    #[error("the http client cannot start")]
    Http(#[source] reqwest::Error),
}

/// Settings of an [`OpenAiModel`].
#[derive(Clone)]
pub struct OpenAiModelBuilder {
    base_url: String,
    api_key: String,
    wire: WireSettings,
    stream: StreamMode,
    price: Option<Price>,
    connect_timeout: Duration,
    timeouts: Timeouts,
    headers: Vec<(String, String)>,
    extra: Map<String, Value>,
}

impl Default for OpenAiModelBuilder {
    fn default() -> Self {
        Self {
            base_url: BASE_URL.to_owned(),
            api_key: String::new(),
            wire: WireSettings::default(),
            stream: StreamMode::default(),
            price: None,
            connect_timeout: CONNECT_TIMEOUT,
            timeouts: Timeouts { first_byte: FIRST_BYTE_TIMEOUT, idle: IDLE_TIMEOUT },
            headers: Vec::new(),
            extra: Map::new(),
        }
    }
}

impl OpenAiModelBuilder {
    /// Takes `OPENAI_BASE_URL` and `OPENAI_API_KEY` where they are set. Nothing else reads them.
    pub fn from_env(mut self) -> Self {
        if let Some(base_url) = env_text("OPENAI_BASE_URL") {
            self.base_url = base_url;
        }
        if let Some(api_key) = env_text("OPENAI_API_KEY") {
            self.api_key = api_key;
        }
        self
    }

    /// The address before `/chat/completions`; `https://api.openai.com/v1` unless set.
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = base_url.into();
        self
    }

    /// The key; without one no `Authorization` header is sent.
    pub fn api_key(mut self, api_key: impl Into<String>) -> Self {
        self.api_key = api_key.into();
        self
    }

    /// How the provider wants its messages.
    pub fn wire(mut self, wire: WireSettings) -> Self {
        self.wire = wire;
        self
    }

    /// Whether answers are streamed.
    pub fn stream(mut self, stream: StreamMode) -> Self {
        self.stream = stream;
        self
    }

    /// The price in dollars per million tokens; without one the cost of a call is zero.
    pub fn price_per_million(mut self, input_dollars: f64, output_dollars: f64) -> Self {
        self.price = Some(Price::new(input_dollars, output_dollars));
        self
    }

    /// How long a connection may take to open; 10 s unless set.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// How long an answer may take to begin; 10 minutes unless set.
    pub fn first_byte_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.first_byte = limit;
        self
    }

    /// How long an answer that has begun may be silent; 60 s unless set.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.timeouts.idle = limit;
        self
    }

    /// Adds a header to every request. Its value is treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Adds a member to the body of every request, such as `temperature`. Members that the client
    /// writes itself keep its values.
    pub fn body_member(mut self, name: impl Into<String>, value: Value) -> Self {
        self.extra.insert(name.into(), value);
        self
    }

    /// Builds the client; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`OpenAiConfigError`]; each variant says what to correct.
    ///
    /// ```
    /// use jackline_runtime::llm::OpenAiModel;
    /// let model = OpenAiModel::builder().base_url("http://127.0.0.1:8080/v1").api_key("sk-secret").build().unwrap();
    /// assert!(!format!("{model:?}").contains("sk-secret"));
    /// assert!(OpenAiModel::builder().base_url("nowhere").build().is_err());
    /// ```
    pub fn build(self) -> Result<OpenAiModel, OpenAiConfigError> {
        let base_url = checked_base_url(&self.base_url)?;
        let mut secrets = Secrets::default();
        secrets.add(&self.api_key);
        // The crate would panic on a key that is no header.
        HeaderValue::from_str(&self.api_key).map_err(|_| OpenAiConfigError::ApiKey)?;
        // Each value that the crate would read from the environment is given, empty or not.
        let mut config = OpenAIConfig::new()
            .with_api_base(base_url.clone())
            .with_api_key(self.api_key.clone())
            .with_org_id("")
            .with_project_id("");
        for (name, value) in &self.headers {
            let illegal = || OpenAiConfigError::Header(name.clone());
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| illegal())?;
            secrets.add(value);
            config = config.with_header(header, value.as_str()).map_err(|_| illegal())?;
        }
        let http = reqwest::Client::builder()
            .connect_timeout(self.connect_timeout)
            // A redirect would carry the key to a place that nobody named.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(OpenAiConfigError::Http)?;
        let carrier = Carrier::new(http.clone(), !self.api_key.is_empty());
        let client = Client::build(http, config).with_http_service(carrier);
        let encoder = Encoder::new(self.wire, self.extra);
        Ok(OpenAiModel::new(client, base_url, encoder, self.stream, self.price, self.timeouts, secrets))
    }
}

impl fmt::Debug for OpenAiModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiModelBuilder")
            .field("base_url", &self.base_url)
            .field("has_key", &!self.api_key.is_empty())
            .field("wire", &self.wire)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

fn checked_base_url(text: &str) -> Result<String, OpenAiConfigError> {
    let trimmed = text.trim().trim_end_matches('/');
    let url = reqwest::Url::parse(trimmed).map_err(|_| OpenAiConfigError::BaseUrl(text.to_owned()))?;
    match url.scheme() {
        "http" | "https" => Ok(trimmed.to_owned()),
        _ => Err(OpenAiConfigError::BaseUrl(text.to_owned())),
    }
}

fn env_text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.trim().is_empty())
}

const BASE_URL: &str = "https://api.openai.com/v1";
