//! Looks names up, and refuses addresses that a policy refuses.

use std::error::Error;
use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::NetworkPolicy;

/// Looks names up.
pub trait NameResolver: Debug + Send + Sync {
    /// The addresses of a name. Ports are ignored.
    ///
    /// # Errors
    ///
    /// An I/O error if there are none. The delivery fails as `network_error`.
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;
}

/// Looks names up as the system does.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl NameResolver for SystemResolver {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        async move { Ok(tokio::net::lookup_host((name.as_str(), 0)).await?.collect()) }.boxed()
    }
}

/// Looks a name up when it is dialled, so that the address that was checked is the one that is dialled.
#[derive(Debug)]
pub(super) struct Guard {
    policy: NetworkPolicy,
    resolver: Arc<dyn NameResolver>,
}

impl Guard {
    pub(super) fn new(policy: NetworkPolicy, resolver: Arc<dyn NameResolver>) -> Self {
        Self { policy, resolver }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, name) = (self.policy.clone(), name.as_str().to_owned());
        let resolving = self.resolver.resolve(name.clone());
        Box::pin(async move {
            let found = resolving.await?;
            let is_exception = policy.permits_name(&name);
            let kept: Vec<_> =
                found.into_iter().filter(|address| is_exception || policy.permits_address(address.ip())).collect();
            if kept.is_empty() {
                return Err(Box::new(Refused) as Box<dyn Error + Send + Sync>);
            }
            Ok(Box::new(kept.into_iter()) as Addrs)
        })
    }
}

/// An address is refused, or every address of a name.
#[derive(Debug, thiserror::Error)]
#[error("the network policy refuses the address: list it under `network.allow`, or correct the URL")]
pub(super) struct Refused;

/// Whether a URL may be dialled, as far as it says itself. Names are looked up later, unless a proxy does that.
pub(super) fn permits(policy: &NetworkPolicy, url: &Url, has_proxy: bool) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => policy.permits_address(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => policy.permits_address(IpAddr::V6(address)),
        // A proxy dials what it likes, so a name must be one of the exceptions.
        Some(Host::Domain(name)) => !has_proxy || policy.permits_name(name),
        None => false,
    }
}

/// Whether a policy is behind an error.
pub(super) fn is_refusal(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.is::<Refused>() {
            return true;
        }
        source = cause.source();
    }
    false
}
