//! Webhooks as they are written down: the configuration, its destination, and its headers.
//!
//! Nothing is sent here.

mod config;
mod delay;
mod headers;
mod network;
mod url;

pub use config::{DeliveryKind, Fallback, ResponseHandling, WebhookConfig};
pub(crate) use config::{TIMEOUT_DEFAULT, seconds};
pub use delay::Delay;
pub use headers::{HeaderFault, ResolvedHeaders};
pub use network::NetworkPolicy;
pub(crate) use url::is_destination;
pub use url::{UrlFault, resolve_url};
