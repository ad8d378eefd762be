//! Everything that can be wrong before a request is sent.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::guard::{Refused, permits};
use super::sign::{ID_HEADER, signature};
use crate::{
    DeliveryKind, Environment, FaultCode, HeaderFault, HookFault, HookKind, NetworkPolicy, WebhookConfig,
    WebhookRequest, resolve_url,
};

/// A request that is ready to be sent.
pub(super) struct Prepared {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) deadline: Duration,
    pub(super) policy: NetworkPolicy,
}

/// Resolves the destination, fills in the headers and signs. Whatever is wrong is `configuration`.
pub(super) fn prepare(
    request: &WebhookRequest,
    delivery: DeliveryKind,
    environment: &dyn Environment,
) -> Result<Prepared, HookFault> {
    let config = &request.config;
    // What a control adds to the rules holds for any kind that can be controlled.
    config.check(HookKind::BeforeToolCall).map_err(configuration)?;
    let url = resolve_url(&config.url, delivery, environment).map_err(configuration)?;
    let body = serde_json::to_vec(&request.payload).map_err(|_| configuration("the payload is no JSON"))?;
    let headers = headers(config, request, environment, &body)?;
    Ok(Prepared { url, headers, body, deadline: config.deadline(), policy: config.network.clone().unwrap_or_default() })
}

/// Refuses a destination that the policy refuses as it is written. A proxy dials names unchecked.
pub(super) fn check_destination(prepared: &Prepared, has_proxy: bool) -> Result<(), HookFault> {
    if permits(&prepared.policy, &prepared.url, has_proxy) { Ok(()) } else { Err(configuration(Refused)) }
}

pub(super) fn configuration(diagnostic: impl std::fmt::Display) -> HookFault {
    HookFault::new(FaultCode::Configuration).with_diagnostic(diagnostic)
}

fn headers(
    config: &WebhookConfig,
    request: &WebhookRequest,
    environment: &dyn Environment,
    body: &[u8],
) -> Result<HeaderMap, HookFault> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in config.resolve_headers(environment).map_err(configuration)?.iter() {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| configuration(HeaderFault::Name))?;
        let value = HeaderValue::from_bytes(value).map_err(|_| configuration(HeaderFault::Value(name.to_string())))?;
        headers.insert(name, secret(value));
    }
    let own = match &config.signing_secret_env {
        Some(variable) => {
            let secret = environment.get(variable);
            Vec::from(signature(variable, secret, &request.delivery_id, now_seconds(), body)?)
        }
        // The outbox delivers at least once, so its receivers are given the means to tell repeats.
        None if config.delivery == DeliveryKind::Outbox => vec![(ID_HEADER, request.delivery_id.to_string())],
        None => Vec::new(),
    };
    for (name, value) in own {
        let value = HeaderValue::from_str(&value).map_err(|_| configuration("the delivery id is no header value"))?;
        if headers.insert(HeaderName::from_static(name), value).is_some() {
            return Err(configuration(format_args!("header `{name}` is set by the signature")));
        }
    }
    Ok(headers)
}

/// Keeps a value out of what the HTTP client prints.
pub(super) fn secret(mut value: HeaderValue) -> HeaderValue {
    value.set_sensitive(true);
    value
}

/// Receivers refuse signatures that are minutes old, so this is the time of the wall.
fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
