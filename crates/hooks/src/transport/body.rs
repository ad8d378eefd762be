//! Reads a reply, up to its limit.

use reqwest::Response;

use crate::{FaultCode, HookFault, REPLY_BYTES_MAX};

/// Reads a whole reply. One that announces too much is not read at all.
pub(super) async fn read_bounded(mut response: Response) -> Result<Vec<u8>, HookFault> {
    let too_large = || HookFault::new(FaultCode::ResponseTooLarge);
    if response.content_length().is_some_and(|length| length > REPLY_BYTES_MAX as u64) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| HookFault::new(FaultCode::NetworkError))? {
        if body.len() + chunk.len() > REPLY_BYTES_MAX {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
