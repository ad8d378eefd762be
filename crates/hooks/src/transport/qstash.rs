//! Publishes to QStash, which delivers.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::timeout;
use url::Url;

use super::http::Shared;
use super::prepare::{Prepared, check_destination, configuration, prepare, secret};
use crate::{DeliveryKind, Environment, FaultCode, HeaderFault, HookFault, NetworkPolicy, WebhookRequest};

/// Publishes a webhook. It is delivered when QStash says that it has it.
///
/// Without a token, or when the publishing fails, one plain request is made, unless the hook has no fallback.
pub(super) async fn deliver(shared: &Shared, request: &WebhookRequest) -> Result<(), HookFault> {
    let config = &request.config;
    let environment = shared.environment.as_ref();
    // A bad destination or a bad header has no fallback: the plain request would have it, too.
    let destination = prepare(request, DeliveryKind::Qstash, environment)?;
    // Names are looked up by QStash, from outside; what is an address already is refused here.
    check_destination(&destination, false)?;
    let Some(token) = environment.get("QSTASH_TOKEN").filter(|token| !token.trim().is_empty()) else {
        if config.is_critical() {
            return Err(configuration("QSTASH_TOKEN not available"));
        }
        return shared.fetch(request).await;
    };
    let publishing = publishing(request, destination, &token, environment)?;
    let Err(fault) = publish(shared, publishing).await else {
        return Ok(());
    };
    if config.is_critical() {
        return Err(fault);
    }
    tracing::error!(
        code = fault.code().as_str(),
        status = fault.status(),
        "[HookDispatcher] QStash delivery failed, falling back to fetch"
    );
    shared.fetch(request).await
}

async fn publish(shared: &Shared, publishing: Prepared) -> Result<(), HookFault> {
    let failed = || HookFault::new(FaultCode::NetworkError).with_diagnostic("QStash publish failed");
    let sent = timeout(publishing.deadline, shared.send(publishing)).await;
    let status = sent.map_err(|_| failed())?.map_err(|_| failed())?.status();
    if status.is_success() {
        return Ok(());
    }
    let fault = HookFault::new(FaultCode::HttpError).with_status(status.as_u16());
    Err(fault.with_diagnostic(format_args!("QStash publish failed (HTTP {})", status.as_u16())))
}

/// The request to QStash: the destination in its path, what is forwarded in its headers.
fn publishing(
    request: &WebhookRequest,
    destination: Prepared,
    token: &str,
    environment: &dyn Environment,
) -> Result<Prepared, HookFault> {
    let base = environment.get("QSTASH_URL").filter(|url| !url.trim().is_empty());
    let base = base.as_deref().unwrap_or(QSTASH_URL).trim_end_matches('/').to_owned();
    let url = Url::parse(&format!("{base}/v2/publish/{}", destination.url));
    let url = url.ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.username().is_empty());
    let url =
        url.ok_or_else(|| configuration("QSTASH_URL is no HTTP(S) URL without credentials: correct or unset it"))?;

    let mut headers = HeaderMap::new();
    for (name, value) in &destination.headers {
        let forwarded = format!("upstash-forward-{name}");
        let name = if name == CONTENT_TYPE { Some(CONTENT_TYPE) } else { HeaderName::try_from(forwarded).ok() };
        headers.insert(name.ok_or_else(|| configuration(HeaderFault::Name))?, value.clone());
    }
    let mut set = |name: &'static str, value: String| -> Result<(), HookFault> {
        let value = HeaderValue::from_str(&value).map_err(|_| configuration("a QStash option is no header value"))?;
        headers.insert(HeaderName::from_static(name), secret(value));
        Ok(())
    };
    if let Some(bypass) = bypass(&destination.url, environment) {
        set("upstash-forward-x-vercel-protection-bypass", bypass)?;
    }
    set("authorization", format!("Bearer {token}"))?;
    // QStash takes whole numbers, so a fraction is rounded up: the receiver has no less time than the hook says.
    set("upstash-timeout", format!("{}s", destination.deadline.as_millis().div_ceil(1_000)))?;
    // A publication that is repeated because its answer was lost is taken once.
    set("upstash-deduplication-id", request.delivery_id.as_str().to_owned())?;
    if let Some(retries) = request.config.retries {
        set("upstash-retries", retries.to_string())?;
    }
    if let Some(delay) = &request.config.delay {
        set("upstash-delay", delay.to_string())?;
    }
    // QStash itself is configured by the operator and not by the hook, so the hook's policy is not about it.
    let (deadline, policy) = (PUBLISH_TIMEOUT, NetworkPolicy::default());
    Ok(Prepared { url, headers, body: destination.body, deadline, policy })
}

/// The secret that lets a request pass the protection of the application's own deployments; for no other origin.
fn bypass(destination: &Url, environment: &dyn Environment) -> Option<String> {
    let is_own = ["INTERNAL_APP_URL", "APP_URL"].into_iter().any(|name| {
        let base = environment.get(name).and_then(|base| Url::parse(&base).ok());
        base.is_some_and(|base| base.origin() == destination.origin())
    });
    environment.get("VERCEL_AUTOMATION_BYPASS_SECRET").filter(|secret| is_own && !secret.is_empty())
}

/// The public service.
const QSTASH_URL: &str = "https://qstash.upstash.io";

/// How long publishing may take. The hook's own deadline is about its destination.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(30);
