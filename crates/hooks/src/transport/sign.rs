//! Signatures by the Standard Webhooks scheme.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::{DeliveryId, FaultCode, HookFault};

/// The three headers of a signed request.
pub(super) fn signature(
    variable: &str,
    secret: Option<String>,
    id: &DeliveryId,
    timestamp: u64,
    body: &[u8],
) -> Result<[(&'static str, String); 3], HookFault> {
    let fault = |what: &str| {
        HookFault::new(FaultCode::Configuration).with_diagnostic(format_args!("the signing secret `{variable}` {what}"))
    };
    let secret = secret.ok_or_else(|| fault("is not set: set the variable"))?;
    let encoded = secret.strip_prefix("whsec_").unwrap_or(&secret);
    let key = STANDARD
        .decode(encoded)
        .ok()
        .filter(|key| !key.is_empty())
        .ok_or_else(|| fault("is no base64: give `whsec_` and the key in base64"))?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|_| fault("cannot be used"))?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    Ok([(ID_HEADER, id.to_string()), ("webhook-timestamp", timestamp.to_string()), ("webhook-signature", signature)])
}

/// By it a receiver knows a delivery again.
pub(super) const ID_HEADER: &str = "webhook-id";
