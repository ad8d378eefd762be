//! Delivers webhooks over HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Proxy, Response, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::body::read_bounded;
use super::clients::Clients;
use super::guard::{NameResolver, Refused, SystemResolver, is_refusal};
use super::prepare::{Prepared, check_destination, configuration, prepare};
use super::qstash;
use crate::{
    ControlReply, DeliveryKind, Environment, FaultCode, HookFault, NetworkPolicy, WebhookCarrier, WebhookRequest,
    parse_reply,
};

/// Delivers webhooks over HTTP: by one request each, or through QStash.
///
/// A request is a `POST` of the payload. Its deadline covers all of it, the wait for a free connection, headers and
/// body included. Redirects are not followed, the reply to a notification is not read, and no proxy is used unless
/// one is given. Replies to controls are read up to 65536 bytes.
///
/// Cloning shares the connections.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use jackline_hooks::transport::{HttpCarrier, HttpSettings, TokioSpawn};
/// use jackline_hooks::{Carriers, ProcessEnvironment};
/// let http = HttpCarrier::new(Arc::new(ProcessEnvironment), HttpSettings::default())?;
/// let spawn = TokioSpawn::new(tokio::runtime::Handle::current());
/// let carriers = Carriers { webhook: Some(Arc::new(http)), spawn: Some(Arc::new(spawn)), command: None };
///
/// let settings = HttpSettings { proxy: Some("no proxy".to_owned()), ..HttpSettings::default() };
/// assert!(HttpCarrier::new(Arc::new(ProcessEnvironment), settings).is_err());
/// # Ok::<(), jackline_hooks::HookFault>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct HttpCarrier(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) environment: Arc<dyn Environment>,
    pub(super) clients: Clients,
    connections: Semaphore,
}

/// How requests leave the machine.
#[derive(Clone)]
pub struct HttpSettings {
    /// The URL of a proxy for all requests. Under a network policy names must then be among its exceptions, since
    /// the proxy looks them up.
    pub proxy: Option<String>,
    /// Who looks names up.
    pub resolver: Arc<dyn NameResolver>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self { proxy: None, resolver: Arc::new(SystemResolver) }
    }
}

/// Does not show the proxy, whose URL may hold a password.
impl fmt::Debug for HttpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings").field("proxy", &self.proxy.is_some()).field("resolver", &self.resolver).finish()
    }
}

impl HttpCarrier {
    /// A carrier that reads secrets from these variables, at each request.
    ///
    /// # Errors
    ///
    /// [`FaultCode::Configuration`]: the proxy is no URL, or the system's certificates cannot be read. Correct it.
    pub fn new(environment: Arc<dyn Environment>, settings: HttpSettings) -> Result<Self, HookFault> {
        let proxy = settings.proxy.map(Proxy::all).transpose();
        let proxy =
            proxy.map_err(|_| configuration("the proxy is no URL: give one such as http://proxy.example.test:3128"))?;
        let clients = Clients::new(proxy, settings.resolver);
        // Reading certificates takes time, which is not taken from the first delivery's deadline.
        clients.of(&NetworkPolicy::default())?;
        Ok(Self(Arc::new(Shared { environment, clients, connections: Semaphore::new(CONNECTIONS_MAX) })))
    }
}

impl WebhookCarrier for HttpCarrier {
    fn notify(&self, request: WebhookRequest) -> BoxFuture<'static, Result<(), HookFault>> {
        let shared = Arc::clone(&self.0);
        async move {
            if request.config.is_control() {
                return Err(configuration("a control is not notified"));
            }
            match request.config.delivery {
                DeliveryKind::Fetch | DeliveryKind::Outbox => shared.fetch(&request).await,
                DeliveryKind::Qstash => qstash::deliver(&shared, &request).await,
            }
        }
        .boxed()
    }

    fn ask(&self, request: WebhookRequest) -> BoxFuture<'static, Result<ControlReply, HookFault>> {
        let shared = Arc::clone(&self.0);
        async move {
            if !request.config.is_control() {
                return Err(configuration("only a control is asked"));
            }
            let prepared = shared.prepare(&request)?;
            timeout(prepared.deadline, shared.ask(prepared)).await.unwrap_or(Err(FaultCode::Timeout.into()))
        }
        .boxed()
    }
}

impl Shared {
    /// One request whose reply is not read.
    pub(super) async fn fetch(&self, request: &WebhookRequest) -> Result<(), HookFault> {
        let prepared = self.prepare(request)?;
        let telling = async {
            // Dropping the response ends the connection if more of it were to come.
            let response = self.send(prepared).await?;
            success(response.status()).map_err(|fault| match retry_after(response.headers(), SystemTime::now()) {
                Some(wait) => fault.with_retry_after(wait),
                None => fault,
            })
        };
        let deadline = request.config.deadline();
        timeout(deadline, telling).await.unwrap_or(Err(FaultCode::Timeout.into()))
    }

    fn prepare(&self, request: &WebhookRequest) -> Result<Prepared, HookFault> {
        let prepared = prepare(request, DeliveryKind::Fetch, self.environment.as_ref())?;
        check_destination(&prepared, self.clients.has_proxy())?;
        Ok(prepared)
    }

    async fn ask(&self, prepared: Prepared) -> Result<ControlReply, HookFault> {
        let response = self.send(prepared).await?;
        let status = response.status();
        success(status)?;
        if status == StatusCode::NO_CONTENT {
            return Ok(ControlReply::Notification);
        }
        let body = read_bounded(response).await?;
        parse_reply(status.as_u16(), &body).map_err(HookFault::new)
    }

    /// Sends a request and waits for the head of its reply.
    pub(super) async fn send(&self, prepared: Prepared) -> Result<Response, HookFault> {
        let client = self.clients.of(&prepared.policy)?;
        let _connection = self.connections.acquire().await.map_err(|_| HookFault::new(FaultCode::NetworkError))?;
        let request = client.post(prepared.url).headers(prepared.headers).body(prepared.body);
        request.send().await.map_err(|error| {
            let fault = HookFault::new(FaultCode::NetworkError);
            if is_refusal(&error) { fault.with_diagnostic(Refused) } else { fault }
        })
    }
}

fn success(status: StatusCode) -> Result<(), HookFault> {
    if status.is_success() { Ok(()) } else { Err(HookFault::new(FaultCode::HttpError).with_status(status.as_u16())) }
}

/// How long the receiver wants to be left alone: seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Requests that wait for a reply at once: more would only queue inside the receivers.
const CONNECTIONS_MAX: usize = 256;
