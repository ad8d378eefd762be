//! HTTP clients, one per network policy.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::redirect::Policy;
use reqwest::{Client, Proxy};

use super::guard::{Guard, NameResolver};
use crate::{FaultCode, HookFault, NetworkPolicy};

/// HTTP clients. A policy has its own, so that no connection of another one is used again under it.
#[derive(Debug)]
pub(super) struct Clients {
    proxy: Option<Proxy>,
    resolver: Arc<dyn NameResolver>,
    by_policy: Mutex<BTreeMap<NetworkPolicy, Client>>,
}

impl Clients {
    pub(super) fn new(proxy: Option<Proxy>, resolver: Arc<dyn NameResolver>) -> Self {
        Self { proxy, resolver, by_policy: Mutex::default() }
    }

    pub(super) fn has_proxy(&self) -> bool {
        self.proxy.is_some()
    }

    /// The client of a policy.
    pub(super) fn of(&self, policy: &NetworkPolicy) -> Result<Client, HookFault> {
        let mut clients = self.by_policy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(policy) {
            return Ok(client.clone());
        }
        let client = self.build(policy.clone()).map_err(|_| {
            HookFault::new(FaultCode::Configuration).with_diagnostic("the HTTP client could not be built")
        })?;
        if clients.len() >= CLIENTS_MAX {
            clients.pop_first();
        }
        clients.insert(policy.clone(), client.clone());
        Ok(client)
    }

    fn build(&self, policy: NetworkPolicy) -> Result<Client, reqwest::Error> {
        // With a proxy its own name is the only one that is looked up here, and the operator has chosen it: the
        // hook's policy is not about it.
        let policy = if self.has_proxy() { NetworkPolicy::default() } else { policy };
        let builder = Client::builder()
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .dns_resolver(Guard::new(policy, Arc::clone(&self.resolver)));
        match &self.proxy {
            Some(proxy) => builder.proxy(proxy.clone()).build(),
            None => builder.no_proxy().build(),
        }
    }
}

/// Policies in use at once. Beyond it one is built again; configurations have a handful.
const CLIENTS_MAX: usize = 32;

/// Idle connections kept for one receiver: a few are enough for the deliveries that run at once.
const IDLE_PER_HOST_MAX: usize = 8;
